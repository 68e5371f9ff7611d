"""Faults that are planted into recordings, of the kinds that the literature reports of file
systems.

Each changes what reached the drive, as a kernel with that fault would have written it: an order, a
missing flush, a wrong size, a link count, a rename in two steps. Each campaign tries all of them. A
judge that does not find one is no judge. Kinds: S. Mohan et al. (CrashMonkey, OSDI 2018), L. Lu et
al. ("A Study of Linux File System Evolution", FAST 2013), the fault types of LazyFS (M. Ramos et
al., VLDB 2024), and rotten bits (V. Prabhakaran et al., "IRON File Systems", SOSP 2005).
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.ext2 import Inode, Reader, read_tree

Events = list[Event]
SUPER, STATE, CLEAN = 1024, 58, 1  # where the superblock is, and in it the state
SIZE, LINKS, MODE, POINTERS = 4, 26, 0, 40  # in an inode
INDIRECT = 12  # the pointer to the block of pointers


class Planter:
    """The events of a workload, and where on its disk things are."""

    def __init__(self, disk: bytes, events: Events) -> None:
        self.disk, self.events = disk, events
        self.reader = Reader(disk)
        self.tree = read_tree(disk)

    def span(self, operation: int) -> range:
        """Return the events between an operation's beginning and its return; the mount is number
        0."""
        marks = [
            i
            for i, event in enumerate(self.events)
            if event.kind in ("began", "returned") and event.mark == operation
        ]
        return range(marks[0] + 1, marks[1])

    def writes(self, operation: int) -> list[int]:
        """Return the numbers of an operation's writes."""
        return [i for i in self.span(operation) if self.events[i].kind == "write"]

    def block_of(self, path: str) -> tuple[int, int]:
        """Return the first byte and the size of a path's first block of data."""
        pointer = struct.unpack_from("<I", self.inode_of(path).block)[0]
        return pointer * self.reader.block_bytes, self.reader.block_bytes

    def inode_of(self, path: str) -> Inode:
        """Return a path's inode as it is at first; "" is the root."""
        return self.reader.inode(self.tree[path].inode if path else 2)

    def place_of(self, path: str) -> int:
        """Return the first byte of a path's inode on the disk."""
        return self.reader.inode_place(self.inode_of(path).number)

    def covering(self, at: int, among: Iterable[int] | None = None) -> list[int]:
        """Return the numbers of writes that this byte of the disk is in."""
        numbers = range(len(self.events)) if among is None else among
        return [
            i
            for i in numbers
            if self.events[i].kind == "write"
            and self.events[i].at <= at < self.events[i].at + len(self.events[i].data)
        ]

    # ---- changes ----

    def drop_events(self, numbers: Iterable[int]) -> Events:
        """Return the events without these."""
        gone = set(numbers)
        return [event for i, event in enumerate(self.events) if i not in gone]

    def patch_writes(self, numbers: Iterable[int], at: int, data: bytes) -> Events:
        """Return the events with these bytes of the disk in each of these writes."""
        found = list(self.events)
        for i in numbers:
            event = found[i]
            start = at - event.at
            new = event.data[:start] + data + event.data[start + len(data) :]
            found[i] = replace(event, data=new)
        return found

    def swap_events(self, one: int, other: int) -> Events:
        """Return the events with two exchanged."""
        found = list(self.events)
        found[one], found[other] = found[other], found[one]
        return found

    def return_at_once(self, operation: int) -> Events:
        """Return the events with an operation's return right after its beginning."""
        span = self.span(operation)
        found = list(self.events)
        found.insert(span.start, found.pop(span.stop))
        return found


@dataclass(frozen=True)
class Fault:
    """A planted fault."""

    name: str
    about: str  # what the fault is, in words
    workload: str  # in which it must be found
    change: Callable[[Planter], Events]  # returns the events with the fault in them
    of_cache: bool = False  # it does harm only if the drive's cache is volatile
    of_older: bool = False  # it does harm only if a write older than the newest one may be torn


def no_flushes(p: Planter) -> Events:
    """Drop all flushes of the recording."""
    return p.drop_events(i for i, event in enumerate(p.events) if event.kind == "flush")


