"""oracleGeneral, of libCacheSim: a record of 24 bytes for each use of an object.

    u32 time in s, u64 object, u32 its size in bytes, i64 when it is used next (left out)

It does not say whether an object is written: all requests are reads. object_traces.py says where
objects are and when in its second each use is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.object_traces import read_uses
from sluice.trace.stream import LeftOut, read_records

ABOUT = "oracleGeneral of libCacheSim, binary"
SOURCE = "libCacheSim, traceReader, oracleGeneralBin; J. Yang et al."
RECORD = np.dtype([("time_s", "<u4"), ("object", "<u8"), ("bytes", "<u4"), ("next", "<i8")])


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return "oraclegeneral" in name.lower()


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from read_uses((records for _, records in read_records(path, stream, RECORD)), left)
