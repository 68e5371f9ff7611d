"""On a disk that is nearly full, a free place is found wherever it is."""

from grade.scoring.workbench import Workbench

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import WRITES, patience_us, writer


def the_last_places_are_found(bench: Workbench) -> None:
    """A program writes random blocks while four places are free, ahead of the arm or behind it."""
    run = bench.run(writer(bench, "full", full=True), despite_faults=True)
    check(run, DRIVE, patience_us(bench, "full"), set(Kind), WRITES)
