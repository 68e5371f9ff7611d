"""The log's blocks are forgotten only when all of them are at home."""

from grade.engine.workbench import Workbench

from ..errors import fail_checkpoint
from ..judging import around_checkpoint, expect_no_loss
from ..workloads import record_checkpoint


def a_checkpoint_may_be_cut_at_any_moment(bench: Workbench) -> None:
    """Directories are made until half of a short log is used, and as many more, for which the log
    must have room again. The power is cut after each write from the checkpoint to the next
    transaction, and when a later fsync has returned. Each time the drive has lost some of the
    writes since its last flush."""
    recording = record_checkpoint(bench)
    expect_no_loss(recording, 4, around_checkpoint(recording))


def a_checkpoint_that_meets_an_error_keeps_the_log(bench: Workbench) -> None:
    """So many directories are made on a disk where a block with inodes of the first ones cannot be
    written home. The power is cut."""
    fail_checkpoint(bench)
