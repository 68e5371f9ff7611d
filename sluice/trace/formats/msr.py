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

from sluice.trace.stream import LeftOut, Row, fields, kind, of_lines, reads_as, whole
from sluice.trace.units import place

ABOUT = "MSR Cambridge, CSV"
SOURCE = (
    "D. Narayanan, A. Donnelly and A. Rowstron, Write Off-Loading, FAST 2008; README of the traces"
)
SEVERAL = True
TICK_NS = 100
EPOCH_S = 11644473600  # from 1601 to 1970: less is left of a time, and it fits 64 bits in ns
WRITES = {"Read": 0, "Write": 1}


def looks_like(name: str, head: bytes) -> bool:
    return reads_as(head, lambda line: row_of(line, {}))


def row_of(line: str, disks: dict[tuple, int]) -> Row:
    """A line's request. disks: the numbers of those that have appeared, by host and disk."""
    words = fields(line, 6, 7)
    write = kind(words[3], WRITES)
    ticks = whole(words[0], "the time") - EPOCH_S * 10**7
    disk = disks.setdefault((words[1], words[2]), len(disks))
    offset, size = whole(words[4], "the offset"), whole(words[5], "the size")
    return ticks * TICK_NS, place(disk, offset, size), size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    disks: dict[tuple, int] = {}
    yield from of_lines(path, stream, left, lambda line: row_of(line, disks))
