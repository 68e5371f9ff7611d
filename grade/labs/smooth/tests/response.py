"""Random reads beside a steady writer wait for a short and even time. Under periodic update a few
of them wait for seconds."""

from collections.abc import Callable
from dataclasses import replace
from statistics import mean, pstdev

from grade.engine.assertions import Slide, expect
from grade.engine.parameters import TURNING
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

READS = 2000
WRITTEN = 0.75  # of the blocks that the reference writes: with fewer, reads are fast for nothing
SETTLED_NS = 12 * 10**9  # each policy has begun to write by this time


def _scenario(bench: Workbench) -> Scenario:
    """The two processes of section 4.1 in Mogul's paper, three times as fast, on smaller files."""
    seed = bench.random("seed").randrange(1, 10**9)
    return Scenario(
        name="response",
        script=f"""
iogen bs=4k seed={seed} name=read rw=randread filename=/data/read nr={READS} -- \
name=write rw=mogul filename=/data/write cache_blocks=400 period_s=10 until=read > /dev/null
beacon 1
""",
        args="write=delayed update=aipu sched=fcfs nbuf=1200 "
        "pu.interval_ms=10000 aipu.age_ms=10000",
        data=(("/read", "24M"), ("/write", "6M")),
        size="40M",
        drives=TURNING,
    )


def _reads_ms(run: Run) -> list[float]:
    """Return the response times of the file's reads, the shortest first."""
    sectors = run.sectors("/read")
    settled = (r for r in run.data(write=False) if r.queued_ns >= SETTLED_NS)
    return sorted(r.response_ms for r in settled if r.sector in sectors)


def _writes(run: Run) -> int:
    return len(run.writes_of("/write", end_ns=run.beacon(1)))


def _measure(bench: Workbench, what: str, measure: Callable[[list[float]], float]) -> Slide:
    """Points from a little more than the reference's AIPU down to its PU."""
    scenario = _scenario(bench)
    periodic = replace(
        scenario, name="response-pu", args=scenario.args.replace("update=aipu", "update=pu")
    )
    best, worst = bench.reference(scenario), bench.reference(periodic)
    run = bench.run(scenario)
    expect(
        _writes(run) >= WRITTEN * _writes(best),
        f"about as many blocks to be written meanwhile as by the reference, {_writes(best)}",
        f"{_writes(run)} were",
    )
    value, full, none = (measure(_reads_ms(r)) for r in (run, best, worst))
    return Slide(what, "ms", value, full + 0.2 * (none - full), none)


def reads_wait_evenly(bench: Workbench) -> Slide:
    """The standard deviation of random reads' response times."""
    return _measure(bench, "standard deviation of read response", pstdev)


def the_worst_reads_wait_less(bench: Workbench) -> Slide:
    """The mean of the 5 longest response times of random reads."""
    return _measure(bench, "mean of the 5 longest read responses", lambda ms: mean(ms[-5:]))
