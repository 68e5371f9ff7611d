"""A process that waits for an fsync is served, also beside busy readers."""

from grade.engine.assertions import Slide, expect
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench

from ..load import DONE, READ, SYNCED, busy, three


def _took_s(run: Run) -> float:
    return (run.beacon(DONE) - run.beacon(READ)) / 1e9


def _expect_written(run: Run) -> None:
    """Raise Wrong unless all blocks of the file were on the disk when its fsync was done: a power
    cut after that loses nothing."""
    last_ns: dict[int, int] = {}
    for write in run.writes_of("/synced", end_ns=run.beacon(DONE)):
        last_ns[write.block] = write.request.completed_ns
    on_disk = sum(ns <= run.beacon(DONE) for ns in last_ns.values())
    expect(
        on_disk == SYNCED,
        f"all {SYNCED} blocks of the file to be on the disk when fsync is done",
        f"{on_disk} were: the others would be lost in a power cut",
    )


def time_of_fsync(bench: Workbench) -> Slide:
    """One process writes 120 blocks and fsyncs them while three others read without a pause."""
    load = busy(bench)
    runs = three(bench, load)
    data = dict(load.files)["/input"]
    _expect_written(runs.own)
    expect(
        runs.own.contents("/synced") == data,
        "the file to have what was written to it",
        "other contents",
    )
    full_s = 2 * max(_took_s(runs.ours), _took_s(runs.classic))
    return Slide("time of fsync", "s", _took_s(runs.own), full_s, 3 * full_s)
