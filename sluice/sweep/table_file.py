"""Writes the rows of a result to a file, .csv or .parquet."""

import csv
from pathlib import Path
from typing import Any

from sluice.host.out import expect_file
from sluice.sweep.ranges import BadSweep

ENDINGS = (".csv", ".parquet")


def expect_table(out: Path | None, option: str = "--out") -> None:
    """Raise BadSweep or BadOut unless the file of an option can be written."""
    if out is None:
        return
    if out.suffix not in ENDINGS:
        raise BadSweep(f"{option}={out}: must end in .csv or .parquet")
    expect_file(out, option)


def write_table(out: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows of plain values, which all have the first row's columns."""
    if out.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), out)
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
