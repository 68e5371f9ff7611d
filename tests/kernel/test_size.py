"""The kernel and the imitated drives are as small as README.md promises: lines of code, without
comments and blank lines."""

import re

import pytest

from sluice.host.paths import ROOT

PROMISES = re.findall(r"at most ([\d,]+)", (ROOT / "README.md").read_text())
SUBJECT = ("kernel/cache", "kernel/disk", "kernel/policy")


def code_lines(text: str) -> int:
    """How many lines hold code."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return sum(bool(line.strip()) for line in code.splitlines())


def size(*folders: str) -> int:
    """Of all C and assembler sources in these folders."""
    return sum(code_lines(p.read_text()) for f in folders for p in (ROOT / f).rglob("*.[chS]"))


def test_comments_and_blank_lines_are_no_code() -> None:
    assert code_lines("/* a\n * b */\n\nint x; /* c */\n  // d\n#define E /*\n*/ 1\n") == 2


@pytest.mark.parametrize(
    ("folders", "promise", "expected"),
    [(SUBJECT, 0, "4,500"), (("kernel",), 1, "14,800"), (("drives",), 2, "1,300")],
)
def test_nothing_is_larger_than_promised(
    folders: tuple[str, ...], promise: int, expected: str
) -> None:
    assert PROMISES[promise] == expected
    assert size(*folders) <= int(expected.replace(",", ""))
