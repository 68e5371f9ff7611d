"""The data disks of this lab's machines.

Each group of tests has a machine of its own, and their data disks have different numbers. So a
kernel that is right on one disk only has the points of one group at most.
"""

from grade.engine.parameters import MOST_DISKS
from grade.engine.workbench import Workbench

GROUPS = ("delay", "age", "which", "wait", "cost")


def disk_of(bench: Workbench, group: str) -> int:
    """The number of the data disk for the tests of this group."""
    return bench.random("disks").sample(range(MOST_DISKS), len(GROUPS))[GROUPS.index(group)]
