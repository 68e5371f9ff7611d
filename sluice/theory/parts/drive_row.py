"""Read a drive's figures: its row in drives/, as the host program prints it.

All times are in ns; overheads are those of a read after a read. The tracks of a zone are equal.
"""

import re
from dataclasses import dataclass
from functools import cache

from sluice.host.paths import NATIVE
from sluice.system import image

TOOL = NATIVE / "drive_replay_tool"
SECTOR_BYTES = 512


@dataclass(frozen=True)
class Zone:
    """A zone of a drive: cylinders whose tracks have equally many sectors."""

    first_cyl: int
    last_cyl: int
    sectors: int  # of a track
    track_skew: int  # in sectors
    cyl_skew: int  # in sectors

    @property
    def cylinders(self) -> int:
        """The number of cylinders."""
        return self.last_cyl - self.first_cyl + 1


@dataclass(frozen=True)
class DriveRow:
    """The figures of a drive."""

    rotation_ns: int
    heads: int
    head_switch_ns: int
    bus_ns: int  # for a sector
    segments: int
    segment_sectors: int
    read_ahead_sectors: int
    read_hit_ns: int
    read_miss_ns: int
    zones: tuple[Zone, ...]  # from the outermost, where sector 0 is
    seek_ns: tuple[int, ...]  # by distance in cylinders

    def cylinder_at(self, share: float) -> int:
        """Return the cylinder of the sector at this share, 0 to 1, of all sectors."""
        left = share * sum(z.cylinders * z.sectors for z in self.zones)
        for zone in self.zones:
            if left < zone.cylinders * zone.sectors:
                return zone.first_cyl + int(left / zone.sectors)
            left -= zone.cylinders * zone.sectors
        return self.zones[-1].last_cyl


@cache
def read_drive_row(name: str) -> DriveRow:
    """Return the row of a drive that has platters. Raises ValueError for another drive."""
    asked = image.run_command(TOOL, "-d", name, "-f", check=False)
    told = asked.stdout.decode()
    if asked.returncode:
        raise ValueError(told.strip())
    figures = {key: int(value) for key, value in re.findall(r"^(\w+_?\w*) (\d+)$", told, re.M)}
    zones = re.findall(r"^zone (\d+) (\d+) (\d+) (\d+) (\d+)$", told, re.M)
    curve = image.run_command(TOOL, "-d", name, "-s").stdout.decode()
    return DriveRow(
        **figures,
        zones=tuple(Zone(*map(int, words)) for words in zones),
        seek_ns=tuple(int(line.split()[1]) for line in curve.splitlines()),
    )
