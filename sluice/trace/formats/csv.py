"""Any text with a request a line and named columns; table_roles.py says how they are named.

Fields are separated by commas, semicolons, tabs or white space: by the first of these by which the
first request can be read, or else by whichever gives the most fields. So names in a head and dates
may have blanks in them. The first line is a head if none of its fields is a number. Columns that
are not used may hold anything.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from sluice.trace.bound import Bound
from sluice.trace.errors import BadTraceFile
from sluice.trace.format_words import COLUMNS, UNIT, Word
from sluice.trace.stream import (
    COMMENT,
    HEAD,
    NUMBER,
    LeftOut,
    Line,
    first_lines,
    line_text,
    tables_of_lines,
)
from sluice.trace.table_roles import Roles, Unit, find_roles, guess_unit, make_row_of

ABOUT = "any text with named columns (--columns)"
SOURCE = "sluice/trace/table_roles.py"
LAST_RESORT = True
SEPARATORS = (",", ";", "\t", "")  # "": white space
TRIED = 2  # lines by which the separator is found: perhaps a head, and a request


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    try:
        table = read_table(head, Word("csv"))
    except ValueError:
        return False
    return table.head is not None and "time" in table.roles.places


@dataclass(frozen=True)
class Table:
    """A text's columns. head: the first line, or None if that line is a request."""

    separator: str
    head: str | None
    roles: Roles
    unit: Unit

    def row_parser(self) -> Callable[[str], Line]:
        """Return the function that makes a request of a line, and None of the head. It raises
        ValueError."""
        row_of, width = make_row_of(self.roles, self.unit), max(self.roles.places.values()) + 1

        def parse_row(line: str) -> Line:
            """Return the request of a line, or None for the head."""
            if line == self.head:
                return None
            words: Sequence[str] = split_fields(line, self.separator)
            if len(words) < width:
                raise ValueError(f"{len(words)} fields, not {width} or more")
            return row_of(words)

        return parse_row


def split_fields(line: str, separator: str) -> list[str]:
    """Return the fields of a line, without quotes. Raises ValueError."""
    if not separator:
        return line.split()
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None


def read_table(head: bytes, word: Word) -> Table:
    """Return what the beginning of a text says of its columns. Raises ValueError."""
    lines = list(islice(first_lines(head), TRIED)) or [""]
    for separator in SEPARATORS:
        try:
            table = split_table(head, lines[0], separator, word)
            if parse_first(table, lines):
                return table
        except ValueError:
            continue
    most = max(SEPARATORS, key=lambda sign: min(len(split_fields(line, sign)) for line in lines))
    return split_table(head, lines[0], most, word)


def split_table(head: bytes, first: str, separator: str, word: Word) -> Table:
    """Return the columns of a text whose fields this separator separates. first: its first line.
    Raises ValueError."""
    names = [name.strip() for name in split_fields(first, separator)]
    has_head = not any(NUMBER.fullmatch(name) for name in names)
    roles = find_roles(word.options.get(COLUMNS, ""), names if has_head else None, len(names))
    times = list(first_times(head, separator, roles, has_head)) if "time" in roles.places else ["0"]
    unit = guess_unit(word.options.get(UNIT, ""), roles.named.get("time", ""), times)
    return Table(separator, first if has_head else None, roles, unit)


def parse_first(table: Table, lines: list[str]) -> Line:
    """Return the first request of a text that begins with these lines, or None if they have none.
    Raises ValueError."""
    rows = [line for line in lines if line != table.head]
    return table.row_parser()(rows[0]) if rows else None


def first_times(head: bytes, separator: str, roles: Roles, has_head: bool) -> Iterator[str]:
    """Yield the time of each request in a text's beginning, without a last line that is cut off."""
    lines = io.BytesIO(head).readlines()
    whole = lines[:-1] if len(head) >= HEAD and len(lines) > 1 else lines
    skip = has_head
    for line in whole:
        try:
            text = line_text(line)
        except ValueError:
            continue
        if not text or text.startswith(COMMENT):
            continue
        words = split_fields(text, separator)
        if not skip and len(words) > roles.places["time"]:
            yield words[roles.places["time"]]
        skip = False


def bind(word: Word, path: Path, head: bytes) -> Bound:
    """Return the format for a file that begins with these bytes. Raises BadTraceFile."""
    try:
        table = read_table(head, word)
    except ValueError as error:
        raise BadTraceFile(f"{path}: {error}") from None
    parse_row = table.row_parser()

    def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
        """Yield tables of the file's requests, and count in `left` what is left out."""
        yield from tables_of_lines(path, stream, left, parse_row, names=True)

    return Bound.bind_table(__name__, ABOUT, SOURCE, table.roles, table.unit, read)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield the tables of a text whose head names its columns; find_format() binds options."""
    head = stream.peek(HEAD)[:HEAD] if isinstance(stream, io.BufferedReader) else b""
    yield from bind(Word("csv"), path, head).read(path, stream, left)
