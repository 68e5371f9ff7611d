"""Tencent's block traces of 2018: a line for each request, with its time in whole seconds.

    1538323200,12910952,128,0,1063
    time in s since 1970, first sector, sectors, 0 for a read or 1 for a write, volume

The published files have no head; one that names these columns is skipped. The requests of a second
are spread evenly over it. Volumes are disks of their own, laid one after another as the units of
SPC are, in the order in which they first appear.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.seconds import spread_seconds
from sluice.trace.stream import (
    LeftOut,
    Line,
    is_table_head,
    parse_kind,
    parse_whole,
    split_commas,
)
from sluice.trace.units import Disks, is_of_disks, tables_of_disks

ABOUT = "Tencent's block traces, CSV"
SOURCE = "SNIA IOTTA, trace 28064, README; Y. Zhang et al., OSCA, USENIX ATC 2020"
SEVERAL = True
HEAD = "Timestamp,Offset,Size,IOType,VolumeID"
WRITES = {"0": 0, "1": 1}
SECOND_NS = 10**9


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return is_of_disks(head, HEAD, parse_row)


def parse_row(line: str, disks: Disks) -> Line:
    """Return a line's request, or None for the head. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    time, first, sectors, kind, volume = split_commas(line, 5, 5)
    write = parse_kind(kind, WRITES)
    offset = parse_whole(first, "the offset in sectors") * SECTOR
    size = parse_whole(sectors, "the size in sectors") * SECTOR
    parse_whole(volume, "the volume")
    at = disks.place(volume, offset, size)
    return parse_whole(time, "the time") * SECOND_NS, at, size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from spread_seconds(tables_of_disks(path, stream, left, parse_row))
