"""The kernel and the imitated drives are as small as book/architecture.toml promises: lines of
code, without comments and blank lines."""

import re

import pytest

from book.ext.architecture import read_architecture
from sluice.host.paths import ROOT

pytestmark = pytest.mark.check

LIMITS = read_architecture()["limit"]


def code_lines(text: str) -> int:
    """Return how many lines hold code."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return sum(bool(line.strip()) for line in code.splitlines())


def size(*folders: str) -> int:
    """Return the lines of code of all C and assembler sources in these folders."""
    return sum(code_lines(p.read_text()) for f in folders for p in (ROOT / f).rglob("*.[chS]"))


def test_comments_and_blank_lines_are_no_code() -> None:
    assert code_lines("/* a\n * b */\n\nint x; /* c */\n  // d\n#define E /*\n*/ 1\n") == 2


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit["what"])
def test_nothing_is_larger_than_promised(limit: dict) -> None:
    lines = size(*limit["folders"]) - size(*limit.get("without", []))
    assert 0 < lines <= limit["lines"]
