"""After the power was switched off, every block is found where it was written last."""

from grade.engine.workbench import Workbench

from ..recovery import expect_places, reader


def each_block_is_read_from_its_place(bench: Workbench) -> None:
    """Two files are read after the start from a disk with a tail. Older versions of their blocks
    are on the disk, too."""
    expect_places(bench.run(reader(bench, "tail"), despite_faults=True))
