"""When a file is read in sequence, the read of the next block, and of no other, starts before the
program asks for it."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

from ..reads import expect_blocks, expect_reads_ahead, size

BLOCKS = 40
THINK_MS = 40


def _run(bench: Workbench) -> Run:
    """A program reads the first blocks of a longer file."""
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
    """As above: the program pauses between the reads of two blocks."""
    queued = expect_blocks(_run(bench), "/f", 0, BLOCKS)
    for block in range(1, BLOCKS):
        gap_ms = (queued[block + 1].queued_ns - queued[block].queued_ns) / 1e6
        expect(
            gap_ms >= THINK_MS / 2,
            f"about {THINK_MS} ms between the reads of blocks {block} and {block + 1}",
            f"{gap_ms:.3f} ms",
        )
