"""How long a mount takes after a power cut, by how much is in the journal's log.

A workload makes files and calls fsync after each, so each has a transaction. The power is cut at
many moments, of which each leaves another number of blocks in the log. The machine then mounts the
disk, and its virtual time is measured, on a model of a drive.

Where strace is there, e2fsck replays the log of each disk, too, and the model of the drive says how
long its requests take (checker_time.py).

What was expected before it was measured: replaying reads the log in order, and writes each block
that it has home once. A drive of 5,400 turns a minute needs at most a turn, 11 ms, for each block
of the log, so a mount takes no longer than MOST_MS_A_BLOCK for each, and MOST_MS for all else.
The same time was expected of e2fsck, but e2fsck takes longer: it writes home every copy of a block
that the log has, between its reads. Our mount keeps the newest copies, and writes each home once.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from statistics import mean

from sluice.crash.checker_time import has_strace, time_replay
from sluice.crash.disk_events import BadRecording, Event
from sluice.crash.ext2 import Reader
from sluice.crash.judge import MOUNT
from sluice.crash.laboratory import Laboratory
from sluice.crash.log_faults import JOURNAL_INODE, SUPERBLOCK, find_type
from sluice.crash.machine import Setup, difference
from sluice.crash.oracle import promise_of
from sluice.crash.workloads import find_workload
from sluice.experiment.aligned import format_table

DRIVE = "rz58"
SETUP = Setup(f"order=journal drive={DRIVE}", size="1024K", inodes=640, journal="4M")
FILES = 110  # of the workload; its text is nearly as long as crashops takes
CUTS = 60
EDGES = (0, 1, 64, 128, 256, 512, 1024)  # of the rows, by blocks in the log
MOST_MS_A_BLOCK, MOST_MS = 12, 500
NS_PER_MS = 10**6
LENGTH = 16  # where the log's superblock has its number of blocks


@dataclass(frozen=True)
class Mounted:
    """A mount after a cut."""

    blocks: int  # of the log that were in use
    ms: float  # virtual time of the mount
    e2fsck_ms: float = 0  # the time of e2fsck's replay; 0: not measured


def make_workload() -> str:
    """Return the operations of the workload."""
    return "; ".join(f"creat /n{i}; append /n{i} 3000 {i}; fsync /n{i}" for i in range(FILES))


def log_range(disk: bytes) -> range:
    """Return the bytes of the disk that the journal's log takes. mkfs lays its blocks side by side,
    with one block of pointers among them."""
    reader = Reader(disk)
    first = min(reader.blocks_of(reader.inode(JOURNAL_INODE))) * reader.block_bytes
    (blocks,) = struct.unpack_from(">I", disk, first + LENGTH)
    return range(first, first + (blocks + 1) * reader.block_bytes)


def follow_log(events: Sequence[Event], log: range, block_bytes: int) -> Iterator[int]:
    """Yield after each event how many blocks of the log are in use: those that were written since
    the log was emptied or shortened."""
    used = 0
    for event in events:
        if event.kind == "write" and event.at in log:
            is_super = find_type(event) == SUPERBLOCK
            used = 0 if is_super else used + len(event.data) // block_bytes
        yield used


def time_mount(laboratory: Laboratory, disk: bytes) -> float:
    """Mount a disk, and return the virtual time of that in ms."""
    puts = difference(laboratory.machine.start_disk(), disk)
    events = laboratory.machine.run_operations(MOUNT, puts).events
    times = {e.kind: e.time_ns for e in events if e.mark == 0 and e.kind in ("began", "returned")}
    return (times["returned"] - times["began"]) / NS_PER_MS


def measure_mounts(setup: Setup = SETUP, cuts: int = CUTS, seed: int = 1) -> list[Mounted]:
    """Cut the power of the workload at random moments, after which all writes that had ended are
    on the disk, mount what is left, and have e2fsck replay it."""
    compares = has_strace()
    with Laboratory(setup, promise_of("prefix"), volatile=False) as laboratory:
        events = laboratory.record(find_workload(make_workload()))
        if any(event.error for event in events):
            raise BadRecording("an operation of the workload failed")
        log = log_range(laboratory.base.disk)
        used = list(follow_log(events, log, Reader(laboratory.base.disk).block_bytes))
        writes = [i for i, event in enumerate(events) if event.kind == "write"]
        chosen = sorted(Random(seed).sample(writes, min(cuts, len(writes))))
        disk, found, done = bytearray(laboratory.base.disk), [], 0
        for at in chosen:
            for event in events[done : at + 1]:
                if event.kind == "write":
                    disk[event.at : event.at + len(event.data)] = event.data
            done = at + 1
            left, folder = bytes(disk), laboratory.machine.folder
            theirs = time_replay(left, DRIVE, folder) if compares else 0
            found.append(Mounted(used[at], time_mount(laboratory, left), theirs))
    return found


def list_rows(mounted: Sequence[Mounted]) -> list[list[str]]:
    """Return a row for each range of lengths: cuts, mean and worst time in ms, and e2fsck's mean
    if it was measured."""
    rows = []
    for low, high in pairwise(EDGES):
        these = [one for one in mounted if low <= one.blocks < high]
        ms = [one.ms for one in these]
        if ms:
            said = f"{low} to {high - 1}" if high - low > 1 else str(low)
            theirs = mean(one.e2fsck_ms for one in these)
            also = [f"{theirs:,.0f}"] if theirs else []
            rows.append([said, str(len(ms)), f"{mean(ms):,.0f}", f"{max(ms):,.0f}", *also])
    return rows


def is_in_limits(mounted: Sequence[Mounted]) -> bool:
    """Return whether each mount took no longer than was expected."""
    return all(one.ms <= MOST_MS + MOST_MS_A_BLOCK * one.blocks for one in mounted)


def run_recovery() -> bool:
    """Print how long mounts take, and return whether that is within the limits."""
    mounted = measure_mounts()
    rows = list_rows(mounted)
    head = ["blocks in the log", "cuts", "mean, ms", "worst, ms", "e2fsck, mean, ms"]
    print("\n".join(format_table([head[: len(rows[0])], *rows])))
    good = is_in_limits(mounted)
    said = "within" if good else "NOT within"
    print(f"All is {said} {MOST_MS} ms and {MOST_MS_A_BLOCK} ms for each block.")
    return good
