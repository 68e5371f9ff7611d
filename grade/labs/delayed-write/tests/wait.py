"""A flush waits until the disk has all writes that it started, and for nothing more."""

from grade.engine.assertions import expect
from grade.engine.scenario import BLOCK_BYTES, Run, Scenario
from grade.engine.workbench import Workbench

from ..places import find_disk

BLOCKS = 40
WRITER_S = 20
SOON = 0.75  # of WRITER_S: a sync of each disk and of all may take three flushes

# The phase that begins at each beacon.
SYNC, FSYNC, OTHERS, BUSY = 1, 3, 5, 7
OWN_RETURNED_0, OWN, CANDIDATE_RETURNED_0, CANDIDATE, STARTED = 1, 2, 3, 4, 5  # of _errors
WRITE = "dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null"


def _run(bench: Workbench) -> Run:
    """Run a sync, an fsync, an fsync of blocks whose writes started when they were filled, and a
    sync while a process goes on writing. The drive `fixed` takes 10 ms for each request, so the
    run takes as long with every number of the data disk."""
    return bench.run(
        Scenario(
            name="wait",
            script=f"""
{WRITE}
beacon {SYNC}
sync
beacon {SYNC + 1}
{WRITE}
beacon {FSYNC}
sync /data/f
beacon {FSYNC + 1}
policy use write async
dd if=/input of=/data/g bs=4k conv=notrunc 2> /dev/null
beacon {OTHERS}
sync /data/g
beacon {OTHERS + 1}
policy use write delayed
iogen rw=randwrite filename=/data/h bs=4k rate_iops=150 runtime_s={WRITER_S} > /dev/null &
sleep 5
beacon {BUSY}
sync
beacon {BUSY + 1}
sleep {WRITER_S}
""",
            args="write=delayed update=none sched=fcfs nbuf=1000",
            files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
            data=(("/f", "160K"), ("/g", "160K"), ("/h", "4M")),
            drives=("fixed",),
            disk=find_disk(bench, "wait"),
        )
    )


def _errors(bench: Workbench) -> Run:
    """Run fsyncs of three files whose last blocks cannot be written.

    The fsync itself writes the block of /f. The scheduler wow, with marks of 0 dirty blocks, writes
    that of /g early. Under the policy async the write of the block of /h starts when it is filled.
    A beacon OWN_RETURNED_0 or CANDIDATE_RETURNED_0 says that dd had no error.
    """
    dd = "dd if=/input of=/data/{} bs=4k count={} conv=notrunc,fsync 2> /dev/null"
    return bench.run(
        Scenario(
            name="wait-errors",
            script=f"""
if {dd.format("f", BLOCKS)}; then
beacon {OWN_RETURNED_0}
fi
beacon {OWN}
policy set wow.low_blocks 0
policy set wow.high_blocks 0
policy use sched wow
if {dd.format("g", 2)}; then
beacon {CANDIDATE_RETURNED_0}
fi
beacon {CANDIDATE}
policy use sched fcfs
policy use write async
dd if=/input of=/data/h bs=4k conv=notrunc 2> /dev/null
beacon {STARTED}
sync /data/h
beacon {STARTED + 1}
""",
            args="write=delayed update=none nbuf=1000",
            files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
            data=(("/f", "160K"), ("/g", "8K"), ("/h", "160K")),
            unwritable=(("/f", BLOCKS - 1), ("/g", 1), ("/h", BLOCKS - 1)),
            virtual_s=60,
            drives=("fixed",),
            disk=find_disk(bench, "wait"),
        )
    )


def _expect_waited(bench: Workbench, first: int, what: str) -> None:
    """Expect that a call waits for its writes. It is between the beacons `first` and `first` + 1.

    what: the call, in words.
    """
    run = _run(bench)
    writes = run.writes_of("/f", run.beacon(first), run.beacon(first + 1))
    expect(len(writes) == BLOCKS, f"{what} to write {BLOCKS} blocks", f"it wrote {len(writes)}")
    late = [w for w in writes if w.request.completed_ns > run.beacon(first + 1)]
    run.expect(
        not late,
        f"{what} to return when all {len(writes)} writes that it queued are done",
        f"it returned before {len(late)} of them were done, the first of block {late[0].block}"
        if late
        else "",
        late[0] if late else None,
        "completed",
    )


