"""From a block of the disk to a sector, a cylinder and a head."""

from grade.scoring.workbench import Workbench

from ..scene import expect_right


def the_sector(bench: Workbench) -> None:
    """What the disk layer calls the block."""
    expect_right(bench, "sector", "sectors have 512 bytes; how many are a block?")


def the_cylinder(bench: Workbench) -> None:
    """All tracks that can be read without moving the arm."""
    expect_right(bench, "cylinder", "locate in kernel/disk/drive.c, and rz58's zones and heads")


def the_head(bench: Workbench) -> None:
    """Of the tracks of a cylinder, which one."""
    expect_right(bench, "head", "locate in kernel/disk/drive.c: the track within its cylinder")
