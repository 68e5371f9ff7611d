"""Faults that are planted into recordings of a journal: of its order, its log, and its recovery.

The faults of faults.py change a kernel that writes each step at once; under order=journal the log
hides most of them. These are the mistakes that a journal can make: V. Prabhakaran et al. ("Analysis
and Evolution of Journaling File Systems", USENIX 2005) found them in ext3, JFS and ReiserFS.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import replace

from sluice.crash.disk_events import Event
from sluice.crash.faults import FAULTS, SUPER, Events, Fault, Planter, list_faults
from sluice.crash.machine import Setup
from sluice.crash.operations import pattern

HEAD = struct.Struct(">III")  # of a block of the log's own: magic, type, sequence number
MAGIC, JOURNAL_INODE = 0xC03B3998, 8
DESCRIPTOR, COMMIT, SUPERBLOCK, REVOKE = 1, 2, 4, 5
INCOMPAT, RECOVER = 96, 4  # in the file system's superblock


class LogPlanter(Planter):
    """The events of a workload whose file system has a journal. log: the blocks of the disk that
    are the journal's log."""

    def __init__(self, disk: bytes, events: Events) -> None:
        super().__init__(disk, events)
        self.block_bytes = self.reader.block_bytes
        pointers = self.reader.blocks_of(self.reader.inode(JOURNAL_INODE))
        self.log = range(min(pointers) + 1, self.reader.blocks)

    def writes_of_type(self, kind: int) -> list[int]:
        """Return the numbers of the writes that begin with a block of the log of this type."""
        return [i for i, event in enumerate(self.events) if find_type(event) == kind]

    def last_commit(self) -> int:
        """Return the number of the last commit block's write."""
        return self.writes_of_type(COMMIT)[-1]

    def logged(self) -> int:
        """Return the number of the last transaction's first write to the log."""
        first = flush = self.last_commit() - 1
        assert self.events[flush].kind == "flush"
        following = find_sequence(self.events[self.last_commit()])
        while any(find_sequence(e) == following for e in self.events[flush - 9 : first]):
            first -= 1
        return first

    def insert_before(self, to: int, moved: Iterable[Event], gone: Iterable[int] = ()) -> Events:
        """Return the events, with the events `moved` and a flush added before the event with the
        number `to`, and without the events whose numbers are in `gone`."""
        without = set(gone)
        first = [event for i, event in enumerate(self.events[:to]) if i not in without]
        rest = [event for i, event in enumerate(self.events) if i >= to and i not in without]
        return [*first, *moved, Event("flush"), *rest]


def find_type(event: Event) -> int:
    """Return the type of the log's block that a write begins with, or 0."""
    return HEAD.unpack_from(event.data)[1] if is_head(event) else 0


def find_sequence(event: Event) -> int:
    """Return the sequence number of the log's block that a write begins with, or 0."""
    return HEAD.unpack_from(event.data)[2] if is_head(event) else 0


def is_head(event: Event) -> bool:
    """Return whether an event is a write that begins with a block of the log's own."""
    return event.kind == "write" and HEAD.unpack_from(event.data)[0] == MAGIC


def log_fault(change: Callable[[LogPlanter], Events]) -> Callable[[Planter], Events]:
    """Return a fault's change for a planter of any kind."""
    return lambda p: change(LogPlanter(p.disk, p.events))


def no_barrier(p: LogPlanter) -> Events:
    """Drop the flush before the last commit block."""
    return p.drop_events([p.last_commit() - 1])


def commit_is_cached(p: LogPlanter) -> Events:
    """Drop the flush after the last commit block."""
    return p.drop_events([p.last_commit() + 1])


def home_first(p: LogPlanter) -> Events:
    """Write the block of /d home before it is in the log."""
    home = p.covering(p.block_of("/d")[0])
    return p.insert_before(p.logged(), [p.events[home[0]]])


def given_out_early(p: LogPlanter) -> Events:
    """Write another file's data into a freed block of /h before the log has the change."""
    at, size = p.block_of("/h")
    return p.insert_before(p.logged(), [Event("write", 0, at, pattern(0, size, 77))])


def data_last(p: LogPlanter) -> Events:
    """Write a file's data after the commit of its metadata, and after the flush behind it."""
    data = [i for i in p.writes(1) + p.writes(2) if i < p.logged()]
    behind_flush = p.last_commit() + 2
    return p.insert_before(behind_flush, [p.events[i] for i in data], data)


