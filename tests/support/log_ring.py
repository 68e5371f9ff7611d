"""Long workloads, whose transactions go round the log.

The workloads of a campaign fill a hundredth of a log, so its end is never reached, nor is a
checkpoint made in the midst of the work. Here the log's ring is half as long (its first block is
moved; e2fsck and Linux accept that), and a workload has so many operations that the kernel makes
several checkpoints and transactions lie over older ones. It has thousands of cuts; a sample is
judged.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from random import Random

from sluice.crash.cuts import Cut
from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Reader
from sluice.crash.faults import Events, Fault
from sluice.crash.laboratory import Laboratory
from sluice.crash.log_faults import (
    COMMIT,
    JOURNAL_INODE,
    SUPERBLOCK,
    LogPlanter,
    find_type,
    make_fault,
)
from sluice.crash.machine import Setup
from sluice.crash.oracle import History
from sluice.crash.workloads import Workload, find_workload

FIRST = 512  # block of the ring; the kernel accepts none later
AT_FIRST = 20  # byte of the log's superblock where this number is
EVERY, EVERY_NEAR = 100, 2  # cuts, of which one is judged: elsewhere, and near a checkpoint
NEAR = 8  # events
STEPS = 75  # of a workload: its log takes the ring about twice
SETUP = Setup("order=journal", block="1K", journal="1M")


class RingLaboratory(Laboratory):
    """A laboratory whose disk has a short ring."""

    def make_start(self) -> tuple[bytes, History]:
        """Make what workloads begin with. Returns the disk, and how it came to be."""
        disk, history = super().make_start()
        short, reader = bytearray(disk), Reader(disk)
        log = min(reader.blocks_of(reader.inode(JOURNAL_INODE))) * reader.block_bytes
        struct.pack_into(">I", short, log + AT_FIRST, FIRST)
        return bytes(short), history


def choose_step(i: int, rng: Random) -> str:
    """Return operations that change metadata of several kinds, free blocks that are in the log and
    use them again, and are on the disk at their end."""
    change = rng.choice(
        (
            f"mkdir /m{i}; creat /m{i}/x; sync; unlink /m{i}/x; rmdir /m{i}",
            f"creat /n{i}; append /n{i} 3000 {i}; fsync /n{i}; unlink /n{i}",
            f"truncate /f 0; write /f 14000 100 {i}",
            f"truncate /f 60000; write /f 59000 100 {i}",
            "rename /d/g /e/g; rename /e/g /d/g",
            f"creat /t{i}; append /t{i} 2000 {i}; rename /t{i} /h",
            f"through /f 500 1500 {i}",
            f"append /h 300 {i}",
            f"hold /d/hard; grow 900 {i}; unlink /d/hard; sync; grow 700 {i}; drop;link /h /d/hard",
        )
    )
    return f"{change}; {rng.choice(('fsync /f', 'sync', 'fsync /h'))}"


def long_workload(seed: int, steps: int = STEPS) -> Workload:
    """Return the long workload of a seed."""
    rng = Random(seed)
    return find_workload("; ".join(choose_step(i, rng) for i in range(steps)))


def checkpoints(p: LogPlanter) -> Iterator[int]:
    """Yield the numbers of the writes by which the log begins later, and is not empty. They write
    the log's superblock; byte 28 of it says where the log begins, or 0."""
    found = p.writes_of_type(SUPERBLOCK)
    yield from (i for i in found[1:-1] if struct.unpack_from(">I", p.events[i].data, 28)[0])


def start_moves_early(p: LogPlanter) -> Events:
    """Have the superblock that shortens the log written earlier: right after the last commit, so
    before the log's blocks are written home."""
    moved = next(checkpoints(p))
    commit = [i for i in p.writes_of_type(COMMIT) if i < moved][-1]
    return p.insert_before(commit + 2, [p.events[moved]], [moved])


def old_start(p: LogPlanter) -> Events:
    """Have the log begin where it began, when its transactions lie over that place."""
    return p.drop_events(list(checkpoints(p)))


LONG = long_workload(1).name
RING_FAULTS: tuple[Fault, ...] = (
    make_fault(
        "start-moves-early",
        "the log is shortened before its blocks are home",
        LONG,
        start_moves_early,
    ),
    make_fault("old-start", "the log's beginning is written over", LONG, old_start),
)


def sample_cuts(events: Sequence[Event]) -> Callable[[Cut], bool]:
    """Return which cuts of a long workload are judged: many near checkpoints, few elsewhere."""
    near = {
        number
        for at, event in enumerate(events)
        if find_type(event) == SUPERBLOCK
        for number in range(at - NEAR, at + NEAR)
    }
    return lambda cut: cut.number % (EVERY_NEAR if cut.after in near else EVERY) == 0


def count_rounds(events: Events) -> tuple[int, int]:
    """Return how many commits and checkpoints a recording has."""
    kinds = [find_type(event) for event in events]
    return kinds.count(COMMIT), max(kinds.count(SUPERBLOCK) - 2, 0)
