"""cacheMon's io-tracer, block layer (ds_*.csv, block_*.csv): a line for each request, when it is
done.

    2024-01-15 10:30:45.123456,1234,python3,2048000,write,8192,1.234,1235,16,0,1233
    local time of the end, process, command, first sector, operation, size in bytes, latency in ms,
    and what its version adds: of some, the device, as 8:0

Newer versions begin a file with a head, and the columns are found by their names:

    timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,...
    timestamp,pid,command,sector,operation,size,latency_ms,tid,cpu_id,ppid,device,...

The time of a request is when it was issued: its end minus its latency. Only `read` and `write` are
taken, also with flags behind them (`write|sync`); discards and requests without data are left out.
Devices are disks of their own, laid one after another as the units of SPC are, in the order in
which they first appear. Without a device all requests are of one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import SECTOR
from sluice.trace.iolog import DISCARDS
from sluice.trace.stream import (
    NO_DATA,
    LeftOut,
    Line,
    begins_with_head,
    find_columns,
    is_readable_as,
    is_table_head,
    parse_date,
    parse_kind,
    parse_seconds,
    parse_whole,
    split_commas,
    tables_of_lines,
)
from sluice.trace.units import Disks

ABOUT = "cacheMon's io-tracer, block layer, CSV"
SOURCE = (
    "github.com/cacheMon/io-tracer, docs/TRACE_FORMAT.md and docs/traces/BLOCK_IO_EVENTS.md; "
    "io-tracer-linux, src/tracer/schema.py"
)
SEVERAL = True
HEAD = "timestamp,pid,command,sector,operation,size,latency_ms,tid,nr_sectors,cpu_id,ppid"
COLUMNS = ("timestamp", "sector", "operation", "size", "latency_ms")  # and, of some, the device
DEVICE = "device"
WRITES = {"read": 0, "write": 1}
LEFT = {"flush": NO_DATA, "none": NO_DATA, "discard": DISCARDS, "secure_erase": DISCARDS}
# The four fields that follow one another in each version without a head, from the sector on.
SHAPE = tuple(re.compile(text, re.A) for text in (r"\d+", r"[A-Za-z_|]+", r"\d+", r"[\d.]*"))
NUMBERS = re.compile(r"\d+:\d+", re.A)  # of a device
COMMAND = 2  # the field that may have commas in it; what follows is found by its shape
MS_IN_S = 1000


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    heads = (HEAD, ",".join(COLUMNS))
    return any(begins_with_head(head, one) for one in heads) or is_readable_as(
        head, Table().parse_row
    )


def parse_operation(word: str) -> int | str:
    """Return 1 for a write, 0 for a read, or why the request is left out. Raises ValueError."""
    words = word.lower().split("|")
    for kind, write in WRITES.items():
        if kind in words:
            return write
    why = next((LEFT[one] for one in words if one in LEFT), "")
    return why or parse_kind(word, WRITES)


def find_fields(words: Sequence[str]) -> list[str]:
    """Return a line's fields in the order of COLUMNS, and the device or "", found without a head.
    Raises ValueError.

    The four fields from the sector on are found by their shape. The search begins at the line's
    end, because the command's name may have commas and look like anything.
    """
    for at in range(len(words) - len(SHAPE), COMMAND, -1):
        found, rest = words[at : at + len(SHAPE)], words[at + len(SHAPE) :]
        if all(shape.fullmatch(word) for shape, word in zip(SHAPE, found, strict=True)):
            device = next((word for word in rest if NUMBERS.fullmatch(word)), "")
            return [words[0], *found, device]
    raise ValueError("no sector, operation, size and latency one after another")


@dataclass
class Table:
    """The columns, if a head names them, and the devices that have appeared."""

    places: dict[str, int] = field(default_factory=dict)  # of COLUMNS, and of DEVICE
    width: int = 0
    disks: Disks = field(default_factory=Disks)

    def parse_row(self, line: str) -> Line:
        """Return a line's request, why it is left out, or None for a head. Raises ValueError."""
        if is_table_head(line, HEAD):
            return None
        if places := find_columns(line, COLUMNS, (DEVICE,)):
            self.places, self.width = places, len(split_commas(line, 1))
            return None
        words = split_commas(line, self.width or COMMAND + len(SHAPE) + 1)
        fields = [words[at] for at in self.places.values()] if self.places else find_fields(words)
        time, sector, operation, size, latency, *devices = fields
        write = parse_operation(operation)
        if isinstance(write, str):
            return write
        end_ns, took_ns = parse_date(time), parse_seconds(latency or "0") // MS_IN_S
        at, length = parse_whole(sector, "the sector") * SECTOR, parse_whole(size, "the size")
        return end_ns - took_ns, self.disks.place("".join(devices), at, length), length, write


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, Table().parse_row)
