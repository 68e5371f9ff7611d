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
    fields,
    is_head,
    kind,
    of_lines,
    reads_as,
    seconds,
    whole,
)
from sluice.trace.units import place

ABOUT = "SYSTOR '17, CSV"
SOURCE = "C. Lee et al., Understanding Storage Traffic Characteristics, SYSTOR 2017; README"
SEVERAL = True
HEAD = "Timestamp,Response,IOType,LUN,Offset,Size"
NO_TYPE = "requests without a type, which may be reads or writes"
WRITES = {"R": 0, "W": 1}


def looks_like(name: str, head: bytes) -> bool:
    return begins_with_head(head, HEAD) or reads_as(head, row_of)


def row_of(line: str) -> Line:
    """A line's request; the head has none, nor has a line without a type."""
    if is_head(line, HEAD):
        return None
    words = fields(line, 6, 6)
    if not words[2]:
        return NO_TYPE
    write = kind(words[2], WRITES)
    unit, at, size = map(whole, words[3:], ("the unit", "the offset", "the size"))
    return seconds(words[0]), place(unit, at, size), size, write


read = partial(of_lines, row_of=row_of)
