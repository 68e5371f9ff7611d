"""What C-LOOK would have chosen, at each dispatch that the trace shows.

Each choice is judged on its own, by the requests that were queued and by where the last command
left the head. So one wrong choice makes no later one wrong. A group of tests judges the kinds of
choices that it is about, and a mistake costs points only there.
"""

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
    """What a choice is about."""

    AHEAD = auto()  # some requests lie ahead of the head
    BACK = auto()  # all lie behind it: the head returns
    HERE = auto()  # one begins where the head stands, or in the blocks that it has just passed


@dataclass(frozen=True)
class Choice:
    """One dispatch. Sectors are of requests' beginnings; `queued` rise and have `came` in them."""

    number: int  # of its event in the trace
    event: Event
    passed: int  # where the last command began
    head: int  # where it ended
    queued: list[int]
    fault: Fault | None  # of the policy, so that the kernel chose

    @property
    def came(self) -> int:
        return self.event.block

    @property
    def wanted(self) -> int:
        """The lowest sector from the head on; if there is none, the lowest of all."""
        ahead = bisect_left(self.queued, self.head)
        return self.queued[ahead if ahead < len(self.queued) else 0]

    @property
    def kind(self) -> Kind:
        near = bisect_left(self.queued, self.passed)
        if near < len(self.queued) and self.queued[near] <= self.head:
            return Kind.HERE
        return Kind.AHEAD if self.queued[-1] > self.head else Kind.BACK

    @property
    def goes_back(self) -> bool:
        """True if it serves again what the head has just passed, though some requests lie ahead.

        Others lie further behind, so the choice is not that of who serves the lowest.
        """
        again = self.passed <= self.came < self.head
        return again and self.wanted >= self.head and self.queued[0] < self.passed


def choices(run: Run, disk: int) -> Iterator[Choice]:
    """All choices for a disk, in order, also those of a single request. `queued` changes later."""
    faults = {fault.number: fault for fault in run.faults_of(disk)}
    queued: list[int] = []
    fault = None
    passed = head = 0
    for number, event in run.events.named("queued", "issued", "fault"):
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


def some(queued: list[int]) -> str:
    """A list of sectors, for a message."""
    rest = len(queued) - SHOWN
    return f"{', '.join(map(str, queued[:SHOWN]))}{f' and {rest} more' if rest > 0 else ''}"


def wrong(run: Run, choice: Choice) -> Wrong:
    """The message about a choice that is not C-LOOK's."""
    if choice.fault:
        return run.blame(choice.fault)
    return Wrong(
        f"sector {choice.wanted} next on disk {choice.event.disk}, with the head at sector "
        f"{choice.head} and requests queued for sectors {some(choice.queued)}",
        f"sector {choice.came}",
        Moment(run.folder.name, choice.number, choice.event),
    )


def made(run: Run, disk: int, start_ns: int = 0, end_ns: int = FOR_EVER) -> Iterator[Choice]:
    """The choices for a disk in that time, among several requests."""
    for choice in choices(run, disk):
        if start_ns <= choice.event.time_ns < end_ns and len(choice.queued) > 1:
            yield choice


def check(run: Run, disk: int, kinds: set[Kind], least: int, start_ns: int, end_ns: int) -> None:
    """Expect C-LOOK's choices for a disk in that time, of these kinds, among several requests.

    At least `least` such choices must be made.
    """
    seen = 0
    for choice in (choice for choice in made(run, disk, start_ns, end_ns) if choice.kind in kinds):
        seen += 1
        if choice.fault or choice.came != choice.wanted:
            raise wrong(run, choice)
    wanted = f"at least {least} choices between queued requests of disk {disk}"
    expect(seen >= least, wanted, f"{seen}")


def check_all(run: Run, kinds: set[Kind], least: int, start_ns: int, end_ns: int) -> None:
    """The same for each disk of the machine."""
    for disk in range(len(run.scenario.setting.drives)):
        check(run, disk, kinds, least, start_ns, end_ns)


def returns(run: Run, end_ns: int) -> tuple[int, int]:
    """The least and the most returns of the head on all disks until then.

    With a request right at the head, whether it returns hangs on another rule (Kind.HERE).
    """
    kinds = [
        choice.kind
        for disk in range(len(run.scenario.setting.drives))
        for choice in choices(run, disk)
        if choice.event.time_ns < end_ns
    ]
    least = kinds.count(Kind.BACK)
    return least, least + kinds.count(Kind.HERE)
