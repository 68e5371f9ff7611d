"""A reader of small ext2 images, which shares nothing with the kernel.

It reads names, types, sizes and data, and believes nothing: what cannot be right raises Damaged.
"""

import struct
from collections import Counter
from dataclasses import dataclass

from sluice.crash.oracle import DIRECT, Found, FoundTree

ROOT, MAGIC = 2, 0xEF53
LEVELS = 3  # of blocks of pointers
SPECIAL = ("lost+found",)  # e2fsck's own, in the root
KINDS = {0x8000: "f", 0x4000: "d", 0xA000: "l"}
MOST_BYTES = 64 << 20
# Of an inode: mode, size, links, sectors, 60 bytes of pointers or text, and the size's high half.
INODE = struct.Struct("<H2xI18xHI8x60s8xI")


class Damaged(Exception):
    """The error for an image that cannot be read; the text says where."""


@dataclass(frozen=True)
class Inode:
    """An inode: its number, mode, links, size, and its 60 bytes of pointers or text."""

    number: int
    mode: int
    links: int
    size: int
    sectors: int
    block: bytes


def parse_inode(number: int, raw: bytes | bytearray) -> Inode:
    """Return the inode that these bytes of a table are."""
    mode, size, links, sectors, block, high = INODE.unpack_from(raw)
    if mode & 0xF000 == 0x8000:
        size |= high << 32
    return Inode(number, mode, links, size, sectors, block)


