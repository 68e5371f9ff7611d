"""From a block of the disk to a sector, a cylinder and a head."""

from grade.engine.workbench import Workbench

from ..scene import expect_right


def the_sector(bench: Workbench) -> None:
    """The disk layer counts in sectors."""
    expect_right(bench, "sector", "a sector has 512 bytes; how many sectors are a block?")


def the_cylinder(bench: Workbench) -> None:
    """A cylinder is all tracks that can be read without moving the arm."""
    expect_right(
        bench,
        "cylinder",
        "see `locate` in drives/model/drive.c, and the zones and heads of the rz58",
    )


def the_head(bench: Workbench) -> None:
    """Each track of a cylinder has its own head."""
    expect_right(
        bench,
        "head",
        "see `locate` in drives/model/drive.c: the number of the track within its cylinder",
    )
