"""A disk of ext3 whose log has to be replayed, for cuts within that replay.

Our mkfs makes the disk, and the kernel the files on it. Then more operations are done on a copy,
and what they wrote becomes transactions of a log: only the log has them. So a mount, or e2fsck,
must bring all of them home, whenever the power goes meanwhile. The log has what recovery can get
wrong:

- it goes round the end of its ring;
- a block that has a file's data has an older copy in it, which is revoked;
- a file's data begins with the log's magic number, which is escaped there;
- behind the last commit block there is a transaction that was not committed.
"""

import struct
import subprocess
from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from sluice.crash.disk_events import Event
from sluice.crash.ext2 import Reader, read_tree
from sluice.crash.laboratory import Laboratory
from sluice.crash.logwriter import MAGIC, RECOVER, SUPER_AT, Image, Transaction
from sluice.crash.machine import CrashMachine, Setup, apply_writes, memory_folder
from sluice.crash.operations import parse_operations
from sluice.crash.oracle import History
from sluice.crash.workloads import SETUP
from sluice.host.paths import MKFS
from sluice.twin.engine import TWIN

BLOCK, SIZE, JOURNAL = "1K", "2M", "1M"  # the shortest log has 1,024 blocks
START = 1000  # of the log: it has more than 24 blocks, so it goes round
INCOMPATIBLE = 96  # in the superblock, whose block it begins
# Each is a transaction; the last one was not committed.
LOGGED = [
    parse_operations(text)
    for text in (
        "mount /; mkdir /logged; creat /logged/f; write /logged/f 0 9000 6; sync",
        "rename /d/g /logged/g; unlink /d/hard; append /h 3000 7; sync",
        "truncate /f 1500; link /f /logged/link; umount /",
        "mount /; unlink /h; unlink /logged/f; umount /",
    )
]
COMMITTED = tuple(op for operations in LOGGED[:-1] for op in operations)


def make_disk(mkfs: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """Have mkfs make an empty disk with a log."""
    line = [str(mkfs), "-b", BLOCK, "-s", SIZE, "-J", JOURNAL, str(path)]
    return subprocess.run(line, capture_output=True, encoding="utf-8", check=False)


def fit_setup(setup: Setup) -> Setup:
    """Return the machine with the block size of the disk that make_disk makes."""
    return replace(setup, block=BLOCK)


def changed_blocks(events: list[Event], size: int) -> dict[int, bytes]:
    """Return the blocks that events write, by their numbers, each as it is at the end."""
    found: dict[int, bytes] = {}
    for event in events:
        for at in range(0, len(event.data), size):
            found[(event.at + at) // size] = event.data[at : at + size]
    return found


def split_events(events: list[Event], counts: list[int]) -> list[list[Event]]:
    """Return the writes of each transaction. counts: the number of operations of each."""
    writes: list[list[Event]] = [[] for _ in counts]
    ends = list(accumulate(counts))  # the number of the operation after each transaction
    for event in events:
        if event.kind == "began":
            now = bisect_right(ends, event.mark)  # the transaction of this operation
        elif event.kind == "write":
            writes[now].append(event)
    return writes


class LogLaboratory(Laboratory):
    """A laboratory whose workloads begin with the mount of a disk that has such a log."""

    has_rules = False  # a replay follows others

    def make_start(self) -> tuple[bytes, History]:
        """Make the disk. Returns the disk, and the history of what it must have after recovery."""
        good = replace(self.setup, twin=TWIN)
        with memory_folder() as name:
            path = Path(name) / "disk"
            made = make_disk(MKFS, path)
            if made.returncode:
                raise RuntimeError(f"mkfs: {made.stderr}")
            with CrashMachine(good, path.read_bytes()) as maker:
                disk = apply_writes(maker.start_disk(), maker.record(SETUP))
            with CrashMachine(good, disk) as maker:
                events = maker.record([op for operations in LOGGED for op in operations])
            history = History(COMMITTED, History(SETUP))
            path.write_bytes(disk)
            log = Image(path)
            transactions = make_transactions(log, events)
            put_magic(apply_writes(disk, events), history, transactions, log.block_bytes)
            log.write_log(transactions, START)
            return bytes(log.data), history


def make_transactions(log: Image, events: list[Event]) -> list[Transaction]:
    """Return the transactions of a log. The first has a wrong copy of a block of /h, which the
    second revokes; the last one is not committed."""
    parts = split_events(events, [len(operations) for operations in LOGGED])
    made = [Transaction(changed_blocks(part, log.block_bytes)) for part in parts]
    inode = Reader(log.data).inode(read_tree(log.data)["/h"].inode)
    (home,) = struct.unpack_from("<I", inode.block)  # the file's first block
    made[0].blocks[home] = b"revoked." * (log.block_bytes // 8)
    made[1].revokes = (home,)
    made[1].blocks.pop(home, None)
    made[2].blocks.pop(home, None)
    made[-1].committed = False
    for transaction in made:
        keep_needing(transaction, SUPER_AT // log.block_bytes)
    return made


def keep_needing(transaction: Transaction, home: int) -> None:
    """Have a logged superblock say that the log has to be replayed, as ext3 writes it: the last
    copy must not come home without that before the log is empty."""
    block = bytearray(transaction.blocks.get(home, b""))
    if block:
        (features,) = struct.unpack_from("<I", block, INCOMPATIBLE)
        struct.pack_into("<I", block, INCOMPATIBLE, features | RECOVER)
        transaction.blocks[home] = bytes(block)


def put_magic(
    disk: bytes, history: History, transactions: list[Transaction], block_bytes: int
) -> None:
    """Begin the data of /f with the magic number, in the log and in the model.

    The log's second transaction gets the file's first block with it. Later transactions that have
    this block get the number, too.
    """
    reader = Reader(disk)
    inode = reader.inode(read_tree(disk)["/f"].inode)
    (home,) = struct.unpack_from("<I", inode.block)  # the file's first block
    magic = struct.pack(">I", MAGIC)
    _, node = history.names[-1].at["/f"]
    done, data = history.files[node].data[-1]
    with_magic = magic + data[4:]
    history.files[node].data[-1] = done, with_magic
    transactions[1].blocks[home] = with_magic.ljust(block_bytes, b"\0")[:block_bytes]
    for later in transactions[2:]:
        if home in later.blocks:
            later.blocks[home] = magic + later.blocks[home][4:]
