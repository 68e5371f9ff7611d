"""Hits, ghost hits and ghost misses enter the formula as the tunable `reading` says."""

from grade.engine.workbench import Workbench

from ..ghosts import expect_bounds
from ..readers import most_blocks


def the_formula_as_printed(bench: Workbench) -> None:
    """A reader beside a steady writer, with reading=0."""
    expect_bounds(bench, most_blocks(bench, "printed", 0), 0)


def the_formula_as_its_text_implies(bench: Workbench) -> None:
    """A reader beside a steady writer, with reading=1."""
    expect_bounds(bench, most_blocks(bench, "implied", 1), 1)
