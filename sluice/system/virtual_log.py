"""Reads and writes the virtual log of a disk's image, without the kernel's code.

kernel/vlog/logical.h tells what lies on the disk: slots of eight sectors, of which some
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
SPARE = 4  # slots that are neither blocks nor the map's nor the label's
LAYOUT = struct.Struct("<QQQQII" + "QII" * POINTERS + f"{ENTRIES}I")
NEVER_WRITTEN = (0,) * ENTRIES
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio


class DamagedLogError(ValueError):
    """The error for an image that holds no virtual log, or a log whose map contradicts itself."""


@dataclass(frozen=True)
class LogSector:
    """A sector of the log: the log's identifier, the sector's number and slot, and the entries of
    a piece of the map."""

    log: int
    seq: int
    slot: int
    piece: int
    entries: tuple[int, ...]
    down: tuple["Pointer", ...] = ()  # at most POINTERS


Pointer = tuple[int, int, int]  # to a sector of the log: its number, slot and piece


def checksum(data: bytes) -> int:
    """Return the checksum that must be a sector's second word."""
    total = MAGIC
    for (word,) in struct.iter_unpack("<Q", data[16:]):
        total = (total ^ word) * GOLDEN % 2**64
    return total


def read_sector(data: bytes) -> LogSector | None:
    """Return the sector of the log in these bytes, or None."""
    magic, total, log, seq, slot, piece, *rest = LAYOUT.unpack(data)
    if magic != MAGIC or total != checksum(data):
        return None
    words, entries = rest[: 3 * POINTERS], rest[3 * POINTERS :]
    triples = zip(words[::3], words[1::3], words[2::3], strict=True)
    pointers = tuple(pointer for pointer in triples if pointer[0])  # number 0: no pointer
    return LogSector(log, seq, slot, piece, tuple(entries), pointers)


def encode_sector(s: LogSector) -> bytes:
    """Return the bytes of a sector of the log, with zeros for missing pointers and entries."""
    down = [word for pointer in s.down for word in pointer]
    down += [0] * (3 * POINTERS - len(down))
    entries = [*s.entries, *[0] * (ENTRIES - len(s.entries))]
    unsigned = LAYOUT.pack(MAGIC, 0, s.log, s.seq, s.slot, s.piece, *down, *entries)
    return unsigned[:8] + struct.pack("<Q", checksum(unsigned)) + unsigned[16:]


def log_capacity(nslots: int, nsummaries: int = 0) -> int:
    """Return how many blocks a log on this many slots holds. One slot in ENTRIES + 1 holds a part
    of the map."""
    usable = nslots - 1 - SPARE - nsummaries
    return usable * ENTRIES // (ENTRIES + 1)


def encode_label(log: int, nslots: int, nsummaries: int = 0) -> bytes:
    """Return the label, the first sector, of a new log on this many slots."""
    sizes = (log_capacity(nslots, nsummaries), nslots, nsummaries)
    return encode_sector(LogSector(log, 0, 0, LABEL, sizes))


def encode_tail(log: int, root: Pointer) -> bytes:
    """Return the sector that points to a log's end. root: the pointer to the last sector; its
    number is 0 if there is none."""
    return encode_sector(LogSector(log, root[0], 0, TAIL, (), (root,) if root[0] else ()))


