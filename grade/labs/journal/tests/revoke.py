"""A block that was freed is not written over by its old copy in the log."""

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench

from ..judging import before, expect_no_loss, list_needless
from ..replays import expect_replayed, lay_revoked, make_log, record_mount
from ..workloads import record_checkpoint, record_reuse


def a_commit_revokes_freed_blocks_that_the_log_has(bench: Workbench) -> None:
    """A directory is made and removed, and a file gets its block; an fsync follows each. The power
    is cut after each write."""
    recording = record_reuse(bench)
    expect_no_loss(recording, 20, before(recording.operations, "umount"), volatile=False)


def only_blocks_with_a_copy_in_the_log_are_revoked(bench: Workbench) -> None:
    """The load is that of the test before; then directories fill the log until a checkpoint empties
    it, and a directory that was written home is removed. Each block that a revoke names must have
    a copy in the log that no earlier revoke has dropped."""
    for recording in (record_reuse(bench), record_checkpoint(bench)):
        needless = list_needless(recording)
        said = f"revokes of blocks without a copy: {', '.join(map(str, needless))}"[:300]
        expect(not needless, "revokes of blocks that have a copy in the log", said)


def a_replay_obeys_revokes_of_the_same_and_of_later_transactions(bench: Workbench) -> None:
    """A disk is mounted whose log has copies of a file's data in two transactions, and the second
    revokes them; and a block that is revoked, and logged again by the transaction after that."""
    made = make_log(bench)
    expect_replayed(record_mount(bench, "revoked", made, lay_revoked(made)))
