"""The bursts in which dirty blocks are written, as the trace shows them, and how many blocks are
dirty before and after each."""

from collections.abc import Iterator
from dataclasses import dataclass

from grade.scoring.assertions import expect
from grade.scoring.scenario import FOR_EVER, Run, Scenario
from grade.scoring.workbench import Workbench

SETTLED_NS = 3 * 10**9  # by then the programs have been loaded
SHARES = {"high": 0.05, "low": 0.15}  # by which a mark may differ from the reference's
ENOUGH = 0.75  # of the steps
SEEN = 0.5  # of the steps must have bursts: how many come is decided by both marks
PAUSE_NS = 15 * 10**6  # least time between two bursts

Block = tuple[int, int]  # disk, number


@dataclass
class Burst:
    """Blocks whose writes were started together."""

    time_ns: int
    before: int  # blocks dirty when it began
    left: int  # when it ended
    blocks: list[Block]  # in the order in which they were started
    oldest: list[Block]  # as many blocks: those that had been dirty longest


def bursts(run: Run, start_ns: int = 0, end_ns: int = FOR_EVER) -> Iterator[Burst]:
    """The bursts that begin in this time."""
    dirty: dict[Block, None] = {}  # the oldest first
    burst, last_ns = None, -PAUSE_NS
    for event in run.events:
        block = (event.disk, event.block)
        if event.name == "dirtied":
            dirty[block] = None
        elif event.name == "writing" and block in dirty:
            if event.time_ns - last_ns > PAUSE_NS:
                if burst and start_ns <= burst.time_ns < end_ns:
                    yield burst
                burst, by_age = Burst(event.time_ns, len(dirty), 0, [], []), list(dirty)
            del dirty[block]
            burst.blocks.append(block)
            burst.left, last_ns = len(dirty), event.time_ns
            burst.oldest = by_age[: len(burst.blocks)]
    if burst and start_ns <= burst.time_ns < end_ns:
        yield burst


@dataclass(frozen=True)
class Level:
    """The marks between two steps, as far as bursts show them."""

    step: int
    high: int  # the most blocks that were dirty before a burst, less one
    low: int  # the fewest that a burst left


def levels(run: Run, step_ns: int, last: int) -> dict[int, Level]:
    """The marks in each step with writes, until beacon `last`.

    A step begins when the time since power-on is a multiple of step_ns, or a little later.
    """
    found: dict[int, Level] = {}
    for burst in bursts(run, SETTLED_NS, run.beacon(last)):
        step, since_ns = divmod(burst.time_ns, step_ns)
        if since_ns > step_ns // 20:
            was = found.get(step, Level(step, 0, burst.left))
            high = max(was.high, burst.before - 1)
            found[step] = Level(step, high, min(was.low, burst.left))
    return found


def close(value: int, wanted: int, share: float) -> bool:
    """Is the value as wanted, within this share or two blocks?"""
    return abs(value - wanted) <= max(2, share * wanted)


def expect_levels(
    bench: Workbench,
    scenario: Scenario,
    step_ms: int,
    last: int,
    mark: str,
    share: float | None = None,
) -> None:
    """Expect a mark, `high` or `low`, to be close to the reference's in nearly all steps in which
    the bursts of both show it; share: by how much it may differ, if not as in SHARES."""
    step_ns = step_ms * 10**6
    own = levels(bench.run(scenario), step_ns, last)
    best = levels(bench.reference(scenario), step_ns, last)
    share = share or SHARES[mark]
    wanted = {step: getattr(level, mark) for step, level in best.items()}
    came = {step: getattr(own[step], mark) for step in wanted if step in own}
    good = sum(close(blocks, wanted[step], share) for step, blocks in came.items())
    expect(
        len(came) >= SEEN * len(wanted) and good >= ENOUGH * len(came),
        f"the {mark} mark in each step of {step_ms} ms, as step: blocks, to be {told(wanted)}",
        told(came),
    )


def told(marks: dict[int, int]) -> str:
    """The marks by step, for a message."""
    return (
        ", ".join(f"{step}: {blocks}" for step, blocks in marks.items())
        or "no burst of writes that shows it"
    )
