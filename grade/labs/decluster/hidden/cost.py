"""A scan takes little processor time for each dirty block, and looks at no more than it must."""

from grade.engine.assertions import Slide, expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..burst import COUNTERS

BLOCKS = 2000

SCENARIO = Scenario(
    name="cost",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
sleep 2
beacon 1
seq 1 60000 > /dev/null
beacon 2
sleep 25
beacon 3
""",
    args="write=delayed update=ldcl nbuf=3000 ldcl.age_s=20",
    check=False,
    data=(("/f", "8M"),),
    computes=True,
)

OAW = Scenario(
    name="cost-oaw",
    script=f"""
grep bio.scanned /dev/stat > {COUNTERS}1
iogen rw=write filename=/data/f bs=4k number_ios=60 > /dev/null
iogen rw=write step=2 filename=/data/g bs=2k number_ios=200 > /dev/null
sleep 10
grep bio.scanned /dev/stat > {COUNTERS}2
""",
    args="write=oaw update=none nbuf=1000 oaw.floor=1 oaw.probe_s=3600",
    check=False,
    data=(("/f", "1M"), ("/g", "1M")),
)


def _counting_ms(run: Run) -> float:
    """Return how long the counting took."""
    written = len(run.writes_of("/f", end_ns=run.beacon(3)))
    expect(written == BLOCKS, f"all {BLOCKS} blocks to be written", f"{written} were")
    return (run.beacon(2) - run.beacon(1)) / 1e6


def a_scan_of_2000_dirty_blocks_costs_little(bench: Workbench) -> Slide:
    """How long a program computes beside a scan each second, with 2000 blocks dirty."""
    best_ms, value_ms = _counting_ms(bench.reference(SCENARIO)), _counting_ms(bench.run(SCENARIO))
    return Slide("time to count", "ms", value_ms, 1.03 * best_ms, 1.1 * best_ms)


def a_second_looks_at_no_block_after_the_last_that_is_held_back(bench: Workbench) -> Slide:
    """Sixty blocks are held back, and 200 younger ones are not. The kernel counts the blocks that
    are looked at until ten seconds later."""
    best, value = (
        counter_growth(ask(OAW), 1, 2, "bio.scanned") for ask in (bench.reference, bench.run)
    )
    expect(value > 0, "blocks that are held back to be looked at", "none")
    return Slide("a number", "blocks", value, 2 * best, 4 * best)
