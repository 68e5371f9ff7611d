"""Order rules: which writes need not be permuted, and that each write obeys the rules.

After Silhouette (FAST 2025): where the kernel keeps a rule of order, all orders that the rule
allows leave the same files, so one of them is judged; and the rule itself is asserted for each
write of each run. A write is *guarded* if a rule says that what a cut leaves of it does not matter:

- With a journal, a block of the log that belongs to a transaction without a commit block: recovery
  ends before it.
- With a journal, a block written home of which the log has the same copy, in a transaction that is
  on the disk: recovery writes it anyway.
- Without one, a bitmap or a descriptor while the disk is marked as in use: a mount, and e2fsck,
  trust neither.

The rules that make this so, each checked by its number (name_rules.py has 10 to 17):

 1. A commit block is written when the log's blocks of its transaction are on the disk.
 2. A commit block is written when the superblock on the disk asks for recovery.
 3. Blocks of a transaction that recovery needs are not written over.
 4. A block is written home when the transaction with its copy is on the disk.
 5. A block of which recovery has a copy is written with this copy's contents, or was revoked.
 6. The log's superblock forgets a transaction when its blocks are home, on the disk.
 7. The superblock ceases to ask for recovery when the log on the disk is empty.
 8. The superblock calls the disk clean when all else is on it.
 9. Without a journal, nothing else is written while the disk is marked as clean.

A recording that breaks a rule is judged with all of its permutations.
"""

import struct
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Reader
from sluice.crash.name_rules import NameRules
from sluice.crash.written_disk import INCOMPATIBLE, RECOVER, SUPER, Checked, Disk

HEAD, TAG = struct.Struct(">III"), struct.Struct(">IHH")
MAGIC, JOURNAL_INODE = 0xC03B3998, 8
DESCRIPTOR, COMMIT, SUPER_1, SUPER_2, REVOKE = range(1, 6)
ESCAPED, SAME_UUID, LAST = 1, 2, 8


@dataclass
class Transaction:
    """A transaction in the log."""

    number: int
    places: list[int]  # its blocks of the log
    copies: dict[int, bytes] = field(default_factory=dict)  # the logged blocks, by their homes
    revokes: set[int] = field(default_factory=set)  # the homes of revoked blocks
    on_disk: bool = False  # its commit block is on the disk


