"""After the highest request the head returns to the lowest and rises again. It serves nothing
on the way back."""

from grade.scoring.assertions import expect
from grade.scoring.counted import counter
from grade.scoring.workbench import Workbench

from ..choices import Kind, check, returns
from ..loads import COUNTED, MIXED, READERS, crowd, syncs


def from_the_middle_it_rises_then_starts_at_the_lowest(bench: Workbench) -> None:
    """A block in the middle is read. Then a sync queues blocks on both sides of it."""
    run = bench.run(syncs(bench), despite_faults=True)
    check(run, {Kind.AHEAD, Kind.BACK}, 5, run.beacon(5), run.beacon(6))


def each_time_it_returns_to_the_lowest(bench: Workbench) -> None:
    """Eight processes read random blocks, so that the head returns some dozens of times."""
    run = bench.run(crowd(bench), despite_faults=True)
    check(run, {Kind.BACK}, 15, run.beacon(READERS), run.beacon(COUNTED))


def each_return_is_counted(bench: Workbench) -> None:
    """The counter clook.returns, compared with the trace of all disks."""
    run = bench.run(crowd(bench), despite_faults=True)
    least, _ = returns(run, run.beacon(COUNTED))
    _, most = returns(run, run.beacon(MIXED))
    came = counter(run, COUNTED, "clook.returns")
    expect(least <= came <= most, f"from {least} to {most} returns to be counted", f"{came}")
