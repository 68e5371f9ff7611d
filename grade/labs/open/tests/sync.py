"""A process that waits for an fsync is served, also beside busy readers."""

from grade.scoring.assertions import Slide, expect
from grade.scoring.scenario import Run
from grade.scoring.workbench import Workbench

from ..load import DONE, READ, busy, three


def _took_s(run: Run) -> float:
    return (run.beacon(DONE) - run.beacon(READ)) / 1e9


def time_of_fsync(bench: Workbench) -> Slide:
    """One process writes 120 blocks and fsyncs them while three others read without a pause."""
    load = busy(bench)
    runs = three(bench, load)
    data = dict(load.files)["/input"]
    expect(
        runs.own.contents("/synced") == data,
        "the file to have what was written to it",
        "other contents",
    )
    full_s = 2 * max(_took_s(runs.ours), _took_s(runs.classic))
    return Slide("time of fsync", "s", _took_s(runs.own), full_s, 3 * full_s)
