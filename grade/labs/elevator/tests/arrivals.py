"""A request that arrives ahead of the head is served in this sweep, one behind it in the next;
reads and writes alike."""

from grade.scoring.workbench import Workbench

from ..choices import Kind, check
from ..loads import CLOSE, COUNTED, MIXED, READERS, crowd


def each_reader_is_served_where_the_head_passes(bench: Workbench) -> None:
    """Eight processes read random blocks; each asks for the next when it has the last."""
    run = bench.run(crowd(bench), despite_faults=True)
    check(run, {Kind.AHEAD}, 100, run.beacon(READERS), run.beacon(COUNTED))


def reads_and_writes_are_served_in_one_sweep(bench: Workbench) -> None:
    """Four processes read and four write through to the disk."""
    run = bench.run(crowd(bench), despite_faults=True)
    check(run, {Kind.AHEAD}, 100, run.beacon(MIXED), run.beacon(CLOSE))
