"""MSR Cambridge: a line for each request, with its time in 100 ns since the year 1601.

128166372003061629,usr,0,Read,7014609920,24576,41286
timestamp, host, disk, Read or Write, offset and size in bytes, response time

A file has one disk; several files in one are several, laid one after another as those of SPC are,
in the order in which they first appear.
"""

from functools import partial

from sluice.trace.stream import (
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
EPOCH_S = 11644473600  # from 1601 to 1970: less is left of a time, and it fits 64 bits in ns
WRITES = {"Read": 0, "Write": 1}


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_of_disks(head, HEAD, parse_row)


def parse_row(line: str, disks: Disks) -> Line:
    """Return a line's request, or None for a head. Its disk is named by host and number. Raises
    ValueError."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, 6, 7)
    write = parse_kind(words[3], WRITES)
    ticks = parse_whole(words[0], "the time") - EPOCH_S * 10**7
    offset, size = parse_whole(words[4], "the offset"), parse_whole(words[5], "the size")
    disk = "\n".join(words[1:3])  # a word has no end of a line in it
    return ticks * TICK_NS, disks.place(disk, offset, size), size, write


read = partial(tables_of_disks, row_of=parse_row)
