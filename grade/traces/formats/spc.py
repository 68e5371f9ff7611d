"""SPC: a line for each request, with its time in seconds from the first on.

    0,20941264,8192,W,0.551706
    application storage unit, first block of 512 bytes, size in bytes, R or W, time in s

White space may surround a field, and more fields may follow. Units are disks of their own: those of
a file are laid one after another, in the order of their numbers, each as long as it is used, in
whole MiB.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.common import SECTOR
from grade.traces.stream import Row, fields, joined, kind, of_lines, seconds

ABOUT = "SPC: the Storage Performance Council's trace files"
SOURCE = "SPC Trace File Format Specification, 1.0.1, 2002; UMass trace repository"
FIELDS = (rb"\d+", rb"\d+", rb"\d+", rb"[rRwW]", rb"\d+(?:\.\d*)?")
LINE = re.compile(rb",".join(rb"[ \t]*%b[ \t]*" % f for f in FIELDS) + rb"(?:,.*)?\r?$", re.M)
WRITES = {"R": 0, "W": 1}
PLACE = 1 << 40  # of a unit among the bytes of all, while the file is read
UNITS = 1 << 22
ROUND = 1 << 20


def looks_like(name: str, head: bytes) -> bool:
    return bool(LINE.match(head))


def row_of(line: str) -> Row:
    """A line's request, its unit at a place of its own."""
    words = fields(line, 5)
    write = kind(words[3].strip().upper(), WRITES)
    unit, at, size = int(words[0]), int(words[1]) * SECTOR, int(words[2])
    if not 0 <= unit < UNITS or not 0 <= at <= PLACE - size:
        raise ValueError("a unit or a block is out of range")
    return seconds(words[4]), unit * PLACE + at, size, write


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
