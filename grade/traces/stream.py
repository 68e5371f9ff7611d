"""A trace's file as formats read it: its lines or its records, with their places for messages.

Files that end in .gz or .zst are unpacked as they are read; nothing is read twice or kept.
"""

import gzip
import io
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import numpy as np

from grade.traces.bad import BadTraceFile
from grade.traces.common import REQUEST, table

HEAD = 4096  # bytes of the beginning, by which a format is recognised
PIECE = 65536  # requests of a table
BOM = b"\xef\xbb\xbf"  # the mark with which some programs begin a text in UTF-8
MOST = 1 << 63  # what a column's number is below
MOST_DIGITS = 19  # of a column's whole number, as MOST has
MOST_BYTES = (1 << 32) - 1  # bytes of a request
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d\d?)?", re.A)

Row = tuple[int, int, int, int]  # time_ns, offset, bytes, write


def zstandard(path: Path) -> BinaryIO:
    """A file of Zstandard, unpacked as it is read. Raises BadTraceFile if what unpacks it is not
    installed: experiments of traces that are not packed do without."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        why = "what unpacks it is not installed; type: sh grade/setup.sh sweep"
        raise BadTraceFile(f"{path}: cannot be read: {why}") from None

    raw = pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd")
    return io.BufferedReader(Chunks(raw))


class Chunks(io.RawIOBase):
    """A stream of pyarrow as Python's own."""

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, room: memoryview) -> int:
        data = self.stream.read(len(room))
        room[: len(data)] = data
        return len(data)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked. Raises BadTraceFile if it is damaged, or not there."""
    ways = {".gz": gzip.open, ".zst": zstandard}
    try:
        if path.is_dir():
            raise BadTraceFile(f"{path}: is a folder; give the file of one trace")
        with ways.get(path.suffix, lambda p: p.open("rb"))(path) as stream:
            yield stream
    except (EOFError, OSError, struct.error) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BadTraceFile(f"{path}: cannot be read: {why}") from None


def head_of(path: Path) -> bytes:
    """The first bytes of what is in the file."""
    with opened(path) as stream:
        return stream.read(HEAD)


def tables(path: Path, rows: Iterator[Row]) -> Iterator[np.ndarray]:
    """Rows as tables of up to PIECE requests."""
    some: list[Row] = []
    for row in rows:
        some.append(row)
        if len(some) == PIECE:
            yield table(some)
            some = []
    if some:
        yield table(some)


def of_lines(
    path: Path, stream: BinaryIO, row_of: Callable[[str], Row | None]
) -> Iterator[np.ndarray]:
    """Tables of a text, a row a line. row_of: the row of a line that is not empty, or None to leave
    it out; it raises ValueError or OverflowError with what is wrong, to which the file and the line
    are added. A byte-order mark is skipped."""

    def rows() -> Iterator[Row]:
        for number, line in enumerate(stream, 1):
            line = line.removeprefix(BOM) if number == 1 else line
            try:
                text = text_of(line)
                row = row_of(text) if text else None
                if row:
                    yield checked(row)
            except (ValueError, OverflowError) as error:
                shown = line[:60].decode(errors="replace").strip()
                raise BadTraceFile(f"{path}:{number}: {error}: {shown!r}") from None

    return tables(path, rows())


def text_of(line: bytes) -> str:
    """A line's text, without white space around it. Raises ValueError if it is none."""
    try:
        return line.decode().strip()
    except UnicodeDecodeError as error:
        at = error.start
        raise ValueError(f"byte {at + 1}, {line[at]:#x}, is no text of UTF-8") from None


def fields(line: str, least: int, most: int | None = None) -> list[str]:
    """What stands between a line's commas. Raises ValueError if there are fewer than `least`, or
    more than `most`."""
    words = line.split(",")
    if len(words) < least or (most and len(words) > most):
        wanted = f"{most}" if most else f"{least} or more"
        raise ValueError(f"{len(words)} fields, not {wanted}")
    return words


def kind(word: str, writes: dict[str, int]) -> int:
    """Whether this word stands for a write (1) or a read (0). writes: that of each word. Raises
    ValueError for another word."""
    if word not in writes:
        raise ValueError(f"neither {' nor '.join(writes)} but {word!r}")
    return writes[word]


def whole(word: str, column: str) -> int:
    """A column's whole number. column: its name, for the message. Raises ValueError."""
    text = word.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError(f"{column} {text!r}: must be a whole number from 0 to 2^63")
    return int(text)


def seconds(word: str) -> int:
    """A time in ns, exactly: a binary fraction of a date in seconds is 240 ns off. Raises
    ValueError."""
    text = word.strip()
    if not NUMBER.fullmatch(text):
        raise ValueError(f"the time {text!r}: must be a number in s")
    return int(Decimal(text).scaleb(9))


def expect_in(column: str, value: int, low: int, high: int, unit: str = "") -> None:
    """Raise ValueError unless a column's value is in low to high, both included."""
    if not low <= value <= high:
        raise ValueError(f"{column}: {value}{unit}: must be {low} to {high}")


def checked(row: Row) -> Row:
    """The row, if a table has room for it. Raises ValueError."""
    time_ns, offset, size, _ = row
    expect_in("the time", time_ns, 0, MOST - 1, " ns")
    expect_in("the offset", offset, 0, MOST - 1, " bytes")
    expect_in("the size", size, 1, MOST_BYTES, " bytes")
    return row


def of_records(
    path: Path, stream: BinaryIO, record: np.dtype, start: int = 0
) -> Iterator[tuple[int, np.ndarray]]:
    """The records of a binary file: pieces of up to PIECE of them, each with where it begins in
    the file, in bytes. start: where in the file the stream is. Raises BadTraceFile if the last one
    is not whole."""
    at = start
    while data := stream.read(PIECE * record.itemsize):
        whole, rest = divmod(len(data), record.itemsize)
        if rest:
            raise BadTraceFile(
                f"{path}: at byte {at + whole * record.itemsize}: the last record has {rest} "
                f"bytes of {record.itemsize}"
            )
        yield at, np.frombuffer(data, record)
        at += len(data)


def expect_all(
    path: Path, good: np.ndarray, at: int, record: np.dtype, what: str, values: np.ndarray
) -> None:
    """Raise BadTraceFile with the place of the first record that is not good."""
    if not good.all():
        i = int(np.argmin(good))
        place = at + i * record.itemsize
        raise BadTraceFile(f"{path}: at byte {place}: {what} {values[i]}")


def joined(pieces: list[np.ndarray]) -> np.ndarray:
    """One table of several."""
    return np.concatenate([np.zeros(0, REQUEST), *pieces])
