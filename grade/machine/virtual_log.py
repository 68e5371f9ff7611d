"""The blocks of a disk that writes eagerly, read from its image without the kernel's code.

kernel/logical/logical.h tells what lies on the disk: places of eight sectors, of which some
begin with a sector of the map, and the label in place 0. The kernel finds the map by pointers from
the youngest sector. This module does it in another way, so that each can judge the other: of all
sectors that are where they say and whose sum is right, the youngest of each piece counts.
"""

import struct
from dataclasses import dataclass

SECTOR = 512
PLACE = 8 * SECTOR
MAGIC = int.from_bytes(b"rtualLog", "little")
LABEL, TAIL = 0xFFFFFFFF, 0xFFFFFFFE
POINTERS, ENTRIES = 4, 102
SPARE = 4  # places that are neither blocks nor the map's nor the label's
LAYOUT = struct.Struct("<QQQQII" + "QII" * POINTERS + f"{ENTRIES}I")
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
    return LogSector(log, seq, place, piece, tuple(rest[3 * POINTERS :]))


def sector(s: LogSector, root: tuple[int, int, int] = (0, 0, 0)) -> bytes:
    """The bytes of a sector of the log; it points to another one: number, place and piece."""
    down = [*root, *[0] * 3 * (POINTERS - 1)]
    entries = [*s.entries, *[0] * (ENTRIES - len(s.entries))]
    data = LAYOUT.pack(MAGIC, 0, s.log, s.seq, s.place, s.piece, *down, *entries)
    return data[:8] + struct.pack("<Q", sum_of(data)) + data[16:]


def blocks_on(nplaces: int) -> int:
    """How many blocks a log on so many places holds."""
    return (nplaces - 1 - SPARE) * ENTRIES // (ENTRIES + 1)


def label(log: int, nplaces: int) -> bytes:
    """The first sector of a new log on so many places."""
    return sector(LogSector(log, 0, 0, LABEL, (blocks_on(nplaces), nplaces)))


def laid_out(image: bytes, nplaces: int, log: int = 1) -> bytes:
    """The disk of so many places whose blocks hold an image, which is no longer than they are.

    Blocks of zeros are left unwritten; the others lie in their order from place 1 on, then the map.
    """
    nblocks = blocks_on(nplaces)
    if len(image) > nblocks * PLACE:
        raise ValueError(f"the image has {len(image)} bytes, the disk holds {nblocks * PLACE}")
    out = bytearray(nplaces * PLACE)
    out[:SECTOR] = label(log, nplaces)
    entries, place = [0] * nblocks, 1
    for block in range(-(-len(image) // PLACE)):
        data = image[block * PLACE : (block + 1) * PLACE]
        if any(data):
            out[place * PLACE : place * PLACE + len(data)] = data
            entries[block], place = place, place + 1
    root = (0, 0, 0)
    for piece in range(-(-nblocks // ENTRIES)):
        of_piece = tuple(entries[piece * ENTRIES : (piece + 1) * ENTRIES])
        if not any(of_piece):
            continue
        newest = LogSector(log, root[0] + 1, place, piece, of_piece)
        out[place * PLACE : place * PLACE + SECTOR] = sector(newest, root)
        root, place = (newest.seq, place, piece), place + 1
    out[SECTOR : 2 * SECTOR] = sector(LogSector(log, root[0], 0, TAIL, ()), root)
    return bytes(out)


def read_label(image: bytes) -> LogSector:
    """The label of the log in an image, which must have one."""
    first = read_sector(image[:SECTOR])
    if not first or first.piece != LABEL:
        raise DamagedLogError("there is no label of a virtual log")
    return first


def places(image: bytes) -> dict[int, int]:
    """Where each block is that was ever written."""
    first = read_label(image)
    nblocks, nplaces = first.entries[:2]
    youngest: dict[int, LogSector] = {}
    for place in range(1, nplaces):
        data = image[place * PLACE : place * PLACE + SECTOR]
        s = read_sector(data)
        if not s or s.log != first.log or s.place != place:
            continue
        if s.piece not in youngest or s.seq > youngest[s.piece].seq:
            youngest[s.piece] = s
    found = {
        piece * ENTRIES + i: entry
        for piece, s in youngest.items()
        for i, entry in enumerate(s.entries)
        if entry
    }
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
