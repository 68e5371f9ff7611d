"""Reads a trace's file as lines or records, with their places for messages.

A file that is packed by gzip, bzip2, xz or Zstandard is unpacked as it is read. Its first bytes
tell, and its name does not matter. Nothing is read twice or kept.

One rule for the fields of all texts: blanks and quotes around a field and commas behind the last
one are passed over, words may be in either case, and a whole number may be written as 4096.0 or
4.096e3. A line that begins with # is a comment. A request of size 0 is left out and counted
(LeftOut), like all else that is left out. A line that cannot be read is an error, unless the caller
allows a share of such lines (BadLines).
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from sluice.trace.common import REQUEST, build_table
from sluice.trace.errors import BadTraceFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

HEAD = 1 << 16  # bytes of the beginning, by which a format is recognised
PIECE = 65536  # requests of a table
BOM = b"\xef\xbb\xbf"  # the mark with which some programs begin a text in UTF-8
PACKED = (  # what a packed file begins with, and what it is packed by
    (re.compile(rb"\x1f\x8b\x08"), "gzip"),
    (re.compile(rb"BZh[1-9]"), "bzip2"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz"),
    (re.compile(rb"(\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)", re.S), "Zstandard"),
)
PACKED_BYTES = 6  # of a file's beginning that the patterns above look at
PACKED_PIECE = 8192  # bytes that are unpacked at once; they may become many
WINDOW = 1 << 31  # bytes that a frame of Zstandard may refer back to: zstd --long=31
COMMENT = "#"
MOST = 1 << 63  # what a column's number is below
MOST_WHOLE = 10**19  # what a column's whole number is below: as many digits as MOST has
MOST_BYTES = (1 << 32) - 1  # bytes of a request
SEPARATORS = {";": "semicolons", "\t": "tabs"}  # that other programs write for commas
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d\d?)?", re.A)

CUT = " (the file ends within this line: if it was cut off, delete the line)"
NO_DATA = "requests without data"

Row = tuple[int, int, int, int]  # time_ns, offset, bytes, write
# A line of a text: a request, or several; one that is left out, with the reason; or none.
Line = Row | list[Row] | str | None
BAD_LINES = "lines that cannot be read"
SHOWN = 5  # lines that cannot be read whose numbers are told
SHOWN_BYTES = 60  # of a line that cannot be read
SOON = 1000  # lines: in fewer than these a share means nothing


@dataclass
class BadLines:
    """The lines of a text that could not be read, and the share of all lines that may be so."""

    share: float = 0.0  # of the lines, from 0 to 1
    lines: int = 0  # lines read so far
    count: int = 0  # those that could not be read
    first: list[int] = field(default_factory=list)  # numbers of the first SHOWN of them, from 1 on

    def add(self, number: int) -> None:
        """Count a line. number: the line's, from 1 on."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(number)

    def are_too_many(self, at_end: bool = False) -> bool:
        """Return whether more lines could not be read than the share allows. at_end: all lines have
        been read, so that the share is that of the file."""
        return self.count > self.share * (self.lines if at_end else max(self.lines, SOON))

    def places(self) -> str:
        """Return where the first of them are: "line 3" or "lines 3, 7, 9, ..."."""
        more = ", ..." if self.count > len(self.first) else ""
        return f"line{'s' * (self.count > 1)} {', '.join(map(str, self.first))}{more}"

    def excess(self) -> str:
        """Return why they are too many, for a message."""
        return (
            f"{self.count:,} of {self.lines:,} lines cannot be read, more than {self.share:.6g} of "
            f"them: {self.places()}"
        )


@dataclass
class LeftOut:
    """The requests that a reader leaves out of a trace, counted by reason. Requests after the first
    `most` do not count, because they are not taken in any case. bad: lines that cannot be read."""

    most: int | None = None
    kept: int = 0  # requests so far
    counts: Counter[str] = field(default_factory=Counter)
    bad: BadLines = field(default_factory=BadLines)

    def add(self, why: str) -> None:
        """Count one request that comes before the next one kept."""
        if not self.is_full():
            self.counts[why] += 1

    def expect_few_bad(self, path: Path) -> None:
        """Raise BadTraceFile if, at the end of a file, more lines were bad than may be."""
        if self.bad.are_too_many(at_end=True):
            raise BadTraceFile(f"{path}: {self.bad.excess()}")

    def is_full(self) -> bool:
        """Return whether all requests that are wanted have been read."""
        return self.most is not None and self.kept >= self.most

    def count_records(self, kept: np.ndarray, why: str, left: np.ndarray) -> None:
        """Count the left-out requests among some records.

        kept, left: which records are kept and which are left out, bool, shape (records,). The
        caller adds the kept records to the field `kept`.
        """
        if self.most is not None:
            left = left & (self.kept + np.cumsum(kept) < self.most)
        if n := int(left.sum()):
            self.counts[why] += n

    def __str__(self) -> str:
        """Return the counts for people: "requests without data: 3; discards: 12", or nothing."""
        where = {BAD_LINES: f" ({self.bad.places()})"}
        return "; ".join(f"{why}: {n:,}{where.get(why, '')}" for why, n in self.counts.items())


