"""The tables of the book's page about the search.

`sluice dev search --page` puts the row of its configuration there, in the place of an older one,
and with --mutants the whole table of mutants.
"""

from pathlib import Path

from sluice.host import page_tables
from sluice.host.paths import ROOT
from tools.search.searcher import FOUND, Outcome

PAGE = ROOT / "book" / "pages" / "inside" / "search.md"
SEARCHES, MUTANTS = "<!-- table: searches -->", "<!-- table: mutants -->"


def put_search(command: str, outcome: Outcome, places: list[str], page: Path = PAGE) -> None:
    """Put the row of a search into the page. places: the last row of its coverage."""
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
    page_tables.put_rows(page, SEARCHES, [cells])
