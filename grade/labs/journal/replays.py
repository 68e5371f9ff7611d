"""Disks whose log has to be replayed: the solution's kernel writes the log, and it is laid anew.

The solution does some operations, each part of them committed by an fsync, and brings no block
home. So the transactions are only in the log. They are written once more, from another place of the
log and with other numbers, and with what recovery may get wrong. Then the submission's kernel
mounts and unmounts the disk.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench
from sluice.crash.checker import Checker
from sluice.crash.ext2 import Reader, read_tree
from sluice.crash.log_faults import COMMIT, DESCRIPTOR, REVOKE
from sluice.crash.logwriter import (
    ESCAPED,
    HEAD,
    LAST,
    MAGIC,
    RECOVER,
    SAME_UUID,
    SUPER_AT,
    TAG,
    Image,
    Log,
    Transaction,
)
from sluice.crash.machine import apply_writes, memory_folder
from sluice.crash.operations import Operation
from sluice.crash.oracle import History

from .judging import JOURNALLED, find_type, read_verdict
from .operations import ON_DEMAND, Recording, iterate_names, parse, record, scenario

LAST_SEQUENCE = 2**32 - 1
INCOMPATIBLE = 96  # byte of the superblock with the incompatible features
LIKE = "replayed"  # the machine that makes the log, and those that replay it, have one setting
UNMOUNT = parse("umount /")


@dataclass
class Logged:
    """A disk and the transactions that only its log has.

    path, home: of a file, and the first block of its data, which is not in the log. operations:
    those that make what is to be there when all transactions but the last are replayed.
    """

    image: bytes
    transactions: list[Transaction]
    path: str
    home: int
    operations: tuple[Operation, ...]


def make_log(bench: Workbench) -> Logged:
    """Have the solution's kernel write a log. Its last transaction is not to be replayed."""
    a, b, c, d, e, f = islice(iterate_names(bench, "replayed names"), 6)
    sizes = [bench.random("replayed").randrange(200, 6000) for _ in range(2)]
    text = (
        f"mkdir /{a}; creat /{a}/{b}; append /{a}/{b} {sizes[0]} 1; fsync /{a}/{b};"
        f"mkdir /{c}; rename /{a}/{b} /{c}/{d}; fsync /{c}/{d};"
        f"link /{c}/{d} /{e}; creat /{c}/{f}; append /{c}/{f} {sizes[1]} 2; fsync /{e};"
        f"unlink /{e}; rmdir /{a}; fsync /{c}/{d}"
    )
    operations = parse(text)
    made = replace(scenario(LIKE, operations, ON_DEMAND, like=LIKE), cut=True)
    seen = record(bench, made, operations, reference=True)
    last = max(i for i, event in enumerate(seen.events) if find_type(event) == COMMIT)
    image = apply_writes(seen.before, seen.events[: last + 1])
    transactions = read_transactions(image)
    expect(len(transactions) == 4, "four transactions of the solution", str(len(transactions)))
    return Logged(image, transactions, *find_home(image, transactions[:-1]), seen.operations[:-3])


def open_log(image: bytes) -> Image:
    """Return an image, and its journal, to be changed."""
    with memory_folder() as name:
        path = Path(name) / "disk"
        path.write_bytes(image)
        return Image(path)


def read_transactions(image: bytes) -> list[Transaction]:
    """Return the whole transactions of a disk's log, in order."""
    log, found = open_log(image), [Transaction()]
    at, sequence = log.get("start"), log.get("sequence")
    while True:
        block = log.block(log.where[at])
        magic, kind, number = HEAD.unpack_from(block)
        at += 1
        if magic != MAGIC or number != sequence:
            return found[:-1]
        if kind == DESCRIPTOR:
            at = read_copies(log, block, at, found[-1])
        elif kind == REVOKE:
            end = struct.unpack_from(">I", block, HEAD.size)[0]
            numbers = struct.unpack_from(f">{(end - 16) // 4}I", block, 16)
            found[-1].revokes += numbers
        elif kind == COMMIT:
            found.append(Transaction())
            sequence += 1


def read_copies(log: Image, block: bytes, at: int, transaction: Transaction) -> int:
    """Add the copies behind a descriptor to a transaction. Returns the place behind them.

    block: the descriptor, which has a tag for each copy. at: the first copy's place in the log. A
    copy that would begin with the journal's magic has zeros in its place, and the flag ESCAPED.
    """
    byte, flags = HEAD.size, 0
    while not flags & LAST:
        home, _, flags = TAG.unpack_from(block, byte)
        copy = log.block(log.where[at])
        begins = struct.pack(">I", MAGIC) if flags & ESCAPED else copy[:4]
        transaction.blocks[home] = begins + copy[4:]
        byte += TAG.size + (0 if flags & SAME_UUID else 16)
        at += 1
    return at


def block_of(image: bytes, number: int) -> bytes:
    """Return a block of a disk."""
    return Reader(image).block(number, "the log's disk")


