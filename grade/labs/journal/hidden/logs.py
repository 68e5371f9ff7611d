"""Logs that are sound and unusual are replayed."""

from dataclasses import replace

from grade.engine.workbench import Workbench
from sluice.crash.logwriter import Transaction

from ..replays import (
    LAST_SEQUENCE,
    count_log_blocks,
    expect_replayed,
    lay_log,
    lay_revoked,
    make_log,
    record_mount,
    uncommitted,
)

NEAR_END = 1010  # of a log of 1,024 blocks
NEARLY_FULL = 900


def a_log_may_go_round_its_end_and_so_may_its_numbers(bench: Workbench) -> None:
    """The transactions lie round the end of the log, and their numbers go from the largest to 0,
    which revokes copies of the largest."""
    made = make_log(bench)
    start = bench.random("round").randrange(NEAR_END, NEAR_END + 10)
    disk = lay_revoked(made, start, LAST_SEQUENCE)
    expect_replayed(record_mount(bench, "round", made, disk))


def what_stands_behind_the_end_does_not_count(bench: Workbench) -> None:
    """Behind the last commit block stands a transaction with an older number. Before it there is a
    commit block alone, which ends an empty transaction."""
    made = make_log(bench)
    first, *more, last = made.transactions
    whole = [first, Transaction(), *more]
    disk = lay_log(made, whole, 7, 20, behind=[last])
    expect_replayed(record_mount(bench, "behind", made, disk))


def a_wrong_number_ends_a_log(bench: Workbench) -> None:
    """The commit block of the last transaction has another number."""
    made = make_log(bench)
    *whole, last = made.transactions
    disk = lay_log(made, [*whole, replace(last, commit_off_by=1)], 30, 5)
    expect_replayed(record_mount(bench, "number", made, disk))


def a_log_that_is_nearly_full_is_replayed_to_its_end(bench: Workbench) -> None:
    """The transactions stand in the log again and again, until most of its blocks are used."""
    made = make_log(bench)
    *whole, last = made.transactions
    rounds = NEARLY_FULL // sum(map(count_log_blocks, whole))
    disk = lay_log(made, [*whole * rounds, uncommitted(last)])
    expect_replayed(record_mount(bench, "full", made, disk))


def a_block_that_is_no_part_of_a_transaction_ends_a_log(bench: Workbench) -> None:
    """Behind the last commit block stands a block of zeros, and then a transaction with the next
    number."""
    made = make_log(bench)
    *whole, last = made.transactions
    disk = lay_log(made, whole, 50, 9, apart=[last])
    expect_replayed(record_mount(bench, "apart", made, disk))
