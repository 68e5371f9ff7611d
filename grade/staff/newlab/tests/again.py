"""No write is absorbed: a block goes to the disk as often as it is written."""

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench

from ..writes import AGAIN, TIMES, run


def a_block_written_three_times_goes_to_the_disk_three_times(bench: Workbench) -> None:
    """One block is filled three times, with pauses."""
    seen = run(bench)
    came = len(seen.writes_of("/again", end_ns=seen.beacon(AGAIN)))
    expect(came == TIMES, f"{TIMES} writes of the block to be queued", f"{came} were")
