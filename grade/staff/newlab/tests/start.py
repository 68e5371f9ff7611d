"""The write of a filled block starts at once."""

from grade.engine.workbench import Workbench

from ..writes import FILLED, blocks, expect_each_once, run


def a_filled_block_is_queued_without_a_flush(bench: Workbench) -> None:
    """A program fills some blocks of a file, one after the other."""
    expect_each_once(run(bench), "/filled", blocks(bench), FILLED)
