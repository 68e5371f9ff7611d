"""Read from the trace what a drive did whose disk has a virtual log.

The cache asks for blocks by logical sectors. The trace says where each went (`placed`), unless that
is the same sector. A write of data is followed at once by one of the map's sector, which the trace
shows by its dispatch alone; the write of data is completed when both are. The drive has one command
at a time (drive_depth=1), of one block (cluster_kb=0).
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
    """What a command transfers."""

    RAW = auto()  # a sector, past the map
    DATA = auto()  # a block
    MAP = auto()  # a sector of the map
    NOTHING = auto()  # a block that was never written, or that has no place


@dataclass
class Command:
    """A command to the drive.

    number: of its dispatch in the trace. sector: on the platters. block: of the file system, for
    data. head: the sector where the last command ended.
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

    While a command is yielded, it is not known yet whether it did nothing, and when it was done.
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
    """Return the numbers of the events about sectors of the map, which nobody queued."""
    return {c.number for c in commands if c.kind is Kind.MAP}


def log_events(events: Events, disk: int, commands: list[Command]) -> set[int]:
    """Return the numbers of the events about the log itself: its map's sectors, and its tail."""
    requests = events.select_named(*OF_REQUESTS)
    tail = {i for i, e in requests if e.disk == disk and e.block == TAIL_SECTOR}
    return map_events(commands) | tail
