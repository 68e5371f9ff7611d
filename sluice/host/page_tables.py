"""Read and write tables of the book's pages.

Each stands behind a mark, as `<!-- table: proofs -->`.
"""

import re
from collections.abc import Sequence
from pathlib import Path

Row = Sequence[str]  # cells; the first cells name the row's subject


def format_row(cells: Row) -> str:
    """Return a row of a table, with its newline."""
    return f"| {' | '.join(cells)} |\n"


def split_row(line: str) -> list[str]:
    """Return the cells of a row."""
    return [cell.strip() for cell in line.split("|")[1:-1]]


def find_table(page: Path, mark: str) -> tuple[str, list[str], str]:
    """Return the text before the table behind a mark, the lines of the table, and the text after
    it. Raises ValueError if the page has none."""
    text = page.read_text(encoding="utf-8")
    found = re.search(re.escape(mark) + r"\n\n((?:\|.*\n)+)", text)
    if not found:
        raise ValueError(f"{page}: there is no table behind {mark}")
    return text[: found.start(1)], found[1].splitlines(keepends=True), text[found.end(1) :]


def read_rows(page: Path, mark: str) -> list[list[str]]:
    """Return the cells of each row of a table, without its head."""
    return [split_row(line) for line in find_table(page, mark)[1][2:]]


def put_rows(page: Path, mark: str, rows: Sequence[Row], names: int = 1) -> None:
    """Put rows into a table.

    A row replaces the older row with the same subject, or is added at the end. names: the number of
    first cells that name the subject. Raises ValueError if the page has no such table.
    """
    before, (head, line, *old), after = find_table(page, mark)
    kept = {tuple(split_row(row)[:names]): row for row in old}
    kept |= {tuple(row[:names]): format_row(row) for row in rows}
    page.write_text(before + head + line + "".join(kept.values()) + after, encoding="utf-8")


def put_table(page: Path, mark: str, rows: Sequence[Row]) -> None:
    """Put a whole table in the place of an older one. The first row is the head. Raises ValueError
    if the page has no such table."""
    before, _, after = find_table(page, mark)
    head, *others = rows
    lines = [format_row(row) for row in (head, ["---"] * len(head), *others)]
    page.write_text(before + "".join(lines) + after, encoding="utf-8")
