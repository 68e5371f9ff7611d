"""SPC: a line for each request, with its time in seconds from the first on.

    0,20941264,8192,W,0.551706
    application storage unit, first block of 512 bytes, size in bytes, R or W, time in s

More fields may follow. Units are disks of their own: those of a file are laid one after another, in
the order of their numbers, each as long as it is used, in whole MiB.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.common import SECTOR
from grade.traces.formats.systor17 import seconds
from grade.traces.stream import Row, joined, of_lines

ABOUT = "SPC: the Storage Performance Council's trace files"
SOURCE = "SPC Trace File Format Specification, 1.0.1, 2002; UMass trace repository"
LINE = re.compile(rb"\d+,\d+,\d+,[rRwW],\d+(?:\.\d*)?(?:,[^\n]*)?$", re.M)
WRITES = {"r": 0, "w": 1}
PLACE = 1 << 40  # of a unit among the bytes of all, while the file is read
UNITS = 1 << 22
ROUND = 1 << 20


def looks_like(name: str, head: bytes) -> bool:
    return bool(LINE.match(head))


def row_of(line: str) -> Row | None:
    """A line's request, its unit at a place of its own."""
    if not line:
        return None
    words = line.split(",")
    if len(words) < 5:
        raise ValueError(f"{len(words)} fields, not 5 or more")
    kind = words[3].strip().lower()
    if kind not in WRITES:
        raise ValueError(f"neither R nor W but {words[3]!r}")
    unit, at, size = int(words[0]), int(words[1]) * SECTOR, int(words[2])
    if not 0 <= unit < UNITS or at + size > PLACE:
        raise ValueError("a unit or a block is out of range")
    return seconds(words[4]), unit * PLACE + at, size, WRITES[kind]


def read(path: Path, stream: BinaryIO) -> Iterator[np.ndarray]:
    """All of the file at once, because the units' sizes are known at its end."""
    found = joined(list(of_lines(path, stream, row_of)))
    unit = found["offset"] // PLACE
    at = found["offset"] % PLACE
    start = np.uint64(0)
    for number in np.unique(unit):
        here = unit == number
        end = (at[here] + found["bytes"][here]).max()
        found["offset"][here] = at[here] + start
        start += -(-int(end) // ROUND) * ROUND
    yield found
