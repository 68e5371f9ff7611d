"""From a block of a file to a block of the disk, over two blocks of pointers."""

from grade.engine.workbench import Workbench

from ..scene import expect_right


def the_block_of_pointers_to_blocks_of_pointers(bench: Workbench) -> None:
    """The 14th pointer of an inode."""
    expect_right(
        bench,
        "double_indirect",
        "see the inode: the pointer after 12 direct pointers and one indirect one",
    )


def the_block_of_pointers(bench: Workbench) -> None:
    """One of the blocks to which the double indirect block points."""
    expect_right(
        bench, "indirect", "which pointer of the double indirect block leads to your byte?"
    )


def the_block_with_the_byte(bench: Workbench) -> None:
    """The last pointer on the way."""
    expect_right(
        bench,
        "data_block",
        "see the last read of the first command in the trace, or `bmap` in debugfs",
    )


def what_is_in_the_block(bench: Workbench) -> None:
    """The first bytes of the block show that it is the right one."""
    look = "type the command in answers.toml, with the number of the block that has the byte"
    expect_right(bench, "word", look)
