"""Compute a drive's expected times; drives/model/drive.c computes the times of actual commands.

It models how files that are read in order share the drive's cache, and how far the arm reads ahead
between two commands. Times are means over all places where a file may begin. The caller adds the
rotational delay, half a rotation.
"""

from dataclasses import dataclass, field
from functools import cache

from sluice.theory.parts.drive_row import DriveRow, Zone, read_drive_row
from sluice.theory.parts.reader import Command

GRID = 120  # places along the drive over which a mean is taken
PHASES = 8  # places in its track where a file may begin, over which a mean is taken
KIB = 1024
SECTOR_BYTES = 512

# ---- seeks ----


@cache
def mean_seeks_ns(drive: str, n: int) -> tuple[float, float, float]:
    """Return the mean seeks between n files at random places: outwards to the next file, back from
    the last to the first, and between any two.

    Each is a mean over pairs of places on a grid. A pair, whose distance is the share `gap` of the
    drive, weighs as much as it is probable that none of the other n - 2 files lies between its
    places, or all of them, or without a condition.
    """
    row = read_drive_row(drive)
    cyls = [row.cylinder_at((i + 0.5) / GRID) for i in range(GRID)]
    onward = back = pair = onwards = backs = pairs = 0.0
    for i in range(GRID):
        for j in range(i, GRID):
            ns, gap = row.seek_ns[cyls[j] - cyls[i]], (j - i) / GRID
            weight = 0.5 if i == j else 1.0  # i != j stands for both orders
            with_none_between = weight * (1 - gap) ** (n - 2)
            with_all_between = weight * gap ** (n - 2)
            onward, onwards = onward + ns * with_none_between, onwards + with_none_between
            back, backs = back + ns * with_all_between, backs + with_all_between
            pair, pairs = pair + ns * weight, pairs + weight
    return onward / onwards, back / backs, pair / pairs


def mean_near_seek_ns(row: DriveRow, group_mb: float) -> float:
    """Return the mean seek from a group's start, where the inodes are, to any place in the
    group."""
    sectors = sum(z.cylinders * z.sectors for z in row.zones) * row.heads
    group_sectors = group_mb * KIB * KIB / SECTOR_BYTES
    group_cyls = len(row.seek_ns) * group_sectors / sectors
    seeks_ns = [row.seek_ns[int((i + 0.5) / GRID * group_cyls)] for i in range(GRID)]
    return sum(seeks_ns) / GRID


# ---- the platters ----


@dataclass(frozen=True)
class Tracks:
    """The tracks of a zone, one after another. A sector's number counts from a track's start."""

    zone: Zone
    slot_ns: float  # time in which a sector passes the head
    skew: float  # mean number of slots from a track's end to the next track's start

    def read_ns(self, first: float, sectors: float) -> float:
        """Return the time from the first sector's start to the last sector's end. Each track that
        begins in between costs the skew."""
        last = first + sectors - 1
        crossed = last // self.zone.sectors - first // self.zone.sectors
        return self.slot_ns * (sectors + self.skew * crossed)

    def sectors_read(self, first: float, ns: float) -> float:
        """Return how many sectors pass in `ns`, beginning with the sector `first`."""
        slots, done = ns / self.slot_ns, 0.0
        while slots > 0:
            left = self.zone.sectors - (first + done) % self.zone.sectors
            done += min(slots, left)
            slots -= left + self.skew
        return done


def build_tracks(row: DriveRow, zone: Zone) -> Tracks:
    """Return the tracks of a zone."""
    skew = ((row.heads - 1) * zone.track_skew + zone.cyl_skew) / row.heads
    return Tracks(zone, row.rotation_ns / zone.sectors, skew)


def start_places(row: DriveRow) -> list[tuple[Tracks, float, float]]:
    """Return the places where a file may begin: a zone's tracks, a sector of a track, and the share
    of the drive that the place stands for."""
    total = sum(zone.cylinders * zone.sectors for zone in row.zones)
    places = []
    for zone in row.zones:
        tracks = build_tracks(row, zone)
        share = zone.cylinders * zone.sectors / total / PHASES
        places += [(tracks, (i + 0.5) / PHASES * zone.sectors, share) for i in range(PHASES)]
    return places


# ---- the cache ----


