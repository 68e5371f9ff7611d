"""SYSTOR '17: a head, then a line for each request, with its time in seconds.

    Timestamp,Response,IOType,LUN,Offset,Size
    1455592800.005208015,0.000172,R,4,2147483648,4096
    time and response time in s, R or W, logical unit, offset and size in bytes

A response time may be missing. A line whose type is blank is left out: its request had no response,
and its direction is not known. A file has one unit; several files in one are several disks, laid
one after another as those of SPC are.
"""

from functools import partial

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

ABOUT = "SYSTOR '17, CSV"
SOURCE = "C. Lee et al., Understanding Storage Traffic Characteristics, SYSTOR 2017; README"
SEVERAL = True
HEAD = "Timestamp,Response,IOType,LUN,Offset,Size"
NO_TYPE = "requests without a type, which may be reads or writes"
WRITES = {"R": 0, "W": 1}


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return begins_with_head(head, HEAD) or is_readable_as(head, parse_row)


def parse_row(line: str) -> Line:
    """Return a line's request, the reason why it is left out, or None for the head. Raises
    ValueError."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, 6, 6)
    if not words[2]:
        return NO_TYPE
    write = parse_kind(words[2], WRITES)
    unit, at, size = map(parse_whole, words[3:], ("the unit", "the offset", "the size"))
    return parse_seconds(words[0]), disk_place(unit, at, size), size, write


read = partial(tables_of_lines, row_of=parse_row)
