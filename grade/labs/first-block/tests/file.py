"""From a name to a file: its inode, and the block of it that has the byte."""

from grade.scoring.workbench import Workbench

from ..scene import expect_right


def the_inode(bench: Workbench) -> None:
    """A directory's entry gives a name the number of its inode."""
    expect_right(bench, "inode", "debugfs's `stat` of the path, without /data, on data.img")


def the_block_of_the_file(bench: Workbench) -> None:
    """Blocks of a file are numbered from 0; they are 4096 bytes each."""
    expect_right(bench, "block", "which block of 4096 bytes, from 0, is the byte of skip= in?")


def the_generation(bench: Workbench) -> None:
    """An inode's number is given again when its file is gone; its generation is not."""
    expect_right(bench, "generation", "`Generation` in what debugfs's `stat` prints")
