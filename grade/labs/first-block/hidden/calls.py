"""How many calls lie between a read's system call and the disk's queue."""

from grade.engine.workbench import Workbench

from ..scene import expect_right


def from_syscall_to_disk_submit(bench: Workbench) -> None:
    """The frames of gdb's backtrace, with functions that the compiler has inlined."""
    look = "see `backtrace` in gdb at disk_submit, for the sector of the block on the console"
    expect_right(bench, "calls", look)
