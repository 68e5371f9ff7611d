"""From a name to a file: its inode, and the file's block that has the byte."""

from grade.engine.workbench import Workbench

from ..scene import expect_right


def the_inode(bench: Workbench) -> None:
    """A directory's entry has a name and the number of its inode."""
    expect_right(bench, "inode", "see `stat` in debugfs on data.img, for the path without /data")


def the_block_of_the_file(bench: Workbench) -> None:
    """A file's blocks have 4096 bytes each and are numbered from 0."""
    expect_right(
        bench, "block", "which block of 4096 bytes, counted from 0, has the byte that skip= names?"
    )


def the_generation(bench: Workbench) -> None:
    """An inode's number is used again when its file has been removed; its generation is not."""
    expect_right(bench, "generation", "see `Generation` in what `stat` prints in debugfs")
