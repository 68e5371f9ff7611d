"""Alibaba's block traces of 2020: a line for each request, with its time in us.

    419,W,8792731648,16384,1577808144360767
    device, R or W, offset and length in bytes, time in us since 1970

The published file has no head; one that names these columns is skipped. Devices are disks of their
own, laid one after another as the units of SPC are, in the order in which they first appear. (The
whole file has 1,000 of them: take the lines of one with grep '^419,'.)
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

ABOUT = "Alibaba's block traces, CSV"
SOURCE = "github.com/alibaba/block-traces, README; J. Li et al., IISWC 2020"
SEVERAL = True
HEAD = "device_id,opcode,offset,length,timestamp"
WRITES = {"R": 0, "W": 1}
US_NS = 1000


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_of_disks(head, HEAD, parse_row)


def parse_row(line: str, disks: Disks) -> Line:
    """Return a line's request, or None for the head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    device, op, *rest = split_commas(line, 5, 5)
    write = parse_kind(op, WRITES)
    offset, size, time = map(parse_whole, rest, ("the offset", "the length", "the time"))
    parse_whole(device, "the device")
    return time * US_NS, disks.place(device, offset, size), size, write


read = partial(tables_of_disks, row_of=parse_row)
