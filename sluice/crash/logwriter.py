"""Writes logs into the journals of ext3 images, right ones and wrong ones.

Written from the layout as the Linux kernel's documentation has it ("Ext4 Disk Layout", "Journal
(jbd2)"), apart from the kernel's code, whose recovery it tests.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = 0xC03B3998
DESCRIPTOR, COMMIT, SUPER_1, SUPER_2, REVOKE = range(1, 6)
ESCAPED, SAME_UUID, LAST = 1, 2, 8
JOURNAL_INO, SUPER_AT = 8, 1024
HEAD, TAG = struct.Struct(">III"), struct.Struct(">IHH")
RECOVER = 0x4  # the incompatible feature needs_recovery
FIELDS = {"type": 4, "block_bytes": 12, "blocks": 16, "first": 20, "sequence": 24, "start": 28}
FIELDS |= {"error": 32, "incompat": 40, "ro_compat": 44, "users": 64}


def begins_with_magic(data: bytes) -> bool:
    """Return whether a block begins with the log's magic number. In its copy in the log the number
    is replaced by zeros, and the block's tag says so."""
    return data[:4] == struct.pack(">I", MAGIC)


@dataclass
class Transaction:
    """One transaction: the blocks to be logged by their homes, and what is odd about it."""

    blocks: dict[int, bytes] = field(default_factory=dict)
    revokes: tuple[int, ...] = ()
    committed: bool = True
    commit_off_by: int = 0  # the commit block's number is so much larger than the transaction's
    marks_last: bool = True  # the last tag has the flag that says that it is the last
    with_uuid: bool = True  # the first tag is followed by a UUID
    revoked_bytes: int | None = None  # instead of the right number


class Image:
    """An ext3 image in memory, and its journal."""

    def __init__(self, path: Path) -> None:
        self.path, self.data = path, bytearray(path.read_bytes())
        self.block_bytes = 1024 << self.word(SUPER_AT + 24)
        self.where = self._journal_blocks()

    def word(self, at: int) -> int:
        """Return a little-endian number of the image."""
        return int(struct.unpack_from("<I", self.data, at)[0])

    def block(self, number: int) -> bytes:
        """Return a block of the file system."""
        return bytes(self.data[number * self.block_bytes : (number + 1) * self.block_bytes])

    def _pointers(self, block: int, depth: int) -> list[int]:
        """Return the blocks of data below a block of pointers. depth: the levels of pointers; 0:
        the block itself is data."""
        if depth == 0 or not block:
            return [block]
        words = struct.unpack(f"<{self.block_bytes // 4}I", self.block(block))
        return [b for word in words for b in self._pointers(word, depth - 1)]

    def _journal_blocks(self) -> list[int]:
        """Return the blocks of the journal's file: its inode has 12 direct pointers, then one that
        leads to a tree of 1, 2 and 3 levels."""
        first_block = self.word(SUPER_AT + 20)
        inode_table = self.word((first_block + 1) * self.block_bytes + 8)
        inode_bytes = struct.unpack_from("<H", self.data, SUPER_AT + 88)[0]
        inode_at = inode_table * self.block_bytes + (JOURNAL_INO - 1) * inode_bytes
        size = self.word(inode_at + 4)
        roots = [self.word(inode_at + 40 + 4 * i) for i in range(15)]
        depths = [0] * 12 + [1, 2, 3]
        blocks: list[int] = []
        for root, depth in zip(roots, depths, strict=True):
            if root:
                blocks += self._pointers(root, depth)
        return blocks[: size // self.block_bytes]

    def put(self, at: int, data: bytes) -> None:
        """Write a block of the log."""
        start = self.where[at] * self.block_bytes
        self.data[start : start + len(data)] = data

    def get(self, name: str) -> int:
        """Return a field of the journal's superblock."""
        at = self.where[0] * self.block_bytes + FIELDS[name]
        return int(struct.unpack_from(">I", self.data, at)[0])

    def set(self, **fields: int) -> None:
        """Set fields of the journal's superblock."""
        for name, value in fields.items():
            at = self.where[0] * self.block_bytes + FIELDS[name]
            struct.pack_into(">I", self.data, at, value)

    def needs_recovery(self, needs: bool = True) -> None:
        """Set or clear the file system's feature."""
        others = self.word(SUPER_AT + 96) & ~RECOVER
        struct.pack_into("<I", self.data, SUPER_AT + 96, others | (RECOVER if needs else 0))

    def write_log(self, transactions: list[Transaction], start: int = 1, sequence: int = 1) -> None:
        """Write a log that begins at this block of it with this number, and its superblock."""
        log = Log(self, start)
        for i, transaction in enumerate(transactions):
            log.append(transaction, (sequence + i) & 0xFFFFFFFF)
        self.set(start=start, sequence=sequence)
        self.needs_recovery()

    def save(self) -> Path:
        """Write the image back."""
        self.path.write_bytes(self.data)
        return self.path


class Log:
    """A place in the ring of a journal."""

    def __init__(self, image: Image, at: int) -> None:
        self.image, self.at = image, at

    def put(self, data: bytes) -> None:
        """Append a block."""
        self.image.put(self.at, data + bytes(max(0, self.image.block_bytes - len(data))))
        self.at += 1
        if self.at == self.image.get("blocks"):
            self.at = self.image.get("first")

    def append(self, t: Transaction, sequence: int) -> None:
        """Append a transaction: revokes, descriptors with their blocks, the commit block."""
        if t.revokes:
            used = 16 + 4 * len(t.revokes) if t.revoked_bytes is None else t.revoked_bytes
            numbers = struct.pack(f">I{len(t.revokes)}I", used, *t.revokes)
            self.put(HEAD.pack(MAGIC, REVOKE, sequence) + numbers)
        homes = list(t.blocks)
        while homes:
            homes = self._describe(t, homes, sequence)
        if t.committed:
            self.put(HEAD.pack(MAGIC, COMMIT, (sequence + t.commit_off_by) & 0xFFFFFFFF))

    def _describe(self, t: Transaction, homes: list[int], sequence: int) -> list[int]:
        """Write a descriptor and the copies of blocks that fit into it; return the homes that are
        left."""
        uuid = bytes(16) if t.with_uuid else b""  # after the first tag
        fitting = (self.image.block_bytes - HEAD.size - len(uuid)) // TAG.size
        now, rest = homes[:fitting], homes[fitting:]
        tags = b""
        for i, home in enumerate(now):
            own_uuid = uuid if i == 0 else b""
            flags = ESCAPED if begins_with_magic(t.blocks[home]) else 0
            flags |= 0 if own_uuid else SAME_UUID
            flags |= LAST if home == now[-1] and t.marks_last else 0
            tags += TAG.pack(home, 0, flags) + own_uuid
        self.put(HEAD.pack(MAGIC, DESCRIPTOR, sequence) + tags)
        for home in now:
            data = t.blocks[home]
            self.put(bytes(4) + data[4:] if begins_with_magic(data) else data)
        return rest
