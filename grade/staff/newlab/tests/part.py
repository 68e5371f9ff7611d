"""The write of a part of a block starts at once, too."""

from grade.engine.workbench import Workbench

from ..writes import PARTS, blocks, expect_each_once, run


def a_block_that_is_filled_in_part_is_queued_without_a_flush(bench: Workbench) -> None:
    """The first 512 bytes of some blocks are written, with pauses."""
    expect_each_once(run(bench), "/part", blocks(bench), PARTS)
