"""The arm goes on when it would be in the next cylinder, and its patience over, before a place
comes here."""

from grade.engine.assertions import Tally
from grade.engine.workbench import Workbench

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import patience, writer

FREE = 12  # places, so that the arm has reasons to move
WRITES = 1500  # so many that the share of wrong choices hardly depends on chance


def the_arm_goes_on_when_its_cylinder_has_no_place_in_time(bench: Workbench) -> Tally:
    """A program writes random blocks of a file while few places are free. The test looks at the
    writes for which the arm moves, or should; after the last cylinder it goes to the first."""
    run = bench.run(writer(bench, "few", free=FREE, writes=WRITES), despite_faults=True)
    return check(run, DRIVE, patience(bench, run), {Kind.AWAY}, WRITES // 4)
