"""A choice costs the processor hardly more among a thousand requests than among ten."""

from itertools import pairwise
from statistics import mean

from grade.scoring.bench import Bench
from grade.scoring.run import Run, Scenario
from grade.scoring.verdict import Slide, expect

BLOCKS = 1500

SCENARIO = Scenario(
    name="cost",
    script=f"""
iogen rw=randwrite filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
beacon 1
sync
beacon 2
""",
    args="write=delayed update=none sched=clook nbuf=3000",
    data=(("/f", "12M"),),
    drive="fixed",
)


def _gap_us(run: Run) -> float:
    """From one dispatch to the next; the drive takes the same time for each."""
    writes = [w.request for w in run.writes_of("/f", run.beacon(1), run.beacon(2))]
    expect(len(writes) > BLOCKS // 2, "sync to write the dirty blocks", f"{len(writes)}")
    by_age = sum(abs(b.sector - a.sector) for a, b in pairwise(writes))
    served = sorted(writes, key=lambda request: request.issued_ns)
    travel = sum(abs(b.sector - a.sector) for a, b in pairwise(served))
    expect(
        travel < by_age / 10,
        "the head to travel little: the cost of choosing well is what counts",
        f"{travel} sectors, {by_age} if it served by age",
    )
    return mean(b.issued_ns - a.issued_ns for a, b in pairwise(served)) / 1000


def a_choice_among_many_costs_little(bench: Bench) -> Slide:
    """The mean time between two dispatches, with about a thousand writes queued."""
    best_us, value_us = _gap_us(bench.reference(SCENARIO)), _gap_us(bench.run(SCENARIO))
    return Slide("time from one to the next", "us", value_us, 1.005 * best_us, 1.02 * best_us)
