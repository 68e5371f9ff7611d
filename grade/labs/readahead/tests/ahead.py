"""Of a file that is read in sequence the next block is under way before it is asked for, and
only that one."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

from ..reads import expect_blocks, expect_reads_ahead, size

BLOCKS = 40
THINK_MS = 40


def _run(bench: Workbench) -> Run:
    """The first blocks of a longer file are read."""
    return bench.run(
        Scenario(
            name="ahead",
            script=f"""
iogen rw=read filename=/data/f bs=4k nr={BLOCKS} thinktime_us={1000 * THINK_MS} > /dev/null
""",
            args="update=none prefetch=oneblock nbuf=1000",
            data=(("/f", size(bench, "ahead")),),
        )
    )


def the_block_after_the_last_one_asked_for_is_read_too(bench: Workbench) -> None:
    """The first 40 blocks of a longer file are read one after the other, with pauses."""
    run = _run(bench)
    expect_reads_ahead(run, "/f")
    expect_blocks(run, "/f", 0, BLOCKS)


def each_read_starts_one_block_and_no_more(bench: Workbench) -> None:
    """The same: from one block's read to the next one's there is a pause of the program."""
    queued = expect_blocks(_run(bench), "/f", 0, BLOCKS)
    for block in range(1, BLOCKS):
        gap_ms = (queued[block + 1].queued_ns - queued[block].queued_ns) / 1e6
        expect(
            gap_ms >= THINK_MS / 2,
            f"{THINK_MS} ms or so from the read of block {block} to that of block {block + 1}",
            f"{gap_ms:.3f} ms",
        )
