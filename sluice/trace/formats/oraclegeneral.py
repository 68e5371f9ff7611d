"""oracleGeneral, of libCacheSim: a record of 24 bytes for each use of an object.

    u32 time in s, u64 object, u32 its size in bytes, i64 when it is used next (left out)

It says neither where an object is nor whether it is written: all requests are reads, and objects
are laid down in the order in which they first appear, each in whole blocks of 4 KiB. Its seconds
are whole, so the requests of one second are spread evenly over it. Uses of size 0 are left out, as
libCacheSim leaves them out by default.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import REQUEST
from sluice.trace.stream import NO_DATA, LeftOut, join_tables, read_records

ABOUT = "oracleGeneral of libCacheSim, binary"
SOURCE = "libCacheSim, traceReader, oracleGeneralBin; J. Yang et al."
RECORD = np.dtype([("time_s", "<u4"), ("object", "<u8"), ("bytes", "<u4"), ("next", "<i8")])
BLOCK = 4096
SECOND_NS = 10**9


def looks_like(name: str, head: bytes) -> bool:
    return "oraclegeneral" in name.lower()


def spread_times(seconds: np.ndarray) -> np.ndarray:
    """Return times in ns; those of one second are spaced evenly in it."""
    _, first, counts = np.unique(seconds, return_index=True, return_counts=True)
    if not len(seconds):
        return seconds
    rank = np.arange(len(seconds)) - np.repeat(first, counts)
    share = rank * SECOND_NS // np.repeat(counts, counts)
    times_ns: np.ndarray = seconds.astype("<u8") * SECOND_NS + share.astype("<u8")
    return times_ns


def object_places(objects: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the place of each object, in bytes. Objects lie in the order of their first uses, each
    as long as its largest use."""
    _, first, which = np.unique(objects, return_index=True, return_inverse=True)
    longest = np.zeros(len(first), "<u8")
    np.maximum.at(longest, which, sizes)
    order = np.argsort(first)
    room = -(-longest[order].astype("<i8") // BLOCK) * BLOCK
    start = np.empty(len(first), "<u8")
    start[order] = np.cumsum(room) - room
    return start[which]


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield all of the file at once, because objects have no places until all sizes are known."""
    pieces = []
    for _, records in read_records(path, stream, RECORD):
        full = records["bytes"] > 0
        left.count_records(full, NO_DATA, ~full)
        found = records[full]
        left.kept += len(found)
        rows = np.zeros(len(found), REQUEST)
        rows["time_ns"], rows["offset"] = found["time_s"], found["object"]
        rows["bytes"] = found["bytes"]
        pieces.append(rows)
    rows = join_tables(pieces)
    rows = rows[np.argsort(rows["time_ns"], kind="stable")]
    rows["offset"] = object_places(rows["offset"], rows["bytes"])
    rows["time_ns"] = spread_times(rows["time_ns"])
    yield rows
