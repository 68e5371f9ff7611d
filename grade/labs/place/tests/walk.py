"""After an orderly shutdown, the boot reads only the sectors of the map that are current."""

from grade.engine.workbench import Workbench

from ..recovery import expect_walk, reader


def each_sector_that_counts_is_read_once_and_no_other(bench: Workbench) -> None:
    """A kernel starts from a disk with a tail. Its log was written for some time, in a random
    order, so that it is no chain."""
    expect_walk(bench.run(reader(bench, "tail"), despite_faults=True))