class Reader:
    """The file system in an image."""

    def __init__(self, image: bytes | bytearray) -> None:
        """Read the superblock, which begins at byte 1024. Raises Damaged."""
        self.image = image
        (magic,) = struct.unpack_from("<H", image, 1024 + 56)
        if magic != MAGIC:
            raise Damaged("the superblock has no magic number")
        self.inodes: int
        self.blocks: int
        self.inodes, self.blocks, *_, log_block = struct.unpack_from("<7I", image, 1024)
        self.block_bytes: int = 1024 << log_block
        self.first_block: int = struct.unpack_from("<I", image, 1024 + 20)[0]
        self.inodes_each: int = struct.unpack_from("<I", image, 1024 + 40)[0]  # in a group
        (revision,) = struct.unpack_from("<I", image, 1024 + 76)
        self.inode_bytes: int = struct.unpack_from("<H", image, 1024 + 88)[0] if revision else 128

    def block(self, number: int, what: str) -> bytes:
        """Return a block's data."""
        if not 0 < number < self.blocks:
            raise Damaged(f"{what}: block {number} is not on the disk")
        return bytes(self.image[number * self.block_bytes : (number + 1) * self.block_bytes])

    def inode(self, number: int) -> Inode:
        """Return an inode."""
        if not 0 < number <= self.inodes:
            raise Damaged(f"there is no inode {number}")
        at = self.inode_place(number)
        return parse_inode(number, self.image[at : at + 128])

    def descriptor(self, group: int) -> tuple[int, int, int]:
        """Return the blocks of a group's two bitmaps, of blocks and of inodes, and of its
        inodes."""
        at = (self.first_block + 1) * self.block_bytes + 32 * group
        bitmap: int
        inodes: int
        table: int
        bitmap, inodes, table = struct.unpack_from("<3I", self.image, at)
        return bitmap, inodes, table

    def block_bitmap_place(self, group: int) -> int:
        """Return the first byte of a group's bitmap of blocks."""
        return self.descriptor(group)[0] * self.block_bytes

    def inode_place(self, number: int) -> int:
        """Return the first byte of an inode."""
        group, index = divmod(number - 1, self.inodes_each)
        return self.descriptor(group)[2] * self.block_bytes + index * self.inode_bytes

    def _pieces(self, numbers: tuple[int, ...], level: int, left: int, what: str) -> list[bytes]:
        """Return the data to which the pointers `numbers` lead, block by block, at most `left`
        blocks; zeros for a hole.

        level: of the pointers. 0: to data; 1: to blocks of pointers of level 0; and so on.
        """
        each = (self.block_bytes // 4) ** level  # blocks of data below a pointer
        found: list[bytes] = []
        for number in numbers:
            if len(found) >= left:
                break
            if not number:
                found += [bytes(self.block_bytes)] * min(each, left - len(found))
            elif level == 0:
                found.append(self.block(number, what))
            else:
                inner = struct.unpack(f"<{self.block_bytes // 4}I", self.block(number, what))
                found += self._pieces(inner, level - 1, left - len(found), what)
        return found

    def data(self, inode: Inode) -> bytes:
        """Return a file's contents."""
        if inode.size > MOST_BYTES:
            raise Damaged(f"inode {inode.number} has {inode.size} bytes")
        pointers = struct.unpack("<15I", inode.block)
        nblocks = -(-inode.size // self.block_bytes)
        what = f"inode {inode.number}"
        found = self._pieces(pointers[:DIRECT], 0, nblocks, what)
        for level in range(1, LEVELS + 1):
            left = nblocks - len(found)
            found += self._pieces((pointers[DIRECT + level - 1],), level, left, what)
        return b"".join(found)[: inode.size]

    def blocks_of(self, inode: Inode) -> list[int]:
        """Return the numbers of a file's first blocks, without those behind an indirect block."""
        if inode.mode & 0xF000 == 0xA000 and not inode.sectors:
            return []
        return [number for number in struct.unpack("<13I", inode.block[:52]) if number]

    def all_blocks(self, inode: Inode) -> tuple[list[int], list[int]]:
        """Return the numbers of a file's blocks, and those of its blocks of pointers."""
        data: list[int] = []
        pointers: list[int] = []

        def follow(number: int, level: int) -> None:
            """Note the blocks to which a pointer leads. level: of how many blocks of pointers the
            way to the data consists."""
            if number and level:
                pointers.append(number)
                inner = self.block(number, f"inode {inode.number}")
                for one in struct.unpack(f"<{self.block_bytes // 4}I", inner):
                    follow(one, level - 1)
            elif number:
                data.append(number)

        for i, number in enumerate(struct.unpack("<15I", inode.block)):
            follow(number, max(0, i - DIRECT + 1))
        return data, pointers

    def entries(self, inode: Inode) -> list[tuple[str, int]]:
        """Return a directory's names, each with its inode's number, without `.` and `..`."""
        data, found = self.data(inode), []
        for start in range(0, len(data), self.block_bytes):
            at, end = start, start + self.block_bytes
            while at < end:
                number, length, size, _ = struct.unpack_from("<IHBB", data, at)
                if length < 8 + size or length % 4 or at + length > end:
                    raise Damaged(f"directory {inode.number}: the entry at {at} is damaged")
                name = data[at + 8 : at + 8 + size].decode(errors="backslashreplace")
                if number and name not in (".", ".."):
                    found.append((name, number))
                at += length
        return found

    def text(self, inode: Inode) -> bytes:
        """Return a symbolic link's text."""
        return self.data(inode) if inode.sectors else inode.block[: inode.size]

    def tree(self, husks: bool) -> FoundTree:
        """Return all that the names of the disk lead to, with or without husks."""
        self.husks = husks
        found: FoundTree = {}
        above = {ROOT}
        self._add(found, "", self.inode(ROOT), above)
        self._expect_links(found)
        return found

    def _expect_links(self, found: FoundTree) -> None:
        """Raise Damaged if a file has more names than its inode counts: it would be removed with
        one of them. A directory's count may be older than its names."""
        names = Counter(one.inode for one in found.values() if one.kind != "d")
        for path, one in found.items():
            links = self.inode(one.inode).links
            if names[one.inode] > links:
                raise Damaged(f"{path}: it has {names[one.inode]} names, and counts {links}")

    def _add(self, found: FoundTree, path: str, directory: Inode, above: set[int]) -> None:
        """Add what is in a directory. above: directories seen so far."""
        for name, number in self.entries(directory):
            inode, at = self.inode(number), f"{path}/{name}"
            if not path and name in SPECIAL:
                continue
            if at in found:
                raise Damaged(f"{at} is there twice")
            kind = KINDS.get(inode.mode & 0xF000)
            if kind is None or not inode.links:
                raise Damaged(f"{at}: inode {number} is no file (mode {inode.mode:o})")
            if kind == "d" and not inode.size and not self.husks:
                continue
            if kind == "d":
                if number in above:
                    raise Damaged(f"{at}: directory {number} has two names")
                above.add(number)
                found[at] = Found(kind, number)
                self._add(found, at, inode, above)
            else:
                data = self.data(inode) if kind == "f" else self.text(inode)
                found[at] = Found(kind, number, data)


def read_tree(image: bytes | bytearray, husks: bool = True) -> FoundTree:
    """Return the tree of files in an image, with or without husks: directories of no length, which
    a file is while it gains its first name or loses its last one, and which e2fsck removes. Raises
    Damaged."""
    try:
        return Reader(image).tree(husks)
    except struct.error as error:
        raise Damaged(f"the disk ends too early: {error}") from error