def flush_lies(p: Planter) -> Events:
    """Drop the flushes of the first operation."""
    return p.drop_events(i for i in p.span(1) if p.events[i].kind == "flush")


def fsync_without_data(p: Planter) -> Events:
    """Drop the writes of /f's first block."""
    return p.drop_events(p.covering(p.block_of("/f")[0], p.writes(1) + p.writes(2)))


def fsync_without_inode(p: Planter) -> Events:
    """Drop the writes of /f's inode."""
    return p.drop_events(p.covering(p.place_of("/f"), p.writes(1) + p.writes(2)))


def fdatasync_without_size(p: Planter) -> Events:
    """Drop the writes of /f's inode, which has the size."""
    return p.drop_events(p.covering(p.place_of("/f"), p.writes(2) + p.writes(3)))


def fdatasync_without_pointers(p: Planter) -> Events:
    """Drop the writes of /f's block of pointers."""
    at = p.place_of("/f") + POINTERS + 4 * INDIRECT
    inode = p.events[p.covering(at)[-1]]
    block = struct.unpack_from("<I", inode.data, at - inode.at)[0]
    return p.drop_events(p.covering(block * p.reader.block_bytes, p.writes(2)))


def fsync_without_flush(p: Planter) -> Events:
    """Drop the flushes of the second operation."""
    return p.drop_events(i for i in p.span(2) if p.events[i].kind == "flush")


def returns_early(p: Planter) -> Events:
    """Move the return of the second operation to right after its beginning."""
    return p.return_at_once(2)


def wrong_size(p: Planter) -> Events:
    """Write a size of 10,000 bytes into /f's inode."""
    at = p.place_of("/f")
    return p.patch_writes(p.covering(at), at + SIZE, (10_000).to_bytes(4, "little"))


def name_is_not_written(p: Planter) -> Events:
    """Drop the writes of the first block of the directory /d."""
    return p.drop_events(p.covering(p.block_of("/d")[0]))


def stale_directory(p: Planter) -> Events:
    """Write the old contents of the directory /d again."""
    at, size = p.block_of("/d")
    return p.patch_writes(p.covering(at), at, p.disk[at : at + size])


def name_before_inode(p: Planter) -> Events:
    """Swap the first two writes of the first operation."""
    return p.swap_events(*p.writes(1)[:2])


def old_name_goes_first(p: Planter) -> Events:
    """Swap a rename's first write of the new name with its last write of the old name."""
    old = p.covering(p.block_of("/d")[0], p.writes(1))
    new = p.covering(p.block_of("")[0], p.writes(1))
    return p.swap_events(new[0], old[-1])


def no_intent(p: Planter) -> Events:
    """Drop the first operation's writes of the superblock, which announce a rename."""
    return p.drop_events(p.covering(SUPER, p.writes(1)))


def links_too_few(p: Planter) -> Events:
    """Write a count of one link into /f's inode."""
    at = p.place_of("/f")
    return p.patch_writes(p.covering(at), at + LINKS, (1).to_bytes(2, "little"))


def goes_astray(p: Planter) -> Events:
    """Write /f's data to the block of /h."""
    found = list(p.events)
    for i in p.covering(p.block_of("/f")[0]):
        found[i] = replace(found[i], at=p.block_of("/h")[0])
    return found


def half_a_block(p: Planter) -> Events:
    """Write only the first sector of /f's data."""
    found = list(p.events)
    for i in p.covering(p.block_of("/f")[0]):
        at = found[i].at
        old = p.disk[at + SECTOR : at + len(found[i].data)]
        found[i] = replace(found[i], data=found[i].data[:SECTOR] + old)
    return found


def rotten_inode(p: Planter) -> Events:
    """Write no kind of file into /f's inode."""
    at = p.place_of("/f")
    return p.patch_writes(p.covering(at), at + MODE, b"\0\0")


def rotten_directory(p: Planter) -> Events:
    """Write a wrong length into the first entry of /d."""
    at = p.block_of("/d")[0]
    return p.patch_writes(p.covering(at), at + 4, b"\7\0")


def rotten_bitmap(p: Planter) -> Events:
    """Call the first 64 blocks free in the bitmap."""
    at = p.reader.block_bitmap_place(0)
    return p.patch_writes(p.covering(at), at, b"\0\0\0\0\0\0\0\0")


