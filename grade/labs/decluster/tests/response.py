"""Random reads beside bursts of writes wait less, and more evenly, than under periodic update or
with writes that all start at once."""

from statistics import pstdev

from grade.engine.assertions import Slide, expect
from grade.engine.parameters import TURNING
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

READS = 3000  # so many that the nonce hardly changes how often the writers' bursts coincide
WRITERS = 3
SETTLED_NS = 8 * 10**9  # each policy has begun to write by this time
BURST, FLOOR, AGE_S = 60, 5, 6
LDCL = f"write=delayed update=ldcl ldcl.age_s={AGE_S} ldcl.range_s={AGE_S - 1}"
PERIODIC = f"write=delayed update=pu pu.interval_ms={AGE_S}000"
OAW, ASYNC = f"write=oaw oaw.floor={FLOOR} update=none", "write=async update=none"
# The better policy divides into parts the blocks that the worse one writes at once: LDCL has a part
# for each second, OAW one for each filling of the queue. This share of the parts earns all points
# (GOOD) or none (BAD): half is the border, with a tenth on either side.
LDCL_PARTS, OAW_PARTS = AGE_S, BURST / (FLOOR + 1)
GOOD, BAD = 0.6, 0.4


def _scenario(bench: Workbench, name: str, policies: str) -> Scenario:
    """A reader, and writers that write many blocks at once and pause."""
    rng = bench.random("jobs")
    writers = " -- ".join(
        f"name=w{i} rw=randwrite filename=/data/w{i} seed={rng.randrange(10**6)} until=read "
        f"thinktime_blocks={BURST} thinktime_us={4500 + 700 * i}000"
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
    """Return the response times of the file's reads."""
    sectors = run.sectors("/read")
    settled = (r for r in run.data(write=False) if r.queued_ns >= SETTLED_NS)
    return [r.response_ms for r in settled if r.sector in sectors]


def _writes(run: Run) -> int:
    paths = (f"/w{i}" for i in range(WRITERS))
    return sum(len(run.writes_of(path, end_ns=run.beacon(1))) for path in paths)


def _way(parts: float, share: float) -> float:
    """Return a share of the way from the standard deviation of a burst in `parts` parts to that of
    a whole burst: the share that `share` of the parts leaves.

    One read waits for a part, as long as the part is (n * s, the chapter's formula). So k parts,
    each a k-th of the burst, add up to a k-th of the variance.
    """
    return (share**-0.5 - 1) / (parts**0.5 - 1)


def _measure(
    bench: Workbench, better: tuple[str, str], worse: tuple[str, str], parts: float
) -> Slide:
    """Score the run: full points for the deviation that the reference's better policies would have
    with a few parts less, and none for that with still fewer."""
    good, bad = _scenario(bench, *better), _scenario(bench, *worse)
    best, worst = bench.reference(good), bench.reference(bad)
    run = bench.run(good)
    expect(
        _writes(run) >= 0.8 * _writes(best),
        f"about as many blocks to be written meanwhile as by the reference, {_writes(best)}",
        f"{_writes(run)} were",
    )
    value_ms, best_ms, worst_ms = (pstdev(_reads_ms(r)) for r in (run, best, worst))
    full_ms, none_ms = (
        best_ms + _way(parts, share) * (worst_ms - best_ms) for share in (GOOD, BAD)
    )
    return Slide("standard deviation of read response", "ms", value_ms, full_ms, none_ms)


def reads_beside_delayed_writes_wait_evenly(bench: Workbench) -> Slide:
    """The standard deviation of reads' response times with LDCL, which is compared with
    periodic update's."""
    return _measure(bench, ("ldcl", LDCL), ("pu", PERIODIC), LDCL_PARTS)


def reads_beside_filled_blocks_wait_evenly(bench: Workbench) -> Slide:
    """The standard deviation of response times with OAW, compared with the standard deviation when
    all writes start at once."""
    return _measure(bench, ("oaw", OAW), ("async", ASYNC), OAW_PARTS)
