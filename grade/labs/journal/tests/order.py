"""A commit block is on the disk only when the whole transaction is, and stays there."""

from grade.engine.workbench import Workbench

from ..judging import before, expect_no_loss
from ..workloads import record_commits


def a_drive_may_lose_its_cache_at_any_moment(bench: Workbench) -> None:
    """Names are made, changed and removed, with fsyncs. The power is cut after each write, and the
    drive has lost some of the writes since its last flush."""
    recording = record_commits(bench)
    expect_no_loss(recording, 60, before(recording.operations, "umount"))
