"""Alibaba's block traces of 2020: a line for each request, with its time in us.

    419,W,8792731648,16384,1577808144360767
    device, R or W, offset and length in bytes, time in us since 1970

The published file has no head; one that names these columns is skipped. Devices are disks of their
own, laid one after another as the units of SPC are, in the order in which they first appear. (The
whole file has 1,000 of them: take the lines of one with grep '^419,'.)
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
from sluice.trace.units import Disks

ABOUT = "Alibaba's block traces, CSV"
SOURCE = "github.com/alibaba/block-traces, README; J. Li et al., IISWC 2020"
SEVERAL = True
HEAD = "device_id,opcode,offset,length,timestamp"
WRITES = {"R": 0, "W": 1}
US_NS = 1000


def looks_like(name: str, head: bytes) -> bool:
    disks = Disks()
    return begins_with_head(head, HEAD) or is_readable_as(head, lambda row: parse_row(row, disks))


def parse_row(line: str, disks: Disks) -> Line:
    """Return a line's request, or None for the head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    device, op, *rest = split_commas(line, 5, 5)
    write = parse_kind(op, WRITES)
    offset, size, time = map(parse_whole, rest, ("the offset", "the length", "the time"))
    parse_whole(device, "the device")
    return time * US_NS, disks.place(device, offset, size), size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    disks = Disks()
    yield from tables_of_lines(path, stream, left, lambda row: parse_row(row, disks))
