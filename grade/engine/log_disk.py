"""Read the commands of a drive with a virtual log from the trace.

The cache asks for blocks by logical sectors. The trace says to which sector each block went
(`placed`), unless it is the same sector. After each write of data the drive at once writes a sector
of the map. The trace shows only the dispatch of this second write. The write of data is completed
when both writes are done. The drive has one command at a time (drive_depth=1), of one block
(cluster_kb=0).
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from sluice.system.trace import Events

SECTORS = 8  # sectors of a block
TAIL_SECTOR = 1
OF_REQUESTS = "queued", "placed", "issued", "completed"  # events; their block is a sector
NOTHING_NS = 150_000  # more than to fill a block with zeros, less than any drive's overhead


class Kind(Enum):
    """The kinds of a command's transfer."""

    RAW = auto()  # a sector that the map does not translate
    DATA = auto()  # a block
    MAP = auto()  # a sector of the map
    NOTHING = auto()  # a block that was never written, or that has no place


@dataclass
class Command:
    """A command to the drive.

    number: the number of its dispatch event in the trace. sector: on the platters. block: of the
    file system, for data. head: the sector where the command before it ended.
    """

    number: int
    kind: Kind
    sector: int
    sectors: int
    write: bool
    issued_ns: int
    block: int = 0
    head: int = 0
    done_ns: int = 0


def parse_commands(events: Events, disk: int) -> Iterator[Command]:
    """Yield the commands of one disk, in order.

    Until the next command is yielded, a command's `done_ns` is 0, and its kind may still become
    NOTHING.
    """
    queued: dict[tuple[int, bool, int], int] = defaultdict(int)  # number of queued requests
    placed: dict[tuple[int, bool], int] = {}
    open_: dict[tuple[int, bool], deque[Command]] = defaultdict(deque)
    last = None
    for number, event in events.select_named(*OF_REQUESTS):
        if event.disk != disk:
            continue
        key = (event.block, event.write)
        if event.name == "queued":
            queued[*key, event.argument] += 1
        elif event.name == "placed":
            placed[key] = event.argument
        else:
            if last and not last.done_ns and last.write and last.kind in (Kind.DATA, Kind.MAP):
                last.done_ns = event.time_ns
            if event.name == "completed":
                if open_[key]:
                    command = open_[key].popleft()
                    took_ns = event.time_ns - command.issued_ns
                    if command.kind is Kind.DATA and took_ns < NOTHING_NS:
                        command.kind = Kind.NOTHING
                    command.done_ns = command.done_ns or event.time_ns
                continue
            kind = Kind.RAW if event.argument < SECTORS else Kind.DATA
            if queued[*key, event.argument]:
                queued[*key, event.argument] -= 1
            else:
                kind = Kind.MAP
            sector = placed.pop(key, event.block)
            block = event.block // SECTORS
            last = Command(number, kind, sector, event.argument, event.write, event.time_ns, block)
            if kind is not Kind.MAP:
                open_[key].append(last)
            yield last


def list_commands(events: Events, disk: int) -> list[Command]:
    """Return the commands of one disk, in order."""
    found, head = list(parse_commands(events, disk)), 0
    for command in found:
        command.head = head
        if command.kind is not Kind.NOTHING:
            head = command.sector + command.sectors
    return found


def map_events(commands: list[Command]) -> set[int]:
    """Return the numbers of the events about sectors of the map; these writes were never queued."""
    return {c.number for c in commands if c.kind is Kind.MAP}


def log_events(events: Events, disk: int, commands: list[Command]) -> set[int]:
    """Return the numbers of the events about the log itself: its map's sectors, and its tail."""
    requests = events.select_named(*OF_REQUESTS)
    tail = {i for i, e in requests if e.disk == disk and e.block == TAIL_SECTOR}
    return map_events(commands) | tail
