"""The power may go while a log is replayed: then it is replayed again."""

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench
from sluice.crash.logwriter import Image

from ..errors import mount_without
from ..judging import expect_no_loss
from ..operations import Recording
from ..replays import expect_replayed, lay_log, make_log, open_log, record_mount, uncommitted

FIRST = 40  # the number of the first transaction


def _record_replay(bench: Workbench) -> tuple[Recording, int]:
    """Have the kernel mount a disk whose log has three transactions, and a fourth without its
    commit block. Returns what happened, and the number of the last whole one."""
    made = make_log(bench)
    *whole, last = made.transactions
    disk = lay_log(made, [*whole, uncommitted(last)], sequence=FIRST)
    return record_mount(bench, "again", made, disk), FIRST + len(whole) - 1


def a_replay_may_be_cut_at_any_moment(bench: Workbench) -> None:
    """A disk is mounted whose log has three transactions, and a fourth without its commit block.
    The power is cut after each write, and the drive has lost some of the writes since its last
    flush."""
    seen, _ = _record_replay(bench)
    expect_no_loss(seen, 20, lambda _: True)
    expect_replayed(seen)


def numbers_of_transactions_go_on(bench: Workbench) -> None:
    """A disk whose log has to be replayed is mounted. What is left in its log has numbers that are
    not used again, or it would be replayed some day."""
    seen, last = _record_replay(bench)
    expect_replayed(seen)
    number = Image(seen.run.data_image).get("sequence")
    came = f"the log's superblock says {number}"
    expect(number > last + 1, f"the next transaction to have a number above {last + 1}", came)


def a_replay_that_meets_an_error_leaves_the_log(bench: Workbench) -> None:
    """A disk whose log has to be replayed is mounted. A block cannot be written: a home, or the
    log's superblock. The mount fails, and the log can be replayed elsewhere."""
    made = make_log(bench)
    *whole, last = made.transactions
    disk = lay_log(made, [*whole, uncommitted(last)], sequence=FIRST)
    home = max(whole[-1].blocks)
    mount_without(bench, "home", made, disk, "a block cannot be written home", ("write", home, 0))
    log = open_log(disk).where[0]
    mount_without(
        bench, "super", made, disk, "the log's superblock cannot be written", ("write", log, 0)
    )
