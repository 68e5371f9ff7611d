"""Writes are started and not waited for: all blocks that are due enter the disk's queue at once."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 150

AIPU = Scenario(
    name="start-aipu",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
sleep 15
beacon 1
""",
    args="write=delayed update=aipu nbuf=1000 aipu.age_ms=4000 aipu.scan_ms=4000",
    data=(("/f", "1M"),),
)

SMOOTHSYNC = Scenario(
    name="start-smoothsync",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
beacon 1
update
beacon 2
sleep 5
""",
    args="write=delayed update=none nbuf=1000",
    data=(("/f", "1M"),),
)


def a_scan_queues_all_that_is_due(bench: Workbench) -> None:
    """150 blocks become due at one scan; the disk takes seconds to write them."""
    run = bench.run(AIPU)
    writes = run.writes_of("/f", end_ns=run.beacon(1))
    expect(len(writes) == BLOCKS, f"{BLOCKS} blocks to be queued", f"{len(writes)} were")
    last_ns = writes[-1].request.queued_ns
    done = sum(w.request.completed_ns < last_ns for w in writes)
    expect(
        done < BLOCKS // 10,
        "all of them to be in the queue before the disk has done many",
        f"{done} were done before the last one was queued",
    )


def smoothsync_returns_before_the_disk_is_done(bench: Workbench) -> None:
    """smoothsync with an age of 0, while 150 blocks are dirty."""
    run = bench.run(SMOOTHSYNC)
    writes = run.writes_of("/f", run.beacon(1), run.beacon(2))
    expect(len(writes) == BLOCKS, f"{BLOCKS} blocks to be queued", f"{len(writes)} were")
    done = sum(w.request.completed_ns < run.beacon(2) for w in writes)
    expect(
        done < BLOCKS // 2,
        "smoothsync to return before half of the writes are done",
        f"{done} were done",
    )
