"""SPC: a line for each request, with its time in seconds from the first on.

    0,20941264,8192,W,0.551706
    application storage unit, first block of 512 bytes, size in bytes, R or W, time in s

White space may surround a field, and more fields may follow. Units are disks of their own: those of
a file are laid one after another, in the order of their numbers, each as long as the requests that
are taken use it, in whole MiB.
"""

from functools import partial

from sluice.trace.common import SECTOR
from sluice.trace.stream import (
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
from sluice.trace.units import disk_place

ABOUT = "SPC: the Storage Performance Council's trace files"
SOURCE = "SPC Trace File Format Specification, 1.0.1, 2002; UMass trace repository"
SEVERAL = True
HEAD = "ASU,LBA,Size,Opcode,Timestamp"  # of some copies of the files
WRITES = {"R": 0, "W": 1}


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_readable_as(head, parse_row) or begins_with_head(head, HEAD)


def parse_row(line: str) -> Line:
    """Return a line's request, or None for a head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, 5)
    write = parse_kind(words[3], WRITES)
    unit, first, size = map(parse_whole, words[:3], ("the unit", "the first block", "the size"))
    return parse_seconds(words[4]), disk_place(unit, first * SECTOR, size), size, write


read = partial(tables_of_lines, row_of=parse_row)
