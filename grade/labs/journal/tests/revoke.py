"""A block that was freed is not written over by its old copy in the log."""

from dataclasses import replace

from grade.engine.workbench import Workbench

from ..judging import before, expect_no_loss
from ..replays import Logged, expect_replayed, lay_log, make_log, record_mount, uncommitted
from ..workloads import record_reuse


def a_commit_revokes_freed_blocks_that_the_log_has(bench: Workbench) -> None:
    """A directory is made and removed, and a file gets its block; an fsync follows each. The power
    is cut after each write."""
    recording = record_reuse(bench)
    expect_no_loss(recording, 20, before(recording.operations, "umount"), volatile=False)


def _revoked(made: Logged) -> bytes:
    """Return a disk whose log has two older copies of a file's data, which are revoked; and a block
    that is revoked, and logged again by a later transaction."""
    first, second, third, last = made.transactions
    again = next(home for home in third.blocks if home > 1)
    block = b"revoked." * (len(third.blocks[again]) // 8)
    first = replace(first, blocks={**first.blocks, made.home: block, again: block})
    kept = {home: data for home, data in second.blocks.items() if home != again}
    kept[made.home] = block  # beside the revoke, which wins
    second = replace(second, blocks=kept, revokes=(*second.revokes, made.home, again))
    return lay_log(made, [first, second, third, uncommitted(last)])


def a_replay_obeys_revokes_of_the_same_and_of_later_transactions(bench: Workbench) -> None:
    """A disk is mounted whose log has copies of a file's data in two transactions, and the second
    revokes them; and a block that is revoked, and logged again by the transaction after that."""
    made = make_log(bench)
    expect_replayed(record_mount(bench, "revoked", made, _revoked(made)))
