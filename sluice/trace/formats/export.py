"""Our own: requests.csv, as `sluice export --format csv` writes it of a run.

A request is where it was queued. If there are several disks, only the requests of the last
one are taken: an experiment's data disk.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.spool import open_spool
from sluice.trace.stream import (
    NO_DATA,
    LeftOut,
    Row,
    begins_with_head,
    expect_range,
    is_readable_as,
    is_table_head,
    parse_kind,
    parse_whole,
    split_commas,
    tables_of_lines,
)

ABOUT = "a run's requests, as `sluice export --format csv` writes them"
SOURCE = "sluice/export/formats/csv.py"
HEAD = "request,disk,sector,sectors,rw,pid,process,queued_ns"
WRITES = {"r": 0, "w": 1}
DISKS = 8
OTHER_DISKS = "requests to other disks of the run"
PLACE = 1 << 56  # of a disk among the bytes of all, while the file is read


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return begins_with_head(head, HEAD) or is_readable_as(head, parse_row)


def parse_row(line: str) -> Row | None:
    """Return a line's request; its place is that of its disk among all disks. The process may have
    commas in its name."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, 14)
    write = parse_kind(words[4], WRITES)
    disk = parse_whole(words[1].lower().removeprefix("disk"), "the disk")
    offset, size = (
        parse_whole(words[2], "the sector") * SECTOR,
        parse_whole(words[3], "the sectors") * SECTOR,
    )
    expect_range("the disk", disk, 0, DISKS - 1)
    expect_range("the offset", offset, 0, PLACE - 1, " bytes")
    return parse_whole(words[-7], "the time"), disk * PLACE + offset, size, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield the requests when the file has been read, because the last disk is known then."""
    last = 0
    lines = tables_of_lines(path, stream, LeftOut(bad=left.bad), parse_row, empty=True, names=True)
    with open_spool() as spool:
        for rows in lines:
            last = max(last, int((rows["offset"] // PLACE).max()))
            spool.add(rows)
        for rows in spool.read_tables():
            here, full = rows["offset"] // PLACE == last, rows["bytes"] > 0
            taken = here & full
            left.count_records(taken, OTHER_DISKS, ~here)
            left.count_records(taken, NO_DATA, here & ~full)
            rows = rows[taken]
            rows["offset"] %= PLACE
            left.kept += len(rows)
            yield rows
