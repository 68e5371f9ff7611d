"""vscsi: a record of VMware's vscsiStats for each SCSI command, as CloudPhysics' traces have it.

Version 1 has 32 bytes, version 2 has 40; the upper byte of `ver` says which it is. Times are in us,
lengths in bytes, places in blocks of 512 bytes. Commands that neither read nor write are left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.bad import BadTraceFile
from grade.traces.common import REQUEST, SECTOR
from grade.traces.stream import expect_all, of_records

ABOUT = "vscsi, binary"
SOURCE = "libCacheSim, traceReader, vscsi; C. Waldspurger et al., SHARDS, FAST 2015"
REST = [("sn", "<u4"), ("len", "<u4"), ("nSG", "<u4")]
KIND = [("cmd", "<u2"), ("ver", "<u2")]
PLACE = [("lbn", "<u8"), ("ts", "<u8")]
VERSIONS = {1: np.dtype(REST + KIND + PLACE), 2: np.dtype([*KIND, *REST, *PLACE, ("rt", "<u8")])}
# Operation codes (SCSI block commands): 6, 10, 12 and 16 bytes long.
READS, WRITES = (0x08, 0x28, 0xA8, 0x88), (0x0A, 0x2A, 0xAA, 0x8A)
US_NS = 1000
TRIED = 2  # records by which a version is recognised


def version(head: bytes) -> int | None:
    """The version of the records with which a file begins."""
    for number, record in sorted(VERSIONS.items(), reverse=True):
        whole = min(len(head) // record.itemsize, TRIED)
        found = np.frombuffer(head, record, whole)["ver"] >> 8
        if whole and (found == number).all():
            return number
    return None


def looks_like(name: str, head: bytes) -> bool:
    return version(head) is not None and "vscsi" in name


def read(path: Path, stream: BinaryIO) -> Iterator[np.ndarray]:
    head = stream.peek(TRIED * VERSIONS[2].itemsize) if hasattr(stream, "peek") else b""
    number = version(head)
    if number is None:
        raise BadTraceFile(f"{path}: at byte 0: no record of version 1 or 2 of vscsi")
    record = VERSIONS[number]
    for at, found in of_records(path, stream, record):
        expect_all(
            path, found["ver"] >> 8 == number, at, record, "a record of version", found["ver"] >> 8
        )
        writes = np.isin(found["cmd"], WRITES)
        kept = (writes | np.isin(found["cmd"], READS)) & (found["len"] > 0)
        late, far = found["ts"] < (1 << 63) // US_NS, found["lbn"] < (1 << 63) // SECTOR
        expect_all(path, late, at, record, "a time in us that is too large:", found["ts"])
        expect_all(path, far, at, record, "a block that is too far:", found["lbn"])
        rows = np.zeros(int(kept.sum()), REQUEST)
        rows["time_ns"] = found["ts"][kept] * US_NS
        rows["offset"] = found["lbn"][kept] * SECTOR
        rows["bytes"], rows["write"] = found["len"][kept], writes[kept]
        yield rows
