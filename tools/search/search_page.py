"""The tables of the book's page about the search.

`sluice dev search --page` puts the row of its configuration there, in the place of an older one,
and with --mutants the whole table of mutants.
"""

import re
from pathlib import Path

from sluice.host.paths import ROOT
from tools.search.searcher import FOUND, Outcome

PAGE = ROOT / "book" / "pages" / "inside" / "search.md"
SEARCHES, MUTANTS = "<!-- table: searches -->", "<!-- table: mutants -->"


def find_table(text: str, mark: str) -> tuple[int, int]:
    """Return the beginning and end of the table behind a mark. Raises ValueError without one."""
    found = re.compile(re.escape(mark) + r"\n\n((\|.*\n)+)").search(text)
    if not found:
        raise ValueError(f"{PAGE}: there is no table behind {mark}")
    return found.start(1), found.end(1)


def format_row(cells: list[str]) -> str:
    """Return a row of a table of the page."""
    return f"| {' | '.join(cells)} |\n"


def put_search(command: str, outcome: Outcome, places: list[str], page: Path = PAGE) -> None:
    """Put the row of a search into the page. places: the last row of its coverage."""
    text = page.read_text(encoding="utf-8")
    start, end = find_table(text, SEARCHES)
    counts = [f"{outcome.number(name):,}" for name in ("states", "transitions", "depth")]
    whole = outcome.values.get("result") == "complete"
    found = "1" if outcome.status == FOUND else "0"
    cells = [
        f"`{command}`",
        *counts,
        "yes" if whole else "no",
        f"{places[1]} of {places[2]}",
        found,
    ]
    rows = [row for row in text[start:end].splitlines(True) if f"| `{command}` |" not in row]
    table = "".join([*rows, format_row(cells)])
    page.write_text(text[:start] + table + text[end:], encoding="utf-8")


def put_mutants(rows: list[list[str]], page: Path = PAGE) -> None:
    """Put the counts of the mutants into the page; the first row is the head."""
    text = page.read_text(encoding="utf-8")
    start, end = find_table(text, MUTANTS)
    line = format_row(["---"] * len(rows[0]))
    table = format_row(rows[0]) + line + "".join(format_row(row) for row in rows[1:])
    page.write_text(text[:start] + table + text[end:], encoding="utf-8")
