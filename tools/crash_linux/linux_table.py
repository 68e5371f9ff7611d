"""The book's table of what cuts show on Linux's file systems and on ours: a row for each mode."""

import re
from pathlib import Path

from sluice.crash.campaign_table import PAGE
from sluice.crash.cut_findings import KINDS
from tools.crash_linux.linux_guest import Mount

COLUMNS = ("system", "mount", "workloads", "cuts", *KINDS)
HEAD = f"<!-- table: linux -->\n\n| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}\n"
TABLE = re.compile(re.escape(HEAD) + r"((?:\|.*\n)*)")


def format_row(cells: list[str]) -> str:
    """Return a row of the table."""
    return f"| {' | '.join(cells)} |\n"


def put_rows(rows: dict[Mount, list[str]], page: Path = PAGE) -> None:
    """Put rows into the page's table, in the place of older ones.

    Raises ValueError if the page has no such table.
    """
    text = page.read_text(encoding="utf-8")
    match = TABLE.search(text)
    if not match:
        raise ValueError(f"{page}: it has no table of Linux's file systems")
    kept = read_rows(page)
    for mount, (system, *cells) in rows.items():
        kept[str(mount)] = [system, f"`{mount}`", *cells]
    table = HEAD + "".join(map(format_row, kept.values()))
    page.write_text(text[: match.start()] + table + text[match.end() :], encoding="utf-8")


def read_rows(page: Path = PAGE) -> dict[str, list[str]]:
    """Return the cells of each row, by its mount."""
    match = TABLE.search(page.read_text(encoding="utf-8"))
    lines = match[1].splitlines() if match else []
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {cells[1].strip("`"): cells for cells in rows}
