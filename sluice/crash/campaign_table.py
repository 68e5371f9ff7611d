"""The table of the book's page about the crash laboratory: a row for each campaign.

`sluice crash run --page` puts the row of its campaign there, in the place of an older one.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from sluice.host.paths import ROOT

RANDOM = ("--pairs", "--seeds", "--together")  # how many random workloads of each kind
PAGE = ROOT / "book" / "pages" / "inside" / "crash.md"
HEAD = (
    "<!-- table: campaigns -->\n\n| command | workloads | cuts | images | stale | lost | faults |"
)
ROW = re.compile(r"\| `(sluice crash run[^`]*)` \|.*\n")


def command_of(length: int, counts: Sequence[int], options: str) -> str:
    """Return the command of a campaign, as it could be typed again. counts: those of RANDOM."""
    said = f" --length {length}"
    said += "".join(f" {word} {n}" for word, n in zip(RANDOM, counts, strict=True) if n)
    return f"sluice crash run{said}{options}"


def put_row(command: str, cells: list[str], page: Path = PAGE) -> None:
    """Put a campaign's row into the page's table. Raises ValueError if the page has none."""
    text = page.read_text(encoding="utf-8")
    row = f"| `{command}` | {' | '.join(cells)} |\n"
    for match in ROW.finditer(text):
        if match[1] == command:
            page.write_text(text.replace(match[0], row), encoding="utf-8")
            return
    at = text.find(HEAD)
    end = text.find("\n\n", at + len(HEAD))
    if at < 0 or end < 0:
        raise ValueError(f"{page}: it has no table of campaigns")
    page.write_text(text[: end + 1] + row + text[end + 1 :], encoding="utf-8")


def read_rows(page: Path = PAGE) -> dict[str, list[str]]:
    """Return the cells of each row, by its command."""
    text = page.read_text(encoding="utf-8")
    return {
        match[1]: [cell.strip() for cell in match[0].split("|")[2:-1]]
        for match in ROW.finditer(text)
    }
