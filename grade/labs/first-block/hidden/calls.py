"""How deep in the kernel a read reaches the disk's queue."""

from grade.scoring.workbench import Workbench

from ..scene import expect_right


def from_syscall_to_disk_submit(bench: Workbench) -> None:
    """Frames of gdb's backtrace, functions that the compiler has inlined among them."""
    look = "gdb's `backtrace` at disk_submit, for the sector of the block that the console names"
    expect_right(bench, "calls", look)
