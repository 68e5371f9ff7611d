"""Our own: requests.csv, as `make export FORMAT=csv` writes it of a run.

A request is where it was queued. Of several disks, those of the last number are taken: an
experiment's data disk.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.common import SECTOR
from grade.traces.stream import Row, fields, joined, kind, of_lines

ABOUT = "a run's requests, as `make export FORMAT=csv` writes them"
SOURCE = "grade/export/formats/csv.py"
HEAD = "request,disk,sector,sectors,rw,pid,process,queued_ns"
WRITES = {"r": 0, "w": 1}
PLACE = 1 << 56  # of a disk among the bytes of all, while the file is read


def looks_like(name: str, head: bytes) -> bool:
    return head.startswith(HEAD.encode())


def row_of(line: str) -> Row | None:
    """A line's request, its disk at a place of its own. The process may have commas in its name."""
    if line.startswith(HEAD):
        return None
    words = fields(line, 14)
    write = kind(words[4], WRITES)
    disk = int(words[1].removeprefix("disk"))
    at = int(words[2]) * SECTOR
    if not 0 <= disk < 8 or not 0 <= at < PLACE:
        raise ValueError("a disk or a sector is out of range")
    return int(words[-7]), disk * PLACE + at, int(words[3]) * SECTOR, write


def read(path: Path, stream: BinaryIO) -> Iterator[np.ndarray]:
    """All of the file at once, because the last disk is known at its end."""
    rows = joined(list(of_lines(path, stream, row_of)))
    disk = rows["offset"] // PLACE
    rows = rows[disk == (disk.max() if len(rows) else 0)]
    rows["offset"] %= PLACE
    yield rows
