"""Disks with a virtual log, and the machines that have them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from grade.engine.scenario import Scenario
from sluice.system.virtual_log import (
    ENTRIES,
    PLACE,
    SECTOR,
    SPARE,
    Log,
    LogSector,
    blocks_on,
    label,
    sector,
)

SIZE = "3M"  # of the file system
PARTS = {"hp97560": (72, 19, 5), "st19101": (256, 16, 2)}  # sectors, heads, cylinders
DRIVE = "hp97560"
ROOT_BLOCK = 4 * ENTRIES + 10  # written last; of a file, but of none of its first blocks
BUSY = 3  # times a block of a busy piece is written
ARGS = "place=eager sched=fcfs write=through update=none nbuf=300"

Lay = Callable[[bytes], bytes]


def nplaces(drive: str) -> int:
    """The places of the drive's part."""
    sectors, heads, cylinders = PARTS[drive]
    return sectors * heads * cylinders * SECTOR // PLACE


class Disk:
    """A disk in the making, with a virtual log, of which places are taken at random.

    data: what was last written to a whole place; firsts: what to its first sector after that. A
    place is written often, so bytes are made of it only at the end.
    """

    def __init__(self, image: bytes, drive: str, rng: Random) -> None:
        self.image, self.rng = image, rng
        self.log = Log(nplaces(drive), rng.randrange(1, 1 << 60))
        self.data: dict[int, bytes] = {}
        self.firsts: dict[int, bytes | LogSector] = {0: label(self.log.log, nplaces(drive))}

    def places(self) -> Iterator[int]:
        """Free places, anywhere."""
        while True:
            yield self.rng.choice(sorted(self.log.free))

    def blocks(self) -> dict[int, bytes]:
        """The image's blocks that are not zeros."""
        pieces = {at: self.image[at : at + PLACE] for at in range(0, len(self.image), PLACE)}
        return {at // PLACE: data for at, data in pieces.items() if any(data)}

    def lay(self, place: int, data: bytes | LogSector) -> None:
        """Put something there: data of a place, or its first sector."""
        if not isinstance(data, LogSector) and len(data) == PLACE:
            self.data[place] = data
            self.firsts.pop(place, None)
        else:
            self.firsts[place] = data

    def written(self) -> bytes:
        """The whole disk, as it is now."""
        out = bytearray(self.log.nplaces * PLACE)
        for place, data in self.data.items():
            out[place * PLACE : (place + 1) * PLACE] = data
        for place, first in self.firsts.items():
            data = sector(first) if isinstance(first, LogSector) else first
            out[place * PLACE : place * PLACE + len(data)] = data
        return bytes(out)

    def put(self, block: int, data: bytes) -> None:
        """Write a block, and the sector of the map that tells of it."""
        for place, of_map in self.log.write(block, self.places()):
            self.lay(place, of_map or data)

    def fill(self, blocks: dict[int, bytes]) -> None:
        """Write blocks, and then each sector of the map once."""
        for piece in sorted({block // ENTRIES for block in blocks}):
            told = {}
            for block in (block for block in blocks if block // ENTRIES == piece):
                told[block] = next(self.places())
                self.log.free.discard(told[block])
                self.lay(told[block], blocks[block])
            of_map = self.log.make(piece, next(self.places()), told)
            self.lay(of_map.place, of_map)
            self.log.commit(of_map)

    def shuffled(self, blocks: list[int]) -> list[int]:
        """These in a random order."""
        return self.rng.sample(blocks, len(blocks))

    def grow(self) -> None:
        """Write for some time, each block several times. In the end each is as in the image. Every
        second piece of the map has not been written for long then; what first led there is gone.
        Piece 0 has, so that even a wrong recovery may find what makes a file system."""
        blocks = self.blocks()
        for block in self.shuffled(list(blocks)):
            self.put(block, self.rng.randbytes(PLACE))
        for block in self.shuffled(list(blocks)):
            self.put(block, blocks[block])
        busy = [block for block in blocks if block // ENTRIES % 2 == 0]
        for block in self.shuffled(busy * BUSY):
            self.put(block, blocks[block])
        self.put(ROOT_BLOCK, blocks[ROOT_BLOCK])

    def switched_off(self) -> bytes:
        """The disk with a tail."""
        self.firsts[0] = label(self.log.log, self.log.nplaces) + self.log.tail()
        return self.written()


# What lays out a disk is a value: equal ones lay out the same disk, as often as they are asked.


@dataclass(frozen=True)
class Fresh:
    """A disk whose pieces of the map were written once each, as when it was made; but the blocks
    are anywhere. free: so many blocks past the file system have a place, too, that no more places
    than these are free."""

    drive: str
    seed: float
    free: int | None = None

    def __call__(self, image: bytes) -> bytes:
        disk = Disk(image, self.drive, Random(self.seed))
        blocks = disk.blocks()
        if self.free is not None:
            nblocks = blocks_on(nplaces(self.drive)) + SPARE - self.free
            blocks = {i: image[i * PLACE :][:PLACE].ljust(PLACE, b"\0") for i in range(nblocks)}
        disk.fill(blocks)
        return disk.switched_off()


@dataclass(frozen=True)
class Grown:
    """A disk that was written for some time, so that its map has become a tree. tail: the power was
    switched off, and not cut."""

    drive: str
    seed: float
    tail: bool = True

    def __call__(self, image: bytes) -> bytes:
        disk = Disk(image, self.drive, Random(self.seed))
        disk.grow()
        return disk.switched_off() if self.tail else disk.written()


@dataclass(frozen=True)
class Changed:
    """As Grown, with something done to it at the end."""

    drive: str
    seed: float
    how: Callable[[Disk], None]

    def __call__(self, image: bytes) -> bytes:
        disk = Disk(image, self.drive, Random(self.seed))
        disk.grow()
        disk.switched_off()
        self.how(disk)
        return disk.written()


def machine(name: str, drive: str, lay: Lay, lines: list[str], **more: object) -> Scenario:
    """A machine whose data disk is a part of this drive, with a virtual log."""
    more = {"args": ARGS, "size": SIZE, "drives": (drive,), "spares": False} | more
    return Scenario(name=name, script="\n".join(lines), on_log=lay, **more)


def files(rng: Random, blocks: int) -> dict[str, object]:
    """Of a scenario: two files of so many blocks together, with something in each block."""
    first = rng.randrange(blocks // 3, blocks // 2)
    data = (("/f", f"{4 * first}K"), ("/g", f"{4 * (blocks - first)}K"))
    return {"data": data, "pattern": rng.randrange(1, 1 << 30)}


READ = ["beacon 1", "cat /data/f /data/g > /dev/null", "beacon 2"]
