"""The bursts in which dirty blocks are written, as the trace shows them, and how many blocks are
dirty before and after each."""

from collections.abc import Iterator
from dataclasses import dataclass

from grade.engine.scenario import FOR_EVER, Run
from sluice.system.trace import Event

SETTLED_NS = 3 * 10**9  # by then the programs have been loaded
ENOUGH = 0.75  # of the steps
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

    @property
    def high(self) -> int:
        """The high mark, as far as the burst shows it."""
        return self.before - 1

    @property
    def low(self) -> int:
        """The low mark, as far as the burst shows it."""
        return self.left


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


def by_step(run: Run, step_ns: int, last: int) -> dict[int, Burst]:
    """The last burst of each step with writes, until beacon `last`; but for those that a step
    begins with.

    A step begins when the time since power-on is a multiple of step_ns, or a little later. Only its
    last burst shows its marks: after a mark has fallen, the update daemon may still be busy with
    the burst before, and more blocks than the mark are dirty when it looks again.
    """
    found = {}
    for burst in bursts(run, SETTLED_NS, run.beacon(last)):
        step, since_ns = divmod(burst.time_ns, step_ns)
        if since_ns > step_ns // 20:
            found[step] = burst
    return found


def close(value: int, wanted: int, share: float) -> bool:
    """Is the value as wanted, within this share or two blocks?"""
    return abs(value - wanted) <= max(2, share * wanted)


def wrong(own: dict[int, Burst], wanted: dict[int, int], mark: str, share: float) -> list[int]:
    """The steps whose mark is not close to what is wanted, of those that show it."""
    seen = (step for step in wanted if step in own)
    return [step for step in seen if not close(getattr(own[step], mark), wanted[step], share)]


def expect_marks(
    run: Run, own: dict[int, Burst], wanted: dict[int, int], mark: str, share: float, seen: float
) -> None:
    """Expect a mark, `high` or `low`, to be close to what is wanted, by step, in nearly all steps
    that show it; share: by how much it may differ; seen: how many steps must show it at least. The
    moment that is told is the first burst that shows another mark."""
    came = {step: getattr(own[step], mark) for step in wanted if step in own}
    astray = wrong(own, wanted, mark, share)
    run.expect(
        len(came) >= seen and len(came) - len(astray) >= ENOUGH * len(came),
        f"the {mark} mark in each step, as step: blocks, to be {told(wanted)}",
        told(came),
        own[astray[0]].first if astray else None,
    )


def told(marks: dict[int, int]) -> str:
    """The marks by step, for a message."""
    return (
        ", ".join(f"{step}: {blocks}" for step, blocks in marks.items())
        or "no burst of writes that shows it"
    )
