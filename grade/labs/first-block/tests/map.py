"""From a block of a file to one of the disk, over two blocks of pointers."""

from grade.scoring.workbench import Workbench

from ..scene import expect_right


def the_block_of_pointers_to_blocks_of_pointers(bench: Workbench) -> None:
    """The 14th pointer of an inode."""
    expect_right(bench, "double_indirect", "ext2's inode, after 12 direct pointers and one more")


def the_block_of_pointers(bench: Workbench) -> None:
    """One of those that the block above points to."""
    expect_right(
        bench, "indirect", "which pointer of the double indirect block leads to your byte?"
    )


def the_block_with_the_byte(bench: Workbench) -> None:
    """The last pointer on the way."""
    expect_right(bench, "data_block", "the last miss of the first command, or debugfs's `bmap`")


def what_is_in_the_block(bench: Workbench) -> None:
    """There it is."""
    look = "the command in the form, with the number of the block that has the byte"
    expect_right(bench, "word", look)
