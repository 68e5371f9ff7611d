"""A flush takes a fixed processor time for each block, however many are dirty."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Scenario, Write
from grade.scoring.workbench import Workbench


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
""",
        args="write=delayed update=none nbuf=4000",
        data=(("/f", "12M"),),
        size="24M",
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
