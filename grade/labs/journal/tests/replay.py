"""Mounting brings home all whole transactions of the log, in their order."""

from dataclasses import replace

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench
from sluice.crash.logwriter import MAGIC

from ..errors import mount_refused, mount_without
from ..replays import (
    block_of,
    count_log_blocks,
    expect_replayed,
    lay_log,
    make_log,
    open_log,
    put_magic,
    record_mount,
    uncommitted,
)

PAST = 1 << 20  # the number of a block past the end of the file system
TOO_LONG = 1 << 20  # more bytes than a block has


def a_mount_brings_home_what_was_committed(bench: Workbench) -> None:
    """The log has three transactions, and a fourth without its commit block."""
    made = make_log(bench)
    *whole, last = made.transactions
    disk = lay_log(made, [*whole, uncommitted(last)])
    expect_replayed(record_mount(bench, "mount", made, disk))


def a_block_that_was_escaped_gets_its_first_bytes_back(bench: Workbench) -> None:
    """The log has a block of a file's data that begins with the log's magic number. There it
    begins with zeros."""
    made = make_log(bench)
    first, second, third, last = made.transactions
    block = MAGIC.to_bytes(4, "big") + block_of(made.image, made.home)[4:]
    third = replace(third, blocks={**third.blocks, made.home: block})
    disk = lay_log(made, [first, second, third, uncommitted(last)])
    seen = record_mount(bench, "escaped", made, disk)
    put_magic(seen, made.path)
    expect_replayed(seen)


def a_log_that_cannot_be_read_is_left(bench: Workbench) -> None:
    """A disk is mounted of whose log a block cannot be read: the copy of a block, or the second
    transaction's descriptor. The mount fails, and the log can be replayed elsewhere."""
    made = make_log(bench)
    first, *more, last = made.transactions
    disk = lay_log(made, [first, *more, uncommitted(last)])
    where = open_log(disk).where
    second = 1 + count_log_blocks(first) + bool(more[0].revokes)
    for name, at, what in (("copy", second + 1, "a copy"), ("head", second, "a descriptor")):
        mount_without(
            bench, f"{name}-unread", made, disk, f"{what} cannot be read", ("read", where[at], 0)
        )


def a_damaged_log_is_refused(bench: Workbench) -> None:
    """A disk is mounted whose log has a block whose home is past the end of the file system, and
    one whose revokes have a wrong length. Both mounts fail, and change nothing."""
    made = make_log(bench)
    first, second, *_ = made.transactions
    past = replace(second, blocks={**second.blocks, PAST: bytes(4096)})
    long = replace(second, revokes=(*second.revokes, made.home), revoked_bytes=TOO_LONG)
    for name, wrong in (("past", past), ("long", long)):
        disk = lay_log(made, [first, wrong])
        run = mount_refused(bench, name, disk, "the log is damaged")
        same = run.data_image.read_bytes() == disk
        expect(same, "a refused mount to change nothing", "the disk has changed")
