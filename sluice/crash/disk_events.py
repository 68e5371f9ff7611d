"""The events that the twin kept of a workload: writes, flushes and the console, in order
(sluice/twin/watch.h)."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

SECTOR = 512
HEAD = struct.Struct("<4Q")
WRITE, FLUSH, TEXT, FAULTED = range(4)
MARK = re.compile(r"@(\d+)|=(\d+) (-?\d+)|@end")


@dataclass(frozen=True)
class Event:
    """Something that happened: a write of `data` at this byte of the disk, a flush, a command that
    met a fault of the disk, or an operation that began or returned. `mark` is the operation's
    number, and `value` what it returned if that was no error. time_ns: virtual."""

    kind: str  # "write", "flush", "faulted", "began", "returned", "end"
    time_ns: int = 0
    at: int = 0
    data: bytes = field(default=b"", repr=False)
    mark: int = 0
    error: int = 0
    value: int = 0

    def sectors(self) -> int:
        """Return how many sectors a write has."""
        return len(self.data) // SECTOR


class BadRecording(Exception):
    """The error for a machine that did not do the workload; the text says what it did."""


def iterate_records(data: bytes) -> Iterator[tuple[int, int, int, memoryview]]:
    """Yield what a file of events has: kind, place, time in ns, and bytes."""
    view, at, end = memoryview(data), 0, len(data)
    while at < end:
        kind, place, size, time_ns = HEAD.unpack_from(data, at)
        start = at + HEAD.size
        at = start + size
        yield kind, place, time_ns, view[start:at]


def parse_events(data: bytes, disk: bytearray | None = None) -> list[Event]:
    """Return the events of a file. Text that is no mark is left out. With a disk, writes are done
    to the disk and are left out, too."""
    found: list[Event] = []
    line = ""
    for kind, place, time_ns, piece in iterate_records(data):
        if kind == WRITE:
            if disk is not None:
                disk[place : place + len(piece)] = piece
            else:
                found.append(Event("write", time_ns, place, bytes(piece)))
        elif kind == FLUSH:
            found.append(Event("flush", time_ns))
        elif kind == FAULTED:
            found.append(Event("faulted", time_ns))
        else:
            *lines, line = (line + str(piece, errors="replace")).split("\n")
            found += [mark for text in lines if (mark := parse_mark(text, time_ns))]
    return found


def parse_mark(text: str, time_ns: int) -> Event | None:
    """Return the event that a line of the console's marks, or None."""
    match = MARK.fullmatch(text)
    if not match:
        return None
    if match[1]:
        return Event("began", time_ns, mark=int(match[1]))
    if match[2]:
        result = int(match[3])
        error, value = max(-result, 0), max(result, 0)
        return Event("returned", time_ns, mark=int(match[2]), error=error, value=value)
    return Event("end", time_ns)
