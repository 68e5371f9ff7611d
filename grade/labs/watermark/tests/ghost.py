"""Ghost hits and ghost misses lower the high mark."""

from grade.scoring.workbench import Workbench

from ..bursts import expect_levels
from ..readers import DONE, STEP_MS, args, late_writer, scenario


def reads_lost_by_write_buffering_count(bench: Workbench) -> None:
    """A reader's blocks would fit into the cache if there were no dirty blocks (reading=2)."""
    load = scenario(bench, "misses", args("awol", "awol.reading=2"))
    expect_levels(bench, load, STEP_MS, DONE, "high")


def hits_that_more_buffering_would_lose_count(bench: Workbench) -> None:
    """A reader's blocks are cached; then a writer starts (reading=2)."""
    load = late_writer(bench, "hits", args("awol", "awol.reading=2"))
    expect_levels(bench, load, STEP_MS, DONE, "high")
