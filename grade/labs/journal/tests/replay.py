"""Mounting brings home all whole transactions of the log, in their order."""

from dataclasses import replace

from grade.engine.workbench import Workbench
from sluice.crash.logwriter import MAGIC

from ..replays import (
    block_of,
    expect_replayed,
    lay_log,
    make_log,
    put_magic,
    record_mount,
    uncommitted,
)


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
