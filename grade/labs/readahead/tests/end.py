"""A file's last block is read ahead as the others are, and nothing is read past it."""

from grade.engine.workbench import Workbench

from ..loads import SHORT, SHORT_DONE, THINK_MS, end_blocks, reading
from ..reads import expect_blocks, expect_reads_ahead


def a_whole_file_is_read_to_its_last_block(bench: Workbench) -> None:
    """A file is read from its first block to its last, with pauses."""
    blocks = end_blocks(bench)
    run = bench.run(reading(bench), despite_faults=True)
    run.expect_no_fault(run.beacon(SHORT), run.beacon(SHORT_DONE))
    expect_reads_ahead(run, "/short")
    read = expect_blocks(run, "/short", 0, blocks - 1)
    gap_ms = (read[blocks - 1].queued_ns - read[blocks - 2].queued_ns) / 1e6
    run.expect(
        gap_ms < 1.5 * THINK_MS,
        f"the last block's read to be queued about {THINK_MS} ms after that of the block before it",
        f"it was queued {gap_ms:.3f} ms after",
        read[blocks - 1],
    )