class SummaryRules:
    """The rules of the superblock: 8, and 9, which is for a disk without a journal."""

    def __init__(self, disk: Disk, checked: Checked) -> None:
        self.disk, self.checked = disk, checked
        reader = disk.reader
        groups = range(-(-reader.inodes // reader.inodes_each))
        self.summaries = {number for group in groups for number in reader.descriptor(group)[:2]}
        self.summaries |= {reader.first_block + 1}

    def look(self, number: int, event: Event) -> None:
        """Check a write that comes next."""
        disk, blocks = self.disk, set(self.disk.blocks_of(event))
        clean, _ = disk.state(disk.platters)
        if disk.super_block in blocks:
            after = bytearray(disk.written)
            after[event.at : event.at + len(event.data)] = event.data
            if disk.state(after)[0] and not clean:
                words = f"event {number} calls the disk clean, and writes are pending"
                self.checked.check(8, not disk.pending, words)
            return
        self.checked.check(9, not clean, f"event {number} writes to a clean disk")
        if blocks <= self.summaries and not clean:
            self.checked.guarded.add(number)

    def flush(self) -> None:
        """Do nothing: no rule looks back."""


class LogRules:
    """The rules of a journal (1 to 7)."""

    def __init__(self, disk: Disk, checked: Checked) -> None:
        self.disk, self.checked = disk, checked
        self.homes = journal_blocks(disk.reader)
        self.place = {number: i for i, number in enumerate(self.homes)}
        self.written: list[int] = []  # places of the log since the last commit block
        self.transactions: list[Transaction] = []
        # By home: the last transaction with the block, and the copy, or None if it is revoked.
        self.latest: dict[int, tuple[Transaction, bytes | None]] = {}
        # By home: the event and contents of a write without a copy in the log so far.
        self.early: dict[int, tuple[int, bytes]] = {}

    # ---- the log's own fields ----

    def field(self, at: int, of: bytearray) -> int:
        """Return a field of the log's superblock, as written or on the platters."""
        start = self.homes[0] * self.disk.size
        return int(struct.unpack_from(">I", of, start + at)[0])

    def oldest(self, of: bytearray) -> int:
        """Return the number of the oldest transaction that recovery would replay, or a number
        after all if the log is empty."""
        return self.field(24, of) if self.field(28, of) else 1 << 32

    def is_needed(self, transaction: Transaction) -> bool:
        """Return whether recovery would replay a transaction."""
        return transaction.on_disk and transaction.number >= self.oldest(self.disk.platters)

    def next_place(self, place: int) -> int:
        """Return the place in the ring that follows one."""
        first, end = self.field(20, self.disk.written), self.field(16, self.disk.written)
        return place + 1 if place + 1 < end else first

    # ---- writes ----

    def look(self, number: int, event: Event) -> None:
        """Check a write that comes next."""
        size, disk = self.disk.size, self.disk
        guarded = []
        for i, block in enumerate(disk.blocks_of(event)):
            data = event.data[i * size : (i + 1) * size]
            if block not in self.place:
                guarded.append(self._look_home(number, block, data))
            elif block == self.homes[0]:
                guarded.append(self._look_log_super(number, data))
            else:
                guarded.append(self._look_log(number, self.place[block], data))
        if all(guarded):
            self.checked.guarded.add(number)

    def flush(self) -> None:
        """Note that the commit blocks so far are on the platters."""
        for transaction in self.transactions:
            transaction.on_disk = True

    def _look_log(self, number: int, place: int, data: bytes) -> bool:
        """Check a write to the log. Returns whether it is guarded."""
        needed = {p for t in self.transactions if self.is_needed(t) for p in t.places}
        words = f"event {number} writes over block {place} of the log, which recovery needs"
        self.checked.check(3, place not in needed, words)
        magic, kind, sequence = HEAD.unpack_from(data)
        if magic == MAGIC and kind == COMMIT:
            self._commit(number, place, sequence)
            return False
        self.written.append(place)
        return True

    def _commit(self, number: int, place: int, sequence: int) -> None:
        """Check a commit block, and take its transaction."""
        pending = [p for p in self.written if self.homes[p] in self.disk.pending]
        text = f"event {number} commits transaction {sequence}, and"
        self.checked.check(1, not pending, f"{text} {len(pending)} blocks of its log are pending")
        _, recover = self.disk.state(self.disk.platters)
        self.checked.check(2, recover, f"{text} the superblock does not ask for recovery")
        transaction = self._read(place, sequence)
        self.written = []
        self.checked.check(1, transaction is not None, f"{text} its log is not whole")
        if transaction is None:
            return
        self.transactions.append(transaction)
        for home, data in transaction.copies.items():
            self.latest[home] = transaction, data
            event, early = self.early.pop(home, (-1, b""))
            self.checked.check(4, early != data, f"event {event} writes block {home} home early")
        for home in transaction.revokes - transaction.copies.keys():
            self.latest[home] = transaction, None

    def _read(self, commit: int, sequence: int) -> Transaction | None:
        """Return the transaction whose commit block is at this place of the log; None if it is not
        whole: the blocks written since the last commit must follow one another up to there."""
        places = set(self.written)
        starts = places - {self.next_place(place) for place in places}
        if len(starts) != 1:
            return None
        found, (at,) = Transaction(sequence, [commit]), starts
        while at != commit:
            block = self.disk.block(self.homes[at], self.disk.written)
            magic, kind, number = HEAD.unpack_from(block)
            if (magic, number) != (MAGIC, sequence) or at not in places:
                return None
            found.places.append(at)
            at = self.next_place(at)
            if kind == REVOKE:
                (end,) = struct.unpack_from(">I", block, HEAD.size)
                found.revokes |= {n for (n,) in struct.iter_unpack(">I", block[16:end])}
                continue
            if kind != DESCRIPTOR:
                return None
            for home, flags in read_tags(block):
                data = self.disk.block(self.homes[at], self.disk.written)
                contents = struct.pack(">I", MAGIC) + data[4:] if flags & ESCAPED else data
                found.copies[home] = contents
                found.places.append(at)
                at = self.next_place(at)
        return found

    def _look_log_super(self, number: int, data: bytes) -> bool:
        """Check a write of the log's superblock. Returns False, because no rule guards it."""
        sequence, start = struct.unpack_from(">II", data, 24)
        oldest = sequence if start else 1 << 32  # the first transaction that the log still has
        for transaction in self.transactions:
            if transaction.number >= oldest or not self.is_needed(transaction):
                continue
            for home, copy in transaction.copies.items():
                latest, kept = self.latest[home]
                if latest.number >= oldest or kept is None:
                    continue
                there = self.disk.block(home, self.disk.platters)
                words = f"event {number} forgets block {home}, which is not home"
                self.checked.check(6, there in (copy, kept), words)
        self.transactions = [t for t in self.transactions if t.number >= oldest or not t.on_disk]
        return False

    def _look_home(self, number: int, block: int, data: bytes) -> bool:
        """Check a write to a place outside the log. Returns whether the write is guarded."""
        if block == self.disk.super_block:
            return self._look_super(number, data)
        transaction, copy = self.latest.get(block, (None, None))
        if transaction is None or copy is None:
            if data != self.disk.block(block, self.disk.written):
                self.early[block] = number, data
            return False
        if data == copy:
            words = f"event {number} writes block {block} home before its commit is on the disk"
            self.checked.check(4, transaction.on_disk, words)
            return self.is_needed(transaction)
        if self.is_needed(transaction):
            words = f"event {number} writes block {block}, of which recovery has another copy"
            self.checked.check(5, False, words)
        return False

    def _look_super(self, number: int, data: bytes) -> bool:
        """Check a write of the file system's superblock. Returns False, because no rule guards
        it."""
        at = SUPER % self.disk.size + INCOMPATIBLE
        asks = struct.unpack_from("<I", data, at)[0] & RECOVER
        _, asked = self.disk.state(self.disk.platters)
        if asked and not asks:
            words = f"event {number} ceases to ask for recovery, and the log is not empty"
            self.checked.check(7, not self.field(28, self.disk.platters), words)
        return False


def journal_blocks(reader: Reader) -> list[int]:
    """Return the blocks of the disk that the journal has, in its order."""
    inode = reader.inode(JOURNAL_INODE)
    count = inode.size // reader.block_bytes
    pointers = struct.unpack("<15I", inode.block)
    found = [number for number in pointers[:12] if number]
    for level in (1, 2):
        found += list_pointers(reader, pointers[11 + level], level)
    return found[:count]


def list_pointers(reader: Reader, block: int, level: int) -> list[int]:
    """Return the blocks of data below a block of pointers. level: the levels of pointers; 0: the
    block itself is data."""
    if not block:
        return []
    if level == 0:
        return [block]
    words = struct.unpack(f"<{reader.block_bytes // 4}I", reader.block(block, "the journal"))
    return [number for word in words for number in list_pointers(reader, word, level - 1)]


def read_tags(block: bytes) -> Iterator[tuple[int, int]]:
    """Yield the blocks that a descriptor names, each with its flags."""
    at = HEAD.size
    while at + TAG.size <= len(block):
        home, _, flags = TAG.unpack_from(block, at)
        yield home, flags
        if flags & LAST:
            return
        at += TAG.size + (0 if flags & SAME_UUID else 16)


Rules = LogRules | SummaryRules | NameRules


def check_rules(disk: bytes, events: Sequence[Event], volatile: bool, logged: bool) -> Checked:
    """Check the order rules of each write of a recording. logged: the order policy uses the
    journal."""
    checked, state = Checked(), Disk(disk)
    kinds: list[type[Rules]] = [LogRules] if logged else [SummaryRules, NameRules]
    rules = [kind(state, checked) for kind in kinds]
    for number, event in enumerate(events):
        if event.kind == "flush" or not volatile:
            state.flush()
            for rule in rules:
                rule.flush()
        if event.kind == "write":
            try:
                for rule in rules:
                    rule.look(number, event)
            except (struct.error, IndexError, KeyError) as error:
                checked.broken.append(f"event {number} writes what cannot be read: {error!r}")
                break
            state.write(event)
    if checked.broken:
        checked.guarded.clear()
    return checked


def count_space(
    events: Sequence[Event], guarded: Container[int] = (), volatile: bool = True
) -> int:
    """Return how many disks the cuts of a recording may leave by the choice of what the drive has
    written: any of the pending writes, of which at most one is torn, into any of its sectors.
    Guarded writes are there all or none."""
    total, pending = 0, list[int]()
    for number, event in enumerate(events):
        if event.kind == "flush" or not volatile:
            pending = []
        if event.kind == "write":
            pending.append(number)
        free = [one for one in pending if one not in guarded]
        whole_choices = 1 << len(free)
        # One write is torn: some of its sectors are there. Each other write is there or not.
        torn_choices = sum((1 << events[one].sectors()) - 2 for one in free) * whole_choices // 2
        guarded_choices = 2 if len(free) < len(pending) else 1
        total += (whole_choices + torn_choices) * guarded_choices
    return total
