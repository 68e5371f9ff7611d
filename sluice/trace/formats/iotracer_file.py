"""cacheMon's io-tracer, file-system layer (fs_*.csv): a line for each operation on a file.

    2024-01-15 10:30:45.123456,WRITE,1234,python3,/home/u/a,4096,789012,O_RDWR|O_CREAT,0,8192,1235
    local time, operation, process, command, file, size in bytes, inode, flags, latency in ns,
    offset in bytes, thread

Only READ and WRITE are taken. They are what programs ask for, before any cache. A file, known by
its inode, gets space on the disk when it is first used (extents.py). Older versions of io-tracer
have no offset: such a line is refused, because nobody knows which part of the file was used.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.extents import Extents
from sluice.trace.stream import (
    LeftOut,
    Line,
    begins_with_head,
    is_readable_as,
    is_table_head,
    parse_date,
    parse_whole,
    split_commas,
    tables_of_lines,
)

ABOUT = "cacheMon's io-tracer, file-system layer, CSV"
SOURCE = "github.com/cacheMon/io-tracer, docs/TRACE_FORMAT.md, section 1"
HEAD = "timestamp,operation,pid,command,filename,size,inode,flags,latency_ns"
WRITES = {"READ": 0, "WRITE": 1}
OTHERS = "operations on files that neither read nor write"
OPERATION = re.compile(r"[A-Z_]+", re.A)
FLAGS = re.compile(r"(O_[A-Z]+|NO_FLAGS|0x[\da-f]+)(\|O_[A-Z]+)*", re.A)
FIELDS, OLD_FIELDS = 11, 9


def looks_like(name: str, head: bytes) -> bool:
    files = Extents()
    return begins_with_head(head, HEAD) or is_readable_as(head, lambda row: parse_row(row, files))


def parse_row(line: str, files: Extents) -> Line:
    """Return the requests of a line, why it is left out, or None for the head. The file's name may
    have commas, so that what follows it is counted from the end. Raises ValueError."""
    if is_table_head(line, HEAD):
        return None
    words = split_commas(line, OLD_FIELDS)
    time_ns, operation = parse_date(words[0]), words[1]
    if not OPERATION.fullmatch(operation):
        raise ValueError(f"the operation {operation!r}: must be a word of capitals, as READ")
    if operation not in WRITES:
        return OTHERS
    if len(words) < FIELDS or not FLAGS.fullmatch(words[-4]):
        raise ValueError("no offset: this version of io-tracer does not say where in the file")
    size, inode, _, _, offset, _ = words[-6:]
    at, length = parse_whole(offset, "the offset"), parse_whole(size, "the size")
    return files.requests(time_ns, inode, at, length, WRITES[operation])


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    files = Extents()
    yield from tables_of_lines(path, stream, left, lambda row: parse_row(row, files), names=True)
