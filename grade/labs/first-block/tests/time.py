"""How long the disk took, in virtual time."""

from grade.scoring.workbench import Workbench

from ..scene import expect_right


def of_the_block_with_the_byte(bench: Workbench) -> None:
    """Response time: from when a request is queued to when it is completed."""
    look = "the ARGUMENT of its `completed`; kernel/measure/trace.h says what that is"
    expect_right(bench, "response_ns", look)


def of_all_reads_of_the_first_command(bench: Workbench) -> None:
    """What of the command's time it waited for the disk."""
    expect_right(bench, "waited_ns", "the same of all its reads, added up")


def of_all_reads_of_the_second_command(bench: Workbench) -> None:
    """What it still waited for."""
    expect_right(bench, "waited_again_ns", "the reads by the process of the second dd, added up")
