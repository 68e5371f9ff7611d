"""vscsi: a record of VMware's vscsiStats for each SCSI command, as CloudPhysics' traces have it.

Version 1 has 32 bytes, version 2 has 40; the upper byte of `ver` says which it is. Times are in us,
lengths in bytes, places in blocks of 512 bytes. Commands that move no data to or from the places
that they name are left out: VERIFY, WRITE SAME (its data is one block for all places), UNMAP.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import REQUEST, SECTOR
from sluice.trace.errors import BadTraceFile
from sluice.trace.stream import NO_DATA, LeftOut, expect_good_records, read_records

ABOUT = "vscsi, binary"
SOURCE = "libCacheSim, traceReader, vscsi; C. Waldspurger et al., SHARDS, FAST 2015"
REST = [("sn", "<u4"), ("len", "<u4"), ("nSG", "<u4")]
KIND = [("cmd", "<u2"), ("ver", "<u2")]
PLACE = [("lbn", "<u8"), ("ts", "<u8")]
VERSIONS = {1: np.dtype(REST + KIND + PLACE), 2: np.dtype([*KIND, *REST, *PLACE, ("rt", "<u8")])}
# Operation codes (SCSI block commands, SBC-4), of commands that are 6, 10, 12 and 16 bytes long.
READS = (0x08, 0x28, 0xA8, 0x88)
WRITES = (
    *(0x0A, 0x2A, 0xAA, 0x8A),  # WRITE
    *(0x2E, 0xAE, 0x8E),  # WRITE AND VERIFY
    *(0x89, 0x8B, 0x9A, 0x9C),  # COMPARE AND WRITE, ORWRITE, WRITE STREAM, WRITE ATOMIC
)
US_NS = 1000
OTHERS = "other commands ({:#04x})"
TRIED = 2  # records by which a version is recognised


def record_version(head: bytes) -> int | None:
    """Return the version of the records with which a file begins, or None."""
    for number, record in sorted(VERSIONS.items(), reverse=True):
        whole = min(len(head) // record.itemsize, TRIED)
        found = np.frombuffer(head, record, whole)["ver"] >> 8
        if whole and (found == number).all():
            return number
    return None


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return record_version(head) is not None


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    begin = stream.read(TRIED * VERSIONS[2].itemsize)
    number = record_version(begin)
    if number is None:
        raise BadTraceFile(f"{path}: at byte 0: no record of version 1 or 2 of vscsi")
    record = VERSIONS[number]
    for at, found in read_records(path, stream, record, begin=begin):
        version, time_us, block = found["ver"] >> 8, found["ts"], found["lbn"]
        what = "a record of version"
        expect_good_records(path, version == number, at, record, what, version)
        what = "a time in us that is too large:"
        expect_good_records(path, time_us < (1 << 63) // US_NS, at, record, what, time_us)
        what = "a block that is too far:"
        expect_good_records(path, block < (1 << 63) // SECTOR, at, record, what, block)

        writes = np.isin(found["cmd"], WRITES)
        moves_data = writes | np.isin(found["cmd"], READS)
        has_data = found["len"] > 0
        kept = moves_data & has_data
        left.count_records(kept, NO_DATA, moves_data & ~has_data)
        for code in np.unique(found["cmd"][~moves_data]).tolist():
            left.count_records(kept, OTHERS.format(code), found["cmd"] == code)

        rows = np.zeros(int(kept.sum()), REQUEST)
        left.kept += len(rows)
        rows["time_ns"] = found["ts"][kept] * US_NS
        rows["offset"] = found["lbn"][kept] * SECTOR
        rows["bytes"], rows["write"] = found["len"][kept], writes[kept]
        yield rows