def sync_returns_when_the_disk_has_it_all(bench: Workbench) -> None:
    """The writes that sync queues are done when it returns."""
    _expect_waited(bench, SYNC, "sync")


def fsync_returns_when_the_disk_has_it_all(bench: Workbench) -> None:
    """The writes that fsync queues are done when it returns."""
    _expect_waited(bench, FSYNC, "fsync")


def fsync_waits_for_writes_that_others_started(bench: Workbench) -> None:
    """Each block's write starts when the block is full. When these writes are done, fsync writes
    the inode, or ends if a hole of another lab leaves the inode unwritten."""
    run = _run(bench)
    others, place = run.writes_of("/g"), run.sectors("/g")
    expect(len(others) == BLOCKS, f"{BLOCKS} blocks to be written", f"{len(others)} were")
    last = max(others, key=lambda write: write.request.completed_ns)
    own = (r for r in run.data(write=True) if r.sector not in place)
    between = [r for r in own if run.beacon(OTHERS) <= r.queued_ns < run.beacon(OTHERS + 1)]
    went_on_ns = min((r.queued_ns for r in between), default=run.beacon(OTHERS + 1))
    early_ms = (last.request.completed_ns - went_on_ns) / 1e6
    run.expect(
        early_ms < 0,
        f"fsync to go on when all {len(others)} writes are done",
        f"it went on {early_ms:.1f} ms before block {last.block} was",
        last,
        "completed",
    )


def an_error_of_a_write_is_returned(bench: Workbench) -> None:
    """One of the blocks cannot be written; fsync writes all others."""
    run = _errors(bench)
    run.beacon(OWN)
    told = OWN_RETURNED_0 not in run.beacons
    expect(told, "fsync to return the error of one of its writes", "it returned 0")
    written = {write.block for write in run.writes_of("/f", end_ns=run.beacon(OWN))}
    left = sorted(set(range(BLOCKS)) - written)
    expect(not left, "fsync to try all blocks", f"it did not try {left}")


def an_error_of_a_candidate_write_is_returned(bench: Workbench) -> None:
    """The scheduler started the write that fails, before fsync came to the block."""
    run = _errors(bench)
    run.beacon(CANDIDATE)
    told = CANDIDATE_RETURNED_0 not in run.beacons
    expect(told, "fsync to return the error of a candidate write", "it returned 0")


def a_write_that_others_started_is_tried_again_if_it_fails(bench: Workbench) -> None:
    """The writes of a file are started as its blocks are filled. The last one fails while fsync
    waits for it, so the block is dirty again."""
    run = _errors(bench)
    start_ns, end_ns = run.beacon(STARTED), run.beacon(STARTED + 1)
    tries = [write for write in run.writes_of("/h", end_ns=end_ns) if write.block == BLOCKS - 1]
    before = [write for write in tries if write.request.queued_ns < start_ns]
    expect(bool(before), "the write to be started when the block is filled", "it was not")
    run.expect(
        len(tries) > len(before),
        "fsync to wait for the writes that others had started, and to try again the one that fails",
        "it did not try that block",
        before[-1],
        "completed",
    )


def sync_ends_though_a_writer_goes_on(bench: Workbench) -> None:
    """A process dirties blocks faster than the disk can write them, for 20 s."""
    run = _run(bench)
    took_s = (run.beacon(BUSY + 1) - run.beacon(BUSY)) / 1e9
    writes = run.writes_of("/h", run.beacon(BUSY), run.beacon(BUSY + 1))
    expect(len(writes) > 100, "sync to write the dirty blocks", f"{len(writes)} writes")
    expect(
        took_s < SOON * WRITER_S,
        "sync to write only what was dirty when it was called, which takes some seconds",
        f"it took {took_s:.1f} s, while the writer wrote for {WRITER_S} s",
    )
