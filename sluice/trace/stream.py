"""A trace's file as formats read it: its lines or its records, with their places for messages.

Files that end in .gz, .bz2, .xz or .zst, and those without these endings that begin as packed files
do, are unpacked as they are read; nothing is read twice or kept.

One rule for the fields of all texts: blanks and quotes around a field and commas behind the last
one are passed over, words may be in either case, and a whole number may be written as 4096.0 or
4.096e3. A request of size 0 is left out and counted (LeftOut), like all else that is left out.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.common import REQUEST, table
from sluice.trace.errors import BadTraceFile

HEAD = 1 << 16  # bytes of the beginning, by which a format is recognised
PIECE = 65536  # requests of a table
BOM = b"\xef\xbb\xbf"  # the mark with which some programs begin a text in UTF-8
PACKED = {  # what a packed file begins with, and its usual ending
    b"\x1f\x8b\x08": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}
MOST = 1 << 63  # what a column's number is below
MOST_WHOLE = 10**19  # what a column's whole number is below: as many digits as MOST has
MOST_BYTES = (1 << 32) - 1  # bytes of a request
SEPARATORS = {";": "semicolons", "\t": "tabs"}  # that other programs write for commas
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d\d?)?", re.A)

CUT = " (the file ends within this line: if it was cut off, delete the line)"
NO_DATA = "requests without data"

Row = tuple[int, int, int, int]  # time_ns, offset, bytes, write
# What a line of a text is: a request; one that is left out, with why; or no request at all.
Line = Row | str | None


@dataclass
class LeftOut:
    """What a reader leaves out of a trace, counted by why. What comes after the first `most`
    requests does not count, because it is not taken in any case."""

    most: int | None = None
    kept: int = 0  # requests so far
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, why: str) -> None:
        """Count one, before the next request."""
        if self.most is None or self.kept < self.most:
            self.counts[why] += 1

    def add_records(self, kept: np.ndarray, why: str, left: np.ndarray) -> None:
        """Count those of some records that are left out. kept, left: bool, shape (records,); the
        records' requests are added to `kept` by the caller."""
        if self.most is not None:
            left = left & (self.kept + np.cumsum(kept) < self.most)
        if n := int(left.sum()):
            self.counts[why] += n

    def __str__(self) -> str:
        """For people: "requests without data: 3; discards: 12", or nothing."""
        return "; ".join(f"{why}: {n:,}" for why, n in self.counts.items())


def zstandard(path: Path) -> BinaryIO:
    """A file of Zstandard, unpacked as it is read. Raises BadTraceFile if what unpacks it is not
    installed: experiments of traces that are not packed do without."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        why = "what unpacks it is not installed; type: sh tools/setup.sh sweep"
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


def packed_as(path: Path) -> str:
    """How a file is packed, as an ending: its own, or else the one that its first bytes tell, for
    browsers and people take endings away; empty if it is not packed."""
    ending = path.suffix.lower()
    if ending in PACKED.values():
        return ending
    with path.open("rb") as stream:
        head = stream.read(max(map(len, PACKED)))
    return next((known for begin, known in PACKED.items() if head.startswith(begin)), "")


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The file's bytes, unpacked. Raises BadTraceFile if it is damaged, or not there."""
    ways = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": zstandard}
    try:
        if path.is_dir():
            raise BadTraceFile(f"{path}: is a folder; give the file of one trace")
        with ways.get(packed_as(path), lambda p: p.open("rb"))(path) as stream:
            yield stream
    except (EOFError, OSError, struct.error, lzma.LZMAError) as error:
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
    path: Path,
    stream: BinaryIO,
    left: LeftOut,
    row_of: Callable[[str], Line],
    empty: bool = False,
    names: bool = False,
) -> Iterator[np.ndarray]:
    """Tables of a text, a row a line. row_of: what a line is that is not empty; it raises
    ValueError or OverflowError with what is wrong, to which the file and the line are added. A
    byte-order mark is skipped. empty: the caller leaves out requests without data. names: lines
    have names of processes, which may have bytes that are no text."""

    def rows() -> Iterator[Row]:
        for number, line in enumerate(stream, 1):
            line = line.removeprefix(BOM) if number == 1 else line
            try:
                text = text_of(line, names)
                row = row_of(text) if text else None
                if isinstance(row, tuple):
                    row = checked(row) if row[2] or empty else NO_DATA
                if isinstance(row, str):
                    left.add(row)
                elif row:
                    left.kept += 1
                    yield row
            except (ValueError, OverflowError) as error:
                shown = line[:60].decode(errors="replace").strip()
                cut = "" if line.endswith(b"\n") else CUT
                raise BadTraceFile(f"{path}:{number}: {error}: {shown!r}{cut}") from None

    return tables(path, rows())


