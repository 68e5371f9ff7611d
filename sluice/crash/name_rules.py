"""Order rules of names, inodes and pointers, for a disk whose metadata is written step by step.

order_rules.py has the numbers 1 to 9. These hold under order=sync. "On the disk" means on the
platters: the drive's cache is flushed.

10. A name is written when the inode that it leads to is in use on the disk, and counts the name.
    One name more may lead to a file that a recorded rename replaces.
11. An inode counts fewer links, or is free, when the names that it lost are gone on the disk.
12. The last name of an inode with contents is removed when the inode is a husk on the disk, and it
    ceases to be a husk when it has a name there.
13. A name leads to another inode than before, or a directory gets a second name, when the disk's
    superblock has a record of this rename.
14. The `..` of a directory changes when the new parent has its name on the disk; the old name is
    removed when the `..` has changed on the disk.
15. An inode leads to a block of names, of pointers or of a link's text when that is on the disk,
    and to one of names before there are names in it.
16. An inode is given a block of the disk, when no other inode has the block there.
17. A write of a directory shows the names before it or after it, wherever it is torn.

A move of a file to another directory looks like a link and an unlink. So no rule asks for the
record of a move; the judges see whether it is missing.
"""

import struct
from collections.abc import Iterator
from itertools import combinations

from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.ext2 import Inode, Reader, parse_inode
from sluice.crash.oracle import DIRECT
from sluice.crash.written_disk import SUPER, Checked, Disk

INTENT, INTENT_MAGIC = SUPER + 704, 0x6D766973  # in the superblock: the record of a rename
RECORD = struct.Struct("<9I")  # magic; then number and generation of from, to, moved, replaced
ENTRY = struct.Struct("<IHBB")
DIRECTORY, FILE, LINK = 0x4000, 0x8000, 0xA000
DOTS = (".", "..")
MOST_TORN = 4  # sectors of a write of which every subset is tried
Names = dict[str, int]  # each with its inode's number


def parse_names(block: bytes) -> Names | None:
    """Return the names in a directory's block, or None if it is none."""
    found: Names = {}
    at = 0
    while at < len(block):
        if at + ENTRY.size > len(block):
            return None
        number, length, size, _ = ENTRY.unpack_from(block, at)
        if length < ENTRY.size + size or length % 4 or at + length > len(block):
            return None
        if number:
            found[block[at + 8 : at + 8 + size].decode(errors="backslashreplace")] = number
        at += length
    return found


def kind_of(inode: Inode) -> int:
    """Return an inode's type, or 0 if the inode is not in use."""
    return inode.mode & 0xF000 if inode.links else 0


def is_husk(inode: Inode) -> bool:
    """Return whether an inode is a husk: a directory of no length."""
    return kind_of(inode) == DIRECTORY and not inode.size


def pointers_of(inode: Inode) -> tuple[int, ...]:
    """Return an inode's fifteen pointers, or none if it has no blocks."""
    kind = kind_of(inode)
    if kind not in (DIRECTORY, FILE, LINK) or (kind == LINK and not inode.sectors):
        return ()
    return struct.unpack("<15I", inode.block)


def has_contents(inode: Inode) -> bool:
    """Return whether an inode would be missed: it is in use, no husk, and no plain empty file."""
    if kind_of(inode) in (0, DIRECTORY):
        return bool(kind_of(inode) and inode.size)
    return kind_of(inode) != FILE or inode.size > 0 or any(pointers_of(inode))


def list_tears(old: bytes, new: bytes) -> Iterator[bytes]:
    """Yield what a torn write may leave of a block: some of the sectors that change are new, in all
    choices. If more than MOST_TORN sectors change, only first ones are new."""
    places = [
        at for at in range(0, len(new), SECTOR) if old[at : at + SECTOR] != new[at : at + SECTOR]
    ]
    counts = range(1, len(places))
    if len(places) > MOST_TORN:
        choices = [tuple(places[:count]) for count in counts]
    else:
        choices = [chosen for count in counts for chosen in combinations(places, count)]
    for chosen in choices:
        torn = bytearray(old)
        for at in chosen:
            torn[at : at + SECTOR] = new[at : at + SECTOR]
        yield bytes(torn)


