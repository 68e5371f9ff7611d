"""When a file is read in sequence, the read of the next block, and of no other, starts before the
program asks for it."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench

from ..loads import AHEAD_BLOCKS, BEGUN, BY_BLOCKS, BY_PARTS, THINK_MS, reading
from ..reads import expect_blocks, expect_reads_ahead

FEW = 5  # blocks of programs, whose ends count, too


def the_block_after_the_last_one_asked_for_is_read_too(bench: Workbench) -> None:
    """The first 40 blocks of a longer file are read one after the other, with pauses."""
    run = bench.run(reading(bench), despite_faults=True)
    expect_reads_ahead(run, "/long")
    expect_blocks(run, "/long", 0, AHEAD_BLOCKS)


def each_read_starts_one_block_and_no_more(bench: Workbench) -> None:
    """The same 40 reads: as the program pauses between them, the reads ahead do, too."""
    run = bench.run(reading(bench), despite_faults=True)
    queued = expect_blocks(run, "/long", 0, AHEAD_BLOCKS)
    for block in range(1, AHEAD_BLOCKS):
        gap_ms = (queued[block + 1].queued_ns - queued[block].queued_ns) / 1e6
        run.expect(
            gap_ms >= THINK_MS / 2,
            f"about {THINK_MS} ms between the reads of blocks {block} and {block + 1}",
            f"{gap_ms:.3f} ms",
            queued[block + 1],
        )


def _expect_growth(run: Run, best: Run, first: int, last: int, name: str) -> None:
    """Expect a counter to grow about as much between two beacons as in the reference's run."""
    came, wanted = (counter_growth(one, first, last, name) for one in (run, best))
    expect(abs(came - wanted) <= FEW, f"{name} to grow by {wanted}", f"it grew by {came}")


def reads_and_blocks_are_counted(bench: Workbench) -> None:
    """The counter oneblock.sequential while 50 blocks are read, and oneblock.ahead while 50 blocks
    are read by quarters: each block is asked for once."""
    run, best = bench.run(reading(bench), despite_faults=True), bench.reference(reading(bench))
    _expect_growth(run, best, BEGUN, BY_BLOCKS, "oneblock.sequential")
    _expect_growth(run, best, BY_BLOCKS, BY_PARTS, "oneblock.ahead")
