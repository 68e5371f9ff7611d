"""The bursts in which dirty blocks leave, as the trace tells them, and how many are dirty."""

from collections.abc import Iterator
from dataclasses import dataclass

from grade.scoring.assertions import expect
from grade.scoring.scenario import FOR_EVER, Run, Scenario
from grade.scoring.workbench import Workbench

SETTLED_NS = 3 * 10**9  # until then the programs are loaded
SHARES = {"high": 0.05, "low": 0.15}  # by which a mark may be off
ENOUGH = 0.75  # of the steps
PAUSE_NS = 15 * 10**6  # between two bursts at least

Block = tuple[int, int]  # disk, number


@dataclass
class Burst:
    """Blocks whose writes were started together."""

    time_ns: int
    before: int  # blocks dirty when it began
    left: int  # when it ended
    blocks: list[Block]  # in the order in which they were started
    oldest: list[Block]  # as many, those that had been dirty longest


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
    """What was seen of the marks between two steps."""

    step: int
    high: int  # the most blocks that were dirty before a burst, less the one too many
    low: int  # the least that a burst left


def levels(run: Run, step_ns: int, last: int) -> dict[int, Level]:
    """The marks between steps, up to the last, where anything was written.

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
    """Is it, but for this share or two blocks?"""
    return abs(value - wanted) <= max(2, share * wanted)


def expect_levels(bench: Workbench, scenario: Scenario, step_ms: int, last: int, mark: str) -> None:
    """A mark, `high` or `low`, is where the reference's is, in nearly all steps."""
    step_ns = step_ms * 10**6
    own = levels(bench.run(scenario), step_ns, last)
    best = levels(bench.reference(scenario), step_ns, last)
    share = SHARES[mark]
    wanted = {step: getattr(level, mark) for step, level in best.items()}
    came = {step: getattr(own[step], mark) for step in wanted if step in own}
    good = sum(close(came.get(step, -9), value, share) for step, value in wanted.items())
    expect(
        good >= ENOUGH * len(wanted),
        f"the {mark} mark, step by step of {step_ms} ms: {told(wanted)}",
        told(came),
    )


def told(marks: dict[int, int]) -> str:
    """For a message."""
    return ", ".join(f"{step}: {blocks}" for step, blocks in marks.items()) or "none was seen"
