"""lcs, of libCacheSim: a head of 8,192 bytes, then a record for each use of an object.

    version 1 (24 bytes): u32 time in s, u64 object, u32 its size in bytes, i64 next use
    version 2 (28 bytes): the same, with u8 operation and u24 tenant behind the size
    from 3 on: the size has 64 bits, u32 seconds to live stand behind the tenant, and versions 4 to
    8 have 1, 2, 4, 8 and 16 numbers of u32 more at the end

object_traces.py says where objects are and when in its second each use is. In version 1 all uses
are reads. Operations that neither read nor write an object, as DELETE, are left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.errors import BadTraceFile
from sluice.trace.object_traces import read_uses
from sluice.trace.stream import MOST_BYTES, LeftOut, expect_good_records, read_records

ABOUT = "lcs of libCacheSim, binary"
SOURCE = "libCacheSim 0.3.5, traceReader/customizedReader/lcs.h; operations: enum.h"
MAGIC = (0x123456789ABCDEF0).to_bytes(8, "little")  # at both ends of the head
HEAD_BYTES = 8192
NUMBERS = {1: 0, 2: 0, 3: 0, 4: 1, 5: 2, 6: 4, 7: 8, 8: 16}  # more at the end, by the version
NEXT = ("next", "<i8")
READS = (0, 1, 2, 12)  # none told, GET, GETS, READ
WRITES = (3, 4, 5, 6, 7, 8, 13, 14)  # SET to PREPEND, WRITE, UPDATE
OTHERS = "operations that neither read nor write an object"
OPERATION = 0xFF  # the part of the field "kind" that is the operation, not the tenant


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return head.startswith(MAGIC)


def record_type(version: int) -> np.dtype:
    """Return the type of a version's records."""
    use = [("time_s", "<u4"), ("object", "<u8")]
    if version == 1:
        return np.dtype([*use, ("size", "<u4"), NEXT])
    if version == 2:
        return np.dtype([*use, ("size", "<u4"), ("kind", "<u4"), NEXT])
    numbers = ("numbers", "<u4", (NUMBERS[version],))
    return np.dtype([*use, ("size", "<i8"), ("kind", "<u4"), ("ttl", "<u4"), NEXT, numbers])


def read_version(path: Path, head: bytes) -> int:
    """Return the version of the records behind a head. Raises BadTraceFile."""
    if len(head) < HEAD_BYTES or not head.startswith(MAGIC) or not head.endswith(MAGIC):
        raise BadTraceFile(f"{path}: at byte 0: no head of lcs, of {HEAD_BYTES} bytes")
    version = int.from_bytes(head[8:16], "little")
    if version not in NUMBERS:
        raise BadTraceFile(f"{path}: at byte 8: version {version} of lcs: must be 1 to 8")
    return version


def split_uses(
    path: Path, stream: BinaryIO, left: LeftOut, record: np.dtype
) -> Iterator[np.ndarray]:
    """Yield the uses that read or write, as read_uses() takes them. Raises BadTraceFile."""
    wanted = np.dtype([("time_s", "<u4"), ("object", "<u8"), ("bytes", "<u4"), ("write", "?")])
    for at, found in read_records(path, stream, record, HEAD_BYTES):
        fits = (found["size"] >= 0) & (found["size"] <= MOST_BYTES)
        expect_good_records(path, fits, at, record, "a size in bytes out of range:", found["size"])
        has_kinds = "kind" in (record.names or ())
        operations = found["kind"] & OPERATION if has_kinds else np.zeros(len(found), "<u4")
        writes = np.isin(operations, WRITES)
        is_use = writes | np.isin(operations, READS)
        left.count_records(is_use & (found["size"] > 0), OTHERS, ~is_use)
        uses = np.zeros(int(is_use.sum()), wanted)
        uses["time_s"], uses["object"] = found["time_s"][is_use], found["object"][is_use]
        uses["bytes"], uses["write"] = found["size"][is_use], writes[is_use]
        yield uses


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    record = record_type(read_version(path, stream.read(HEAD_BYTES)))
    yield from read_uses(split_uses(path, stream, left, record), left)
