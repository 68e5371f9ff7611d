"""The disk that order rules are checked on, as a recording writes it, and the checks' result."""

import struct
from dataclasses import dataclass, field

from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Reader

SUPER, STATE, CLEAN, INCOMPATIBLE, RECOVER = 1024, 58, 1, 96, 4


@dataclass
class Checked:
    """The result of checking a recording by rules."""

    checks: dict[int, int] = field(default_factory=dict)  # by a rule's number: how often checked
    broken: list[str] = field(default_factory=list)  # the checks that failed, in words
    guarded: set[int] = field(default_factory=set)  # the numbers of the writes that a rule guards

    def check(self, rule: int, holds: bool, words: str) -> None:
        """Count a check of a rule. words: what is wrong if it does not hold."""
        self.checks[rule] = self.checks.get(rule, 0) + 1
        if not holds:
            self.broken.append(f"rule {rule}: {words}")


class Disk:
    """A disk as written, and as it is on the platters; its blocks in the drive's cache."""

    def __init__(self, disk: bytes) -> None:
        self.written, self.platters = bytearray(disk), bytearray(disk)
        self.reader = Reader(disk)
        self.size = self.reader.block_bytes
        self.pending: set[int] = set()
        self.super_block = SUPER // self.size

    def blocks_of(self, event: Event) -> range:
        """Return the numbers of the blocks that a write has a part in."""
        last = event.at + len(event.data) - 1
        return range(event.at // self.size, last // self.size + 1)

    def write(self, event: Event) -> None:
        """Take a write into the cache."""
        self.written[event.at : event.at + len(event.data)] = event.data
        self.pending |= set(self.blocks_of(event))

    def flush(self) -> None:
        """Bring what is pending to the platters."""
        for number in self.pending:
            place = slice(number * self.size, (number + 1) * self.size)
            self.platters[place] = self.written[place]
        self.pending.clear()

    def block(self, number: int, of: bytearray) -> bytes:
        """Return a block, as written or as it is on the platters."""
        return bytes(of[number * self.size : (number + 1) * self.size])

    def state(self, of: bytearray) -> tuple[bool, bool]:
        """Return whether a superblock calls the disk clean, and whether it asks for recovery."""
        clean = struct.unpack_from("<H", of, SUPER + STATE)[0] & CLEAN
        recover = struct.unpack_from("<I", of, SUPER + INCOMPATIBLE)[0] & RECOVER
        return bool(clean), bool(recover)