def find_home(image: bytes, transactions: Sequence[Transaction]) -> tuple[str, int]:
    """Return the path of a file, and its first data block, on the disk as it is after a replay."""
    disk, size = bytearray(image), Reader(image).block_bytes
    for transaction in transactions:
        for home, data in transaction.blocks.items():
            disk[home * size : (home + 1) * size] = data
    tree = read_tree(disk)
    path = next(path for path, found in tree.items() if found.kind == "f" and found.data)
    return path, Reader(disk).blocks_of(Reader(disk).inode(tree[path].inode))[0]


def put_magic(seen: Recording, path: str) -> None:
    """Have a file's data begin with the log's magic number, in the model."""
    _, node = seen.history.names[-1].at[path]
    versions = seen.history.files[node].data
    done, data = versions[-1]
    versions[-1] = done, MAGIC.to_bytes(4, "big") + data[4:]


def lay_log(
    made: Logged,
    transactions: Sequence[Transaction],
    start: int = 1,
    sequence: int = 1,
    behind: Sequence[Transaction] = (),
    apart: Sequence[Transaction] = (),
) -> bytes:
    """Return the disk with these transactions in its log.

    start: the block of the log where they begin. sequence: the first one's number. behind: what
    stands behind them, with older numbers. apart: what follows, with the next numbers, behind a
    block of zeros.
    """
    log = open_log(made.image)
    for i in range(1, log.get("blocks")):
        log.put(i, bytes(log.block_bytes))
    kept = [keep_needing(transaction, log.block_bytes) for transaction in transactions]
    log.set(start=start, sequence=sequence)
    log.needs_recovery()
    place = Log(log, start)
    for i, transaction in enumerate(kept):
        place.append(transaction, (sequence + i) % 2**32)
    for i, transaction in enumerate(behind):
        place.append(transaction, (sequence - len(behind) + i) % 2**32)
    if apart:
        place.put(b"")
    for i, transaction in enumerate(apart):
        place.append(transaction, (sequence + len(kept) + i) % 2**32)
    return bytes(log.data)


def count_log_blocks(transaction: Transaction) -> int:
    """Return how many blocks of the log a transaction takes: copies, heads, the commit block."""
    return len(transaction.blocks) + bool(transaction.blocks) + bool(transaction.revokes) + 1


def keep_needing(transaction: Transaction, block_bytes: int) -> Transaction:
    """Return a transaction in which a logged superblock says that the log has to be replayed."""
    home, at = SUPER_AT // block_bytes, SUPER_AT % block_bytes + INCOMPATIBLE
    if home not in transaction.blocks:
        return transaction
    block = bytearray(transaction.blocks[home])
    (features,) = struct.unpack_from("<I", block, at)
    struct.pack_into("<I", block, at, features | RECOVER)
    return replace(transaction, blocks={**transaction.blocks, home: bytes(block)})


def uncommitted(transaction: Transaction) -> Transaction:
    """Return a transaction without its commit block."""
    return replace(transaction, committed=False)


def lay_revoked(made: Logged, start: int = 1, sequence: int = 1) -> bytes:
    """Return the disk with revokes in its log, which begins there and with this number.

    Two older copies of a file's data are revoked; and a block that is logged again by a later
    transaction.
    """
    first, second, third, last = made.transactions
    again = next(home for home in third.blocks if home > 1)
    block = b"revoked." * (len(third.blocks[again]) // 8)
    first = replace(first, blocks={**first.blocks, made.home: block, again: block})
    kept = {home: data for home, data in second.blocks.items() if home != again}
    kept[made.home] = block  # the block is also revoked, and the revoke wins
    second = replace(second, blocks=kept, revokes=(*second.revokes, made.home, again))
    return lay_log(made, [first, second, third, uncommitted(last)], start, sequence)


def record_mount(bench: Workbench, name: str, made: Logged, disk: bytes) -> Recording:
    """Have the submission's kernel mount a disk and unmount it."""
    machine = scenario(name, UNMOUNT, ON_DEMAND, image=disk, like=LIKE)
    return record(bench, machine, UNMOUNT, lambda _: History(made.operations))


def expect_replayed(seen: Recording) -> None:
    """Raise Wrong unless the disk has all that was committed, and nothing else, in the end.

    The kernel must have brought it home itself, so the log must be empty, and e2fsck has nothing to
    repair: a mount that replays reads the superblock again.
    """
    image = seen.run.data_image.read_bytes()
    wanted = "the disk to have all that is committed in its log, and nothing else, after a mount"
    log = Image(seen.run.data_image)
    needs = log.word(SUPER_AT + INCOMPATIBLE) & RECOVER
    expect(not needs and not log.get("start"), wanted, "the log is not empty after the unmount")
    with memory_folder() as name:
        checker = Checker(Path(name))
        checker.path.write_bytes(image)
        status = checker.run("-fn")
        expect(not status, wanted, f"e2fsck -fn: status {status}: {checker.message()}"[:600])
    verdict = read_verdict(image)
    wrong = verdict.wrong
    if not wrong and verdict.tree is not None:
        wrong, _ = seen.history.check(verdict.tree, 1, False, JOURNALLED)
    expect(not wrong, wanted, "; ".join(wrong)[:600])
