"""Compute the marks that the formulas ask for, from the rates in a run's own trace."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from grade.engine.scenario import BLOCK_SECTORS, Run, Scenario
from grade.engine.workbench import Workbench

from .bursts import expect_marks, find_wrong_steps, group_by_step

STEP_MS = 4000
STEP_NS = STEP_MS * 10**6
DONE = 1  # beacon
FIRST = 3  # step whose marks may differ from those at first: two steps before it have been counted
MOST_BY = 2.0  # a step multiplies or divides a mark by this number at most
WITHOUT_BOUNDS = float("inf")
LARGE = 32768.0
# A mark may differ by this share of it. At the slowest rate a step counts 28 blocks, of which two
# may be counted a step sooner or later.
SHARE = 0.1
SEEN = 1 / 3  # this share of the steps must have bursts: under the slowest rate every second has


@dataclass(frozen=True)
class Cache:
    """A cache of `buffers` buffers, and where its marks begin, in blocks."""

    buffers: int = 1000
    high: int = 100
    low: int = 50

    @property
    def args(self) -> str:
        """Boot arguments. There is no reader, so no reads can lower the high mark."""
        return (
            f"write=delayed update=awol awol.reading=2 nbuf={self.buffers}"
            f" awol.high_percent={100 * self.high // self.buffers}"
            f" awol.low_percent={100 * self.low // self.high}"
            f" awol.step_ms={STEP_MS} awol.age_ms=60000"
        )


CACHE = Cache()


@dataclass(frozen=True)
class Marks:
    """The two marks, in blocks."""

    high: float
    low: float


def ratio(a: int, b: int) -> float:
    """Return a / b, where 0 / 0 is 1, and finite."""
    if a == b:
        return 1
    return a / b if b else LARGE


def step(mark: float, by: float, most_by: float) -> float:
    """Return the mark times `by`, or times the nearest factor from 1 / most_by to most_by."""
    return mark * max(1 / most_by, min(by, most_by))


def blocks_cleaned(run: Run) -> Counter[int]:
    """Return how many blocks have been written in each step."""
    found: Counter[int] = Counter()
    for request in run.requests:
        if request.write:
            found[request.completed_ns // STEP_NS] += request.sectors // BLOCK_SECTORS
    return found


def marks_by_rates(
    run: Run, last: int, most_by: float = MOST_BY, cache: Cache = CACHE
) -> Iterator[tuple[int, Marks]]:
    """Yield the marks in each step up to `last`, by what became dirty and clean before it."""
    dirtied = Counter(event.time_ns // STEP_NS for _, event in run.events.select_named("dirtied"))
    cleaned = blocks_cleaned(run)
    high, low = float(cache.high), float(cache.low)
    for now in range(1, last + 1):
        if now >= FIRST:
            by = ratio(dirtied[now - 2], dirtied[now - 1])
            high = max(1, min(step(high, by, most_by), cache.buffers))
            # The low mark also follows the rate of cleaning.
            by *= ratio(cleaned[now - 1], cleaned[now - 2])
            low = min(step(low, by, most_by), cache.buffers)
        yield now, Marks(high, min(low, high))


def expect_followed(
    bench: Workbench, scenario: Scenario, mark: str, bounds: tuple[float, ...] = (MOST_BY,)
) -> None:
    """Raise Wrong unless a mark follows the formula in nearly all steps that show it.

    mark: `high` or `low`. bounds: by how much a step may change it, of which one has to fit.
    """
    run = bench.run(scenario)
    last = run.beacon(DONE) // STEP_NS
    shown = group_by_step(run, STEP_NS, DONE)
    models = (
        {now: int(getattr(marks, mark)) for now, marks in marks_by_rates(run, last, most_by)}
        for most_by in bounds
    )
    wanted = min(models, key=lambda model: len(find_wrong_steps(shown, model, mark, SHARE)))
    expect_marks(run, shown, wanted, mark, SHARE, SEEN * last)
