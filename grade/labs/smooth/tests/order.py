"""Blocks that are due at one time are written in the order of age: the oldest first."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 24


def the_oldest_goes_first(bench: Workbench) -> None:
    """Blocks that became dirty in a random order are due at one scan."""
    rng = bench.random("order")
    order = rng.sample(range(BLOCKS), BLOCKS)
    line = "dd if=/input of=/data/f bs=4k count=1 seek={} conv=notrunc 2> /dev/null"
    scenario = Scenario(
        name="order",
        script="\n".join([*(line.format(block) for block in order), "sleep 20", "beacon 1"]),
        args="write=delayed update=aipu nbuf=1000 aipu.age_ms=4000 aipu.scan_ms=8000",
        files=(("/input", bytes(BLOCK_BYTES)),),
        data=(("/f", "1M"),),
    )
    run = bench.run(scenario)
    came = [write.block for write in run.writes_of("/f", end_ns=run.beacon(1))]
    expect(came == order, f"blocks {order} to be queued, in this order", f"blocks {came}")
