"""Computes what the drives did for each command of a run, from its trace and their models.

The trace says when a command was issued and when the kernel knew that it was done. In between the
drive may have held it back while it served another: a drive serves one command at a time, and the
order is that in which they were done. Its model, run on the host, says when it began and where the
time went (tests/drives/drive_parts_tool.c). Where the model does not agree with the trace, because
it was flushed or its cache divided anew, which are not in the trace, a command's time is one piece.

On a disk with a virtual log (kernel/vlog/vlog.h) the trace has no end of a command: a write is done
when a sector of the map is on the disk, too, and nobody waits for that sector alone, or for a block
that is moved. But the drive has one command at a time, so each ends before the next is issued.
If the drive keeps the log itself (log_in_drive), it issues some commands itself. They take no
controller or bus time. Such a write begins when the previous command has ended.
"""

import subprocess
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from sluice.experiment import trace_disk
from sluice.experiment.check import size_bytes
from sluice.experiment.result import disk_config
from sluice.experiment.schema import Run
from sluice.host.paths import NATIVE
from sluice.system.requests import Request, pair_requests
from sluice.system.trace import Event, filter_named

TOOL = NATIVE / "drive_parts_tool"
SECTOR = 512
REQUESTS = (
    2  # the disk with the requests of a trace (trace_disk.py); 0 is the root, 1 the data disk
)
ROOT_DISK = 0
REMOTE = "remote"  # in the place of a drive's name
DriveSetting = Literal[
    "drive_segments", "drive_bus_kb_s", "drive_ahead_if_sequential", "drive_seed", "drive_ahead"
]
TOLD: tuple[DriveSetting, ...] = (
    *("drive_segments", "drive_bus_kb_s", "drive_ahead_if_sequential", "drive_seed"),
    "drive_ahead",  # comes last, because it depends on the other settings
)
LATE_NS = 2_000_000  # the most by which a busy kernel notes late that a command is done
SOON_NS = 10_000  # a request that is done sooner than this never reached the drive
PARTS = ("command", "busy", "seek", "rotation", "transfer")
Purpose = Literal["read", "write", "map", "moved"]
PURPOSES: tuple[Purpose, ...] = (
    "read",
    "write",
    "map",
    "moved",
)  # map: of a virtual log; moved: to empty places


@dataclass
class Command:
    """A command of a drive. Times are in ns since power-on.

    parts: the drive's time from begin_ns to done_ns, by the names in PARTS. It is empty if the
    model does not agree with the trace; then begin_ns and done_ns come from the trace, as near as
    it tells.
    """

    disk: int
    write: bool
    requests: list[Request]  # in the order of their sectors; none: it is the virtual log's own
    physical: int  # the sector on the platters
    sectors: int
    issued_ns: int
    completed_ns: int  # the first of its requests; on a virtual log, no later than that
    ends: bool = True  # completed_ns is when it ended
    begin_ns: int = 0
    done_ns: int = 0
    free_ns: int = 0  # when the drive begins the next one, or the kernel knows that this is done
    parts: dict[str, int] = field(default_factory=dict)
    kind: str = ""
    cylinders: tuple[int, int] = (0, 0)  # of the arm, before and after
    head: int = 0

    @property
    def purpose(self) -> Purpose:
        """The purpose of the command: one of PURPOSES."""
        if self.requests:
            return "write" if self.write else "read"
        return "map" if self.write and self.sectors == 1 else "moved"


Key = tuple[int, int, bool, int]  # of a command: issued_ns, disk, write, first sector


def key(e: Event) -> Key:
    """Return the key of the command that was issued at the time of an event."""
    return e.time_ns, e.disk, e.write, e.block


def collect_commands(events: Sequence[Event]) -> list[Command]:
    """Return the completed commands, in the order of completion."""
    places = {key(e): e.argument for e in filter_named(events, "placed")}
    groups: dict[int, list[Request]] = defaultdict(list)
    for request in pair_requests(events).done:
        groups[request.command].append(request)
    commands = []
    for group in groups.values():
        group.sort(key=attrgetter("sector"))
        first = group[0]
        place = (first.issued_ns, first.disk, first.write, first.sector)
        commands.append(
            Command(
                disk=first.disk,
                write=first.write,
                requests=group,
                physical=places.get(place, first.sector),
                sectors=sum(r.sectors for r in group),
                issued_ns=first.issued_ns,
                completed_ns=min(r.completed_ns for r in group),
            )
        )
    return sorted(commands, key=lambda c: (c.completed_ns, c.issued_ns))


def log_commands(events: Sequence[Event], disk: int, found: list[Command]) -> list[Command]:
    """Return all commands of a disk with a virtual log, in their order.

    found: the disk's commands that have requests. A read of a block that was never written is left
    out, because it does not reach the drive.
    """
    places = {key(e): e.argument for e in filter_named(events, "placed")}
    requests = {c.issued_ns: c.requests for c in found}
    ended_ns, commands = events[-1].time_ns, []
    for e in filter_named(events, "issued"):
        if e.disk != disk:
            continue
        own = requests.get(e.time_ns, [])
        if own and not e.write and own[0].completed_ns - e.time_ns < SOON_NS:
            continue
        physical = places.get(key(e), e.block)
        row = (disk, e.write, own, physical, e.argument, e.time_ns, ended_ns)
        commands.append(Command(*row, ends=False))
    for c, after in pairwise(commands):
        c.completed_ns = after.issued_ns
    return commands


