"""A power cut shows what is wrong with a kernel whose recovery takes pins away."""

from grade.engine.workbench import Workbench

from ..question import expect_shown


def the_cut_shows_what_the_given_kernel_loses(bench: Workbench) -> None:
    """The given kernel does the operations of kernel/journal/cut.txt. The power goes after the
    write with the number that stands there. Then the given kernel mounts the disk."""
    expect_shown(bench)
