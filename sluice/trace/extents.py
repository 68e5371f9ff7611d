"""Lays files out on one disk while a trace of files is read.

Such a trace says what part of which file is used, and not where it lies. A piece of a file, of
EXTENT bytes, gets the next free EXTENT bytes of the disk when it is first used. So files that are
written one after another lie one behind another, and memory is that of the pieces in use.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from sluice.trace.stream import MOST, Row, expect_range

EXTENT = 1 << 20  # bytes


@dataclass
class Extents:
    """Which piece of the disk each piece of a file has, by the file and the piece's number."""

    pieces: dict[tuple[str, int], int] = field(default_factory=dict)

    def requests(self, time_ns: int, file: str, offset: int, size: int, write: int) -> list[Row]:
        """Return the requests for a part of a file, one for each stretch of the disk. A part
        without bytes is one request without bytes. Raises ValueError for numbers out of range."""
        if not size:
            return [(time_ns, 0, 0, write)]
        expect_range("the offset", offset, 0, MOST - 1, " bytes")
        return [(time_ns, at, length, write) for at, length in self.stretches(file, offset, size)]

    def stretches(self, file: str, offset: int, size: int) -> Iterator[tuple[int, int]]:
        """Yield place and length of each stretch of the disk that a part of a file has. Pieces of
        the file that lie side by side on the disk are one stretch."""
        start, end = -1, -1  # of the stretch so far
        while size:
            number, within = divmod(offset, EXTENT)
            length = min(size, EXTENT - within)
            piece = self.pieces.setdefault((file, number), len(self.pieces))
            at = piece * EXTENT + within
            if at != end:
                if start >= 0:
                    yield start, end - start
                start = at
            end = at + length
            offset, size = offset + length, size - length
        yield start, end - start