def reads_as(head: bytes, row_of: Callable[[str], Line]) -> bool:
    """Whether the first request of a text that begins with these bytes can be read by `row_of`, so
    that no trace is recognised less readily than it is read."""
    lines = head.split(b"\n")
    for line in lines[:-1] if len(head) == HEAD and len(lines) > 1 else lines:
        try:
            text = text_of(line)
            if text and row_of(text) is not None:
                return True
        except (ValueError, OverflowError):
            return False
    return False


def begins_with_head(head: bytes, names: str) -> bool:
    """Whether the first line of what begins with these bytes is the head of a table with columns of
    these names, though the reader may refuse their order."""
    try:
        words = fields(text_of(head.lstrip().split(b"\n")[0]).lower(), 1)
    except ValueError:
        return False
    return {*names.lower().split(",")} <= {*words}


def text_of(line: bytes, names: bool = False) -> str:
    """A line's text, without white space around it. names: bytes that are no text are kept as
    Python keeps them (surrogateescape). Raises ValueError if it is no text."""
    try:
        return line.decode(errors="surrogateescape" if names else "strict").strip()
    except UnicodeDecodeError as error:
        at = error.start
        raise ValueError(f"byte {at + 1}, {line[at]:#x}, is no text of UTF-8") from None


def fields(line: str, least: int, most: int | None = None) -> list[str]:
    """What stands between a line's commas, without blanks and quotes around it, and without empty
    fields behind the last one. Raises ValueError if there are fewer than `least`, or more than
    `most`."""
    words = [word.strip() for word in line.split(",")]
    if any(word.startswith('"') for word in words):
        if line.count('"') % 2:
            raise ValueError("a quote is not closed")
        try:
            words = [word.strip() for word in next(csv.reader([line], skipinitialspace=True))]
        except csv.Error as error:
            raise ValueError(str(error)) from None
    while len(words) > (most or least) and not words[-1]:
        words.pop()
    if len(words) < least or (most and len(words) > most):
        wanted = f"{most}" if most else f"{least} or more"
        others = [name for sign, name in SEPARATORS.items() if line.count(sign) >= least - 1]
        why = f": it has {others[0]}, and commas are needed" if others else ""
        raise ValueError(f"{len(words)} fields, not {wanted}{why}")
    return words


def spaced(line: str, counts: tuple[int, ...]) -> list[str]:
    """What stands between the white space of a line, without quotes around it, and without commas
    behind the last field. Raises ValueError unless there are as many as `counts` allows."""
    words = [word.strip('"') for word in line.rstrip(", \t").split()]
    if len(words) not in counts:
        raise ValueError(f"{len(words)} fields, not {' or '.join(map(str, counts))}")
    return words


def kind(word: str, writes: dict[str, int]) -> int:
    """Whether this word, in either case, stands for a write (1) or a read (0). writes: that of each
    word. Raises ValueError for another word."""
    for known, write in writes.items():
        if word.lower() == known.lower():
            return write
    raise ValueError(f"neither {' nor '.join(writes)} but {word!r}")


def is_head(line: str, names: str) -> bool:
    """Whether a line is the head of a table whose first columns have these names. Raises ValueError
    if it has the names in another order."""
    wanted = names.lower().split(",")
    words = [word.lower() for word in fields(line, 1)]
    if words[: len(wanted)] == wanted:
        return True
    if {*wanted} <= {*words}:
        raise ValueError(f"the columns must be in this order: {names}")
    return False


def whole(word: str, column: str) -> int:
    """A column's whole number. column: its name, for the message. Raises ValueError."""
    text = word.strip()
    value = Decimal(text) if NUMBER.fullmatch(text) else Decimal(-1)
    if not (0 <= value < MOST_WHOLE and value == value.to_integral_value()):
        raise ValueError(f"{column} {text!r}: must be a whole number from 0 to 2^63")
    return int(value)


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
    expect_in("the size", size, 0, MOST_BYTES, " bytes")
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
