"""A flush takes a fixed processor time for each block that it writes, however many are dirty."""

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Run, Scenario, Write
from grade.engine.workbench import Workbench

from ..places import find_disk

FSYNCS = 50
LEAST = 200  # blocks; more are dirty, unless some were written before (the group delay)


def _scenario(bench: Workbench) -> Scenario:
    """About 1500 blocks are dirty."""
    blocks = bench.random("cost").randrange(1300, 1700)
    return Scenario(
        name="cost",
        script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={blocks} > /dev/null
beacon 1
sync
beacon 2
iogen rw=write filename=/data/f bs=4k number_ios={blocks} > /dev/null
beacon 3
sync {"/data/clean " * FSYNCS}
beacon 4
""",
        args="write=delayed update=none nbuf=4000",
        data=(("/f", "12M"), ("/clean", "4K")),
        size="24M",
        drives=("fixed",),
        disk=find_disk(bench, "cost"),
        computes=True,
    )


def _runs(bench: Workbench) -> tuple[Run, Run]:
    """Return the reference's run, and the submission's, whose sync writes many blocks."""
    scenario = _scenario(bench)
    best, run = bench.reference(scenario), bench.run(scenario)
    came = len(_synced(run))
    expect(came >= LEAST, f"sync to write at least {LEAST} blocks", f"it wrote {came}")
    return best, run


def _synced(run: Run) -> list[Write]:
    """Return the blocks that the sync writes."""
    return run.writes_of("/f", run.beacon(1), run.beacon(2))


def _block_us(burst: list[Write]) -> float:
    """Return the mean time between two blocks' entering the disk's queue."""
    span_ns = burst[-1].request.queued_ns - burst[0].request.queued_ns
    return span_ns / (len(burst) - 1) / 1000


def a_block_takes_no_longer_when_many_are_dirty(bench: Workbench) -> Slide:
    """The time between two blocks that a sync queues, when many are dirty."""
    best_us, value_us = (_block_us(_synced(run)) for run in _runs(bench))
    return Slide("time per block", "us", value_us, 1.5 * best_us, 2.2 * best_us)


def _fsyncs_ms(run: Run) -> float:
    return (run.beacon(4) - run.beacon(3)) / 1e6


def an_fsync_of_a_clean_file_looks_at_no_other_blocks(bench: Workbench) -> Slide:
    """The time of 50 fsyncs of a file that has no dirty blocks, while many of another one are
    dirty. Each fsync writes the inode, which takes 10 ms."""
    best_ms, value_ms = (_fsyncs_ms(run) for run in _runs(bench))
    return Slide("time of the fsyncs", "ms", value_ms, 1.01 * best_ms, 1.025 * best_ms)
