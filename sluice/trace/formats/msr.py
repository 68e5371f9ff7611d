"""MSR Cambridge: a line for each request, with its time in 100 ns since the year 1601.

128166372003061629,usr,0,Read,7014609920,24576,41286
timestamp, host, disk, Read or Write, offset and size in bytes, response time

In some copies the times count from the first request on. A file has one disk; several files in one
are several, laid one after another as those of SPC are, in the order in which they first appear.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.stream import (
    LeftOut,
    Line,
    is_table_head,
    parse_kind,
    parse_whole,
    split_commas,
)
from sluice.trace.units import Disks, is_of_disks, tables_of_disks

ABOUT = "MSR Cambridge, CSV"
SOURCE = (
    "D. Narayanan, A. Donnelly and A. Rowstron, Write Off-Loading, FAST 2008; README of the traces"
)
SEVERAL = True
HEAD = "Timestamp,Hostname,DiskNumber,Type,Offset,Size"  # of some copies of the files
TICK_NS = 100
# From 1601 to 1970. A time since 1970 fits 63 bits in ns; one since 1601 does not.
EPOCH_TICKS = 11_644_473_600 * 10**7
WRITES = {"Read": 0, "Write": 1}


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_of_disks(head, HEAD, Lines().parse_row)


@dataclass
class Lines:
    """The lines of a file, and the moment from which its times are taken, in ticks; None before the
    first request."""

    begin: int | None = None

    def parse_row(self, line: str, disks: Disks) -> Line:
        """Return a line's request, or None for a head. Its disk is named by host and number. Raises
        ValueError."""
        if is_table_head(line, HEAD):
            return None
        words = split_commas(line, 6, 7)
        write = parse_kind(words[3], WRITES)
        ticks = parse_whole(words[0], "the time")
        offset, size = parse_whole(words[4], "the offset"), parse_whole(words[5], "the size")
        disk = "\n".join(words[1:3])  # a word has no end of a line in it
        place = disks.place(disk, offset, size)
        if self.begin is None:
            self.begin = EPOCH_TICKS if ticks >= EPOCH_TICKS else 0
        return (ticks - self.begin) * TICK_NS, place, size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_disks(path, stream, left, Lines().parse_row)
