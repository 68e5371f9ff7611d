"""A file's last block is read ahead as the others are, and nothing is read past it."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..reads import expect_blocks, expect_reads_ahead

THINK_MS = 40


def a_whole_file_is_read_to_its_last_block(bench: Workbench) -> None:
    """A file is read from its first block to its last, with pauses."""
    blocks = 2 * bench.random("length").randrange(4, 7)
    scenario = Scenario(
        name="end",
        script=f"""
iogen rw=read filename=/data/f bs=4k nr={blocks} thinktime_us={1000 * THINK_MS} > /dev/null
""",
        args="update=none prefetch=oneblock nbuf=1000",
        data=(("/f", f"{4 * blocks}K"),),
    )
    run = bench.run(scenario)
    expect_reads_ahead(run, "/f")
    read = expect_blocks(run, "/f", 0, blocks - 1)
    gap_ms = (read[blocks - 1].queued_ns - read[blocks - 2].queued_ns) / 1e6
    expect(
        gap_ms < 1.5 * THINK_MS,
        f"the last block's read to be queued about {THINK_MS} ms after that of the block before it",
        f"it was queued {gap_ms:.3f} ms after",
    )
