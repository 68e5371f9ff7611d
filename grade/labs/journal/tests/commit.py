"""A block reaches its home only when its transaction is on the disk."""

from grade.engine.workbench import Workbench

from ..judging import before, expect_no_loss
from ..workloads import record_commits


def an_operation_is_whole_or_absent_after_any_write(bench: Workbench) -> None:
    """Names are made, changed and removed, with fsyncs, and blocks go home soon. The power is cut
    after each write; the drive has no cache to lose."""
    recording = record_commits(bench)
    expect_no_loss(recording, 40, before(recording.operations, "umount"), volatile=False)
