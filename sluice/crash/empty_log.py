"""Disks that differ only in what an empty log still holds.

When a journal has been replayed, its log is marked empty, and its blocks keep what was in them.
Nobody reads that again: the next transaction begins at the ring's first block. So two such disks
are the same to e2fsck and to a mount, and a judge need not judge both.

Only the log's ring is left out, not its superblock, and only on a disk that says that it needs no
recovery, whose log is empty, and whose journal lies where that of the first disk lies.
"""

import struct

from sluice.crash.ext2 import Reader

JOURNAL_INODE, HAS_JOURNAL, RECOVER = 8, 4, 4
COMPATIBLE, INCOMPATIBLE = 1024 + 92, 1024 + 96  # where the superblock has its features
FIRST = struct.Struct(">I")  # where the log's superblock, from byte 28 on, says that it begins


class EmptyLog:
    """Where the journal of a disk has its ring; a disk without one has none."""

    def __init__(self, disk: bytes) -> None:
        """Find the blocks of the ring, and what lies between them."""
        self.fixed: list[tuple[int, bytes]] = []  # what leads to the ring: place, bytes
        self.kept = [(0, len(disk))]  # what is outside of the ring: begin, end
        if not struct.unpack_from("<I", disk, COMPATIBLE)[0] & HAS_JOURNAL:
            return
        reader = Reader(disk)
        size = reader.block_bytes
        (superblock, *ring), pointers = reader.all_blocks(reader.inode(JOURNAL_INODE))
        self.super = superblock * size
        pointers_at = reader.inode_place(JOURNAL_INODE) + 40  # 60 bytes of the inode
        places = [(pointers_at, 60), *((number * size, size) for number in pointers)]
        self.fixed = [(place, disk[place : place + length]) for place, length in places]
        self.kept, begin = [], 0
        for number in sorted(ring):
            if begin < number * size:
                self.kept.append((begin, number * size))
            begin = (number + 1) * size
        if begin < len(disk):
            self.kept.append((begin, len(disk)))

    def is_empty(self, disk: bytes) -> bool:
        """Return whether a disk's log is at its place, and empty."""
        if not self.fixed:
            return False  # there is no log
        (features,) = struct.unpack_from("<I", disk, INCOMPATIBLE)
        (begins_at,) = FIRST.unpack_from(disk, self.super + 28)
        if features & RECOVER or begins_at:
            return False
        return all(disk[at : at + len(was)] == was for at, was in self.fixed)

    def key(self, disk: bytes) -> int:
        """Return a disk's hash, without what an empty log still holds."""
        return hash(b"".join(disk[a:b] for a, b in self.kept) if self.is_empty(disk) else disk)
