"""The bursts in which dirty blocks are written, as the trace shows them, and how many blocks are
dirty before and after each."""

from collections.abc import Iterator
from dataclasses import dataclass

from grade.machine.trace import Event
from grade.scoring.scenario import FOR_EVER, Run, Scenario
from grade.scoring.workbench import Workbench

SETTLED_NS = 3 * 10**9  # by then the programs have been loaded
ENOUGH = 0.75  # of the steps
SEEN = 0.5  # of the steps must have bursts: how many come is decided by both marks
PAUSE_NS = 15 * 10**6  # least time between two bursts

Block = tuple[int, int]  # disk, number


@dataclass
class Burst:
    """Blocks whose writes were started together."""

    before: int  # blocks dirty when it began
    left: int  # when it ended
    writes: list[Event]  # the events `writing`, in this order
    oldest: list[Block]  # as many blocks: those that had been dirty longest

    @property
    def first(self) -> Event:
        return self.writes[0]

    @property
    def time_ns(self) -> int:
        return self.first.time_ns


def bursts(run: Run, start_ns: int = 0, end_ns: int = FOR_EVER) -> Iterator[Burst]:
    """The bursts that begin in this time."""
    dirty: dict[Block, None] = {}  # the oldest first
    burst, last_ns = None, -PAUSE_NS
    for _, event in run.events.named("dirtied", "writing"):
        block = (event.disk, event.block)
        if event.name == "dirtied":
            dirty[block] = None
        elif block in dirty:
            if event.time_ns - last_ns > PAUSE_NS:
                if burst and start_ns <= burst.time_ns < end_ns:
                    yield burst
                burst, by_age = Burst(len(dirty), 0, [], []), list(dirty)
            del dirty[block]
            burst.writes.append(event)
            burst.left, last_ns = len(dirty), event.time_ns
            burst.oldest = by_age[: len(burst.writes)]
    if burst and start_ns <= burst.time_ns < end_ns:
        yield burst


@dataclass(frozen=True)
class Level:
    """The marks between two steps, as far as bursts show them.

    highest: the burst before which the most blocks were dirty; lowest: the one that left the
    fewest.
    """

    step: int
    highest: Burst
    lowest: Burst

    @property
    def high(self) -> int:
        return self.highest.before - 1

    @property
    def low(self) -> int:
        return self.lowest.left

    def shown_by(self, mark: str) -> Event:
        """The beginning of the burst that shows a mark."""
        return {"high": self.highest, "low": self.lowest}[mark].first


def levels(run: Run, step_ns: int, last: int) -> dict[int, Level]:
    """The marks in each step with writes, until beacon `last`.

    A step begins when the time since power-on is a multiple of step_ns, or a little later.
    """
    found: dict[int, Level] = {}
    for step, burst in by_step(run, step_ns, last):
        was = found.get(step, Level(step, burst, burst))
        highest = max(was.highest, burst, key=lambda one: one.before)
        lowest = min(was.lowest, burst, key=lambda one: one.left)
        found[step] = Level(step, highest, lowest)
    return found


def by_step(run: Run, step_ns: int, last: int) -> Iterator[tuple[int, Burst]]:
    """The bursts until beacon `last`, each with its step, but for those that a step begins with."""
    for burst in bursts(run, SETTLED_NS, run.beacon(last)):
        step, since_ns = divmod(burst.time_ns, step_ns)
        if since_ns > step_ns // 20:
            yield step, burst


def close(value: int, wanted: int, share: float) -> bool:
    """Is the value as wanted, within this share or two blocks?"""
    return abs(value - wanted) <= max(2, share * wanted)


def expect_levels(
    bench: Workbench,
    scenario: Scenario,
    step_ms: int,
    last: int,
    mark: str,
    share: float,
) -> None:
    """Expect a mark, `high` or `low`, to be close to the reference's in nearly all steps in which
    the bursts of both show it; share: by how much it may differ. The moment that is told is the
    first burst that shows another mark."""
    step_ns, run = step_ms * 10**6, bench.run(scenario)
    own = levels(run, step_ns, last)
    best = levels(bench.reference(scenario), step_ns, last)
    wanted = {step: getattr(level, mark) for step, level in best.items()}
    expect_marks(run, own, wanted, mark, share, SEEN * len(wanted))


def expect_marks(
    run: Run, own: dict[int, Level], wanted: dict[int, int], mark: str, share: float, seen: float
) -> None:
    """Expect a mark, `high` or `low`, to be close to what is wanted, by step, in nearly all steps
    that show it; seen: how many steps must show it at least."""
    came = {step: getattr(own[step], mark) for step in wanted if step in own}
    wrong = [step for step, blocks in came.items() if not close(blocks, wanted[step], share)]
    run.expect(
        len(came) >= seen and len(came) - len(wrong) >= ENOUGH * len(came),
        f"the {mark} mark in each step, as step: blocks, to be {told(wanted)}",
        told(came),
        own[wrong[0]].shown_by(mark) if wrong else None,
    )


def told(marks: dict[int, int]) -> str:
    """The marks by step, for a message."""
    return (
        ", ".join(f"{step}: {blocks}" for step, blocks in marks.items())
        or "no burst of writes that shows it"
    )
