"""A request that arrives ahead of the head is served in this sweep, one behind it in the next;
reads and writes alike."""

from grade.engine.workbench import Workbench

from ..choices import Kind, check, check_all
from ..loads import CLOSE, COUNTED, MIXED, READERS, crowd


def each_reader_is_served_where_the_head_passes(bench: Workbench) -> None:
    """Five processes read random blocks of each disk; each asks for the next when it has the
    last."""
    run = bench.run(crowd(bench), despite_faults=True)
    check_all(run, {Kind.AHEAD}, 30, run.beacon(READERS), run.beacon(COUNTED))


def reads_and_writes_are_served_in_one_sweep(bench: Workbench) -> None:
    """Three processes read and four write through to the disk; others read from other disks."""
    run = bench.run(crowd(bench), despite_faults=True)
    check(run, run.data_disk, {Kind.AHEAD}, 100, run.beacon(MIXED), run.beacon(CLOSE))
    check_all(run, {Kind.AHEAD}, 20, run.beacon(MIXED), run.beacon(CLOSE))
