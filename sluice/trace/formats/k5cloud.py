"""K5cloud, of Fujitsu: a line for each request to a virtual volume, with its time in seconds.

    12,0.000125,R,8192,4096
    volume, time in s after the first request of all, R or W, offset and length in bytes

A file has one volume; several in one file are disks of their own, laid one after another as the
units of SPC are, in the order in which they first appear.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.stream import (
    LeftOut,
    Line,
    begins_with_head,
    is_readable_as,
    is_table_head,
    parse_kind,
    parse_seconds,
    parse_whole,
    split_commas,
    tables_of_lines,
)
from sluice.trace.units import Disks

ABOUT = "K5cloud, CSV"
SOURCE = "SNIA IOTTA, trace 26930, README: the fields of the IO access log"
SEVERAL = True
HEAD = "ID,Timestamp,Type,Offset,Length"
WRITES = {"R": 0, "W": 1}


def looks_like(name: str, head: bytes) -> bool:
    disks = Disks()
    return begins_with_head(head, HEAD) or is_readable_as(head, lambda row: parse_row(row, disks))


def parse_row(line: str, disks: Disks) -> Line:
    """Return a line's request, or None for the head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    volume, time, kind, *rest = split_commas(line, 5, 5)
    write = parse_kind(kind, WRITES)
    offset, size = map(parse_whole, rest, ("the offset", "the length"))
    parse_whole(volume, "the volume")
    return parse_seconds(time), disks.place(volume, offset, size), size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    disks = Disks()
    yield from tables_of_lines(path, stream, left, lambda row: parse_row(row, disks))
