"""How long the disk took, in virtual time."""

from grade.engine.workbench import Workbench

from ..scene import expect_right


def of_the_block_with_the_byte(bench: Workbench) -> None:
    """The response time is from when a request is queued until it is completed."""
    look = "see the ARGUMENT of its `completed`; kernel/measure/trace.h says what that is"
    expect_right(bench, "response_ns", look)


def of_all_reads_of_the_first_command(bench: Workbench) -> None:
    """The part of the command's time in which it waited for the disk."""
    expect_right(bench, "waited_ns", "add up the response times of all its reads")


def of_all_reads_of_the_second_command(bench: Workbench) -> None:
    """The second command waits only for what is not cached."""
    expect_right(
        bench,
        "waited_again_ns",
        "add up the response times of the reads by the second dd's process",
    )
