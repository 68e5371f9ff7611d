"""Writes are started and not waited for: all blocks that are due enter the disk's queue at once."""

from grade.engine.assertions import expect
from grade.engine.workbench import Workbench

from ..loads import ALL, BURST, DONE, QUEUED, RETURNED, SMOOTHSYNC, ages, expect_due


def a_scan_queues_all_that_is_due(bench: Workbench) -> None:
    """150 blocks become due at one scan; the disk takes seconds to write them."""
    run = bench.run(ages(bench))
    writes = run.writes_of("/b", run.beacon(BURST), run.beacon(DONE))
    expect(len(writes) == QUEUED, f"{QUEUED} blocks to be queued", f"{len(writes)} were")
    expect_due(run, "/b", writes)
    last_ns = writes[-1].request.queued_ns
    done = sum(w.request.completed_ns < last_ns for w in writes)
    run.expect(
        done < QUEUED // 10,
        "all of them to be in the queue before the disk has done many",
        f"{done} were done before the last one was queued",
        writes[-1],
    )


def smoothsync_returns_before_the_disk_is_done(bench: Workbench) -> None:
    """smoothsync with an age of 0, while 150 blocks are dirty."""
    run = bench.run(SMOOTHSYNC)
    writes = run.writes_of("/f", run.beacon(ALL), run.beacon(RETURNED))
    expect(len(writes) == QUEUED, f"{QUEUED} blocks to be queued", f"{len(writes)} were")
    done = sum(w.request.completed_ns < run.beacon(RETURNED) for w in writes)
    run.expect(
        done < QUEUED // 2,
        "smoothsync to return before half of the writes are done",
        f"{done} were done",
        writes[-1],
    )
