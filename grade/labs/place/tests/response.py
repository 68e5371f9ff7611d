"""A small write that is waited for takes less time than in place."""

from dataclasses import replace
from statistics import mean

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

from ..disks import DRIVE, files, fresh, machine
from ..writes import WRITES, work

USED = 450  # blocks of files: half of the places, so that there is much to gain
# Points fall between these, where the solution's mean is 0 and that in place is 1. A wrong way of
# the arm, or none at all, is below them: it is for the group `arm`, and what it costs here depends
# on chance.
FULL, NONE = 0.6, 0.75


def _scenario(bench: Workbench) -> Scenario:
    rng = bench.random("response")
    lines = ["beacon 1", work(rng, 4 * WRITES), "beacon 2"]
    return machine("response", DRIVE, fresh(DRIVE, rng), lines, **files(rng, USED))


def _writes_ms(run: Run) -> list[float]:
    start_ns, end_ns = run.beacon(1), run.beacon(2)
    return [r.response_ms for r in run.data(write=True) if start_ns <= r.queued_ns < end_ns]


def small_writes_wait_less(bench: Workbench) -> Slide:
    """The mean response time of writes to random blocks of a file. Each includes the write of the
    map's sector."""
    scenario = _scenario(bench)
    args = scenario.args.replace("place=eager", "place=inplace")
    plain = replace(scenario, name="response-in-place", args=args, on_log=None)
    best, worst = _writes_ms(bench.reference(scenario)), _writes_ms(bench.reference(plain))
    value = _writes_ms(bench.run(scenario, despite_faults=True))
    expect(len(value) >= len(best), f"{len(best)} writes", f"{len(value)}")
    ours, gain = mean(best), mean(worst) - mean(best)
    return Slide("mean write response", "ms", mean(value), ours + FULL * gain, ours + NONE * gain)
