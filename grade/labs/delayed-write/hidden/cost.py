"""A flush costs the processor a fixed time a block, however many there are."""

from grade.scoring.bench import Bench
from grade.scoring.run import Run, Scenario
from grade.scoring.verdict import Slide, expect

BLOCKS = 2400

SCENARIO = Scenario(
    name="cost",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
beacon 1
sync
beacon 2
""",
    args="write=delayed update=none nbuf=4000",
    data=(("/f", "9600K"),),
    size="24M",
)


def _block_us(run: Run) -> float:
    """From one block's entering the disk's queue to the next one's, on average."""
    burst = run.writes_of("/f", run.beacon(1), run.beacon(2))
    expect(len(burst) > BLOCKS // 10, "sync to write many blocks", f"{len(burst)}")
    span_ns = burst[-1].request.queued_ns - burst[0].request.queued_ns
    return span_ns / (len(burst) - 1) / 1000


def of_2400_dirty_blocks_each_costs_as_little_as_with_few(bench: Bench) -> Slide:
    """The time between two blocks that a sync of many queues."""
    reference_us = _block_us(bench.reference(SCENARIO))
    value_us = _block_us(bench.run(SCENARIO))
    return Slide("time a block", "us", value_us, 1.5 * reference_us, 4 * reference_us)
