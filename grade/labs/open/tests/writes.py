"""Writing early must not be bought with writes that others would have spared."""

from grade.scoring.assertions import Slide
from grade.scoring.workbench import Workbench

from ..load import expect_bounds, three, visible, writes


def writes_done(bench: Workbench) -> Slide:
    """How many writes reach the disk, those of a sync at the end included."""
    runs = three(bench, visible(bench))
    expect_bounds(runs)
    classic = len(writes(runs.classic))
    return Slide("writes", "writes", len(writes(runs.own)), 1.1 * classic, 1.5 * classic)
