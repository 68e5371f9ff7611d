"""The arm goes on when it would be in the next cylinder, and its patience over, before a place
comes here."""

from grade.scoring.workbench import Workbench

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import patience_us, writer


def the_arm_goes_on_when_its_cylinder_has_no_place_in_time(bench: Workbench) -> None:
    """A program writes random blocks of a file. The test looks at the writes for which the arm
    moves, or should; after the last cylinder it goes to the first."""
    run = bench.run(writer(bench, "writes"), despite_faults=True)
    check(run, DRIVE, patience_us(bench, "writes"), {Kind.AWAY}, 1)