def open_zstandard(path: Path) -> BinaryIO:
    """Return the contents of a file packed by Zstandard, unpacked as it is read: all its frames,
    with windows of up to WINDOW bytes. Raises BadTraceFile if the package zstandard, which only
    such traces need, is not installed."""
    try:
        import zstandard
    except ModuleNotFoundError:
        why = "what unpacks Zstandard is not installed; type: sh tools/setup.sh sweep"
        raise BadTraceFile(
            f"{path}: cannot be read: {why} (without a clone: pip install zstandard)"
        ) from None

    return io.BufferedReader(Frames(path.open("rb"), zstandard))


class Frames(io.RawIOBase):
    """The contents of a file's frames of Zstandard, one after another.

    The reader of the package zstandard takes a frame that is cut off for a whole one, so this one
    looks for the end of each frame.
    """

    def __init__(self, packed: BinaryIO, zstandard: Any) -> None:
        self.packed, self.zstandard = packed, zstandard
        self.frame: Any = None  # the frame that is being unpacked
        self.rest = b""  # packed bytes behind the frame before
        self.ready = memoryview(b"")  # unpacked bytes that nobody has asked for yet

    def readable(self) -> bool:
        """Return that the stream can be read."""
        return True

    def close(self) -> None:
        """Close the packed file, too."""
        self.packed.close()
        super().close()

    def unpack_some(self) -> bool:
        """Unpack the next few bytes. Returns false at the end of the last frame. Raises OSError for
        bytes that are no frame, and for a frame that is cut off."""
        data, self.rest = self.rest or self.packed.read(PACKED_PIECE), b""
        if not data:
            if self.frame:
                raise OSError("the last frame of Zstandard is cut off")
            return False
        if not self.frame:
            unpacker = self.zstandard.ZstdDecompressor(max_window_size=WINDOW)
            self.frame = unpacker.decompressobj()
        try:
            self.ready = memoryview(self.frame.decompress(data))
        except self.zstandard.ZstdError as error:
            raise OSError(str(error)) from None
        if self.frame.eof:
            self.frame, self.rest = None, self.frame.unused_data
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Read into a buffer. Returns the number of bytes, 0 at the end."""
        while not self.ready:
            if not self.unpack_some():
                return 0
        room = memoryview(buffer)
        count = min(len(room), len(self.ready))
        room[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count


def compression(path: Path) -> str:
    """Return what a file is packed by, as its first bytes tell: a name of PACKED, or ""."""
    with path.open("rb") as stream:
        head = stream.read(PACKED_BYTES)
    return next((name for begin, name in PACKED if begin.match(head)), "")


def open_plain(path: Path) -> BinaryIO:
    """Return the contents of a file that is not packed."""
    return path.open("rb")


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked. Yields the stream. Raises BadTraceFile if the file is
    damaged or does not exist."""
    # The types of what these return depend on the mode, which is that of bytes.
    ways: dict[str, Callable[[Path], Any]] = {
        "gzip": gzip.open,
        "bzip2": bz2.open,
        "xz": lzma.open,
        "Zstandard": open_zstandard,
    }
    try:
        if path.is_dir():
            raise BadTraceFile(f"{path}: is a folder; give the file of one trace")
        if path.exists() and not path.is_file():
            raise BadTraceFile(
                f"{path}: is a pipe or a device, and a trace is opened several times: write it to "
                "a file first; it may be packed"
            )
        with ways.get(compression(path), open_plain)(path) as stream:
            yield stream
    except (EOFError, OSError, struct.error, zlib.error, lzma.LZMAError) as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise BadTraceFile(f"{path}: cannot be read: {why}") from None


def read_head(path: Path) -> bytes:
    """Return the first bytes of the unpacked file."""
    with open_unpacked(path) as stream:
        return stream.read(HEAD)


def build_tables(path: Path, rows: Iterator[Row]) -> Iterator[np.ndarray]:
    """Yield rows as tables of up to PIECE requests."""
    some: list[Row] = []
    for row in rows:
        some.append(row)
        if len(some) == PIECE:
            yield build_table(some)
            some = []
    if some:
        yield build_table(some)


