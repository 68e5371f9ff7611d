"""A flush waits until the disk has all writes that it started, and for nothing more."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Run, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 40
WRITER_S = 30
SOON = 0.75  # of that time: a sync of each disk and of all may take three flushes

QUIET = Scenario(
    name="wait-quiet",
    script="""
dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null
beacon 1
sync
beacon 2
dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null
beacon 3
sync /data/f
beacon 4
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
    data=(("/f", "160K"),),
)

OTHERS = Scenario(
    name="wait-others",
    script="""
sync /data/f
dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null
beacon 1
sync /data/f
beacon 2
""",
    args="write=async update=none nbuf=1000",
    files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
    data=(("/f", "160K"),),
)

BUSY = Scenario(
    name="wait-busy",
    script=f"""
iogen rw=randwrite filename=/data/f bs=4k rate_iops=150 runtime_s={WRITER_S} > /dev/null &
sleep 5
beacon 1
sync
beacon 2
sleep {WRITER_S}
""",
    args="write=delayed update=none sched=fcfs nbuf=1000",
    data=(("/f", "4M"),),
    drives=("fixed",),
)


def _bad(name: str, blocks: int, args: str) -> Scenario:
    """The last of so many blocks cannot be written."""
    return Scenario(
        name=name,
        script=f"""
if dd if=/input of=/data/f bs=4k count={blocks} conv=notrunc,fsync 2> /dev/null; then
beacon 1
fi
beacon 2
""",
        args=f"write=delayed update=none nbuf=1000 {args}",
        files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
        data=(("/f", "160K"),),
        unwritable=(("/f", blocks - 1),),
    )


OWN_BAD = _bad("wait-bad", BLOCKS, "")
CANDIDATE_BAD = _bad("wait-bad-candidate", 2, "sched=wow wow.high_blocks=0 wow.low_blocks=0")


def _expect_waited(bench: Workbench, first: int, what: str) -> None:
    run = bench.run(QUIET)
    writes = run.writes_of("/f", run.beacon(first), run.beacon(first + 1))
    late = [w for w in writes if w.request.completed_ns > run.beacon(first + 1)]
    expect(
        not late,
        f"{what} to return when all {len(writes)} writes that it queued are done",
        f"it returned before {len(late)} of them were done",
    )


def sync_returns_when_the_disk_has_it_all(bench: Workbench) -> None:
    """The writes that sync queues are done when it returns."""
    _expect_waited(bench, 1, "sync")


def fsync_returns_when_the_disk_has_it_all(bench: Workbench) -> None:
    """The writes that fsync queues are done when it returns."""
    _expect_waited(bench, 3, "fsync")


def fsync_waits_for_writes_that_others_started(bench: Workbench) -> None:
    """The writes are started as the blocks are filled. After them fsync writes the inode."""
    run = bench.run(OTHERS)
    others, place = run.writes_of("/f"), run.sectors("/f")
    expect(bool(others), "the blocks to be written", "none was written")
    last_ns = max(write.request.completed_ns for write in others)
    own = (r for r in run.data(write=True) if r.sector not in place)
    own_ns = min(r.queued_ns for r in own if r.queued_ns >= run.beacon(1))
    expect(
        own_ns > last_ns,
        f"fsync to go on when all {len(others)} writes are done",
        f"it went on {(last_ns - own_ns) / 1e6:.1f} ms before",
    )


def _expect_told(run: Run, what: str) -> None:
    """Expect that dd was told of the failed write."""
    run.beacon(2)
    expect(1 not in run.beacons, f"fsync to return the error of {what}", "it returned 0")


def an_error_of_a_write_is_returned(bench: Workbench) -> None:
    """One of the blocks cannot be written; the others are."""
    run = bench.run(OWN_BAD)
    _expect_told(run, "one of its writes")
    written = {write.block for write in run.writes_of("/f")}
    left = sorted(set(range(BLOCKS)) - written)
    expect(not left, "fsync to try all blocks", f"it did not try {left}")


def an_error_of_a_candidate_write_is_returned(bench: Workbench) -> None:
    """The scheduler started the write that fails, before fsync came to the block."""
    _expect_told(bench.run(CANDIDATE_BAD), "a candidate write")


def sync_ends_though_a_writer_goes_on(bench: Workbench) -> None:
    """A process dirties blocks faster than the disk can write them, for half a minute."""
    run = bench.run(BUSY)
    took_s = (run.beacon(2) - run.beacon(1)) / 1e9
    writes = run.writes_of("/f", run.beacon(1), run.beacon(2))
    expect(len(writes) > 100, "sync to write the dirty blocks", f"{len(writes)} writes")
    expect(
        took_s < SOON * WRITER_S,
        "sync to write only what was dirty when it was called, which takes some seconds",
        f"it took {took_s:.1f} s, while the writer wrote for {WRITER_S} s",
    )
