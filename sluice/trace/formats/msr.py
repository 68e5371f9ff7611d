"""MSR Cambridge: a line for each request, with its time in 100 ns since the year 1601.

128166372003061629,usr,0,Read,7014609920,24576,41286
timestamp, host, disk, Read or Write, offset and size in bytes, response time

A file has one disk; several files in one are several, laid one after another as those of SPC are,
in the order in which they first appear.
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
    parse_whole,
    split_commas,
    tables_of_lines,
)
from sluice.trace.units import disk_place

ABOUT = "MSR Cambridge, CSV"
SOURCE = (
    "D. Narayanan, A. Donnelly and A. Rowstron, Write Off-Loading, FAST 2008; README of the traces"
)
SEVERAL = True
HEAD = "Timestamp,Hostname,DiskNumber,Type,Offset,Size"  # of some copies of the files
TICK_NS = 100
EPOCH_S = 11644473600  # from 1601 to 1970: less is left of a time, and it fits 64 bits in ns
WRITES = {"Read": 0, "Write": 1}


def looks_like(name: str, head: bytes) -> bool:
    readable = is_readable_as(head, lambda line: parse_row(line, {}))
    return readable or begins_with_head(head, HEAD)


def parse_row(line: str, disks: dict[tuple[str, str], int]) -> Line:
    """Return a line's request, or None for a head. disks: the numbers of the disks that have
    appeared, by host and disk. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, 6, 7)
    write = parse_kind(words[3], WRITES)
    ticks = parse_whole(words[0], "the time") - EPOCH_S * 10**7
    disk = disks.setdefault((words[1], words[2]), len(disks))
    offset, size = parse_whole(words[4], "the offset"), parse_whole(words[5], "the size")
    return ticks * TICK_NS, disk_place(disk, offset, size), size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    disks: dict[tuple[str, str], int] = {}
    yield from tables_of_lines(path, stream, left, lambda line: parse_row(line, disks))
