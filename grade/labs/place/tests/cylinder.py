"""A place on another track of the cylinder is taken if the head is there in time for it."""

from grade.engine.assertions import Tally
from grade.engine.workbench import Workbench

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import WRITES, patience, writer

NONE = 0.2  # wrong: no points. How many a mistake makes wrong depends on which places are free


def another_track_is_taken_if_its_place_comes_earlier(bench: Workbench) -> Tally:
    """A program writes random blocks of a file. The test looks at the writes that go, or should go,
    to another track of the head's cylinder."""
    run = bench.run(writer(bench, "writes"), despite_faults=True)
    return check(run, DRIVE, patience(bench, run), {Kind.BESIDE}, WRITES // 4, NONE)
