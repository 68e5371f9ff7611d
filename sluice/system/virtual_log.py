"""The blocks of a disk that writes eagerly, read from its image without the kernel's code.

kernel/logical/logical.h tells what lies on the disk: places of eight sectors, of which some
begin with a sector of the map, and the label in place 0. The kernel finds the map by pointers from
the youngest sector. This module does it in another way, so that each can judge the other: of all
sectors that are where they say and whose sum is right, the youngest of each piece and of each
summary counts.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass

SECTOR = 512
PLACE = 8 * SECTOR
MAGIC = int.from_bytes(b"rtualLog", "little")
LABEL, TAIL = 0xFFFFFFFF, 0xFFFFFFFE
POINTERS, ENTRIES = 4, 102
SPARE = 4  # places that are neither blocks nor the map's nor the label's
LAYOUT = struct.Struct("<QQQQII" + "QII" * POINTERS + f"{ENTRIES}I")
NEVER_WRITTEN = (0,) * ENTRIES
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio


class DamagedLogError(ValueError):
    """The image holds no virtual log, or its map contradicts itself."""


@dataclass(frozen=True)
class LogSector:
    """A sector of the log: its log, its number, and for which piece it has which entries."""

    log: int
    seq: int
    place: int
    piece: int
    entries: tuple[int, ...]
    down: tuple["Pointer", ...] = ()  # at most POINTERS


Pointer = tuple[int, int, int]  # to a sector of the log: its number, place and piece


def sum_of(data: bytes) -> int:
    """What a sector's second word must be."""
    total = MAGIC
    for (word,) in struct.iter_unpack("<Q", data[16:]):
        total = (total ^ word) * GOLDEN % 2**64
    return total


def read_sector(data: bytes) -> LogSector | None:
    """The sector of the log that these bytes are, or None."""
    magic, total, log, seq, place, piece, *rest = LAYOUT.unpack(data)
    if magic != MAGIC or total != sum_of(data):
        return None
    down = [(rest[3 * i], rest[3 * i + 1], rest[3 * i + 2]) for i in range(POINTERS)]
    pointers = tuple(pointer for pointer in down if pointer[0])
    return LogSector(log, seq, place, piece, tuple(rest[3 * POINTERS :]), pointers)


def sector(s: LogSector) -> bytes:
    """The bytes of a sector of the log."""
    down = [word for pointer in s.down for word in pointer]
    down += [0] * (3 * POINTERS - len(down))
    entries = [*s.entries, *[0] * (ENTRIES - len(s.entries))]
    data = LAYOUT.pack(MAGIC, 0, s.log, s.seq, s.place, s.piece, *down, *entries)
    return data[:8] + struct.pack("<Q", sum_of(data)) + data[16:]


def blocks_on(nplaces: int, nsummaries: int = 0) -> int:
    """How many blocks a log on so many places holds."""
    return (nplaces - 1 - SPARE - nsummaries) * ENTRIES // (ENTRIES + 1)


def label(log: int, nplaces: int, nsummaries: int = 0) -> bytes:
    """The first sector of a new log on so many places."""
    sizes = (blocks_on(nplaces, nsummaries), nplaces, nsummaries)
    return sector(LogSector(log, 0, 0, LABEL, sizes))


def tail(log: int, root: Pointer) -> bytes:
    """The sector that tells where a log ends: at this sector, or at none, if its number is 0."""
    return sector(LogSector(log, root[0], 0, TAIL, (), (root,) if root[0] else ()))


