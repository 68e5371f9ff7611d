"""Keeps requests in a temporary file, for formats in which the end of a file must be known
before its first request. So memory does not grow with the trace."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import numpy as np

from sluice.trace.common import REQUEST
from sluice.trace.stream import PIECE


@dataclass
class Spool:
    """A temporary file of requests."""

    file: IO[bytes]

    def add(self, table: np.ndarray) -> None:
        """Add a table, shape (requests,), dtype REQUEST."""
        self.file.write(table.tobytes())

    def read_tables(self) -> Iterator[np.ndarray]:
        """Yield all requests again, up to PIECE at a time."""
        self.file.seek(0)
        while data := self.file.read(PIECE * REQUEST.itemsize):
            yield np.frombuffer(data, REQUEST).copy()


@contextmanager
def open_spool() -> Iterator[Spool]:
    """Yield a spool that is gone when the context ends."""
    with tempfile.TemporaryFile() as file:
        yield Spool(file)