def tables_of_lines(
    path: Path,
    stream: Iterable[bytes],
    left: LeftOut,
    row_of: Callable[[str], Line],
    empty: bool = False,
    names: bool = False,
    comments: bool = True,
) -> Iterator[np.ndarray]:
    """Return an iterator over the tables of a text, with a row for each line.

    stream: the file's lines; row_of: returns the request of a line that is not empty; its
    ValueError or OverflowError gets the file and line added. A byte-order mark is skipped. empty:
    whether the caller leaves out requests without data; names: whether lines have process names,
    which may have bytes that are not UTF-8; comments: whether lines that begin with # are skipped.
    Raises BadTraceFile, unless left.bad allows the share of lines that cannot be read.
    """

    def parse_line(text: str) -> list[Row] | str:
        """Return the requests of a line, or why its request is left out."""
        line = row_of(text)
        if isinstance(line, str):
            return line
        rows = [line] if isinstance(line, tuple) else line or []
        if rows and not empty and not any(row[2] for row in rows):
            return NO_DATA
        return [checked_row(row) for row in rows]

    def parse_rows() -> Iterator[Row]:
        """Yield the requests of each line that has any, and count those left out."""
        for number, line in enumerate(stream, 1):
            line = line.removeprefix(BOM) if number == 1 else line
            left.bad.lines += 1
            try:
                text = line_text(line, names)
                skipped = not text or (comments and text.startswith(COMMENT))
                rows = [] if skipped else parse_line(text)
            except (ValueError, OverflowError) as error:
                take_bad_line(path, left, number, line, error)
                continue
            if isinstance(rows, str):
                left.add(rows)
            else:
                left.kept += len(rows)
                yield from rows
        left.expect_few_bad(path)

    return build_tables(path, parse_rows())


def take_bad_line(path: Path, left: LeftOut, number: int, line: bytes, error: Exception) -> None:
    """Count a line that cannot be read. Raises BadTraceFile with its number if there are too many
    of them. A line behind the last request that is taken does not count."""
    shown = line[:SHOWN_BYTES].decode(errors="replace").strip()
    cut = "" if line.endswith(b"\n") else CUT
    take_bad_row(left, number, f"{path}:{number}: {error}: {shown!r}{cut}")


def take_bad_row(left: LeftOut, number: int, message: str) -> None:
    """Count a line or row that cannot be read. message: where it is, and why it cannot. Raises
    BadTraceFile with the message if there are too many of them."""
    if left.is_full():
        return
    left.bad.add(number)
    left.add(BAD_LINES)
    if left.bad.are_too_many():
        many = f": {left.bad.excess()}" if left.bad.share else ""
        raise BadTraceFile(f"{message}{many}") from None


def is_readable_as(head: bytes, row_of: Callable[[str], Line]) -> bool:
    """Return whether `row_of` can read the first request of a text that begins with these bytes. So
    a trace is recognised whenever it can be read."""
    lines = head.split(b"\n")
    for line in lines[:-1] if len(head) == HEAD and len(lines) > 1 else lines:
        try:
            text = line_text(line)
            if text and not text.startswith(COMMENT) and row_of(text) is not None:
                return True
        except (ValueError, OverflowError):
            return False
    return False


def begins_with_head(head: bytes, names: str) -> bool:
    """Return whether the first line of a file that begins with these bytes is the head of a table
    with columns of these names. Comments may come before. The reader may still refuse their
    order."""
    try:
        words = split_commas(first_line(head).lower(), 1)
    except ValueError:
        return False
    return {*names.lower().split(",")} <= {*words}


def first_lines(head: bytes) -> Iterator[str]:
    """Yield the lines of a text that are neither empty nor comments. Raises ValueError for bytes
    that are no text."""
    for line in head.split(b"\n"):
        text = line_text(line)
        if text and not text.startswith(COMMENT):
            yield text


def first_line(head: bytes) -> str:
    """Return the first line of a text that is neither empty nor a comment, or "". Raises ValueError
    for bytes that are no text."""
    return next(first_lines(head), "")


def line_text(line: bytes, names: bool = False) -> str:
    """Return a line's text, without white space around it.

    names: whether bytes that are not UTF-8 are kept as surrogates. Raises ValueError for such bytes
    otherwise.
    """
    try:
        return line.decode(errors="surrogateescape" if names else "strict").strip()
    except UnicodeDecodeError as error:
        at = error.start
        raise ValueError(f"byte {at + 1}, {line[at]:#x}, is no text of UTF-8") from None


def split_commas(line: str, least: int, most: int | None = None) -> list[str]:
    """Return the fields between a line's commas, without blanks and quotes around them, and
    without empty fields at the end. Raises ValueError if there are fewer than `least` or more
    than `most`."""
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


def split_spaces(line: str, counts: tuple[int, ...]) -> list[str]:
    """Return the fields between the white space of a line, without quotes around them, and without
    commas at the end. Raises ValueError unless their number is one of `counts`."""
    words = [word.strip('"') for word in line.rstrip(", \t").split()]
    if len(words) not in counts:
        raise ValueError(f"{len(words)} fields, not {' or '.join(map(str, counts))}")
    return words


