"""The events that the lab asks to count are counted: the blocks of a smooth flush, and AIPU's
scans."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench

from ..loads import ALL, END, RETURNED, SMOOTHSYNC, STARTED, ages

FEW = 10  # blocks that are looked at and not due


def _queued(run: Run, start_ns: int, end_ns: int) -> int:
    """Return how many writes were queued in that time, on all disks."""
    return sum(r.write and start_ns <= r.queued_ns < end_ns for r in run.requests)


def _flushes(run: Run, start_ns: int, end_ns: int) -> list[int]:
    """Return the numbers of blocks that flushes in that time say they have started."""
    return [e.argument for e in run.events if e.name == "flush" and start_ns <= e.time_ns < end_ns]


def a_smooth_flush_counts_its_blocks(bench: Workbench) -> None:
    """The counters bio.due and bio.scanned, while all blocks that are dirty are due."""
    run = bench.run(SMOOTHSYNC)
    queued = _queued(run, run.beacon(ALL), run.beacon(RETURNED))
    for name, most in (("bio.due", queued), ("bio.scanned", queued + FEW)):
        came = counter_growth(run, 5, END, name)
        expect(queued <= came <= most, f"{name} to grow by {queued}", f"it grew by {came}")


def a_smooth_flush_is_told_as_one_burst(bench: Workbench) -> None:
    """bio_burst, which traces how many blocks a flush has started."""
    run = bench.run(SMOOTHSYNC)
    queued = _queued(run, run.beacon(ALL), run.beacon(RETURNED))
    told = _flushes(run, run.beacon(ALL), run.beacon(RETURNED))
    expect(told == [queued], f"one burst of {queued} blocks to be told", f"bursts of {told}")


def a_smooth_flush_returns_how_many_blocks_it_started(bench: Workbench) -> None:
    """The system call smoothsync returns how many blocks it started; all dirty blocks are due."""
    run = bench.run(SMOOTHSYNC)
    queued = _queued(run, run.beacon(ALL), run.beacon(RETURNED))
    came = run.contents(STARTED).decode(errors="replace").strip()
    expect(came == str(queued), f"{queued} to be returned, the blocks that were queued", came)


def aipu_counts_its_scans_and_what_they_found(bench: Workbench) -> None:
    """The counters aipu.scans, aipu.written and aipu.empty_scans."""
    run = bench.run(ages(bench))
    looks = counter_growth(run, 90, 92, "updated.looks")
    # A scan while the counters are being kept may be counted in one of the two or in both.
    least, most = (_flushes(run, run.beacon(a), run.beacon(b)) for a, b in ((91, 92), (90, 93)))
    wanted = {
        "aipu.scans": (looks - 1, looks + 1),
        "aipu.written": (sum(least), sum(most)),
        "aipu.empty_scans": (looks - len(most) - 1, looks - len(least) + 1),
    }
    for name, (low, high) in wanted.items():
        came = counter_growth(run, 90, 92, name)
        expect(low <= came <= high, f"{name} to grow by {low} to {high}", f"it grew by {came}")