def no_copies(p: LogPlanter) -> Events:
    """Write zeros in place of the log's copies of blocks."""
    events = list(p.events)
    for i in range(p.logged(), p.last_commit() - 1):
        data = events[i].data
        kept = data[: p.block_bytes] if is_head(events[i]) else b""  # a block of the log's own
        events[i] = replace(events[i], data=kept.ljust(len(data), b"\0"))
    return events


def wrong_home(p: LogPlanter) -> Events:
    """Write the number of another block into the log's descriptor."""
    home = p.block_of("/h")[0] // p.block_bytes
    descriptor = p.writes_of_type(DESCRIPTOR)[-1]
    first_tag = p.events[descriptor].at + HEAD.size
    return p.patch_writes([descriptor], first_tag, home.to_bytes(4, "big"))


def wrong_number(p: LogPlanter) -> Events:
    """Write the next transaction's number into the commit block."""
    commit = p.last_commit()
    number = find_sequence(p.events[commit]) + 1
    return p.patch_writes([commit], p.events[commit].at + 8, number.to_bytes(4, "big"))


def not_marked(p: LogPlanter) -> Events:
    """Clear the superblock's request for recovery before the last commit. The byte has the same
    other flags in all writes of the superblock."""
    at = SUPER + INCOMPAT
    writes = p.covering(at, range(p.last_commit()))
    flags = p.events[writes[-1]].data[at % p.block_bytes]
    return p.patch_writes(writes, at, bytes([flags & ~RECOVER]))


def forgotten_early(p: LogPlanter) -> Events:
    """Write the log's superblock, which forgets the transaction, right after the commit."""
    empty = p.writes_of_type(SUPERBLOCK)[-1]
    return p.insert_before(p.last_commit() + 2, [p.events[empty]], [empty])


def no_revoke(p: LogPlanter) -> Events:
    """Make the log's lists of revoked blocks empty: no longer than their heads."""
    revokes = p.writes_of_type(REVOKE)
    at = p.events[revokes[-1]].at + HEAD.size
    return p.patch_writes(revokes, at, (HEAD.size + 4).to_bytes(4, "big"))


def returns_early(p: LogPlanter) -> Events:
    """Move the return of the second operation to right after its beginning."""
    return p.return_at_once(2)


APPEND = "append /f 6000 10; fsync /f"
REUSE = "mkdir /n; sync; rmdir /n; creat /n; sync; append /n 6000 10; fsync /n"
LARGE = "mkdir /n; sync; mkdir /e/n; rename /f /e/f; sync"  # its log takes several commands
MOVE = "rename /d/g /n"


def make_fault(
    name: str,
    about: str,
    workload: str,
    change: Callable[[LogPlanter], Events],
    of_cache: bool = False,
    of_older: bool = False,
) -> Fault:
    """Return a planted fault of a journal."""
    return Fault(name, about, workload, log_fault(change), of_cache, of_older)


LOG_FAULTS = (
    make_fault("no-barrier", "no flush comes before the commit block", LARGE, no_barrier, True),
    make_fault(
        "commit-beside-torn",
        "no flush comes before the commit block, and the log takes one command",
        MOVE,
        no_barrier,
        of_cache=True,
        of_older=True,
    ),
    make_fault(
        "commit-cached", "no flush follows the commit block", APPEND, commit_is_cached, True
    ),
    make_fault("home-first", "a block is written home before the commit", MOVE, home_first),
    make_fault(
        "given-out-early",
        "a freed block is given out before the commit",
        "unlink /h; sync",
        given_out_early,
    ),
    make_fault("data-last", "data is written after the transaction", APPEND, data_last),
    make_fault("no-copies", "the log has no copies of the blocks", MOVE, no_copies),
    make_fault("wrong-home", "a copy in the log has another block's number", MOVE, wrong_home),
    make_fault("wrong-number", "the commit block has another number", APPEND, wrong_number),
    make_fault("not-marked", "the superblock does not ask for recovery", APPEND, not_marked),
    make_fault(
        "forgotten-early", "the log is emptied before its blocks are home", APPEND, forgotten_early
    ),
    make_fault("no-revoke", "a freed block's copy is not revoked", REUSE, no_revoke),
    make_fault("commit-too-early", "fsync returns before the commit", APPEND, returns_early),
)
EVERY_FAULT = (*FAULTS, *LOG_FAULTS)


def faults_for(setup: Setup, volatile: bool, tear_older: bool = False) -> list[Fault]:
    """Return the faults that do harm on a machine. volatile: its drive has a volatile cache;
    tear_older: a cut may tear a write before the newest one."""
    if "order=journal" not in setup.args.split():
        return list_faults(volatile)
    found = [fault for fault in LOG_FAULTS if volatile or not fault.of_cache]
    return [fault for fault in found if tear_older or not fault.of_older]
