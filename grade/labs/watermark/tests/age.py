"""Below the marks a block is written at the first step after it is age_ms old."""

from grade.engine.assertions import expect
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

RATE, SECONDS = 12, 8
STEP_MS, AGE_MS, SLACK_MS = 700, 4000, 100

# Blocks become dirty all the time, so at each phase of the steps. The marks begin where they allow
# five times as many dirty blocks as there are, and the rate stays the same: so they do not matter.
STEADY = Scenario(
    name="age",
    script=f"""
iogen rw=write filename=/data/f bs=4k rate_iops={RATE} runtime_s={SECONDS} > /dev/null
beacon 1
sleep 6
beacon 2
""",
    args="write=delayed update=awol nbuf=1000 awol.high_percent=40 awol.reading=2 "
    f"awol.step_ms={STEP_MS} awol.age_ms={AGE_MS}",
    data=(("/f", "1M"),),
)


def each_block_is_written_at_the_step_after_its_age(bench: Workbench) -> None:
    """Blocks become dirty at a steady rate, far below the high mark."""
    run = bench.run(STEADY)
    written = run.writes_of("/f", end_ns=run.beacon(2))
    blocks = RATE * SECONDS
    expect(len(written) == blocks, f"{blocks} blocks to be written", f"{len(written)} were")
    dirtied_ms = {
        e.block: e.time_ns / 1e6
        for e in run.events
        if e.name == "dirtied" and e.disk == run.data_disk
    }
    for write in written:
        age_ms = write.request.queued_ns / 1e6 - dirtied_ms[write.request.sector // 8]
        run.expect(
            AGE_MS <= age_ms <= AGE_MS + STEP_MS + SLACK_MS,
            f"block {write.block} to be written when it is {AGE_MS} to {AGE_MS + STEP_MS} ms old",
            f"it was {age_ms:.0f} ms old",
            write,
        )
