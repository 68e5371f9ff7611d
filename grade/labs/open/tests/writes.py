"""Writing early must not lead to many more writes than under the classic set."""

from grade.engine.assertions import Slide
from grade.engine.workbench import Workbench

from ..load import expect_bounds, three, visible, writes


def writes_done(bench: Workbench) -> Slide:
    """How many writes reach the disk, with those of a sync at the end."""
    runs = three(bench, visible(bench))
    expect_bounds(runs)
    classic = len(writes(runs.classic))
    return Slide("writes", "writes", len(writes(runs.own)), 1.1 * classic, 1.5 * classic)
