"""A scan takes little processor time for each dirty block."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 4000

SCENARIO = Scenario(
    name="cost",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
sleep 2
beacon 1
seq 1 60000 > /dev/null
beacon 2
sleep 40
beacon 3
""",
    args="write=delayed update=ldcl nbuf=6000 ldcl.age_s=20",
    check=False,
    data=(("/f", "16M"),),
    size="32M",
)


def _counting_ms(run: Run) -> float:
    """How long the counting took."""
    written = len(run.writes_of("/f", end_ns=run.beacon(3)))
    expect(written == BLOCKS, f"all {BLOCKS} blocks to be written", f"{written} were")
    return (run.beacon(2) - run.beacon(1)) / 1e6


def a_scan_of_4000_dirty_blocks_costs_little(bench: Workbench) -> Slide:
    """How long a program computes beside a scan each second, with 4000 blocks dirty."""
    best_ms, value_ms = _counting_ms(bench.reference(SCENARIO)), _counting_ms(bench.run(SCENARIO))
    return Slide("time to count", "ms", value_ms, 1.03 * best_ms, 1.2 * best_ms)
