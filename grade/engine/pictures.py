"""Compute the data of pictures: what the machines of a grading did, yours and the reference's.

The data are about the requests to the data disk, separately for reads and writes: how long they
took, how many had arrived by each time, and where on the disk the first of them were. Time begins
with the first request.
"""

from dataclasses import dataclass, field

from grade.definition.lab import BadLab
from grade.engine.assertions import Wrong
from grade.engine.scenario import Request, Run, Scenario
from grade.engine.workbench import Workbench

YOURS, REFERENCE = "yours", "the reference's"
MOST_POINTS = 80  # points of a curve
PLACES = 100  # number of first requests that are shown
SECTORS_OF_MB = 2000
LEAST_MS = 0.001  # shorter times are drawn here: the axis is logarithmic

Points = list[list[float]]


@dataclass
class Curves:
    """One machine's reads or writes."""

    who: str
    what: str
    response: Points = field(default_factory=list)  # x: ms; y: the percentage that took no longer
    progress: Points = field(default_factory=list)  # x: s; y: how many requests had come
    places: Points = field(default_factory=list)  # x: time of dispatch, s; y: place on the disk, MB


@dataclass
class Picture:
    """The curves of a scenario."""

    scenario: str
    hidden: bool  # asked for by hidden tests only
    curves: list[Curves]


def thin_points(points: Points) -> Points:
    """Return about MOST_POINTS of the points, with the first and the last."""
    step = max(1, len(points) // MOST_POINTS)
    return points[:-1:step] + points[-1:]


def make_curves(who: str, what: str, requests: list[Request], zero_ns: int) -> Curves:
    """Return the curves of one machine's reads or writes, of which there is at least one.

    Points of the first curve: response time in ms, percent of the requests that took no longer. Of
    the second: s since zero_ns, requests queued so far. Of the third: s, place on the disk in MB.
    """
    n = len(requests)
    waits_ms = sorted(max(r.response_ms, LEAST_MS) for r in requests)
    queued_s = sorted((r.queued_ns - zero_ns) / 1e9 for r in requests)
    first = sorted(requests, key=lambda r: r.issued_ns)[:PLACES]
    return Curves(
        who,
        what,
        thin_points([[round(ms, 3), round(100 * i / n, 2)] for i, ms in enumerate(waits_ms, 1)]),
        thin_points([[round(s, 4), i] for i, s in enumerate(queued_s, 1)]),
        [[round((r.issued_ns - zero_ns) / 1e9, 4), r.sector / SECTORS_OF_MB] for r in first],
    )


def run_curves(who: str, run: Run) -> list[Curves]:
    """Return the curves of a run's reads and writes, if there are any."""
    both = [("reads", run.data(write=False)), ("writes", run.data(write=True))]
    zero_ns = min((r.queued_ns for _, requests in both for r in requests), default=0)
    return [make_curves(who, what, requests, zero_ns) for what, requests in both if requests]


def reference_curves(bench: Workbench, scenario: Scenario, beside: bool) -> list[Curves]:
    """Return the curves of the reference's run, or none if it did not run.

    beside: run the reference now if it did not run.
    """
    if not beside and not bench.has_reference(scenario):
        return []
    try:
        return run_curves(REFERENCE, bench.reference(scenario))
    except (Wrong, BadLab):
        return []


def make_pictures(bench: Workbench, hidden: set[str], beside: bool) -> list[Picture]:
    """Return a picture of each scenario that the submission ran.

    hidden: the scenarios of hidden tests only. beside: run the reference now where it did not run.
    """
    found = []
    for scenario in bench.scenarios.values():
        try:
            yours = run_curves(YOURS, bench.run(scenario))
        except Wrong:
            yours = []
        both = reference_curves(bench, scenario, beside) + yours
        if both:
            found.append(Picture(scenario.name, scenario.name in hidden, both))
    return found