def laid_out(image: bytes, nplaces: int, log: int = 1, nsummaries: int = 0, seed: int = 0) -> bytes:
    """The disk of so many places whose blocks hold an image, which is no longer than they are.

    Blocks of zeros are left unwritten; the others lie in their order from place 1 on, then the map.
    seed: if it is not 0, all blocks of the image have been written, and they and the map lie at
    places drawn by it, each as likely as any other.
    """
    nblocks = blocks_on(nplaces, nsummaries)
    if len(image) > nblocks * PLACE:
        raise ValueError(f"the image has {len(image)} bytes, the disk holds {nblocks * PLACE}")
    out = bytearray(nplaces * PLACE)
    out[:SECTOR] = label(log, nplaces, nsummaries)
    order = list(range(1, nplaces))
    if seed:
        random.Random(seed).shuffle(order)
    entries, free = [0] * nblocks, iter(order)
    for block in range(-(-len(image) // PLACE)):
        data = image[block * PLACE : (block + 1) * PLACE]
        if seed or any(data):
            place = entries[block] = next(free)
            out[place * PLACE : place * PLACE + len(data)] = data
    root = (0, 0, 0)
    for piece in range(-(-nblocks // ENTRIES)):
        of_piece = tuple(entries[piece * ENTRIES : (piece + 1) * ENTRIES])
        if not any(of_piece):
            continue
        place = next(free)
        newest = LogSector(log, root[0] + 1, place, piece, of_piece, (root,) if root[0] else ())
        out[place * PLACE : place * PLACE + SECTOR] = sector(newest)
        root = (newest.seq, place, piece)
    out[SECTOR : 2 * SECTOR] = tail(log, root)
    return bytes(out)


def read_label(image: bytes) -> LogSector:
    """The label of the log in an image, which must have one."""
    first = read_sector(image[:SECTOR])
    if not first or first.piece != LABEL:
        raise DamagedLogError("there is no label of a virtual log")
    return first


def newest(image: bytes) -> dict[int, LogSector]:
    """The sectors of the map that count, by their pieces."""
    first = read_label(image)
    youngest: dict[int, LogSector] = {}
    for place in range(1, first.entries[1]):
        data = image[place * PLACE : place * PLACE + SECTOR]
        s = read_sector(data)
        if not s or s.log != first.log or s.place != place:
            continue
        if s.piece not in youngest or s.seq > youngest[s.piece].seq:
            youngest[s.piece] = s
    return youngest


def told(s: LogSector, nmap: int) -> dict[int, int]:
    """The places of the blocks of which a sector tells; nmap: how many pieces the map has."""
    if s.piece < nmap:
        return {s.piece * ENTRIES + i: place for i, place in enumerate(s.entries) if place}
    return {said - 1: s.entries[0] + i for i, said in enumerate(s.entries[1:]) if said}


def places(image: bytes) -> dict[int, int]:
    """Where each block is that was ever written."""
    nblocks, nplaces = read_label(image).entries[:2]
    nmap = -(-nblocks // ENTRIES)
    youngest = newest(image)
    number = {piece: s.seq for piece, s in youngest.items()}
    found: dict[int, int] = {}
    for s in sorted(youngest.values(), key=lambda s: s.seq):
        found |= {b: at for b, at in told(s, nmap).items() if number.get(b // ENTRIES, 0) <= s.seq}
    used = [0, *(s.place for s in youngest.values()), *found.values()]
    if len(set(used)) != len(used) or max(used) >= nplaces or max(found, default=0) >= nblocks:
        raise DamagedLogError("the map of the virtual log contradicts itself")
    return found


def blocks(image: bytes) -> bytes:
    """The logical disk: each block's contents, zeros where none was written."""
    found = places(image)
    out = bytearray(read_label(image).entries[0] * PLACE)
    for block, place in found.items():
        out[block * PLACE : (block + 1) * PLACE] = image[place * PLACE : (place + 1) * PLACE]
    return bytes(out)


class Log:
    """A virtual log in the making: it is written as the kernel does, by logical.h's rules.

    free: the places that are; map: the place of each block that was written; root: the piece that
    was written last, or None; at: the number and place of each piece's sector; below: the pieces to
    whose sectors a piece's own leads, in their order.
    """

    def __init__(self, nplaces: int, log: int = 1) -> None:
        self.log, self.nplaces, self.seq = log, nplaces, 0
        self.free = set(range(1, nplaces))
        self.map: dict[int, int] = {}
        self._rows: dict[int, tuple[int, ...]] = {}  # the same as map, by piece
        self.root: int | None = None
        self.at: dict[int, tuple[int, int]] = {}
        self.below: dict[int, list[int]] = {}

    @classmethod
    def of(cls, image: bytes) -> "Log":
        """The log on a disk, as it is found there."""
        first = read_label(image)
        log = cls(first.entries[1], first.log)
        count = sorted(newest(image).values(), key=lambda s: s.seq)
        for s in count:
            log.at[s.piece] = (s.seq, s.place)
            log.below[s.piece] = []
        above: dict[int, int] = {}  # the youngest that leads there
        for s in count:
            above |= {piece: s.piece for n, _, piece in s.down if log.at.get(piece, (0,))[0] == n}
        for s in count:
            log.below[s.piece] = [piece for _, _, piece in s.down if above.get(piece) == s.piece]
        log.map = places(image)
        for piece in {block // ENTRIES for block in log.map}:
            blocks = range(piece * ENTRIES, (piece + 1) * ENTRIES)
            log._rows[piece] = tuple(log.map.get(block, 0) for block in blocks)
        log.free -= {*log.map.values(), *(place for _, place in log.at.values())}
        if count:
            log.root, log.seq = count[-1].piece, count[-1].seq
        return log

    def pointer(self, piece: int) -> Pointer:
        """What leads to the piece's sector."""
        return (*self.at[piece], piece)

    def tail(self) -> bytes:
        """The sector that tells where the log ends."""
        return tail(self.log, (0, 0, 0) if self.root is None else self.pointer(self.root))

    def below_root(self, piece: int) -> bool:
        """True if the piece's next sector must point to the root."""
        return self.root not in (None, piece)

    def due(self, piece: int) -> int:
        """The piece that is to be written before this one can be, or this one itself."""
        while len(self.below.get(piece, ())) + self.below_root(piece) > POINTERS:
            piece = min(self.below[piece], key=lambda child: len(self.below[child]))
        return piece

    def make(self, piece: int, place: int, told: dict[int, int]) -> LogSector:
        """The next sector of a piece, which takes a place; told: blocks of it with new places."""
        self.free.discard(place)
        self.seq += 1
        rows = [*self._rows.get(piece, NEVER_WRITTEN)]
        for block, at in told.items():
            rows[block - piece * ENTRIES] = at
        down = [self.pointer(self.root)] if self.below_root(piece) else []
        wanted = [*self.below.get(piece, ())]
        if self.below_root(piece):
            wanted += [child for child in self.below[self.root] if child != piece]
        down += [self.pointer(child) for child in wanted][: POINTERS - len(down)]
        return LogSector(self.log, self.seq, place, piece, tuple(rows), tuple(down))

    def commit(self, s: LogSector) -> None:
        """The sector is on the disk: the places that it replaces are free."""
        before = self._rows.get(s.piece, NEVER_WRITTEN)
        for i in (i for i, place in enumerate(s.entries) if place != before[i]):
            old, place = before[i], s.entries[i]
            if old:
                self.free.add(old)
            if place:
                self.map[s.piece * ENTRIES + i] = place
        self._rows[s.piece] = s.entries
        if s.piece in self.at:
            self.free.add(self.at[s.piece][1])
        self.at[s.piece] = (s.seq, s.place)
        moved = [piece for _, _, piece in s.down]
        gone = {*moved, s.piece}
        for piece, children in self.below.items():
            self.below[piece] = [child for child in children if child not in gone]
        self.below[s.piece] = moved
        self.root = s.piece

    def write(self, block: int, places: Iterator[int]) -> Iterator[tuple[int, LogSector | None]]:
        """Write a block to free places, one after the other: for each write, its place, and the
        sector of the map that goes there, or None for the block's data. A write is on the disk when
        the next one is asked for."""
        at, piece = next(places), block // ENTRIES
        self.free.discard(at)
        yield at, None
        while True:
            due = self.due(piece)
            s = self.make(due, next(places), {block: at} if due == piece else {})
            yield s.place, s
            self.commit(s)
            if due == piece:
                return
