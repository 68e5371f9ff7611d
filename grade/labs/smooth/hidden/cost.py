"""The processor time of a scan grows with the number of blocks that are due, not with the number
that are dirty."""

from itertools import pairwise
from statistics import mean

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..loads import expect_due

BLOCKS = 4000
AGE_MS, SCAN_MS = 4000, 9000  # SCAN_MS applies after the counting
PAUSE_NS = 100 * 10**6  # a longer gap is between two scans, not within one

# Counting takes about half a second, with all blocks dirty and young. Then all are due at one scan.
COST = Scenario(
    name="cost",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
beacon 1
seq 1 40000 > /dev/null
beacon 2
policy set aipu.scan_ms {SCAN_MS}
sleep 30
beacon 3
""",
    args=f"write=delayed update=aipu nbuf=6000 aipu.age_ms={AGE_MS} aipu.scan_ms=3",
    data=(("/f", "16M"),),
    size="32M",
    computes=True,
)


def _queued_ns(run: Run) -> list[int]:
    return [write.request.queued_ns for write in run.writes_of("/f", end_ns=run.beacon(3))]


def _counting_ms(run: Run) -> float:
    """Return how long the counting took."""
    writes = run.writes_of("/f", end_ns=run.beacon(3))
    expect(len(writes) == BLOCKS, f"all {BLOCKS} blocks to be written", f"{len(writes)} were")
    expect_due(run, "/f", writes, AGE_MS, SCAN_MS)
    return (run.beacon(2) - run.beacon(1)) / 1e6


def _block_us(run: Run) -> float:
    """Return the mean time from one block to the next."""
    expect(_counting_ms(run) > 0, "counting to take some time", "it took none")
    gaps_ns = [after - before for before, after in pairwise(_queued_ns(run))]
    return mean(gap for gap in gaps_ns if gap < PAUSE_NS) / 1000


def a_scan_that_finds_nothing_due_costs_nothing(bench: Workbench) -> Slide:
    """How long a program computes beside a scan every 3 ms, with 4000 blocks dirty."""
    best_ms, value_ms = _counting_ms(bench.reference(COST)), _counting_ms(bench.run(COST))
    return Slide("time to count", "ms", value_ms, 1.03 * best_ms, 1.1 * best_ms)


def each_block_that_is_due_takes_a_fixed_time(bench: Workbench) -> Slide:
    """The time between two blocks' entering the queue, in a scan that queues 4000."""
    best_us, value_us = _block_us(bench.reference(COST)), _block_us(bench.run(COST))
    return Slide("time per block", "us", value_us, 1.5 * best_us, 4 * best_us)