def parse_kind(word: str, writes: dict[str, int]) -> int:
    """Return 1 for a word that stands for a write, 0 for one that stands for a read, in either
    case. writes: the value of each word. Raises ValueError for another word."""
    for known, write in writes.items():
        if word.lower() == known.lower():
            return write
    raise ValueError(f"neither {' nor '.join(writes)} but {word!r}")


def is_table_head(line: str, names: str) -> bool:
    """Return whether the line is the head of a table whose first columns have these names. Raises
    ValueError if it has the names in another order."""
    if line[:1].isdigit():  # a head begins with a name; this saves most of the time
        return False
    wanted = names.lower().split(",")
    words = [word.lower() for word in split_commas(line, 1)]
    if words[: len(wanted)] == wanted:
        return True
    if {*wanted} <= {*words}:
        raise ValueError(f"the columns must be in this order: {names}")
    return False


def find_columns(line: str, needed: Sequence[str], others: Sequence[str] = ()) -> dict[str, int]:
    """Return the places of the columns of these names, and of those of `others` that are there, in
    a line that is the head of a table. A line without all of `needed` is no such head: then nothing
    is returned. Raises ValueError for a quote that is not closed."""
    if line[:1].isdigit():  # a head begins with a name
        return {}
    words = [word.lower() for word in split_commas(line, 1)]
    there = [name for name in (*needed, *others) if name in words]
    return {name: words.index(name) for name in there} if {*needed} <= {*words} else {}


def parse_whole(word: str, column: str) -> int:
    """Return a column's whole number. column: its name, for the message. Raises ValueError."""
    text = word.strip()
    value = Decimal(text) if NUMBER.fullmatch(text) else Decimal(-1)
    if not (0 <= value < MOST_WHOLE and value == value.to_integral_value()):
        raise ValueError(f"{column} {text!r}: must be a whole number from 0 to 2^63")
    return int(value)


def parse_number(word: str, column: str) -> Decimal:
    """Return a column's number, exactly. Raises ValueError."""
    text = word.strip()
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{column} {text!r}: must be a number")
    return Decimal(text)


def parse_seconds(word: str) -> int:
    """Return a time in ns, from a text in s, exactly. (As a float, a date in seconds is up to 240
    ns off.) Raises ValueError."""
    text = word.strip()
    if not NUMBER.fullmatch(text):
        raise ValueError(f"the time {text!r}: must be a number in s")
    return int(Decimal(text).scaleb(9))


def parse_date(word: str) -> int:
    """Return a date with its time of day, as 2024-01-15 10:30:45.123456, in ns since 1970. Without
    a zone it is taken for universal time, so that times a clock apart stay apart. Raises
    ValueError."""
    try:
        when = datetime.fromisoformat(word.strip())
    except ValueError:
        raise ValueError(f"the time {word!r}: must be as 2024-01-15 10:30:45.123456") from None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000


def expect_range(column: str, value: int, low: int, high: int, unit: str = "") -> None:
    """Raise ValueError unless a column's value is in low to high, both included."""
    if not low <= value <= high:
        raise ValueError(f"{column}: {value}{unit}: must be {low} to {high}")


def checked_row(row: Row) -> Row:
    """Return the row, after a check that a table can hold it. Raises ValueError."""
    time_ns, offset, size, _ = row
    expect_range("the time", time_ns, 0, MOST - 1, " ns")
    expect_range("the offset", offset, 0, MOST - 1, " bytes")
    expect_range("the size", size, 0, MOST_BYTES, " bytes")
    return row


def read_records(
    path: Path, stream: BinaryIO, record: np.dtype, start: int = 0, begin: bytes = b""
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the records of a binary file, up to PIECE at a time, each piece with its offset in the
    file.

    start: the offset of the first record in the file; begin: the first bytes of the records, if
    they have been read. Raises BadTraceFile if the last record is incomplete.
    """
    at = start
    while data := begin + stream.read(PIECE * record.itemsize - len(begin)):
        begin = b""
        whole, rest = divmod(len(data), record.itemsize)
        if rest:
            raise BadTraceFile(
                f"{path}: at byte {at + whole * record.itemsize}: the last record has {rest} "
                f"bytes of {record.itemsize}"
            )
        yield at, np.frombuffer(data, record)
        at += len(data)


def expect_good_records(
    path: Path, good: np.ndarray, at: int, record: np.dtype, what: str, values: np.ndarray
) -> None:
    """Raise BadTraceFile with the place of the first record that is not good."""
    if not good.all():
        i = int(np.argmin(good))
        place = at + i * record.itemsize
        raise BadTraceFile(f"{path}: at byte {place}: {what} {values[i]}")


def join_tables(pieces: list[np.ndarray]) -> np.ndarray:
    """Return several tables as one."""
    return np.concatenate([np.zeros(0, REQUEST), *pieces])
