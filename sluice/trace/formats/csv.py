"""Any text with a request a line and named columns; table_roles.py says how they are named.

Fields are separated by commas, semicolons, tabs or white space, whichever the first line has most
of. The first line is a head if none of its fields is a number. Columns that are not used may hold
anything.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    first_line,
    line_text,
    tables_of_lines,
)
from sluice.trace.table_roles import Roles, Unit, find_roles, guess_unit, make_row_of

ABOUT = "any text with named columns (--columns)"
SOURCE = "sluice/trace/table_roles.py"
LAST_RESORT = True
SEPARATORS = (",", ";", "\t", "")  # "": white space


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
    first = first_line(head)
    separator = max(SEPARATORS, key=lambda sign: len(split_fields(first, sign)))
    names = [name.strip() for name in split_fields(first, separator)]
    has_head = not any(NUMBER.fullmatch(name) for name in names)
    roles = find_roles(word.options.get(COLUMNS, ""), names if has_head else None, len(names))
    times = list(first_times(head, separator, roles, has_head)) if "time" in roles.places else ["0"]
    unit = guess_unit(word.options.get(UNIT, ""), roles.named.get("time", ""), times)
    return Table(separator, first if has_head else None, roles, unit)


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
    row_of, width = make_row_of(table.roles, table.unit), max(table.roles.places.values()) + 1

    def parse_row(line: str) -> Line:
        """Return the request of a line, or None for the head."""
        if line == table.head:
            return None
        words: Sequence[str] = split_fields(line, table.separator)
        if len(words) < width:
            raise ValueError(f"{len(words)} fields, not {width} or more")
        return row_of(words)

    def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
        """Yield tables of the file's requests, and count in `left` what is left out."""
        yield from tables_of_lines(path, stream, left, parse_row, names=True)

    return Bound.bind_table(__name__, ABOUT, SOURCE, table.roles, table.unit, read)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield the tables of a text whose head names its columns; find_format() binds options."""
    head = stream.peek(HEAD)[:HEAD] if isinstance(stream, io.BufferedReader) else b""
    yield from bind(Word("csv"), path, head).read(path, stream, left)
