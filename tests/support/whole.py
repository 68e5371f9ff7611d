"""FULL=1: tests also do what takes long. The proof of one lab (LAB=) is in full unless FULL=0.

Tests of one kind that are many and take long carry the mark `drawn(of)`: each run without FULL=1
makes one of `of` tests of each function, drawn by the tree's commit, so other pushes try others
and one commit always tries the same. `drawn(of, among=...)` draws from each group of tests by
itself, and `drawn(of, unit=...)` draws tests of one unit together. Tests that are chosen by name
(`make test T=...`) are not drawn. SLUICE_DRAW=WORD draws others; SLUICE_DRAW=all leaves none out.
"""

import hashlib
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import pytest
from _pytest.mark import ParameterSet

from sluice.host.paths import ROOT

ONE = os.environ.get("LAB")
WHOLE = os.environ.get("FULL", "1" if ONE else "") == "1"

in_full = pytest.mark.skipif(not WHOLE, reason="only with FULL=1")


def draw_for_each(values: Iterable[str], of: int) -> list[ParameterSet]:
    """Return values as parameters of a test: for each of them, one of `of` tests is drawn."""
    return [pytest.param(value, marks=pytest.mark.drawn(of, among=value)) for value in values]


@cache
def draw_word() -> str:
    """Return what decides which tests are drawn: SLUICE_DRAW, or the commit of the tree."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        commit = ""
    return os.environ.get("SLUICE_DRAW") or commit or "0"


def draw(units: Iterable[str], of: int, word: str) -> set[str]:
    """Return one of `of` units, rounded up, drawn by a word."""

    def place(unit: str) -> bytes:
        """Return where a unit stands in the order that the word draws: the hash of both."""
        return hashlib.sha256(f"{word} {unit}".encode()).digest()

    ordered = sorted(set(units), key=place)
    return set(ordered[: -(-len(ordered) // of)])


def unit_of(item: pytest.Item, mark: pytest.Mark) -> str:
    """Return the name of what an item is drawn with: the mark's unit, or the item itself.

    xdist changes an item's nodeid, but not its name.
    """
    return str(mark.kwargs.get("unit", item.name))


def leave_out(items: list[pytest.Item], word: str) -> None:
    """Mark as skipped what is not drawn by a word of the tests that carry the mark `drawn`."""
    if word == "all":
        return
    strata = defaultdict(list)  # tests of one function, or of one value: some of each are drawn
    for item in items:
        if mark := item.get_closest_marker("drawn"):
            kind = item.path, item.name.partition("[")[0], mark.kwargs.get("among")
            strata[kind].append((item, mark))
    for members in strata.values():
        units = [unit_of(item, mark) for item, mark in members]
        chosen = draw(units, members[0][1].args[0], word)
        skip = pytest.mark.skip(reason=f"not drawn by {word}; FULL=1 makes all")
        for item, mark in members:
            if unit_of(item, mark) not in chosen:
                item.add_marker(skip)
