"""On a disk that is nearly full, a free slot is found wherever it is."""

from grade.engine.assertions import Tally
from grade.engine.workbench import Workbench
from sluice.system.virtual_log import SPARE

from ..choices import Kind, check
from ..disks import DRIVE
from ..writes import WRITES, patience, writer


def the_last_places_are_found(bench: Workbench) -> Tally:
    """A program writes random blocks while four places are free, ahead of the arm or behind it."""
    run = bench.run(writer(bench, "full", free=SPARE), despite_faults=True)
    return check(run, DRIVE, patience(bench, run), set(Kind), WRITES)
