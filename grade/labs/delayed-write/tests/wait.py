"""A flush waits until the disk has all writes that it started, and for nothing more."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 40
WRITER_S = 30

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
)


def _expect_waited(bench: Workbench, first: int, what: str) -> None:
    run = bench.run(QUIET)
    writes = run.writes_of("/f", run.beacon(first), run.beacon(first + 1))
    expect(bool(writes), f"{what} to write the dirty blocks", "it wrote none")
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


def sync_ends_though_a_writer_goes_on(bench: Workbench) -> None:
    """A process dirties blocks faster than the disk can write them, for half a minute."""
    run = bench.run(BUSY)
    took_s = (run.beacon(2) - run.beacon(1)) / 1e9
    writes = run.writes_of("/f", run.beacon(1), run.beacon(2))
    expect(len(writes) > 100, "sync to write the dirty blocks", f"{len(writes)} writes")
    expect(
        took_s < WRITER_S / 2,
        "sync to write only what was dirty when it was called, which takes some seconds",
        f"it took {took_s:.1f} s, while the writer wrote for {WRITER_S} s",
    )
