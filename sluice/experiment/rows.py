"""Tables of rows in an experiment's file: a short way to write many [[tables]] of one kind.

    [[published]]
    place = "Mogul 1994, table 4-3"          these keys are in every row
    columns = ["arm", "metric", "where.load", "value"]
    rows = [
        ["PU", "read.max_ms", 1, "8.1"],     a table each: its values of the columns
        ["AIPU", "read.max_ms", 1, "0.3"],
    ]

A column "where.load" is the key `load` of the table `where`. All readers of the file get the tables
that the rows stand for.
"""

import tomllib
from typing import Any

from sluice.experiment.records import Unchecked

COLUMNS, ROWS = "columns", "rows"


Keys = tuple[str, int] | tuple[str, int, str]  # of a table in the file, or of a key in it


class BadRows(ValueError):
    """The error for rows that cannot be read. keys: where, as in Lines."""

    def __init__(self, keys: Keys, text: str) -> None:
        super().__init__(text)
        self.keys = keys


def check_rows(keys: tuple[str, int], table: Unchecked) -> None:
    """Raise BadRows if a table has rows that do not go with its columns."""
    columns, rows = table.get(COLUMNS), table[ROWS]
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise BadRows(keys, f'"{ROWS}" needs "{COLUMNS}", a list of texts')
    for name in columns:
        if columns.count(name) > 1 or name in table:
            raise BadRows((*keys, COLUMNS), f'the column "{name}" is given twice')
    if not isinstance(rows, list) or not rows:
        raise BadRows((*keys, ROWS), f'"{ROWS}" must be a list of lists, at least one')
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            kind, first = keys
            said = f"row {i + 1} must be a list of {len(columns)} values, one for each column"
            raise BadRows((kind, first + i), said)


def make_row(common: Unchecked, columns: list[str], values: list[Any]) -> Unchecked:
    """Return the table that a row stands for. common: the keys that all rows share."""
    made = {
        name: dict(value) if isinstance(value, dict) else value for name, value in common.items()
    }
    for name, value in zip(columns, values, strict=True):
        outer, _, inner = name.partition(".")
        if inner:
            made.setdefault(outer, {})[inner] = value
        else:
            made[outer] = value
    return made


def expand_rows(raw: Unchecked) -> Unchecked:
    """Return a file's values with a table for each row. Raises BadRows."""
    made = dict(raw)
    for kind, tables in raw.items():
        if not isinstance(tables, list):
            continue
        made[kind] = []
        for table in tables:
            if not isinstance(table, dict) or ROWS not in table:
                made[kind].append(table)
                continue
            check_rows((kind, len(made[kind])), table)
            common = {name: table[name] for name in table if name not in (COLUMNS, ROWS)}
            made[kind] += [make_row(common, table[COLUMNS], row) for row in table[ROWS]]
    return made


def parse_experiment(text: str) -> Unchecked:
    """Return the values of an experiment's text. Raises tomllib.TOMLDecodeError and BadRows."""
    return expand_rows(tomllib.loads(text))
