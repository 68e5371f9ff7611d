"""How many requests a read of one byte causes, and how many the next read."""

from grade.engine.workbench import Workbench

from ..scene import expect_right


def of_the_first_command(bench: Workbench) -> None:
    """Directories, inodes, pointers and the block are read, unless they are cached."""
    look = "count the lines `queued disk1` of the first dd's process; what mount read is not its"
    expect_right(bench, "requests", look)


def of_the_second_command(bench: Workbench) -> None:
    """The blocks that the first command read are cached now."""
    expect_right(
        bench, "requests_again", "count the lines `queued disk1` of the second dd's process"
    )
