"""A damaged map is no map: the boot stops with words."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from grade.engine.workbench import Workbench
from sluice.system.virtual_log import SECTOR, LogSector, encode_sector, newest_map

from ..disks import DRIVE, Changed, Disk
from ..recovery import expect_places, reader

NO_PIECE = (1 << 32) - 16  # a piece so far beyond the disk that no memory could hold its map
BOOT_FAIL = 100  # the status with which a boot stops (kernel/base/abi.h)

Bytes = Callable[[LogSector, LogSector], bytes]  # of a sector that counts and another that does


@dataclass(frozen=True)
class Harm:
    """Puts other bytes in the place of a sector that counts."""

    other: Bytes

    def __call__(self, disk: Disk) -> None:
        count = sorted(newest_map(disk.disk_image()).values(), key=lambda s: s.seq)
        # any but the last, the root, to which the log's tail leads
        at = disk.rng.randrange(len(count) - 1)
        disk.lay(count[at].slot, self.other(count[at], count[-1]))


def _zeros(s: LogSector, other: LogSector) -> bytes:
    return bytes(SECTOR)


def _older(s: LogSector, other: LogSector) -> bytes:
    return encode_sector(replace(s, seq=s.seq - 1))


def _swap_piece(s: LogSector, other: LogSector) -> bytes:
    return encode_sector(replace(s, piece=other.piece))


def _cut_link(s: LogSector, other: LogSector) -> bytes:
    return encode_sector(replace(s, down=((max(s.seq - 1, 1), s.slot, NO_PIECE),)))


def _refused(bench: Workbench, name: str, other: Bytes) -> None:
    """Expect the start to fail on a disk where a sector of the map has these other bytes."""
    expect_places(bench.run(reader(bench, "tail"), despite_faults=True))  # a whole one is found
    lay = Changed(DRIVE, bench.random(name).random(), Harm(other))
    bench.run(replace(reader(bench, name), on_log=lay, ends=BOOT_FAIL), despite_faults=True)


def a_sector_that_is_none_is_refused(bench: Workbench) -> None:
    """A sector of the map has zeros in it."""
    _refused(bench, "zeros", _zeros)


def a_sector_with_another_number_is_refused(bench: Workbench) -> None:
    """A sector of the map is whole, but older than the one that was pointed to."""
    _refused(bench, "older", _older)


def a_sector_of_another_piece_is_refused(bench: Workbench) -> None:
    """A sector of the map is whole, but of another piece than the one that was pointed to."""
    _refused(bench, "other", _swap_piece)


def a_pointer_off_the_map_is_refused(bench: Workbench) -> None:
    """A map sector points to a piece number beyond the map: the boot must fail."""
    _refused(bench, "pointer", _cut_link)
