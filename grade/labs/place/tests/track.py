"""Of the free places on the head's track, the first that comes by is taken."""

from grade.scoring.workbench import Workbench

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import patience_us, writer


def the_first_free_place_that_comes_by_is_taken(bench: Workbench) -> None:
    """A program writes random blocks of a file. The test looks at the writes that go to the track
    where the head is, and should."""
    run = bench.run(writer(bench, "writes"), despite_faults=True)
    check(run, DRIVE, patience_us(bench, "writes"), {Kind.HERE}, 1)
