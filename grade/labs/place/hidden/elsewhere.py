"""The same on another drive."""

from grade.engine.assertions import Tally
from grade.engine.workbench import Workbench

from ..choices import Kind, check
from ..recovery import expect_places, expect_walk, reader
from ..writes import WRITES, patience, writer

DRIVE = "st19101"


def places_are_chosen_as_well_on_a_faster_drive(bench: Workbench) -> Tally:
    """A program writes random blocks of a file."""
    run = bench.run(writer(bench, "faster", DRIVE), despite_faults=True)
    return check(run, DRIVE, patience(bench, run), set(Kind), WRITES)


def its_log_is_found(bench: Workbench) -> None:
    """A kernel starts from a disk that was written for some time."""
    run = bench.run(reader(bench, "found", drive=DRIVE), despite_faults=True)
    expect_places(run)
    expect_walk(run)
