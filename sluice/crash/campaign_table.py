"""The table of the book's page about the crash laboratory: a row for each campaign.

`sluice crash run --page` puts the row of its campaign there, in the place of an older one.
"""

from collections.abc import Sequence
from pathlib import Path

from sluice.host import page_tables
from sluice.host.paths import ROOT

RANDOM = ("--pairs", "--seeds", "--together")  # how many random workloads of each kind
PAGE = ROOT / "book" / "pages" / "inside" / "crash.md"
TABLE = "<!-- table: campaigns -->"


def command_of(length: int, counts: Sequence[int], options: str) -> str:
    """Return the command of a campaign, as it could be typed again. counts: for each
    word of RANDOM, its number."""
    said = f" --length {length}"
    said += "".join(f" {word} {n}" for word, n in zip(RANDOM, counts, strict=True) if n)
    return f"sluice crash run{said}{options}"


def put_row(command: str, cells: list[str], page: Path = PAGE) -> None:
    """Put a campaign's row into the page's table. Raises ValueError if the page has none."""
    page_tables.put_rows(page, TABLE, [[f"`{command}`", *cells]])


def read_rows(page: Path = PAGE) -> dict[str, list[str]]:
    """Return the cells of each row, by its command."""
    rows = page_tables.read_rows(page, TABLE)
    return {command.strip("`"): cells for command, *cells in rows}
