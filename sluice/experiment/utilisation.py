"""Computes what the measured drive did with its time, from the trace and the drive's model.

A result has it (`drive`) if the experiment asks for it: drive_times = 1 in [machine]. The sums are
over the commands that were issued while the workload ran, in ns:

    read, write, map, moved    what the commands were for (service.PURPOSES): each has `commands`,
                               and how long the drive was at each of service.PARTS
    idle                       the drive had no command, between the first and the last of them
    unknown                    commands of which the model does not agree with the trace; their
                               time is in no part
"""

from collections.abc import Sequence
from itertools import pairwise

from sluice.experiment import service
from sluice.experiment.records import DriveTimes
from sluice.experiment.schema import Run
from sluice.experiment.service import PARTS, PURPOSES, Command
from sluice.system.trace import BadTrace, Event

COMMANDS = "commands"
LOCATING = ("busy", "seek", "rotation")  # until the first sector passes under the head
TIMES = {name: (name,) for name in PARTS} | {"locating": LOCATING, "service": PARTS}
ALL = "all"  # purposes together


def idle_ns(commands: list[Command]) -> int:
    """Return the drive's idle time, in ns, between the first command's begin and the last one's
    end."""
    return sum(max(after.begin_ns - c.done_ns, 0) for c, after in pairwise(commands))


def drive_utilisation(
    run: Run, events: Sequence[Event], lost: int, start_ns: int, end_ns: int
) -> DriveTimes:
    """Return the sums of the measured disk's drive. Raises BadTrace if events were lost."""
    if lost:
        raise BadTrace(f"drive_times: {lost} events were overwritten: a larger trace_k keeps them")
    disk = 1 if run.config["data"] else 0
    served_then = [
        c
        for c in service.commands_by_disk(run, events).get(disk, [])
        if start_ns <= c.issued_ns < end_ns
    ]
    rows = {name: dict.fromkeys((COMMANDS, *PARTS), 0) for name in PURPOSES}
    for c in served_then:
        row = rows[c.purpose]
        row[COMMANDS] += 1
        for name, ns in c.parts.items():
            row[name] += ns
    unknown = sum(not c.parts for c in served_then)
    return {
        "read": rows["read"],
        "write": rows["write"],
        "map": rows["map"],
        "moved": rows["moved"],
        "idle": idle_ns(served_then),
        "unknown": unknown,
    }


def utilisation_value(drive: DriveTimes, purpose: str, what: str) -> int:
    """Return a sum by the words of a metric: a time in ns, or a number of commands."""
    if purpose == "idle":
        return drive["idle"]
    if purpose == "unknown":
        return drive["unknown"]
    rows = [drive[name] for name in PURPOSES if purpose in (name, ALL)]
    return sum(row[name] for row in rows for name in TIMES.get(what, (what,)))
