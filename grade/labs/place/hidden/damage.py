"""A damaged map is no map: the boot stops with words."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from grade.machine.virtual_log import SECTOR, LogSector, newest, sector
from grade.scoring.workbench import Workbench

from ..disks import DRIVE, Disk, changed
from ..recovery import expect_places, reader

NO_PIECE = (1 << 32) - 16  # so far off that there is no memory
BOOT_FAIL = 100  # the status with which a boot stops (kernel/base/abi.h)


def _refused(bench: Workbench, name: str, how: Callable[[LogSector, LogSector], bytes]) -> None:
    """Expect that no kernel starts from a disk with another sector in the place of one that counts;
    how: of that one and another that counts, the bytes that are there."""

    def harm(disk: Disk) -> None:
        count = sorted(newest(disk.written()).values(), key=lambda s: s.seq)
        at = disk.rng.randrange(len(count) - 1)  # not the root, which the tail leads to
        disk.lay(count[at].place, how(count[at], count[-1]))

    expect_places(bench.run(reader(bench, "tail"), despite_faults=True))  # a whole one is found
    lay = changed(DRIVE, Random(bench.random(name).random()), harm)
    bench.run(replace(reader(bench, name), on_log=lay, ends=BOOT_FAIL), despite_faults=True)


def a_sector_that_is_none_is_refused(bench: Workbench) -> None:
    """A sector of the map has zeros in it."""
    _refused(bench, "zeros", lambda s, other: bytes(SECTOR))


def a_sector_with_another_number_is_refused(bench: Workbench) -> None:
    """A sector of the map is whole, but older than the one that was pointed to."""
    _refused(bench, "older", lambda s, other: sector(replace(s, seq=s.seq - 1)))


def a_sector_of_another_piece_is_refused(bench: Workbench) -> None:
    """A sector of the map is whole, but of another piece than the one that was pointed to."""
    _refused(bench, "other", lambda s, other: sector(replace(s, piece=other.piece)))


def a_pointer_off_the_map_is_refused(bench: Workbench) -> None:
    """A sector of the map points to a piece that is none."""
    _refused(
        bench,
        "pointer",
        lambda s, other: sector(replace(s, down=((max(s.seq - 1, 1), s.place, NO_PIECE),))),
    )
