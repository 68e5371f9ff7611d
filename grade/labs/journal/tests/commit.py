"""A block reaches its home only when its transaction is on the disk."""

from grade.engine.workbench import Workbench

from ..errors import fail_commits
from ..judging import expect_no_loss
from ..workloads import record_homes


def an_operation_is_whole_or_absent_after_any_write(bench: Workbench) -> None:
    """Files are moved from each of two directories to the other, with fsyncs, and blocks go home as
    soon as they may. The power is cut after each write; the drive has no cache to lose."""
    expect_no_loss(record_homes(bench), 30, lambda _: True, volatile=False)


def a_commit_that_meets_an_error_confirms_nothing(bench: Workbench) -> None:
    """An fsync fails if a write or a flush of its commit does: of a copy, of the commit block, of
    the drive's cache before it or behind it. Then the power is cut."""
    fail_commits(bench)
