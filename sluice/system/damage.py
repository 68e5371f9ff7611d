"""Damages an ext2 image in a chosen kind of metadata, from a seed.

The layout is that of the ext2 format, revision 1. `Layout` knows only where things lie, not which
values are right.
"""

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ["superblock", "descriptors", "bitmaps", "inodes", "directories", "indirect", "links"]

SUPERBLOCK = 1024  # offset in bytes
DIRECT = 12
S_IFMT, S_IFDIR, S_IFLNK, S_IFREG = 0o170000, 0o040000, 0o120000, 0o100000

Region = tuple[int, int]  # offset and length in bytes


@dataclass
class Layout:
    """The regions of an image that hold each kind of metadata."""

    data: bytes
    regions: dict[str, list[Region]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the regions of each kind of metadata: first byte and length."""
        (inodes, blocks) = self.read_fields(SUPERBLOCK, "<II")
        (first, log_block) = self.read_fields(SUPERBLOCK + 20, "<II")
        (blocks_per_group, _, inodes_per_group) = self.read_fields(SUPERBLOCK + 32, "<III")
        (self.inode_bytes,) = self.read_fields(SUPERBLOCK + 88, "<H")
        self.block = 1024 << log_block
        groups = -(-(blocks - first) // blocks_per_group)  # rounded up
        self.regions = {kind: [] for kind in KINDS}
        self.regions["superblock"].append((SUPERBLOCK, 264))
        table = (first + 1) * self.block
        self.regions["descriptors"].append((table, 32 * groups))
        for group in range(groups):
            block_map, inode_map, inode_table = self.read_fields(table + 32 * group, "<III")
            for bitmap in (block_map, inode_map):
                self.regions["bitmaps"].append((bitmap * self.block, min(self.block, 256)))
            inodes_here = min(inodes_per_group, inodes - group * inodes_per_group)
            for i in range(inodes_here):
                self.add_inode(inode_table * self.block + i * self.inode_bytes)

    def read_fields(self, offset: int, format_: str) -> tuple[int, ...]:
        """Return little-endian fields at an offset."""
        return struct.unpack_from(format_, self.data, offset)

    def add_inode(self, offset: int) -> None:
        """Add the regions of an inode in use, and of the blocks to which it leads."""
        (mode,) = self.read_fields(offset, "<H")
        (links,) = self.read_fields(offset + 26, "<H")
        if links == 0:
            return
        self.regions["inodes"].append((offset, 128))
        pointers = self.read_fields(offset + 40, "<15I")
        kind = mode & S_IFMT
        if kind == S_IFLNK:
            self.regions["links"].append((offset, 100))
        elif kind == S_IFDIR:
            for block in pointers[:DIRECT]:
                self.add_entries(block * self.block)
        elif kind == S_IFREG:
            for depth, block in enumerate(pointers[DIRECT:]):
                self.add_indirect(block, depth)

    def add_entries(self, offset: int) -> None:
        """Add the regions of the names in a directory's block."""
        end = offset + self.block
        while 0 < offset < end:
            inode, length, name = self.read_fields(offset, "<IHB")
            if inode:
                self.regions["directories"].append((offset, 8 + name))
            offset += length

    def add_indirect(self, block: int, depth: int) -> None:
        """Add the regions of an indirect block and of those below it. Block 0 is a hole."""
        if block == 0:
            return
        self.regions["indirect"].append((block * self.block, self.block))
        if depth > 0:
            for below in self.read_fields(block * self.block, f"<{self.block // 4}I"):
                self.add_indirect(below, depth - 1)


def change_place(data: bytearray, chance: random.Random, region: Region) -> None:
    """Change one place of the region: a bit, a byte, or a whole field."""
    offset, length = region
    at = offset + chance.randrange(length)
    what = chance.randrange(4)
    if what <= 1:
        data[at] ^= 1 << chance.randrange(8)
    elif what == 2:
        data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    else:
        values = [0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, chance.randrange(1 << 32)]
        struct.pack_into("<I", data, at & ~3, chance.choice(values))


def damage_image(image: bytes, kind: str, seed: int) -> bytes:
    """Return the image with one to eight changes in that kind of metadata."""
    chance = random.Random(f"{kind} {seed}")
    data = bytearray(image)
    regions = Layout(image).regions[kind]
    assert regions, f"the image has no {kind}"
    for _ in range(chance.choice([1, 1, 1, 2, 4, 8])):
        change_place(data, chance, chance.choice(regions))
    return bytes(data)


def damage_file(source: Path, target: Path, kind: str, seed: int) -> Path:
    """Write a damaged copy of an image. Returns its path."""
    target.write_bytes(damage_image(source.read_bytes(), kind, seed))
    return target
