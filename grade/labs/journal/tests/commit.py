"""A block reaches its home only when its transaction is on the disk."""

from grade.engine.workbench import Workbench

from ..judging import expect_no_loss
from ..workloads import record_homes


def an_operation_is_whole_or_absent_after_any_write(bench: Workbench) -> None:
    """Files are moved from each of two directories to the other, with fsyncs, and blocks go home as
    soon as they may. The power is cut after each write; the drive has no cache to lose."""
    expect_no_loss(record_homes(bench), 30, lambda _: True, volatile=False)