def rotten_pointers(p: Planter) -> Events:
    """Write a pointer beyond the disk into /f's inode."""
    at = p.place_of("/f") + POINTERS + 4 * INDIRECT
    return p.patch_writes(p.covering(at), at, b"\xff\xff\xff\x7f")


def shared_block(p: Planter) -> Events:
    """Point /f's inode to a block of /h."""
    at = p.place_of("/f") + POINTERS
    return p.patch_writes(p.covering(at), at, p.inode_of("/h").block[:4])


def clean_too_early(p: Planter) -> Events:
    """Mark the disk as clean in each write of the superblock."""
    return p.patch_writes(p.covering(SUPER), SUPER + STATE, bytes([CLEAN, 0]))


def zeros_for_data(p: Planter) -> Events:
    """Write zeros for /f's data."""
    at, size = p.block_of("/f")
    return p.patch_writes(p.covering(at), at, bytes(size))


OVERWRITE = "write /f 0 4096 10; fsync /f"
FAULTS = (
    Fault("no-flushes", "no flush reaches the drive", "rename /d/g /n", no_flushes, True),
    Fault("flush-lies", "a flush does nothing", "unlink /d/g", flush_lies, True),
    Fault("fsync-without-data", "fsync does not write the data", OVERWRITE, fsync_without_data),
    Fault(
        "fsync-without-inode",
        "fsync does not write the inode, and so the size",
        "append /f 6000 10; fsync /f",
        fsync_without_inode,
    ),
    Fault(
        "fdatasync-without-size",
        "fdatasync leaves a new size behind",
        "fdatasync /f; append /f 100 10; fdatasync /f",
        fdatasync_without_size,
    ),
    Fault(
        "fdatasync-without-pointers",
        "fdatasync leaves a block of pointers behind",
        "write /f 60000 100 10; fdatasync /f",
        fdatasync_without_pointers,
    ),
    Fault("fsync-without-flush", "fsync does not flush", OVERWRITE, fsync_without_flush, True),
    Fault("fsync-too-early", "fsync returns before it has written", OVERWRITE, returns_early),
    Fault("sync-too-early", "sync returns early", "write /f 0 4096 10; sync", returns_early),
    Fault("wrong-size", "an inode has a wrong size", "write /f 4000 3000 10", wrong_size),
    Fault("lost-name", "a directory's block is not written", "creat /d/n", name_is_not_written),
    Fault("stale-directory", "a directory's old block is written", "mkdir /d/n", stale_directory),
    Fault("name-first", "a name comes before its inode", "creat /n", name_before_inode),
    Fault(
        "old-name-first",
        "a rename removes the old name before the new one is there",
        "rename /d/g /n",
        old_name_goes_first,
    ),
    Fault("no-intent", "a rename is not written down before", "rename /f /h", no_intent),
    Fault("few-links", "a count of links is too small", "link /f /n", links_too_few),
    Fault("astray", "a write goes to another place", OVERWRITE, goes_astray),
    Fault("half-a-block", "only a block's first sector is written", OVERWRITE, half_a_block),
    Fault("rotten-inode", "an inode's mode is lost", "append /f 6000 10", rotten_inode),
    Fault("rotten-directory", "a name's length is wrong", "unlink /d/g", rotten_directory),
    Fault("rotten-bitmap", "a bitmap calls blocks free", "append /f 9000 10", rotten_bitmap),
    Fault("rotten-pointer", "a pointer leads nowhere", "write /f 60000 100 10", rotten_pointers),
    Fault("shared-block", "two files have one block", "append /f 6000 10", shared_block),
    Fault("clean-too-early", "a disk in use is marked clean", "unlink /d/g", clean_too_early),
    Fault("zeros", "zeros are written for data", OVERWRITE, zeros_for_data),
)


def list_faults(volatile: bool) -> list[Fault]:
    """Return the faults that do harm on a drive with or without a volatile cache."""
    return [fault for fault in FAULTS if volatile or not fault.of_cache]


def plant(fault: Fault, disk: bytes) -> Callable[[Events], Events]:
    """Return what a fault makes of a recording on this disk."""
    return lambda events: fault.change(Planter(disk, events))
