"""K5cloud, of Fujitsu: a line for each request to a virtual volume, with its time in seconds.

    12,0.000125,R,8192,4096
    volume, time in s after the first request of all, R or W, offset and length in bytes

A file has one volume; several in one file are disks of their own, laid one after another as the
units of SPC are, in the order in which they first appear.
"""

from functools import partial

from sluice.trace.stream import (
    Line,
    is_table_head,
    parse_kind,
    parse_seconds,
    parse_whole,
    split_commas,
)
from sluice.trace.units import Disks, is_of_disks, tables_of_disks

ABOUT = "K5cloud, CSV"
SOURCE = "SNIA IOTTA, trace 26930, README: the fields of the IO access log"
SEVERAL = True
HEAD = "ID,Timestamp,Type,Offset,Length"
WRITES = {"R": 0, "W": 1}


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_of_disks(head, HEAD, parse_row)


def parse_row(line: str, disks: Disks) -> Line:
    """Return a line's request, or None for the head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    volume, time, kind, *rest = split_commas(line, 5, 5)
    write = parse_kind(kind, WRITES)
    offset, size = map(parse_whole, rest, ("the offset", "the length"))
    parse_whole(volume, "the volume")
    return parse_seconds(time), disks.place(volume, offset, size), size, write


read = partial(tables_of_disks, row_of=parse_row)