def is_remote(run: Run, disk: int) -> bool:
    """Return whether a disk of the run's machine is the server's, which the client has mounted."""
    return "server" in run.config and disk != ROOT_DISK


def drive_of_disk(run: Run, disk: int) -> tuple[str, int]:
    """Return the name of a disk's drive, and the disk's size in bytes."""
    if disk == REQUESTS:
        from sluice.trace.packed import packed_bytes

        return trace_disk.DRIVE, packed_bytes(run.config["trace"]["count"])
    table = disk_config(run.config, "data" if disk else "root")
    return table["drive"], size_bytes(table["size"])


def has_log(run: Run, disk: int) -> bool:
    """Return whether the disk is laid out on a virtual log."""
    return disk != REQUESTS and bool(
        disk_config(run.config, "data" if disk else "root")["log_places"]
    )


def drive_name(run: Run, disk: int) -> str:
    """Return the name of a disk's drive; a remote disk's is "none"."""
    return REMOTE if is_remote(run, disk) else drive_of_disk(run, disk)[0]


def drive_tool_arguments(run: Run, disk: int) -> list[str]:
    """Return the arguments that describe a drive to drive_parts_tool."""
    words = [f"{name}={run.config[name]}" for name in TOLD if run.config[name] is not None]
    seed = run.config["drive_seed"] or 0
    words = [word for word in words if not word.startswith("drive_seed=")]
    name, size = drive_of_disk(run, disk)
    return [name, *words, f"drive_seed={seed + disk}", f"sectors={size // SECTOR}"]


def command_latency_ns(run: Run) -> int:
    """Return how long a command takes to a drive, in ns."""
    return (run.config["drive_command_us"] or 0) * 1000


def is_inside(run: Run, c: Command) -> bool:
    """Return whether the command is a step that a drive takes for a log that it keeps itself."""
    return bool(run.config["log_in_drive"]) and c.purpose in ("map", "moved")


def drive_tool_input(run: Run, commands: list[Command], sought: list[Event]) -> Iterator[str]:
    """Yield the input lines of drive_parts_tool.

    The drive took up a command when the command arrived or, if it was held, when the previous one
    was done. The kernel learned of that end a little later.
    """
    way_ns = command_latency_ns(run)
    moves, before_ns = deque(sought), 0
    for c in commands:
        while moves and moves[0].argument <= c.issued_ns:
            e = moves.popleft()
            yield f"{e.argument} 0 S {e.block} 0 0\n"
        inside = is_inside(run, c)
        there_ns = c.issued_ns + (0 if inside else way_ns)
        way = ("rw" if inside else "RW")[c.write]
        times = f"{there_ns} {max(there_ns, before_ns)}"
        yield f"{times} {way} {c.physical} {c.sectors} {c.completed_ns}\n"
        before_ns = c.completed_ns


def set_times(c: Command, row: str, inside: bool) -> None:
    """Store a row of the model's times in the command, if the row agrees with the trace. inside:
    the command is a step for the drive's own log (is_inside), so it may begin before it is
    issued."""
    words = row.split()
    begin_ns, done_ns, *parts = map(int, words[:7])
    is_late = c.ends and c.completed_ns > done_ns + LATE_NS
    if done_ns > c.completed_ns or is_late or (begin_ns < c.issued_ns and not inside):
        return
    c.begin_ns, c.done_ns, c.kind = begin_ns, done_ns, words[7]
    c.issued_ns = min(c.issued_ns, begin_ns)
    c.parts = dict(zip(PARTS, parts, strict=True))
    first_cylinder, last_cylinder, c.head = map(int, words[8:11])
    c.cylinders = (first_cylinder, last_cylinder)


def compute_service_times(
    run: Run, disk: int, commands: list[Command], sought: list[Event]
) -> None:
    """Compute when the drive of a disk began and ended each command, and the parts of that time;
    store them in the commands."""
    done = subprocess.run(
        [TOOL, *drive_tool_arguments(run, disk)],
        input="".join(drive_tool_input(run, commands, sought)),
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    rows = done.stdout.splitlines() if done.returncode == 0 else [""] * len(commands)
    before_ns = 0
    for c, row in zip(commands, rows, strict=True):
        if row:
            set_times(c, row, is_inside(run, c))
        if not c.parts:
            c.begin_ns = max(c.issued_ns, before_ns)
            c.done_ns = c.completed_ns
        before_ns = c.done_ns
    for c, after in zip(commands, [*commands[1:], None], strict=True):
        c.free_ns = c.completed_ns if c.ends else c.done_ns
        if after:
            c.free_ns = max(c.begin_ns, min(c.completed_ns, after.begin_ns))


def commands_by_disk(run: Run, events: Sequence[Event]) -> dict[int, list[Command]]:
    """Return the commands of each disk that has a drive, in the order in which the drive served
    them.

    events: all events of the run, from power-on. If the first are lost, the models are less
    accurate.
    """
    disks: dict[int, list[Command]] = defaultdict(list)
    for command in collect_commands(events):
        if is_remote(run, command.disk):
            continue
        disks[command.disk].append(command)
    for disk, served in disks.items():
        if has_log(run, disk):
            served[:] = log_commands(events, disk, served)
        sought = [e for e in filter_named(events, "sought") if e.disk == disk]
        compute_service_times(run, disk, served, sought)
    return dict(disks)
