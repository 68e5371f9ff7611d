"""Our own: the file of requests that ioplay replays (packed.py)."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import REQUEST
from sluice.trace.errors import BadTraceFile
from sluice.trace.packed import FORM, HEAD, MAGIC
from sluice.trace.stream import NO_DATA, LeftOut, expect_good_records

ABOUT = "Sluice's requests, binary"
SOURCE = "sluice/trace/packed.py"
PIECE = 65536  # requests


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return head.startswith(MAGIC)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size or HEAD.unpack(head)[:2] != (MAGIC, FORM):
        raise BadTraceFile(f"{path}: at byte 0: no file of requests of form {FORM}")
    missing, at = HEAD.unpack(head)[2], HEAD.size
    while missing:
        data = stream.read(min(missing, PIECE) * REQUEST.itemsize)
        whole = len(data) // REQUEST.itemsize
        if len(data) % REQUEST.itemsize or not whole:
            raise BadTraceFile(
                f"{path}: at byte {at}: the file ends, and {missing} requests are missing"
            )
        rows = np.frombuffer(data, REQUEST)
        expect_good_records(
            path, rows["write"] < 2, at, REQUEST, "neither read nor write:", rows["write"]
        )
        full = rows["bytes"] > 0
        left.count_records(full, NO_DATA, ~full)
        left.kept += int(full.sum())
        yield rows[full]
        at, missing = at + len(data), missing - whole
