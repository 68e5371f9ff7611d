"""The tables of the book's page about proofs.

`sluice dev prove --page` puts its rows there, and with --mutants the whole table of mutants.
"""

from pathlib import Path

from sluice.host.paths import ROOT
from tools.search.search_page import find_table, format_row

PAGE = ROOT / "book" / "pages" / "inside" / "proofs.md"
PROOFS, MUTANTS = "<!-- table: proofs -->", "<!-- table: mutated -->"


def put_proofs(rows: list[list[str]], page: Path = PAGE) -> None:
    """Put the rows of policies into the page, each in the place of its older one."""
    text = page.read_text(encoding="utf-8")
    start, end = find_table(text, PROOFS)
    head, line, *old = text[start:end].splitlines(keepends=True)
    kept = {row.split("|")[1].strip(): row for row in old}
    kept |= {row[0]: format_row(row) for row in rows}
    page.write_text(text[:start] + head + line + "".join(kept.values()) + text[end:], "utf-8")


def put_mutants(rows: list[list[str]], page: Path = PAGE) -> None:
    """Put the counts of the mutants into the page; the first row is the head."""
    text = page.read_text(encoding="utf-8")
    start, end = find_table(text, MUTANTS)
    line = format_row(["---"] * len(rows[0]))
    table = format_row(rows[0]) + line + "".join(format_row(row) for row in rows[1:])
    page.write_text(text[:start] + table + text[end:], encoding="utf-8")
