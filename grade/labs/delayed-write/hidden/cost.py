"""A flush costs the processor a fixed time a block, however many there are."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Scenario, Write
from grade.scoring.workbench import Workbench


def _scenario(bench: Workbench) -> Scenario:
    """Some 2400 blocks are dirty."""
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
    """From one block's entering the disk's queue to the next one's, on average."""
    span_ns = burst[-1].request.queued_ns - burst[0].request.queued_ns
    return span_ns / (len(burst) - 1) / 1000


def of_many_dirty_blocks_each_costs_as_little_as_with_few(bench: Workbench) -> Slide:
    """The time between two blocks that a sync of many queues."""
    scenario = _scenario(bench)
    runs = bench.reference(scenario), bench.run(scenario)
    best, burst = (run.writes_of("/f", run.beacon(1), run.beacon(2)) for run in runs)
    expect(len(burst) == len(best), f"sync to write {len(best)} blocks", f"{len(burst)}")
    best_us = _block_us(best)
    return Slide("time a block", "us", _block_us(burst), 1.5 * best_us, 4 * best_us)
