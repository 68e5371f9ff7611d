"""How many requests a read of one byte is, and how many the next one."""

from grade.scoring.workbench import Workbench

from ..scene import expect_right


def of_the_first_command(bench: Workbench) -> None:
    """Directories, inodes, pointers, the block: those that are not cached."""
    look = "lines `queued disk1` by the process of the first dd; what mount read was before"
    expect_right(bench, "requests", look)


def of_the_second_command(bench: Workbench) -> None:
    """What the first one read is cached now."""
    expect_right(bench, "requests_again", "lines `queued disk1` by the process of the second dd")
