"""Thesios, of Google: a line for each request to a file of a storage server.

The head names seventeen columns. These five are used, by their names:

    filename, file_offset, op_type, request_io_size_bytes, start_time

A request is where it reaches the server, so that what its cache would have absorbed is there too.
start_time is in s since 1970, with a fraction. A file gets space on the disk when it is first used
(extents.py), and a request that crosses two pieces of it becomes two.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.extents import Extents
from sluice.trace.stream import (
    LeftOut,
    Line,
    begins_with_head,
    parse_kind,
    parse_seconds,
    parse_whole,
    split_commas,
    tables_of_lines,
)

ABOUT = "Thesios of Google, CSV"
SOURCE = (
    "github.com/google-research-datasets/thesios, README; P. Phothilimthana et al., ASPLOS 2024"
)
COLUMNS = ("filename", "file_offset", "op_type", "request_io_size_bytes", "start_time")
WRITES = {"READ": 0, "WRITE": 1}


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return begins_with_head(head, ",".join(COLUMNS))


@dataclass
class Table:
    """The column numbers (set by the header line), and each file's place on the disk."""

    places: list[int] = field(default_factory=list)
    width: int = 0
    files: Extents = field(default_factory=Extents)

    def take_head(self, line: str) -> None:
        """Find the columns. Raises ValueError if one is missing."""
        names = [word.lower() for word in split_commas(line, 1)]
        missing = [name for name in COLUMNS if name not in names]
        if missing:
            raise ValueError(f"the head has no column {missing[0]}")
        self.places, self.width = [names.index(name) for name in COLUMNS], len(names)

    def parse_row(self, line: str) -> Line:
        """Return the requests of a line, or None for the head, which each shard of a day has."""
        if not self.places or line.startswith(COLUMNS[0] + ","):
            self.take_head(line)
            return None
        words = split_commas(line, self.width, self.width)
        name, at, kind, size, time = (words[place] for place in self.places)
        return self.files.requests(
            parse_seconds(time),
            name,
            parse_whole(at, "the offset"),
            parse_whole(size, "the size"),
            parse_kind(kind, WRITES),
        )


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield tables of the file's requests, and count in `left` what is left out."""
    yield from tables_of_lines(path, stream, left, Table().parse_row)