@dataclass(frozen=True)
class Setting:
    """A drive and its use. Sizes are in sectors."""

    row: DriveRow
    bus_ns: float  # a sector
    segments: int  # of its cache; the size of the cache does not depend on their number
    block: int  # of the file system
    if_sequential: bool = False  # it reads ahead only after sequential reads

    @property
    def ahead(self) -> float:
        """The number of sectors that are read ahead into a segment."""
        room = self.row.segments * self.row.segment_sectors // self.segments
        return room * self.row.read_ahead_sectors / self.row.segment_sectors


@dataclass
class Segment:
    """A segment of the drive's cache: what was read ahead for a file."""

    file: int
    end: int  # the place up to which the file has been read
    ahead: float = 0  # the number of sectors after `end` that were read ahead


@dataclass(frozen=True)
class Served:
    """The result of a command."""

    moved: bool  # the arm went elsewhere; `ns` lacks the seek and half a rotation for that
    ns: float  # from the command's arrival until its data are across the bus


@dataclass
class Drive:
    """The drive, for files that all begin at the same sector of a track.

    segments: in the order of their last use.
    """

    s: Setting
    tracks: Tracks
    start: float  # the sector at which a file begins
    segments: list[Segment] = field(default_factory=list)
    reads: Segment | None = None  # the segment into which the arm reads ahead
    rests: Segment | None = None  # the segment at whose end the arm stays, without reading ahead
    rested_ns: float = 0  # how long the arm has stayed there

    def __post_init__(self) -> None:
        self.empty_segment()

    def empty_segment(self) -> None:
        """Empty the cache. The arm reads nothing ahead."""
        self.segments = [Segment(-1, 0) for _ in range(self.s.segments)]
        self.reads = self.rests = None

    def sector(self, place: int) -> float:
        """Return the sector of a place, counted from the start of a track."""
        return self.start + place * self.s.block

    def read_ahead(self, ns: float) -> None:
        """Read ahead for this long, or until the segment is full."""
        if self.reads:
            reached = self.sector(self.reads.end) + self.reads.ahead
            self.reads.ahead += self.tracks.sectors_read(reached, ns)
            if self.reads.ahead >= self.s.ahead:
                self.reads.ahead, self.reads = self.s.ahead, None

    def find_segment(self, file: int, place: int) -> tuple[Segment, bool]:
        """Return the file's segment that continues at this place and True, or the oldest segment,
        emptied, and False."""
        mine = [s for s in self.segments if (s.file, s.end) == (file, place)]
        found = mine[0] if mine else self.segments[0]
        if not mine:
            self.reads = None if self.reads is found else self.reads
            self.rests = None if self.rests is found else self.rests
            found.file, found.end, found.ahead = file, place, 0
        self.segments.remove(found)
        self.segments.append(found)
        return found, bool(mine)

    def serve(self, file: int, command: Command, idle_ns: float) -> Served:
        """Serve a command that reaches the drive `idle_ns` after the end of the last one. Returns
        its time, and whether the arm moved."""
        self.read_ahead(idle_ns)
        self.rested_ns += idle_ns
        segment, goes_on = self.find_segment(file, command.place)
        sectors = command.blocks * self.s.block
        missing = max(0.0, sectors - segment.ahead)  # sectors that are not in the cache
        joins = self.reads is segment  # the arm is reading ahead into this segment
        begin = self.sector(segment.end) + segment.ahead  # the first missing sector
        segment.end += command.blocks
        segment.ahead = max(0.0, segment.ahead - sectors)
        if not missing and not joins:
            self.rested_ns += self.s.row.read_hit_ns + sectors * self.s.bus_ns
            return Served(False, self.s.row.read_hit_ns + sectors * self.s.bus_ns)
        # The platters are read and the bus is used at the same time; the longer of the two counts.
        media_ns = self.tracks.read_ns(begin, missing) if missing else 0
        if joins:
            overhead_ns, across_ns = self.s.row.read_hit_ns, sectors * self.s.bus_ns
        else:
            first_ns = self.tracks.slot_ns
            overhead_ns = self.s.row.read_miss_ns
            across_ns = first_ns + missing * self.s.bus_ns
        done_ns = max(across_ns, media_ns + self.s.bus_ns)
        turning_ns, stays = 0.0, self.rests is segment
        if stays:  # its next sector has passed, and comes again
            turning_ns = -(self.rested_ns + overhead_ns) % self.s.row.rotation_ns
        if self.s.if_sequential and not goes_on:
            self.reads, self.rests, self.rested_ns = None, segment, done_ns - media_ns
        else:
            self.reads, self.rests = segment, None
            self.read_ahead(done_ns - media_ns + joins * overhead_ns)
        return Served(not joins and not stays, overhead_ns + turning_ns + done_ns)
