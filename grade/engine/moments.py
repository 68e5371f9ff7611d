"""Names a moment of a run for a message: its virtual time, and its event's number in the trace.

Events are numbered from 0, in the order of the trace, which lies in the run's folder. `make events`
lists those around one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from sluice.experiment.aligned import aligned
from sluice.host.paths import ROOT
from sluice.system.trace import BadTrace, Event, load

TRACE_FILE = "trace"  # in a run's folder
# A moment in a message, as Moment.__str__ writes it.
MOMENT = re.compile(rf"event (?P<number>\d+) of runs/(?P<run>[\w-]+)/{TRACE_FILE}\b")
SHOWN = 12  # events before and after one, in a listing
# What a policy of each kind was asked about; {} is the block of the trace's event.
ASKED = {
    "sched": "which request is next, with the head at sector {}",
    "place": "where sector {} goes",
    "prefetch": "what to prefetch when a program reads block {} of a file",
    "replace": "which buffer makes room for block {}",
    "write": "what a write does",
}
OF_REQUESTS = {"queued", "issued", "completed", "failed"}  # events; their block is a sector
OF_A_DISK = {"sched", "place", "prefetch"}  # kinds that answer for a disk; others, for the cache


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of policies by number, from the kernel's own table."""
    text = (ROOT / "kernel" / "policy" / "policy.h").read_text(encoding="utf-8")
    return tuple(word.lower() for word in re.findall(r"^    POLICY_(?!KINDS)(\w+),$", text, re.M))


@dataclass(frozen=True)
class Moment:
    """An event of a run, by the name of the run's folder, and its number in the trace."""

    run: str
    number: int
    event: Event

    def __str__(self) -> str:
        time = f"{self.event.time_ns / 1e6:,.3f} ms of virtual time"
        return f"at {time} (event {self.number} of runs/{self.run}/{TRACE_FILE})"

    def what(self) -> str:
        """What happened, in words."""
        event = self.event
        if event.name not in OF_REQUESTS:
            return f"block {event.block} of disk {event.disk}: {event.name}"
        kind = "write" if event.write else "read"
        return f"the {kind} at sector {event.block} of disk {event.disk} was {event.name}"


def is_alike(one: Event, other: Event) -> bool:
    """True if two events are the same step for the same block."""
    return (one.name, one.disk, one.block, one.write) == (
        other.name,
        other.disk,
        other.block,
        other.write,
    )


def counterpart(
    moment: Moment, here: Sequence[Event], run: str, there: Sequence[Event]
) -> Moment | None:
    """The same step in another run: the n-th for this block, if the moment is the n-th here."""
    before = sum(is_alike(event, moment.event) for event in here[: moment.number])
    same = (n for n, event in enumerate(there) if is_alike(event, moment.event))
    number = next(islice(same, before, None), None)
    return None if number is None else Moment(run, number, there[number])


@dataclass(frozen=True)
class Fault(Moment):
    """A wrong answer of a policy. The kernel answered that question itself."""

    @property
    def kind(self) -> str:
        """The kind of the policy."""
        return kinds()[self.event.argument]

    def concerns(self, disk: int) -> bool:
        """True if the answer was for this disk, or for the cache of all disks."""
        return self.kind not in OF_A_DISK or self.event.disk == disk

    def asked(self) -> str:
        """The question, and when it was asked."""
        return f"It was asked {ASKED[self.kind].format(self.event.block)}, {self}"


def cells(number: int, event: Event) -> list[str]:
    """A row of a listing: number, time, event, disk, block, process, argument."""
    name = f"{event.name}-write" if event.write else event.name
    where = (event.disk, event.block, event.pid, event.argument)
    return [str(number), f"{event.time_ns / 1e6:,.3f}", name, *map(str, where)]


def around(file: Path, number: int) -> str:
    """The events of a trace file around this one, in lines. Raises BadTrace."""
    _, events = load(file)
    first = max(0, number - SHOWN)
    if number >= len(events):
        raise BadTrace(f"{file}: it has no event {number}")
    shown = events[first : number + SHOWN + 1]
    rows = [["event", "ms", "what", "disk", "block", "pid", "argument"]]
    rows += [cells(n, event) for n, event in enumerate(shown, first)]
    rows[1 + number - first][0] += " <--"
    return "\n".join(aligned(rows, words=(2,)))
