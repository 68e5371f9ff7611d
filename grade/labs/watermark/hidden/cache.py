"""A reader loses fewer blocks to the writer than without ghosts."""

from statistics import mean

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run
from grade.scoring.workbench import Workbench

from ..bursts import levels
from ..readers import DONE, STEP_MS, WARM, args, scenario


def _disk_reads(run: Run) -> int:
    """The reader's reads of the disk, after its blocks were cached once."""
    sectors = run.sectors("/r")
    start_ns, end_ns = run.beacon(WARM), run.beacon(DONE)
    found = [r for r in run.data(write=False) if r.sector in sectors]
    return sum(start_ns <= r.queued_ns < end_ns for r in found)


def _high(run: Run) -> float:
    """The mean high mark. A policy that buffers no write would lose no read."""
    return mean(level.high for level in levels(run, STEP_MS * 10**6, DONE).values())


def reads_that_reach_the_disk(bench: Workbench) -> Slide:
    """A reader beside a writer, compared with the same policy without ghosts (ahlw).

    Three quarters of what the ghosts save earn all points, and two fifths of it none.
    """
    run = bench.run(scenario(bench, "printed", args("awol", "awol.reading=0")))
    best = bench.reference(scenario(bench, "printed", args("awol", "awol.reading=0")))
    plain = bench.reference(scenario(bench, "plain", args("ahlw")))
    held, wanted = _high(run), _high(best)
    expect(held >= wanted / 2, f"a high mark of about {wanted:.0f} blocks", f"{held:.0f}")
    full, none = _disk_reads(best), _disk_reads(plain)
    share = (none - full) / 100
    return Slide("disk reads", "reads", _disk_reads(run), full + 25 * share, full + 60 * share)
