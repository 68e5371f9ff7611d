"""The documents at the top are short: ARCHITECTURE.md (with the tables of book/architecture.toml),
CONTRIBUTING.md and CHANGELOG.md. Each decision of the book has its parts."""

import re

import pytest

from book.ext.architecture import SHOWN, list_tables, replace_tables
from sluice.host.paths import ROOT

pytestmark = pytest.mark.check

WORDS = {"ARCHITECTURE.md": 1500, "CONTRIBUTING.md": 2000}  # at most
HEADINGS = ["Added", "Changed", "Fixed"]  # of a release, as Keep a Changelog has them
ENTRIES = 10  # of a release, about
PAGES = sorted((ROOT / "book/pages/decisions").glob("[!i]*.md"))
PARTS = ["Context", "Alternatives and their costs", "Choice"]
PART = re.compile(r"^(.+)\n: \S", re.M)  # a definition list's term


def count_words(text: str) -> int:
    """Return the number of words; the bars and rules of tables are none."""
    return len(re.findall(r"[^\s|]*\w[^\s|]*", text))


def test_bars_and_rules_of_tables_are_no_words() -> None:
    assert count_words("| two | words |\n| --- | --- |\n") == 2


@pytest.mark.parametrize(("name", "most"), WORDS.items())
def test_a_document_is_short(name: str, most: int) -> None:
    assert count_words((ROOT / name).read_text()) <= most


def releases() -> dict[str, str]:
    """Return what CHANGELOG.md says of each version, the newest first."""
    _, *parts = re.split(r"^## (.*)\n", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("version", releases())
def test_a_release_has_entries_under_added_changed_and_fixed(version: str) -> None:
    before, *parts = re.split(r"^### (.*)\n", releases()[version], flags=re.M)
    assert not before.strip(), "an entry stands under no heading"
    assert parts[::2] == [heading for heading in HEADINGS if heading in parts[::2]]
    for entries in parts[1::2]:
        assert all(line.startswith("- ") for line in entries.strip().splitlines())


def test_a_release_has_about_ten_entries() -> None:
    """The topmost version is under work: it may have twice as many until its release."""
    topmost = next(iter(releases()))
    for version, text in releases().items():
        most = (2 if version == topmost else 1.2) * ENTRIES
        assert 4 <= len(re.findall(r"^- ", text, re.M)) <= most, version


def test_architecture_shows_the_tables_of_the_data() -> None:
    text = SHOWN.read_text()
    assert replace_tables(text) == text, "run .venv/bin/python -m book.ext.architecture"
    for lines in list_tables().values():
        assert lines in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_decision_has_its_context_its_alternatives_and_its_choice(page) -> None:
    _title, *decisions = re.split(r"^## ", page.read_text(), flags=re.M)
    assert decisions
    for decision in decisions:
        assert PART.findall(decision) == PARTS, f"{page.name}: {decision.splitlines()[0]}"
