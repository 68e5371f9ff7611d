"""Hits, ghost hits and ghost misses enter the formula as the tunable `reading` says."""

from grade.scoring.workbench import Workbench

from ..bursts import expect_levels
from ..readers import DONE, STEP_MS, args, scenario


def the_formula_as_printed(bench: Workbench) -> None:
    """A reader beside a steady writer, with reading=0."""
    load = scenario(bench, "printed", args("awol", "awol.reading=0"))
    expect_levels(bench, load, STEP_MS, DONE, "high")


def the_formula_as_its_text_implies(bench: Workbench) -> None:
    """A reader beside a steady writer, with reading=1."""
    load = scenario(bench, "implied", args("awol", "awol.reading=1"))
    expect_levels(bench, load, STEP_MS, DONE, "high")
