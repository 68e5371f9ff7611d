"""The kernel is as small as README.md promises: lines of code, without comments and blank lines."""

import re

import pytest

from grade.host.paths import ROOT

PROMISES = re.findall(r"at most ([\d,]+)", (ROOT / "README.md").read_text())
SUBJECT = ("cache", "disk", "policy")


def code_lines(text: str) -> int:
    """How many lines hold code."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return sum(bool(line.strip()) for line in code.splitlines())


def size(*folders: str) -> int:
    """Of all C and assembler sources in these folders of kernel/, or in all of it."""
    places = [ROOT / "kernel" / folder for folder in folders] or [ROOT / "kernel"]
    return sum(code_lines(p.read_text()) for place in places for p in place.rglob("*.[chS]"))


def test_comments_and_blank_lines_are_no_code() -> None:
    assert code_lines("/* a\n * b */\n\nint x; /* c */\n  // d\n#define E /*\n*/ 1\n") == 2


@pytest.mark.parametrize(("folders", "promise"), [(SUBJECT, PROMISES[0]), ((), PROMISES[1])])
def test_the_kernel_is_no_larger_than_promised(folders: tuple[str, ...], promise: str) -> None:
    assert promise in ("4,500", "14,000")
    assert size(*folders) <= int(promise.replace(",", ""))
