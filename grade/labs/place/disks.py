"""Make disks with a virtual log, and the machines that have them."""

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
    encode_label,
    encode_sector,
    log_capacity,
)

SIZE = "3M"  # size of the file system
PARTS = {"hp97560": (72, 19, 5), "st19101": (256, 16, 2)}  # sectors, heads, cylinders
DRIVE = "hp97560"
ROOT_BLOCK = 4 * ENTRIES + 10  # written last; of a file, but of none of its first blocks
BUSY = 3  # times a block of a busy piece is written
ARGS = "place=eager sched=fcfs write=through update=none nbuf=300"

Lay = Callable[[bytes], bytes]


def nslots(drive: str) -> int:
    """Return the number of places of the drive's part."""
    sectors, heads, cylinders = PARTS[drive]
    return sectors * heads * cylinders * SECTOR // PLACE


class Disk:
    """A disk in the making, with a virtual log, of which places are taken at random.

    data: what was last written to a whole place. firsts: what was then written to the first sector
    of such a place. A place is written often, so bytes are made of it only at the end.
    """

    def __init__(self, image: bytes, drive: str, rng: Random) -> None:
        self.image, self.rng = image, rng
        self.log = Log(nslots(drive), rng.randrange(1, 1 << 60))
        self.data: dict[int, bytes] = {}
        self.firsts: dict[int, bytes | LogSector] = {0: encode_label(self.log.log, nslots(drive))}

    def places(self) -> Iterator[int]:
        """Yield free slots, anywhere."""
        while True:
            yield self.rng.choice(sorted(self.log.free))

    def blocks(self) -> dict[int, bytes]:
        """Return the image's blocks that are not zeros."""
        pieces = {at: self.image[at : at + PLACE] for at in range(0, len(self.image), PLACE)}
        return {at // PLACE: data for at, data in pieces.items() if any(data)}

    def lay(self, place: int, data: bytes | LogSector) -> None:
        """Put the data of a place, or its first sector, there."""
        if not isinstance(data, LogSector) and len(data) == PLACE:
            self.data[place] = data
            self.firsts.pop(place, None)
        else:
            self.firsts[place] = data

    def disk_image(self) -> bytes:
        """Return the whole disk, as it is now: data, and the first sector of each place."""
        out = bytearray(self.log.nslots * PLACE)
        for place, data in self.data.items():
            out[place * PLACE : (place + 1) * PLACE] = data
        for place, first in self.firsts.items():
            data = encode_sector(first) if isinstance(first, LogSector) else first
            out[place * PLACE : place * PLACE + len(data)] = data
        return bytes(out)

    def put(self, block: int, data: bytes) -> None:
        """Write a block, and then the sector of the map that points to it."""
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
            of_map = self.log.build_sector(piece, next(self.places()), told)
            self.lay(of_map.slot, of_map)
            self.log.commit(of_map)

    def shuffle(self, blocks: list[int]) -> list[int]:
        """Return these blocks in a random order."""
        return self.rng.sample(blocks, len(blocks))

    def grow(self) -> None:
        """Write for some time, each block several times.

        In the end each block has its contents in the image. The odd pieces of the map have not
        been written for long, and the sectors that first led to them are gone. Piece 0 is written
        last: it has the blocks that make a file system, so even a wrong recovery may find those.
        """
        blocks = self.blocks()
        for block in self.shuffle(list(blocks)):
            self.put(block, self.rng.randbytes(PLACE))
        for block in self.shuffle(list(blocks)):
            self.put(block, blocks[block])
        busy = [block for block in blocks if block // ENTRIES % 2 == 0]
        for block in self.shuffle(busy * BUSY):
            self.put(block, blocks[block])
        self.put(ROOT_BLOCK, blocks[ROOT_BLOCK])

    def image_with_tail(self) -> bytes:
        """Return the disk with a tail."""
        self.firsts[0] = encode_label(self.log.log, self.log.nslots) + self.log.build_tail()
        return self.disk_image()


# A layout is a value: equal layouts give the same disk, as often as they are used.


@dataclass(frozen=True)
class Fresh:
    """A disk whose pieces of the map were written once each, with blocks anywhere.

    free: how many slots are free. The others hold blocks, also beyond the file system's end.
    """

    drive: str
    seed: float
    free: int | None = None

    def __call__(self, image: bytes) -> bytes:
        """Return a new disk with a virtual log that has this image of a file system.

        With `free`, the disk is filled with blocks until only so many places are free.
        """
        disk = Disk(image, self.drive, Random(self.seed))
        blocks = disk.blocks()
        if self.free is not None:
            nblocks = log_capacity(nslots(self.drive)) + SPARE - self.free
            blocks = {i: image[i * PLACE :][:PLACE].ljust(PLACE, b"\0") for i in range(nblocks)}
        disk.fill(blocks)
        return disk.image_with_tail()


@dataclass(frozen=True)
class Grown:
    """A disk that was written for some time, so that its map has become a tree.

    tail: the power was switched off, and not cut.
    """

    drive: str
    seed: float
    tail: bool = True

    def __call__(self, image: bytes) -> bytes:
        disk = Disk(image, self.drive, Random(self.seed))
        disk.grow()
        return disk.image_with_tail() if self.tail else disk.disk_image()


@dataclass(frozen=True)
class Changed:
    """A disk as Grown makes it, which `how` has changed at the end."""

    drive: str
    seed: float
    how: Callable[[Disk], None]

    def __call__(self, image: bytes) -> bytes:
        disk = Disk(image, self.drive, Random(self.seed))
        disk.grow()
        disk.image_with_tail()
        self.how(disk)
        return disk.disk_image()


def machine(name: str, drive: str, lay: Lay, lines: list[str], **more: object) -> Scenario:
    """Return a machine whose data disk is a part of this drive, with a virtual log."""
    more = {"args": ARGS, "size": SIZE, "drives": (drive,), "spares": False} | more
    return Scenario(name=name, script="\n".join(lines), on_log=lay, **more)


def files(rng: Random, blocks: int) -> dict[str, object]:
    """Return fields of a scenario: two files of this many blocks, with data in each block."""
    first = rng.randrange(blocks // 3, blocks // 2)
    data = (("/f", f"{4 * first}K"), ("/g", f"{4 * (blocks - first)}K"))
    return {"data": data, "pattern": rng.randrange(1, 1 << 30)}


READ = ["beacon 1", "cat /data/f /data/g > /dev/null", "beacon 2"]
