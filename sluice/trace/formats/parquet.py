"""Parquet with a request a row and named columns; table_roles.py says how they are named.

A column of the type timestamp has its unit in the file. The file is read group by group.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sluice.trace.bound import Bound
from sluice.trace.errors import BadTraceFile
from sluice.trace.format_words import COLUMNS, UNIT, UNITS_PS, Word
from sluice.trace.stream import (
    NO_DATA,
    SHOWN_BYTES,
    LeftOut,
    Row,
    build_tables,
    checked_row,
    compression,
    take_bad_row,
)
from sluice.trace.table_roles import Unit, find_roles, guess_unit, make_row_of

ABOUT = "Parquet with named columns (--columns)"
SOURCE = "sluice/trace/table_roles.py; parquet.apache.org"
MAGIC = b"PAR1"
ROWS = 8192  # that are turned into requests at once


def looks_like(name: str, head: bytes) -> bool:
    """Return whether a file with this name and beginning looks like this format."""
    return head.startswith(MAGIC)


def open_file(path: Path) -> Any:
    """Return a file of Parquet. Raises BadTraceFile."""
    try:
        from pyarrow import parquet
    except ModuleNotFoundError:
        why = "what reads Parquet is not installed; type: sh tools/setup.sh sweep"
        raise BadTraceFile(
            f"{path}: cannot be read: {why} (without a clone: pip install pyarrow)"
        ) from None
    if packer := compression(path):
        raise BadTraceFile(f"{path}: Parquet inside of {packer}: unpack it first")
    with refuse_damage(path):
        file = parquet.ParquetFile(path)
        _ = file.schema_arrow.names  # the names are decoded only now
        return file


@contextmanager
def refuse_damage(path: Path) -> Iterator[None]:
    """Raise BadTraceFile in place of what pyarrow raises for a damaged file."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        why = str(error).strip().partition("\n")[0]
        raise BadTraceFile(f"{path}: cannot be read: {why}") from None


def read_columns(path: Path, file: Any, names: list[str]) -> Iterator[list[list[str]]]:
    """Yield the values of some columns of a file as text, ROWS rows at a time. Raises
    BadTraceFile."""
    batches = file.iter_batches(ROWS, columns=names)
    while True:
        with refuse_damage(path):
            batch = next(batches, None)
            if batch is None:
                return
            found = [as_words(batch.column(name)) for name in names]
        yield found


def expect_single(names: list[str], used: list[str]) -> None:
    """Raise ValueError if a column that is used has the name of another one."""
    for name in used:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} columns have the name {name}: leave one")


def typed_unit(field: Any) -> Unit | None:
    """Return the unit of a column of the type timestamp, else None."""
    unit = getattr(field.type, "unit", None)
    return Unit(UNITS_PS[unit], unit, "by the column's type") if unit else None


def as_words(column: Any) -> list[str]:
    """Return the values of a column as text; a timestamp as its number. Texts may be of the type
    binary, as some programs write them."""
    import pyarrow

    if pyarrow.types.is_temporal(column.type):
        column = column.cast("int64")
    elif pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type):
        column = column.cast("string")
    return ["" if value is None else str(value) for value in column.to_pylist()]


def bind(word: Word, path: Path, head: bytes) -> Bound:
    """Return the format for a file. Raises BadTraceFile."""
    file = open_file(path)
    names = file.schema_arrow.names
    try:
        roles = find_roles(word.options.get(COLUMNS, ""), names, len(names))
        used = [names[at] for at in roles.places.values()]
        expect_single(names, used)
        unit = Unit(UNITS_PS["s"], "s", "there are none")
        if "time" in roles.places:
            name = names[roles.places["time"]]
            values = next(read_columns(path, file, [name]), [[]])[0]
            typed = None if word.options.get(UNIT) else typed_unit(file.schema_arrow.field(name))
            unit = typed or guess_unit(word.options.get(UNIT, ""), name, values)
    except BadTraceFile:
        raise
    except ValueError as error:
        raise BadTraceFile(f"{path}: {error}") from None
    compact = type(roles)({role: i for i, role in enumerate(roles.places)}, roles.named)

    def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
        """Yield tables of the file's requests, and count in `left` what is left out."""
        yield from build_tables(path, rows_of(path, left, used, make_row_of(compact, unit)))

    return Bound.bind_table(__name__, ABOUT, SOURCE, roles, unit, read)


def rows_of(path: Path, left: LeftOut, used: list[str], row_of: Any) -> Iterator[Row]:
    """Yield the requests of a file. used: the columns. Raises BadTraceFile."""
    number = 0
    for columns in read_columns(path, open_file(path), used):
        for words in zip(*columns, strict=True):
            number += 1
            left.bad.lines += 1
            try:
                found = row_of(words)
                rows = [found] if isinstance(found, tuple) else found
                kept = [checked_row(row) for row in rows if row[2]]
            except (ValueError, OverflowError) as error:
                shown = ", ".join(words)[:SHOWN_BYTES]
                take_bad_row(left, number, f"{path}: row {number}: {error}: {shown!r}")
                continue
            if not kept:
                left.add(NO_DATA)
            left.kept += len(kept)
            yield from kept
    left.expect_few_bad(path)


def read(path: Path, stream: BinaryIO, left: LeftOut) -> Iterator[np.ndarray]:
    """Yield the tables of a file whose columns' names tell their roles; find_format() binds
    options."""
    yield from bind(Word("parquet"), path, b"").read(path, stream, left)
