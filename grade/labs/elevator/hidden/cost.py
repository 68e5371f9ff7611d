"""A choice costs the processor hardly more among a thousand requests than among ten."""

from itertools import pairwise
from statistics import mean

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Request, Run, Scenario
from grade.engine.workbench import Workbench

from ..loads import find_disk, list_drives

SLOWER_US = 50, 200  # slower than the reference's choice: for all points, for none


def _scenario(bench: Workbench) -> Scenario:
    """More than a thousand dirty blocks are written by one sync."""
    blocks = bench.random("cost").randrange(1200, 1800)
    return Scenario(
        name="cost",
        script=f"""
iogen rw=randwrite filename=/data/f bs=4k number_ios={blocks} > /dev/null
beacon 1
sync
beacon 2
""",
        args="write=delayed update=none sched=clook nbuf=3000",
        data=(("/f", "12M"),),
        disk=find_disk(bench, "cost"),
        drives=list_drives(bench, "cost"),
        computes=True,
    )


def _writes(run: Run) -> list[Request]:
    """Return the sync's writes, in the order in which they were queued."""
    return [w.request for w in run.writes_of("/f", run.beacon(1), run.beacon(2))]


def _choice_us(writes: list[Request]) -> float:
    """Return the mean time from the end of a command to the next one's dispatch, in us.

    writes: in the order of age.
    """
    by_age = sum(abs(b.sector - a.sector) for a, b in pairwise(writes))
    served = sorted(writes, key=lambda request: request.issued_ns)
    travel = sum(abs(b.sector - a.sector) for a, b in pairwise(served))
    expect(
        travel < by_age / 10,
        "the head to travel little, because this test is about the cost of good choices",
        f"it travelled {travel} sectors; it would travel {by_age} if it served by age",
    )
    return mean(b.issued_ns - a.completed_ns for a, b in pairwise(served)) / 1000


def a_choice_among_many_costs_little(bench: Workbench) -> Slide:
    """The time of a choice, with about a thousand writes queued."""
    scenario = _scenario(bench)
    wanted, came = (
        _writes(bench.reference(scenario)),
        _writes(bench.run(scenario, despite_faults=True)),
    )
    expect(len(came) == len(wanted), f"{len(wanted)} writes by the sync", f"{len(came)}")
    best_us, value_us = _choice_us(wanted), _choice_us(came)
    full_us, none_us = (best_us + more_us for more_us in SLOWER_US)
    return Slide("time of a choice", "us", value_us, full_us, none_us)
