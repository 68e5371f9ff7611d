"""Our own: requests.csv, as `make export FORMAT=csv` writes it of a run.

A request is where it was queued. Of several disks, those of the last number are taken: an
experiment's data disk. The others are left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.stream import (
    NO_DATA,
    LeftOut,
    Row,
    begins_with_head,
    expect_in,
    fields,
    is_head,
    joined,
    kind,
    of_lines,
    reads_as,
    whole,
)

ABOUT = "a run's requests, as `make export FORMAT=csv` writes them"
SOURCE = "sluice/export/formats/csv.py"
HEAD = "request,disk,sector,sectors,rw,pid,process,queued_ns"
WRITES = {"r": 0, "w": 1}
DISKS = 8
OTHER_DISKS = "requests to other disks of the run"
PLACE = 1 << 56  # of a disk among the bytes of all, while the file is read


def looks_like(name: str, head: bytes) -> bool:
    return begins_with_head(head, HEAD) or reads_as(head, row_of)


def row_of(line: str) -> Row | None:
    """A line's request, its disk at a place of its own. The process may have commas in its name."""
    if is_head(line, HEAD):
        return None
    words = fields(line, 14)
    write = kind(words[4], WRITES)
    disk = whole(words[1].lower().removeprefix("disk"), "the disk")
    offset, size = whole(words[2], "the sector") * SECTOR, whole(words[3], "the sectors") * SECTOR
    expect_in("the disk", disk, 0, DISKS - 1)
    expect_in("the offset", offset, 0, PLACE - 1, " bytes")
    return whole(words[-7], "the time"), disk * PLACE + offset, size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """All of the file at once, because the last disk is known at its end."""
    rows = joined(list(of_lines(path, stream, LeftOut(), row_of, empty=True, names=True)))
    disk = rows["offset"] // PLACE
    last, full = disk == (disk.max() if len(rows) else 0), rows["bytes"] > 0
    taken = last & full
    left.add_records(taken, OTHER_DISKS, ~last)
    left.add_records(taken, NO_DATA, last & ~full)
    rows = rows[taken]
    rows["offset"] %= PLACE
    yield rows
