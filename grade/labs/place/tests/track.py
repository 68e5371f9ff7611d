"""Of the free slots on the head's track, the first that comes by is taken."""

from grade.engine.assertions import Tally
from grade.engine.workbench import Workbench

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import WRITES, patience, writer

USED = 400  # places in use: so few that the head's track mostly has a free one


def the_first_free_place_that_comes_by_is_taken(bench: Workbench) -> Tally:
    """A program writes random blocks of a file on a disk that is half full. The test looks at the
    writes that go to the track where the head is, and should."""
    run = bench.run(writer(bench, "half", used=USED), despite_faults=True)
    return check(run, DRIVE, patience(bench, run), {Kind.HERE}, WRITES // 4)
