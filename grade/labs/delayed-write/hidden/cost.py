"""A flush takes a fixed processor time for each block that it writes, however many are dirty."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run, Scenario, Write
from grade.scoring.workbench import Workbench

FSYNCS = 50


def _scenario(bench: Workbench) -> Scenario:
    """About 2400 blocks are dirty."""
    blocks = bench.random("cost").randrange(2000, 2800)
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
    )


def _block_us(burst: list[Write]) -> float:
    """The mean time between two blocks' entering the disk's queue."""
    span_ns = burst[-1].request.queued_ns - burst[0].request.queued_ns
    return span_ns / (len(burst) - 1) / 1000


def a_block_takes_no_longer_when_many_are_dirty(bench: Workbench) -> Slide:
    """The time between two blocks that a sync queues, when many are dirty."""
    scenario = _scenario(bench)
    runs = bench.reference(scenario), bench.run(scenario)
    best, burst = (run.writes_of("/f", run.beacon(1), run.beacon(2)) for run in runs)
    expect(len(burst) == len(best), f"sync to write {len(best)} blocks", f"it wrote {len(burst)}")
    best_us = _block_us(best)
    return Slide("time per block", "us", _block_us(burst), 1.5 * best_us, 4 * best_us)


def _fsyncs_ms(run: Run) -> float:
    return (run.beacon(4) - run.beacon(3)) / 1e6


def an_fsync_of_a_clean_file_looks_at_no_other_blocks(bench: Workbench) -> Slide:
    """The time of 50 fsyncs of a file that has no dirty blocks, while many of another one are
    dirty. Each fsync writes the inode, which takes 10 ms."""
    scenario = _scenario(bench)
    best_ms, value_ms = (_fsyncs_ms(ask(scenario)) for ask in (bench.reference, bench.run))
    return Slide("time of the fsyncs", "ms", value_ms, 1.01 * best_ms, 1.03 * best_ms)
