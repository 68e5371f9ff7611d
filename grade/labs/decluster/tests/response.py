"""Random reads beside bursts of writes wait less, and more evenly, than under periodic update or
with writes that all start at once."""

from statistics import pstdev

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.setting import TURNING
from grade.scoring.workbench import Workbench

READS = 1000
WRITERS = 3
SETTLED_NS = 8 * 10**9  # by then each policy has begun to write
# Shares of the way from the better policy's figure to the worse one's. A mistake that leaves bursts
# together is about halfway there, or more.
FULL, NONE = 0.2, 0.4
LDCL = "write=delayed update=ldcl ldcl.age_s=6 ldcl.range_s=5"
PERIODIC = "write=delayed update=pu pu.interval_ms=6000"
OAW, ASYNC = "write=oaw oaw.floor=5 update=none", "write=async update=none"


def _scenario(bench: Workbench, name: str, policies: str) -> Scenario:
    """A reader, and writers that write many blocks at once and pause."""
    rng = bench.random("jobs")
    writers = " -- ".join(
        f"name=w{i} rw=randwrite filename=/data/w{i} seed={rng.randrange(10**6)} until=read "
        f"thinktime_blocks=60 thinktime_us={4500 + 700 * i}000"
        for i in range(WRITERS)
    )
    read = f"name=read rw=randread filename=/data/read seed={rng.randrange(10**6)} nr={READS}"
    return Scenario(
        name=f"response-{name}",
        script=f"iogen bs=4k {read} -- {writers} > /dev/null\nbeacon 1\nsync",
        args=f"{policies} sched=fcfs nbuf=1500",
        check=False,
        data=(("/read", "24M"), *((f"/w{i}", "4M") for i in range(WRITERS))),
        size="48M",
        like="response",
        drives=TURNING,
    )


def _reads_ms(run: Run) -> list[float]:
    """The response times of the file's reads."""
    sectors = run.sectors("/read")
    settled = (r for r in run.data(write=False) if r.queued_ns >= SETTLED_NS)
    return [r.response_ms for r in settled if r.sector in sectors]


def _writes(run: Run) -> int:
    paths = (f"/w{i}" for i in range(WRITERS))
    return sum(len(run.writes_of(path, end_ns=run.beacon(1))) for path in paths)


def _measure(bench: Workbench, better: tuple[str, str], worse: tuple[str, str]) -> Slide:
    """Points from a little more than the reference's better policies down to part of the way to
    its worse ones."""
    good, bad = _scenario(bench, *better), _scenario(bench, *worse)
    best, worst = bench.reference(good), bench.reference(bad)
    run = bench.run(good)
    expect(
        _writes(run) >= 0.8 * _writes(best),
        f"about as many blocks to be written meanwhile as by the reference, {_writes(best)}",
        f"{_writes(run)} were",
    )
    value_ms, best_ms, worst_ms = (pstdev(_reads_ms(r)) for r in (run, best, worst))
    full_ms, none_ms = (best_ms + share * (worst_ms - best_ms) for share in (FULL, NONE))
    return Slide("standard deviation of read response", "ms", value_ms, full_ms, none_ms)


def reads_beside_delayed_writes_wait_evenly(bench: Workbench) -> Slide:
    """The standard deviation of reads' response times with LDCL, which is compared with
    periodic update's."""
    return _measure(bench, ("ldcl", LDCL), ("pu", PERIODIC))


def reads_beside_filled_blocks_wait_evenly(bench: Workbench) -> Slide:
    """The standard deviation with OAW, which is compared with that of writes that all start at
    once."""
    return _measure(bench, ("oaw", OAW), ("async", ASYNC))
