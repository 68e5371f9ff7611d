"""Compute what C-LOOK would have chosen, at each dispatch that the trace shows."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from grade.engine.assertions import Wrong, expect
from grade.engine.moments import Fault, Moment
from grade.engine.scenario import FOR_EVER, Run
from sluice.system.trace import Event

SHOWN = 12  # queued sectors, in a message


class Kind(Enum):
    """The situation of a choice: where the queued requests lie."""

    AHEAD = auto()  # some requests lie ahead of the head
    BACK = auto()  # all lie behind it: the head returns
    HERE = auto()  # one begins where the head stands, or in the blocks that it has just passed


@dataclass(frozen=True)
class Choice:
    """One dispatch. Sectors are where requests begin; `queued` is sorted and contains `came`."""

    number: int  # of the dispatch's event in the trace
    event: Event
    passed: int  # the sector where the last command began
    head: int  # the sector behind the last command's end
    queued: list[int]
    fault: Fault | None  # a fault of the policy, after which the kernel chose

    @property
    def came(self) -> int:
        return self.event.block

    @property
    def right_sector(self) -> int:
        """The lowest sector from the head on; if there is none, the lowest of all."""
        ahead = bisect_left(self.queued, self.head)
        return self.queued[ahead if ahead < len(self.queued) else 0]

    @property
    def kind(self) -> Kind:
        """Where the lowest queued sector from `passed` on lies; see Kind."""
        near = bisect_left(self.queued, self.passed)
        if near < len(self.queued) and self.queued[near] <= self.head:
            return Kind.HERE
        return Kind.AHEAD if self.queued[-1] > self.head else Kind.BACK

    @property
    def goes_back(self) -> bool:
        """True if it returns to sectors just passed by the head, though some requests lie ahead.

        Others lie further behind, so a rule that serves the lowest would not choose so either.
        """
        again = self.passed <= self.came < self.head
        return again and self.right_sector >= self.head and self.queued[0] < self.passed


def choices(run: Run, disk: int) -> Iterator[Choice]:
    """Yield all choices for a disk, in order, also those of a single request.

    `queued` changes when the next choice is yielded.
    """
    faults = {fault.number: fault for fault in run.find_faults(disk)}
    queued: list[int] = []
    fault = None
    passed = head = 0
    for number, event in run.events.select_named("queued", "issued", "fault"):
        if event.disk != disk:
            continue
        if event.name == "queued":
            insort(queued, event.block)
        elif number in faults:
            fault = faults[number]
        elif event.name == "issued":
            yield Choice(number, event, passed, head, queued, fault)
            queued.remove(event.block)
            passed, head, fault = event.block, event.block + event.argument, None


def format_sectors(queued: list[int]) -> str:
    """Return a list of sectors, for a message."""
    rest = len(queued) - SHOWN
    return f"{', '.join(map(str, queued[:SHOWN]))}{f' and {rest} more' if rest > 0 else ''}"


def choice_error(run: Run, choice: Choice) -> Wrong:
    """Return the error about a choice that is not C-LOOK's."""
    if choice.fault:
        return run.fault_error(choice.fault)
    return Wrong(
        f"sector {choice.right_sector} next on disk {choice.event.disk}, with the head at sector "
        f"{choice.head} and requests queued for sectors {format_sectors(choice.queued)}",
        f"sector {choice.came}",
        Moment(run.folder.name, choice.number, choice.event),
    )


def list_choices(
    run: Run, disk: int, start_ns: int = 0, end_ns: int = FOR_EVER
) -> Iterator[Choice]:
    """Yield a disk's choices from start_ns to end_ns that were among several requests."""
    for choice in choices(run, disk):
        if start_ns <= choice.event.time_ns < end_ns and len(choice.queued) > 1:
            yield choice


def check(run: Run, disk: int, kinds: set[Kind], least: int, start_ns: int, end_ns: int) -> None:
    """Raise Wrong unless the choices for a disk in that time are C-LOOK's.

    Only choices of these kinds among several requests count. There must be at least `least` of
    them.
    """
    seen = 0
    for choice in (
        choice for choice in list_choices(run, disk, start_ns, end_ns) if choice.kind in kinds
    ):
        seen += 1
        if choice.fault or choice.came != choice.right_sector:
            raise choice_error(run, choice)
    wanted = f"at least {least} choices between queued requests of disk {disk}"
    expect(seen >= least, wanted, f"{seen}")


def check_all(run: Run, kinds: set[Kind], least: int, start_ns: int, end_ns: int) -> None:
    """Check the choices for each disk of the machine, as `check` does."""
    for disk in range(len(run.scenario.setting.drives)):
        check(run, disk, kinds, least, start_ns, end_ns)


def returns(run: Run, end_ns: int) -> tuple[int, int]:
    """Return the least and the most returns of the head on all disks until then.

    With a request right at the head, another rule decides whether it returns (Kind.HERE).
    """
    kinds = [
        choice.kind
        for disk in range(len(run.scenario.setting.drives))
        for choice in choices(run, disk)
        if choice.event.time_ns < end_ns
    ]
    least = kinds.count(Kind.BACK)
    return least, least + kinds.count(Kind.HERE)
