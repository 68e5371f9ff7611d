"""Places several disks of one trace in one range of bytes.

While the trace is read, disk n begins at byte n * PLACE (disk_place()). Then the requests are moved
so that one disk follows another, in the order of their numbers (place_side_by_side()).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.stream import (
    MOST_BYTES,
    LeftOut,
    Line,
    begins_with_head,
    expect_range,
    is_readable_as,
    tables_of_lines,
)

PLACE = 1 << 48  # the distance of two disks, in bytes
UNITS = 1 << 14  # the number of disks that have room below 2^62
ROUND = 1 << 20  # bytes: each disk begins at a multiple


def disk_place(unit: int, offset: int, size: int) -> int:
    """Return the place of a request among the bytes of all disks.

    A request of size 0 has the place 0, because it is left out, and its offset may be anything (-1
    in a flush). Raises ValueError if there is no such place.
    """
    if not size:
        return 0
    expect_range("the unit", unit, 0, UNITS - 1)
    expect_range("the size", size, 0, MOST_BYTES, " bytes")
    expect_range("the offset", offset, 0, PLACE - size, " bytes")
    return unit * PLACE + offset


@dataclass
class Disks:
    """The disks that have appeared in a trace, numbered in the order of their first requests."""

    numbers: dict[str, int] = field(default_factory=dict)

    def place(self, name: str, offset: int, size: int) -> int:
        """Return the place of a request to the disk of this name, as disk_place() does."""
        return disk_place(self.numbers.setdefault(name, len(self.numbers)), offset, size)


RowOfDisks = Callable[[str, Disks], Line]  # a format's line, with the disks that have appeared


def is_of_disks(head: bytes, columns: str, row_of: RowOfDisks) -> bool:
    """Return whether a file that begins with these bytes has a head of these columns, or lines that
    `row_of` reads."""
    disks = Disks()
    return begins_with_head(head, columns) or is_readable_as(head, lambda row: row_of(row, disks))


def tables_of_disks(
    path: Path, stream: BinaryIO, left: LeftOut, row_of: RowOfDisks
) -> Iterator[np.ndarray]:
    """Return an iterator over the tables of a text, as tables_of_lines() does."""
    disks = Disks()
    return tables_of_lines(path, stream, left, lambda row: row_of(row, disks))


def place_side_by_side(requests: np.ndarray) -> np.ndarray:
    """Return the requests on one disk, in which the disks lie one after another. Each disk is as
    long as its furthest request reaches."""
    found = requests.copy()
    unit, offset = np.divmod(requests["offset"], np.uint64(PLACE))
    start = 0
    for number in np.unique(unit):
        here = unit == number
        found["offset"][here] = offset[here] + np.uint64(start)
        length = int((offset[here] + requests["bytes"][here]).max())
        start += -(-length // ROUND) * ROUND  # rounded up
    return found
