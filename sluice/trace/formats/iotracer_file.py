"""cacheMon's io-tracer, file-system layer (fs_*.csv): a line for each operation on a file.

    2024-01-15 10:30:45.123456,WRITE,1234,python3,/home/u/a,4096,789012,O_RDWR,8192,1235
    local time, operation, process, command, file, size in bytes, inode, flags, offset in bytes,
    thread; some versions have the latency in ns before the offset

Newer versions begin a file with a head, and the columns are found by their names:

    timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags,...
    timestamp,operation,pid,command,filename,size_requested,inode,flags,offset,tid,...

Only reads and writes are taken. They are what programs ask for, before any cache. Where the file
says what was moved (bytes_completed), that is the length, and failed ones are left out. A file,
known by its device and inode, or else by its name, gets space on the disk when it is first used
(extents.py). An offset of 0 may be blank. The oldest versions of io-tracer have no offset: such a
line is refused, because nobody knows which part of the file was used.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.extents import Extents
from sluice.trace.stream import (
    NO_DATA,
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
COLUMNS = ("timestamp", "operation", "filename", "inode", "offset")
LENGTHS = ("bytes_completed", "size", "size_requested")  # the first that is not blank counts
DEVICE, FAILED = "device", "errno"  # the error's name, or blank
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
    """Return whether a file with this name and beginning looks like this format."""
    table = Table()

    def parse_row(line: str) -> Line:
        """Return the request of a line, or the reason why its version cannot be read."""
        try:
            return table.parse_row(line)
        except NoOffsetError as error:
            return str(error)  # so that the reader says it

    heads = (HEAD, ",".join(COLUMNS))
    return any(begins_with_head(head, one) for one in heads) or is_readable_as(head, parse_row)


def find_fields(words: Sequence[str]) -> dict[str, str]:
    """Return the fields of a read or write by the names of their columns, found without a head.
    Raises ValueError."""
    has_latency, offset = FLAGS.fullmatch(words[-4]), words[-2]
    at = len(words) - (6 if has_latency else 5)  # of the size
    size, inode, flags = words[at : at + 3]
    numbers = (size, inode, offset, words[-1])
    if (
        at <= FILE
        or not all(NUMBER.fullmatch(number) for number in numbers)
        or (flags and not FLAGS.fullmatch(flags))
    ):
        raise NoOffsetError("no offset: this version of io-tracer does not say where in the file")
    name = ",".join(words[FILE:at])
    return {"filename": name, "size": size, "inode": inode, "offset": offset}


@dataclass
class Table:
    """The columns, if a head names them, and the files' places on the disk."""

    places: dict[str, int] = field(default_factory=dict)  # of COLUMNS and what else is used
    width: int = 0
    files: Extents = field(default_factory=Extents)

    def parse_row(self, line: str) -> Line:
        """Return the requests of a line, why it is left out, or None for a head. Raises
        ValueError."""
        if is_table_head(line, HEAD):
            return None
        if places := find_columns(line, COLUMNS, (*LENGTHS, DEVICE, FAILED)):
            self.places, self.width = places, len(split_commas(line, 1))
            return None
        words = split_commas(line, self.width or OLD_FIELDS)
        named = {name: words[at] for name, at in self.places.items()}
        time_ns = parse_date(named.get("timestamp", words[0]))
        operation = named["operation"].upper() if named else words[1]
        if not OPERATION.fullmatch(operation):
            raise ValueError(f"the operation {operation!r}: must be a word of capitals, as READ")
        if operation not in WRITES:
            return OTHERS
        return self.parse_use(time_ns, named or find_fields(words), WRITES[operation])

    def parse_use(self, time_ns: int, named: dict[str, str], write: int) -> Line:
        """Return the requests of a read or write, or why it is left out. named: its fields by the
        names of their columns. Raises ValueError."""
        name = named["inode"] or named["filename"]
        if not name:
            return NO_FILE
        if named.get(FAILED):
            return NO_DATA
        length = next((named[one] for one in LENGTHS if named.get(one)), "")
        return self.files.requests(
            time_ns,
            f"{named.get(DEVICE, '')},{name}",
            parse_whole(named["offset"] or "0", "the offset"),
            parse_whole(length, "the size"),
            write,
        )


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, Table().parse_row, names=True)
