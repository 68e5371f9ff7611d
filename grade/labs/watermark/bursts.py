"""Find the bursts in which dirty blocks are written, and how many blocks are dirty around each."""

from collections.abc import Iterator
from dataclasses import dataclass

from grade.engine.scenario import FOR_EVER, Run
from sluice.system.trace import Event

ENOUGH = 0.75  # share of the steps
PAUSE_NS = 15 * 10**6  # least time between two bursts

Block = tuple[int, int]  # disk, number


@dataclass
class Burst:
    """A group of blocks whose writes were started together."""

    before: int  # dirty blocks when the burst began
    left: int  # dirty blocks when the burst ended
    writes: list[Event]  # the events `writing`, in this order
    oldest: list[Block]  # the blocks that had been dirty longest; as many as the burst has writes

    @property
    def first_event(self) -> Event:
        return self.writes[0]

    @property
    def time_ns(self) -> int:
        return self.first_event.time_ns

    @property
    def high(self) -> int:
        """The high mark, as far as the burst shows it."""
        return self.before - 1

    @property
    def low(self) -> int:
        """The low mark, as far as the burst shows it."""
        return self.left


def began_ns(run: Run) -> int:
    """Return when a block of a file on the data disk first became dirty.

    What is written before is no burst: mount writes a block that it has just modified.
    """
    dirtied = (event for _, event in run.events.select_named("dirtied"))
    own = (event for event in dirtied if event.disk == run.data_disk and event.argument)
    return next((event.time_ns for event in own), FOR_EVER)  # argument: the file, or 0


def bursts(run: Run, start_ns: int = 0, end_ns: int = FOR_EVER) -> Iterator[Burst]:
    """Yield the bursts that begin in this time."""
    dirty: dict[Block, None] = {}  # the oldest first
    burst, last_ns = None, -PAUSE_NS
    for _, event in run.events.select_named("dirtied", "writing"):
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


def group_by_step(run: Run, step_ns: int, last: int) -> dict[int, Burst]:
    """Return the last burst of each step with writes, until beacon `last`.

    A step begins when the time since power-on is a multiple of step_ns, or a little later. A burst
    with which a step begins does not count. Only a step's last burst shows its marks: after a mark
    has fallen, the update daemon may still be busy with the burst before, and more blocks than the
    mark are dirty when it looks again.
    """
    found = {}
    for burst in bursts(run, began_ns(run), run.beacon(last)):
        step, since_ns = divmod(burst.time_ns, step_ns)
        if since_ns > step_ns // 20:
            found[step] = burst
    return found


def is_close(value: int, wanted: int, share: float) -> bool:
    """Return True if the value is as wanted, within this share or two blocks."""
    return abs(value - wanted) <= max(2, share * wanted)


def find_wrong_steps(
    own: dict[int, Burst], wanted: dict[int, int], mark: str, share: float
) -> list[int]:
    """Return the steps that show the mark and whose mark is not close to the wanted one."""
    seen = (step for step in wanted if step in own)
    return [step for step in seen if not is_close(getattr(own[step], mark), wanted[step], share)]


def expect_marks(
    run: Run, own: dict[int, Burst], wanted: dict[int, int], mark: str, share: float, seen: float
) -> None:
    """Raise Wrong unless a mark is close to what is wanted in nearly all steps that show it.

    mark: `high` or `low`. wanted: by step. share: by how much it may differ. seen: how many steps
    must show it at least. The message names the first burst that shows another mark.
    """
    came = {step: getattr(own[step], mark) for step in wanted if step in own}
    astray = find_wrong_steps(own, wanted, mark, share)
    run.expect(
        len(came) >= seen and len(came) - len(astray) >= ENOUGH * len(came),
        f"the {mark} mark in each step, as step: blocks, to be {format_marks(wanted)}",
        format_marks(came),
        own[astray[0]].first_event if astray else None,
    )


def format_marks(marks: dict[int, int]) -> str:
    """Return the marks by step, for a message."""
    return (
        ", ".join(f"{step}: {blocks}" for step, blocks in marks.items())
        or "no burst of writes that shows it"
    )
