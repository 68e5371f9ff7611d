"""cacheMon's io-tracer, file-system layer (fs_*.csv): a line for each operation on a file.

    2024-01-15 10:30:45.123456,WRITE,1234,python3,/home/u/a,4096,789012,O_RDWR,8192,1235
    local time, operation, process, command, file, size in bytes, inode, flags, offset in bytes,
    thread; some versions have the latency in ns before the offset

Newer versions begin a file with a head, and the columns are found by their names:

    timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags,...

Only reads and writes are taken, as long as what was moved (bytes_completed) where the file says so.
They are what programs ask for, before any cache. A file, known by its device and inode, or else by
its name, gets space on the disk when it is first used (extents.py). An offset of 0 may be blank.
The oldest versions of io-tracer have no offset: such a line is refused, because nobody knows which
part of the file was used.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.extents import Extents
from sluice.trace.stream import (
    LeftOut,
    Line,
    begins_with_head,
    find_columns,
    is_readable_as,
    is_table_head,
    parse_date,
    parse_whole,
    split_commas,
    tables_of_lines,
)

ABOUT = "cacheMon's io-tracer, file-system layer, CSV"
SOURCE = (
    "github.com/cacheMon/io-tracer, docs/TRACE_FORMAT.md and docs/traces/VFS_EVENTS.md; "
    "io-tracer-linux, src/tracer/schema.py"
)
HEAD = "timestamp,operation,pid,command,filename,size,inode,flags,latency_ns"
COLUMNS = (
    *("timestamp", "operation", "filename", "size", "inode", "offset"),
    *("device", "bytes_completed"),
)
WRITES = {"READ": 0, "WRITE": 1}
OTHERS = "operations on files that neither read nor write"
NO_FILE = "reads and writes of what has neither inode nor name"
OPERATION = re.compile(r"[A-Z_]+", re.A)
NUMBER = re.compile(r"\d*", re.A)  # of which 0 may be blank
FLAGS = re.compile(r"(O_[A-Z]+|NO_FLAGS|0x[\da-f]+)(\|O_[A-Z]+)*", re.A)
FILE, OLD_FIELDS = 4, 9  # the file's name may have commas: what follows is counted from the end


class NoOffsetError(ValueError):
    """The error for a line of a version that does not say where in the file it was."""


def looks_like(name: str, head: bytes) -> bool:
    table = Table()

    def parse_row(line: str) -> Line:
        try:
            return table.parse_row(line)
        except NoOffsetError as error:
            return str(error)  # so that the reader says it

    heads = (HEAD, ",".join(COLUMNS))
    return any(begins_with_head(head, one) for one in heads) or is_readable_as(head, parse_row)


def find_fields(words: Sequence[str]) -> list[str]:
    """Return the fields of a read or write in the order of COLUMNS, found without a head. Raises
    ValueError."""
    latency, offset = FLAGS.fullmatch(words[-4]), words[-2]
    size_at = len(words) - (6 if latency else 5)
    numbers = (words[size_at], words[size_at + 1], offset, words[-1])
    flags = words[size_at + 2]
    if (
        size_at <= FILE
        or not all(NUMBER.fullmatch(number) for number in numbers)
        or (flags and not FLAGS.fullmatch(flags))
    ):
        raise NoOffsetError("no offset: this version of io-tracer does not say where in the file")
    name = ",".join(words[FILE:size_at])
    return [words[0], words[1], name, *words[size_at : size_at + 2], offset, "", ""]


@dataclass
class Table:
    """The columns, if a head names them, and the files' places on the disk."""

    places: list[int] = field(default_factory=list)  # of COLUMNS
    width: int = 0
    files: Extents = field(default_factory=Extents)

    def parse_row(self, line: str) -> Line:
        """Return the requests of a line, why it is left out, or None for a head. Raises
        ValueError."""
        if is_table_head(line, HEAD):
            return None
        if places := find_columns(line, COLUMNS):
            self.places, self.width = places, len(split_commas(line, 1))
            return None
        words = split_commas(line, self.width or OLD_FIELDS)
        time_ns, operation = parse_date(words[0]), words[self.places[1] if self.places else 1]
        operation = operation.upper() if self.places else operation
        if not OPERATION.fullmatch(operation):
            raise ValueError(f"the operation {operation!r}: must be a word of capitals, as READ")
        if operation not in WRITES:
            return OTHERS
        fields = [words[at] for at in self.places] if self.places else find_fields(words)
        _, _, name, size, inode, offset, device, moved = fields
        if not inode and not name:
            return NO_FILE
        file = f"{device},{inode or name}"
        at = parse_whole(offset or "0", "the offset")
        length = parse_whole(moved or size, "the size")
        return self.files.requests(time_ns, file, at, length, WRITES[operation])


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    yield from tables_of_lines(path, stream, left, Table().parse_row, names=True)