def lay_out_log(
    image: bytes, nslots: int, log: int = 1, nsummaries: int = 0, seed: int = 0
) -> bytes:
    """Return a disk of this many slots with a virtual log whose blocks hold an image.

    Blocks of zeros are left unwritten; the others lie in their order from slot 1 on, followed by
    the map. seed: if it is not 0, all blocks of the image count as written, and they and the map
    lie at random slots. Raises ValueError for an image that is too long.
    """
    nblocks = log_capacity(nslots, nsummaries)
    if len(image) > nblocks * PLACE:
        raise ValueError(f"the image has {len(image)} bytes, the disk holds {nblocks * PLACE}")
    out = bytearray(nslots * PLACE)
    out[:SECTOR] = encode_label(log, nslots, nsummaries)
    order = list(range(1, nslots))
    if seed:
        random.Random(seed).shuffle(order)
    entries, free = [0] * nblocks, iter(order)
    for block in range(-(-len(image) // PLACE)):
        data = image[block * PLACE : (block + 1) * PLACE]
        if seed or any(data):
            slot = entries[block] = next(free)
            out[slot * PLACE : slot * PLACE + len(data)] = data
    root = (0, 0, 0)
    for piece in range(-(-nblocks // ENTRIES)):
        of_piece = tuple(entries[piece * ENTRIES : (piece + 1) * ENTRIES])
        if not any(of_piece):
            continue
        slot = next(free)
        newest = LogSector(log, root[0] + 1, slot, piece, of_piece, (root,) if root[0] else ())
        out[slot * PLACE : slot * PLACE + SECTOR] = encode_sector(newest)
        root = (newest.seq, slot, piece)
    out[SECTOR : 2 * SECTOR] = encode_tail(log, root)
    return bytes(out)


def read_label(image: bytes) -> LogSector:
    """Return the label of the log in an image. Raises DamagedLogError if there is none."""
    first = read_sector(image[:SECTOR])
    if not first or first.piece != LABEL:
        raise DamagedLogError("there is no label of a virtual log")
    return first


def newest_map(image: bytes) -> dict[int, LogSector]:
    """Return the newest sector of each piece of the map, by piece."""
    first = read_label(image)
    youngest: dict[int, LogSector] = {}
    for slot in range(1, first.entries[1]):
        data = image[slot * PLACE : slot * PLACE + SECTOR]
        s = read_sector(data)
        if not s or s.log != first.log or s.slot != slot:
            continue
        if s.piece not in youngest or s.seq > youngest[s.piece].seq:
            youngest[s.piece] = s
    return youngest


def sector_places(s: LogSector, nmap: int) -> dict[int, int]:
    """Return the slots that a sector gives, by block. nmap: the number of the map's pieces.

    A piece of the map has the slot of each of its blocks, or 0. A summary has its first slot, and
    then for each slot from there on the number of its block plus 1, or 0.
    """
    if s.piece < nmap:
        first_block = s.piece * ENTRIES
        return {first_block + i: slot for i, slot in enumerate(s.entries) if slot}
    first_slot, *numbers = s.entries
    return {number - 1: first_slot + i for i, number in enumerate(numbers) if number}


def block_places(image: bytes) -> dict[int, int]:
    """Return the slot of each block that was ever written. Raises DamagedLogError."""
    nblocks, nslots = read_label(image).entries[:2]
    nmap = -(-nblocks // ENTRIES)  # rounded up
    youngest = newest_map(image)
    number = {piece: s.seq for piece, s in youngest.items()}
    found: dict[int, int] = {}
    for s in sorted(youngest.values(), key=lambda s: s.seq):
        for block, slot in sector_places(s, nmap).items():
            if number.get(block // ENTRIES, 0) <= s.seq:  # its piece of the map is not younger
                found[block] = slot
    used = [0, *(s.slot for s in youngest.values()), *found.values()]
    if len(set(used)) != len(used) or max(used) >= nslots or max(found, default=0) >= nblocks:
        raise DamagedLogError("the map of the virtual log contradicts itself")
    return found


def read_logical_disk(image: bytes) -> bytes:
    """Return the logical disk: each block's contents, zeros where none was written."""
    found = block_places(image)
    out = bytearray(read_label(image).entries[0] * PLACE)
    for block, slot in found.items():
        out[block * PLACE : (block + 1) * PLACE] = image[slot * PLACE : (slot + 1) * PLACE]
    return bytes(out)


class Log:
    """A virtual log that is being written, by the rules of logical.h.

    free: the free slots; map: the slot of each block that was written; root: the piece that was
    written last, or None; at: the number and slot of each piece's sector; below: for each piece,
    the pieces to which its sector leads, in their order.
    """

    def __init__(self, nslots: int, log: int = 1) -> None:
        self.log, self.nslots, self.seq = log, nslots, 0
        self.free = set(range(1, nslots))
        self.map: dict[int, int] = {}
        self._rows: dict[int, tuple[int, ...]] = {}  # the same as map, by piece
        self.root: int | None = None
        self.at: dict[int, tuple[int, int]] = {}
        self.below: dict[int, list[int]] = {}

    @classmethod
    def read_log(cls, image: bytes) -> "Log":
        """Return the log of a disk's image."""
        first = read_label(image)
        log = cls(first.entries[1], first.log)
        sectors = sorted(newest_map(image).values(), key=lambda s: s.seq)  # the oldest first
        for s in sectors:
            log.at[s.piece] = (s.seq, s.slot)
        above: dict[int, int] = {}  # by piece: the piece of the youngest sector that leads there
        for s in sectors:
            for seq, _, piece in s.down:
                if piece in log.at and log.at[piece][0] == seq:  # to its newest sector
                    above[piece] = s.piece
        for s in sectors:
            log.below[s.piece] = [piece for _, _, piece in s.down if above.get(piece) == s.piece]
        log.map = block_places(image)
        for piece in {block // ENTRIES for block in log.map}:
            blocks = range(piece * ENTRIES, (piece + 1) * ENTRIES)
            log._rows[piece] = tuple(log.map.get(block, 0) for block in blocks)
        log.free -= {*log.map.values(), *(slot for _, slot in log.at.values())}
        if sectors:
            log.root, log.seq = sectors[-1].piece, sectors[-1].seq
        return log

    def pointer(self, piece: int) -> Pointer:
        """Return the pointer to the piece's sector."""
        return (*self.at[piece], piece)

    def build_tail(self) -> bytes:
        """Return the sector that points to the log's end."""
        return encode_tail(self.log, (0, 0, 0) if self.root is None else self.pointer(self.root))

    def points_to_root(self, piece: int) -> bool:
        """Return whether the piece's next sector must point to the root."""
        return self.root not in (None, piece)

    def next_due_piece(self, piece: int) -> int:
        """Return the piece that must be written before this one, or this one if there is none."""
        while len(self.below.get(piece, ())) + self.points_to_root(piece) > POINTERS:
            piece = min(self.below[piece], key=lambda child: len(self.below[child]))
        return piece

    def build_sector(self, piece: int, slot: int, told: dict[int, int]) -> LogSector:
        """Return the next sector of a piece, which takes a slot. told: the new slots of blocks of
        the piece."""
        self.free.discard(slot)
        self.seq += 1
        rows = [*self._rows.get(piece, NEVER_WRITTEN)]
        for block, at in told.items():
            rows[block - piece * ENTRIES] = at
        root = self.root if self.points_to_root(piece) else None
        down = [] if root is None else [self.pointer(root)]
        wanted = [*self.below.get(piece, ())]
        if root is not None:
            # These are also reached through the root, so those that do not fit may be left out.
            wanted += [child for child in self.below[root] if child != piece]
        down += [self.pointer(child) for child in wanted][: POINTERS - len(down)]
        return LogSector(self.log, self.seq, slot, piece, tuple(rows), tuple(down))

    def commit(self, s: LogSector) -> None:
        """Free the slots that the sector replaces, because the sector is on the disk now."""
        before = self._rows.get(s.piece, NEVER_WRITTEN)
        for i, (old, new) in enumerate(zip(before, s.entries, strict=False)):
            if new == old:
                continue
            if old:
                self.free.add(old)
            if new:
                self.map[s.piece * ENTRIES + i] = new
        self._rows[s.piece] = s.entries
        if s.piece in self.at:
            self.free.add(self.at[s.piece][1])
        self.at[s.piece] = (s.seq, s.slot)
        # The sector is the new root. The pieces that it leads to hang below no other piece.
        children = [piece for _, _, piece in s.down]
        moved = {*children, s.piece}
        for piece, below in self.below.items():
            self.below[piece] = [child for child in below if child not in moved]
        self.below[s.piece] = children
        self.root = s.piece

    def write(self, block: int, slots: Iterator[int]) -> Iterator[tuple[int, LogSector | None]]:
        """Write a block to free slots. Yields each write: its slot, and the map's sector, or None
        for the block's data.

        A write must be on the disk before the next one is requested.
        """
        at, piece = next(slots), block // ENTRIES
        self.free.discard(at)
        yield at, None
        while True:
            due = self.next_due_piece(piece)
            s = self.build_sector(due, next(slots), {block: at} if due == piece else {})
            yield s.slot, s
            self.commit(s)
            if due == piece:
                return