class NameRules:
    """The rules of names (10 to 17)."""

    def __init__(self, disk: Disk, checked: Checked) -> None:
        self.disk, self.checked = disk, checked
        self.there, self.now = Reader(disk.platters), Reader(disk.written)
        self.directories: dict[int, int] = {}  # by a directory's block: the directory's inode
        self.pointers: dict[int, int] = {}  # by a block of pointers: the levels below it
        self.led: dict[int, set[int]] = {}  # by inode: its blocks in these two
        # By a directory's block: the names that the disk may have there.
        self.versions: dict[int, list[Names]] = {}
        self.holding: dict[int, int] | None = None  # by block: the inode that has it on the disk
        self.inodes = self._find_tables()
        for number in range(1, self.now.inodes + 1):
            self._learn(self.now.inode(number))

    def _find_tables(self) -> dict[int, int]:
        """Return the blocks of the tables of inodes, each with its first inode's number."""
        reader = self.now
        each = reader.block_bytes // reader.inode_bytes
        return {
            reader.inode_place(number) // reader.block_bytes: number
            for number in range(1, reader.inodes + 1)
            if (number - 1) % reader.inodes_each % each == 0
        }

    def _check(self, rule: int, event: int, holds: bool, words: str) -> None:
        """Count a check of a rule for a write."""
        self.checked.check(rule, holds, f"event {event} {words}")

    # ---- what leads where ----

    def _learn(self, inode: Inode) -> None:
        """Note to which blocks of names and of pointers an inode leads, as written."""
        for block in self.led.pop(inode.number, ()):
            self.directories.pop(block, None)
            self.pointers.pop(block, None)
            self.versions.pop(block, None)
        pointers = pointers_of(inode)
        if not pointers:
            return
        led = self.led[inode.number] = set()
        for level in (1, 2, 3):
            led |= self._learn_pointers(pointers[DIRECT + level - 1], level)
        if kind_of(inode) == DIRECTORY:
            for block in pointers[: min(DIRECT, inode.size // self.disk.size)]:
                led.add(block)
                self.directories[block] = inode.number
                versions = [
                    self.disk.block(block, of) for of in (self.disk.platters, self.disk.written)
                ]
                self.versions[block] = [parse_names(one) or {} for one in versions]

    def _learn_pointers(self, block: int, level: int) -> set[int]:
        """Note a block of pointers, and those behind it. Returns them."""
        if not block or block >= self.now.blocks:
            return set()
        self.pointers[block] = level
        found = {block}
        for number in self._words(self.disk.block(block, self.disk.written)) if level > 1 else ():
            found |= self._learn_pointers(number, level - 1)
        return found

    def _words(self, block: bytes) -> tuple[int, ...]:
        """Return a block's pointers."""
        return struct.unpack(f"<{len(block) // 4}I", block)

    def _holders(self) -> dict[int, int]:
        """Return which inode has a block, by the inodes and pointers on the disk."""
        if self.holding is None:
            self.holding = {}
            for number in range(1, self.there.inodes + 1):
                pointers = pointers_of(self.there.inode(number))
                for i, block in enumerate(pointers):
                    self._hold(number, block, max(i - DIRECT + 1, 0))
        return self.holding

    def _hold(self, inode: int, block: int, level: int) -> None:
        """Note that an inode has a block, and what is behind it."""
        assert self.holding is not None
        if not 0 < block < self.there.blocks:
            return
        self.holding[block] = inode
        if level:
            for number in self._words(self.disk.block(block, self.disk.platters)):
                self._hold(inode, number, level - 1)

    def _count_names(self, inode: int) -> tuple[int, int]:
        """Return how many names of an inode the disk has at least, and at most."""
        least = most = 0
        for versions in self.versions.values():
            counts = [
                sum(to == inode and name not in DOTS for name, to in names.items())
                for names in versions
            ]
            least, most = least + min(counts), most + max(counts)
        return least, most

    def _record(self) -> tuple[int, int]:
        """Return the inodes of the rename that the disk's superblock records, the moved and the
        replaced one, or zeros."""
        magic, *numbers = RECORD.unpack_from(self.disk.platters, INTENT)
        return (numbers[4], numbers[6]) if magic == INTENT_MAGIC else (0, 0)

    # ---- writes ----

    def flush(self) -> None:
        """Note that what is written is on the platters."""
        self.holding = None
        for block, versions in self.versions.items():
            self.versions[block] = versions[-1:]

    def look(self, number: int, event: Event) -> None:
        """Check a write that comes next."""
        size = self.disk.size
        for i, block in enumerate(self.disk.blocks_of(event)):
            data = event.data[i * size : (i + 1) * size]
            if block in self.inodes:
                self._look_inodes(number, block, data)
            elif block in self.directories:
                self._look_names(number, block, data)
            elif block in self.pointers:
                self._look_pointers(number, block, data)

    def _look_names(self, number: int, block: int, data: bytes) -> None:
        """Check a write of a directory's block."""
        names, versions = parse_names(data), self.versions[block]
        before = parse_names(self.disk.block(block, self.disk.platters))
        torn = [
            parse_names(one) for one in list_tears(self.disk.block(block, self.disk.platters), data)
        ]
        whole = names is not None and all(one in (before, names) for one in torn)
        self._check(17, number, whole, f"writes block {block}, whose names a torn write would mix")
        if names is None:
            return
        old = versions[-1]
        versions.append(names)
        for name, inode in names.items():
            if name == ".." and old.get(name, inode) != inode:
                self._look_parent(number, self.directories[block], inode)
            elif name not in DOTS and old.get(name) != inode:
                self._look_new_name(number, name, inode, name in old)
        for name, inode in old.items():
            if name not in DOTS and names.get(name) != inode:
                self._look_lost_name(number, name, inode)

    def _look_parent(self, number: int, directory: int, parent: int) -> None:
        """Check a write that changes the `..` of a directory."""
        named = any(
            self.directories[block] == parent and directory in versions[0].values()
            for block, versions in self.versions.items()
        )
        words = f"gives directory {directory} a parent that has no name for it"
        self._check(14, number, named, words)

    def _look_new_name(self, number: int, name: str, inode: int, replaces: bool) -> None:
        """Check a write that shows a name of an inode."""
        states = [self.there.inode(inode), self.now.inode(inode)]
        record = self._record()
        _, most = self._count_names(inode)
        in_use = all(kind_of(state) for state in states)
        self._check(
            10, number, in_use, f"names inode {inode} {name}, which is not in use on the disk"
        )
        is_directory = all(kind_of(state) == DIRECTORY for state in states)
        if not is_directory:
            spare = inode == record[1]
            counted = all(most <= state.links + spare for state in states)
            self._check(10, number, counted, f"names inode {inode} {name}, which does not count it")
        if replaces or (is_directory and most > 1):
            self._check(
                13, number, inode in record, f"names inode {inode} {name}, without a record"
            )

    def _look_lost_name(self, number: int, name: str, inode: int) -> None:
        """Check a write that removes a name of an inode."""
        there = self.there.inode(inode)
        if self._count_names(inode)[0]:
            if kind_of(there) == DIRECTORY and not is_husk(there):
                words = f"removes {name}, and directory {inode} leads to its old parent"
                self._check(14, number, self._leads_up(there), words)
            return
        words = f"removes {name}, the last name of inode {inode}, which is no husk"
        self._check(12, number, not has_contents(there), words)

    def _leads_up(self, directory: Inode) -> bool:
        """Return whether the parent that a directory has on the disk has a name for it, in each
        version."""
        first = struct.unpack_from("<I", directory.block)[0]
        parent = (parse_names(self.disk.block(first, self.disk.platters)) or {}).get("..")
        return any(
            self.directories[block] == parent
            and all(directory.number in names.values() for names in versions)
            for block, versions in self.versions.items()
        )

    def _look_inodes(self, number: int, block: int, data: bytes) -> None:
        """Check a write of a block of inodes."""
        each, old = self.now.inode_bytes, self.disk.block(block, self.disk.written)
        for i, at in enumerate(range(0, len(data), each)):
            if data[at : at + each] != old[at : at + each]:
                inode = self.inodes[block] + i
                before, after = (parse_inode(inode, raw[at : at + each]) for raw in (old, data))
                self._look_inode(number, before, after)

    def _look_inode(self, number: int, before: Inode, after: Inode) -> None:
        """Check a write of an inode."""
        if kind_of(before) and (after.links < before.links or not kind_of(after)):
            _, most = self._count_names(after.number)
            is_directory = kind_of(after) == DIRECTORY
            words = f"leaves inode {after.number} {after.links} links, and it has {most} names"
            self._check(11, number, most <= after.links or is_directory, words)
        if has_contents(after) and not has_contents(before) and kind_of(after) != FILE:
            least, _ = self._count_names(after.number)
            words = f"has inode {after.number} whole, which has no name on the disk"
            self._check(12, number, least > 0, words)
        had = pointers_of(before)
        for i, pointer in enumerate(pointers_of(after)):
            if pointer and (not had or had[i] != pointer):
                self._look_pointer(number, after.number, pointer, max(i - DIRECT + 1, 0))
        self._look_reached(number, before, after)
        self._learn(after)

    def _look_reached(self, number: int, before: Inode, after: Inode) -> None:
        """Check that what a directory or a link newly leads to is on the disk."""
        pointers, size = pointers_of(after), self.disk.size
        if not pointers or kind_of(after) == FILE:
            return
        was = 0 if kind_of(before) != kind_of(after) else before.size
        old_blocks, new_blocks = -(-was // size), -(-after.size // size)  # both rounded up
        for pointer in pointers[old_blocks : min(DIRECT, new_blocks)]:
            on_platters = self.disk.block(pointer, self.disk.platters)
            written = self.disk.block(pointer, self.disk.written)
            reached = on_platters == written and (
                kind_of(after) == LINK or self._is_unused(on_platters)
            )
            words = f"has inode {after.number} lead to block {pointer}, which is not on the disk"
            self._check(15, number, reached, words)

    def _is_unused(self, block: bytes) -> bool:
        """Return whether a block is one of a directory, without names."""
        names = parse_names(block)
        return names is not None and not names.keys() - {*DOTS}

    def _look_pointers(self, number: int, block: int, data: bytes) -> None:
        """Check a write of a block of pointers."""
        level = self.pointers[block]
        owner = next(inode for inode, led in self.led.items() if block in led)
        old = self._words(self.disk.block(block, self.disk.written))
        for was, pointer in zip(old, self._words(data), strict=True):
            if pointer and pointer != was:
                self._look_pointer(number, owner, pointer, level - 1)
                if level > 1:
                    self.led[owner] |= self._learn_pointers(pointer, level - 1)

    def _look_pointer(self, number: int, inode: int, pointer: int, level: int) -> None:
        """Check that an inode may have a block that it is given."""
        holder = self._holders().get(pointer, inode)
        words = f"gives inode {inode} block {pointer}, which inode {holder} has on the disk"
        exists = pointer < self.now.blocks
        self._check(16, number, exists and holder == inode, words)
        if level and exists:
            there = self._words(self.disk.block(pointer, self.disk.platters))
            words = f"gives inode {inode} pointers in block {pointer}, which are not on the disk"
            self._check(15, number, all(one < self.now.blocks for one in there), words)
