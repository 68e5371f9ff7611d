"""A small write that is waited for takes less time than in place."""

from dataclasses import replace
from statistics import mean

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run
from grade.scoring.workbench import Workbench

from ..writes import writer


def _writes_ms(run: Run) -> list[float]:
    start_ns, end_ns = run.beacon(1), run.beacon(2)
    return [r.response_ms for r in run.data(write=True) if start_ns <= r.queued_ns < end_ns]


def small_writes_wait_less(bench: Workbench) -> Slide:
    """The mean response time of writes to random blocks of a file. Each includes the write of the
    map's sector."""
    scenario = writer(bench, "writes")
    args = scenario.args.replace("place=eager", "place=inplace")
    plain = replace(scenario, name="response-in-place", args=args, on_log=None)
    best, worst = _writes_ms(bench.reference(scenario)), _writes_ms(bench.reference(plain))
    value = _writes_ms(bench.run(scenario, despite_faults=True))
    expect(len(value) >= len(best), f"{len(best)} writes", f"{len(value)}")
    full, none = mean(best), mean(worst)
    return Slide("mean write response", "ms", mean(value), full + 0.2 * (none - full), none)
