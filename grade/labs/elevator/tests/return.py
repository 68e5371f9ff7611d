"""After the highest request the head returns to the lowest and rises again. It serves nothing
on the way back."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_value
from grade.engine.workbench import Workbench

from ..choices import Kind, check, check_all, returns
from ..loads import COUNTED, MIXED, READERS, crowd, syncs


def from_the_middle_it_rises_then_starts_at_the_lowest(bench: Workbench) -> None:
    """A block in the middle is read. Then a sync queues blocks on both sides of it."""
    run = bench.run(syncs(bench), despite_faults=True)
    check(run, run.data_disk, {Kind.AHEAD, Kind.BACK}, 5, run.beacon(5), run.beacon(6))


def each_time_it_returns_to_the_lowest(bench: Workbench) -> None:
    """Five processes read random blocks of each disk, so that its head returns dozens of times."""
    run = bench.run(crowd(bench), despite_faults=True)
    check_all(run, {Kind.BACK}, 10, run.beacon(READERS), run.beacon(COUNTED))


def each_return_is_counted(bench: Workbench) -> None:
    """The counter clook.returns, compared with the trace of all disks."""
    run = bench.run(crowd(bench), despite_faults=True)
    least, _ = returns(run, run.beacon(COUNTED))
    _, most = returns(run, run.beacon(MIXED))
    came = counter_value(run, COUNTED, "clook.returns")
    expect(least <= came <= most, f"from {least} to {most} returns to be counted", f"{came}")
