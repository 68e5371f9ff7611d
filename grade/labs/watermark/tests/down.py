"""When more blocks are dirty than the high mark, the oldest are written until as many as the low
mark are left."""

from grade.engine.assertions import expect
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from ..bursts import began_ns, bursts

BUFFERS = 1000


def a_burst_goes_from_the_high_mark_down_to_the_low_one(bench: Workbench) -> None:
    """A steady writer; the steps are too long for the marks to adapt."""
    rng = bench.random("marks")
    high_percent, low_percent = rng.randrange(8, 16), rng.randrange(30, 71)
    high = BUFFERS * high_percent // 100
    low = high * low_percent // 100
    marks = f"awol.high_percent={high_percent} awol.low_percent={low_percent}"
    run = bench.run(
        Scenario(
            name="down",
            script="""
iogen rw=write filename=/data/w bs=4k rate_iops=40 runtime_s=16 > /dev/null
beacon 1
""",
            args=f"write=delayed update=awol nbuf={BUFFERS} awol.step_ms=3600000 {marks}",
            data=(("/w", "8M"),),
        )
    )
    seen = list(bursts(run, began_ns(run), run.beacon(1)))[:-1]
    expect(len(seen) >= 2, "several bursts of writes", f"{len(seen)}")
    for burst in seen:
        run.expect(
            abs(burst.before - high - 1) <= 1 and abs(burst.left - low) <= 1,
            f"a burst when {high + 1} blocks are dirty, which leaves {low} of them ({marks})",
            f"a burst when {burst.before} were dirty, which left {burst.left}",
            burst.first_event,
        )
        oldest = set(burst.oldest)
        young = [one for one in burst.writes if (one.disk, one.block) not in oldest]
        run.expect(
            not young,
            f"the {len(burst.writes)} oldest blocks to be written",
            f"{len(young)} of those written were not among the oldest",
            young[0] if young else None,
        )
