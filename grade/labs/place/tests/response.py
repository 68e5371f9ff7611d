"""A small write that is waited for takes less time than in place."""

from dataclasses import replace
from statistics import mean

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..disks import DRIVE, Fresh, files, machine
from ..writes import WRITES, write_command

USED = 450  # blocks of files: half of the places, so that there is much to gain
DISKS = ("response", "second")
# Points fall between these, where the solution's mean is 0 and that in place is 1. Over twenty
# nonces a wrong way of the arm comes to 0.58 at most: it is for the group `arm`. A wrong place on
# the track comes to 0.76 at least.
FULL, NONE = 0.62, 0.72


def _scenario(bench: Workbench, name: str) -> Scenario:
    """Small writes are waited for, one after the other, on a disk whose places are half used."""
    rng = bench.random(name)
    lines = ["beacon 1", write_command(rng, 4 * WRITES), "beacon 2"]
    return machine(name, DRIVE, Fresh(DRIVE, rng.random()), lines, **files(rng, USED))


def _use_inplace(scenario: Scenario) -> Scenario:
    args = scenario.args.replace("place=eager", "place=inplace")
    return replace(scenario, name=f"{scenario.name}-in-place", args=args, on_log=None)


def _writes_ms(run: Run) -> list[float]:
    start_ns, end_ns = run.beacon(1), run.beacon(2)
    return [r.response_ms for r in run.data(write=True) if start_ns <= r.queued_ns < end_ns]


def small_writes_wait_less(bench: Workbench) -> Slide:
    """The mean response time of writes to random blocks of a file, on two disks. Each includes the
    write of the map's sector."""
    best, worst, came = [], [], []
    for scenario in (_scenario(bench, name) for name in DISKS):
        best.append(_writes_ms(bench.reference(scenario)))
        worst.append(_writes_ms(bench.reference(_use_inplace(scenario))))
        came.append(_writes_ms(bench.run(scenario, despite_faults=True)))
        expect(len(came[-1]) >= len(best[-1]), f"{len(best[-1])} writes", f"{len(came[-1])}")
    ours, in_place, value = (mean(map(mean, each)) for each in (best, worst, came))
    gain = in_place - ours
    return Slide("mean write response", "ms", value, ours + FULL * gain, ours + NONE * gain)
