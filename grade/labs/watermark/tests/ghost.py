"""What ghosts tell of reads takes the high mark down."""

from grade.scoring.workbench import Workbench

from ..bursts import expect_levels
from ..readers import DONE, STEP_MS, args, late_writer, scenario


def reads_lost_by_write_buffering_count(bench: Workbench) -> None:
    """A reader's blocks would fit the cache, were it not for dirty ones (reading=2)."""
    load = scenario(bench, "misses", args("awol", "awol.reading=2"))
    expect_levels(bench, load, STEP_MS, DONE, "high")


def hits_that_more_buffering_would_lose_count(bench: Workbench) -> None:
    """A reader's blocks are cached; then comes a writer (reading=2)."""
    load = late_writer(bench, "hits", args("awol", "awol.reading=2"))
    expect_levels(bench, load, STEP_MS, DONE, "high")
