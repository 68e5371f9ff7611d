"""Hits, ghost hits and ghost misses enter the formula as the tunable `reading` says."""

from grade.scoring.workbench import Workbench

from ..ghosts import expect_bounds
from ..readers import args, scenario


def the_formula_as_printed(bench: Workbench) -> None:
    """A reader beside a steady writer, with reading=0."""
    expect_bounds(bench, scenario(bench, "printed", args("awol", "awol.reading=0")), 0)


def the_formula_as_its_text_implies(bench: Workbench) -> None:
    """A reader beside a steady writer, with reading=1."""
    expect_bounds(bench, scenario(bench, "implied", args("awol", "awol.reading=1")), 1)
