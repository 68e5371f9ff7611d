"""Name a moment of a run in a message: its virtual time, and its event's number in the trace.

Events are numbered from 0, in the order of the trace, which lies in the run's folder. `make events`
lists the events around a moment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.host.paths import ROOT
from sluice.system.trace import BadTrace, Event, load

TRACE_FILE = "trace"  # in a run's folder
# A moment in a message, as Moment.__str__ writes it.
MOMENT = re.compile(rf"event (?P<number>\d+) of runs/(?P<run>[\w-]+)/{TRACE_FILE}\b")
SHOWN = 12  # events that a listing shows before and after one
# The question to a policy of each kind, in words; {} is the block of the trace's event.
ASKED = {
    "sched": "which request is next, with the head at sector {}",
    "place": "where sector {} goes",
    "prefetch": "what to prefetch when a program reads block {} of a file",
    "replace": "which buffer makes room for block {}",
    "write": "what a write does",
    "order": "whether the changed metadata of block {} is written now",
}
OF_REQUESTS = {"queued", "issued", "completed", "failed"}  # events; their block is a sector
# Kinds that answer for a disk; others, for the cache.
OF_A_DISK = {"sched", "place", "prefetch", "order"}


@cache
def policy_kinds() -> tuple[str, ...]:
    """Return the kinds of policies by number, from the kernel's own table."""
    text = (ROOT / "kernel" / "policy" / "policy.h").read_text(encoding="utf-8")
    return tuple(word.lower() for word in re.findall(r"^    POLICY_(?!KINDS)(\w+),$", text, re.M))


@dataclass(frozen=True)
class Moment:
    """An event of a run: the name of the run's folder, and the event's number in the trace."""

    run: str
    number: int
    event: Event

    def __str__(self) -> str:
        time = f"{self.event.time_ns / 1e6:,.3f} ms of virtual time"
        return f"at {time} (event {self.number} of runs/{self.run}/{TRACE_FILE})"

    def describe_event(self) -> str:
        """Return what happened, in words."""
        event = self.event
        if event.name not in OF_REQUESTS:
            return f"block {event.block} of disk {event.disk}: {event.name}"
        kind = "write" if event.write else "read"
        return f"the {kind} at sector {event.block} of disk {event.disk} was {event.name}"


def is_same_step(one: Event, other: Event) -> bool:
    """Return True if two events are the same step for the same block."""
    return (one.name, one.disk, one.block, one.write) == (
        other.name,
        other.disk,
        other.block,
        other.write,
    )


def find_counterpart(
    moment: Moment, here: Sequence[Event], run: str, there: Sequence[Event]
) -> Moment | None:
    """Return the same step in another run, or None if it has none.

    If the moment is the n-th such step for its block here, this is the n-th there.
    """
    before = sum(is_same_step(event, moment.event) for event in here[: moment.number])
    same = (n for n, event in enumerate(there) if is_same_step(event, moment.event))
    number = next(islice(same, before, None), None)
    return None if number is None else Moment(run, number, there[number])


@dataclass(frozen=True)
class Fault(Moment):
    """A wrong answer of a policy. The kernel then answered the question itself."""

    @property
    def kind(self) -> str:
        """The kind of the policy."""
        return policy_kinds()[self.event.argument]

    def concerns(self, disk: int) -> bool:
        """Return True if the answer was for this disk, or for the cache of all disks."""
        return self.kind not in OF_A_DISK or self.event.disk == disk

    def describe_question(self) -> str:
        """Return the question that the policy was asked, and when."""
        return f"It was asked {ASKED[self.kind].format(self.event.block)}, {self}"


def event_row(number: int, event: Event) -> list[str]:
    """Return a row of a listing: number, time, event, disk, block, process, argument."""
    name = f"{event.name}-write" if event.write else event.name
    where = (event.disk, event.block, event.pid, event.argument)
    return [str(number), f"{event.time_ns / 1e6:,.3f}", name, *map(str, where)]


def list_events_around(file: Path, number: int) -> str:
    """Return the events of a trace file around this one, as a table. Raises BadTrace."""
    _, events = load(file)
    first = max(0, number - SHOWN)
    if number >= len(events):
        raise BadTrace(f"{file}: it has no event {number}")
    shown = events[first : number + SHOWN + 1]
    rows = [["event", "ms", "what", "disk", "block", "pid", "argument"]]
    rows += [event_row(n, event) for n, event in enumerate(shown, first)]
    rows[1 + number - first][0] += " <--"
    return "\n".join(format_table(rows, words=(2,)))
