"""Makes the runs of a sweep: threads here, or Dask workers of a cluster, with resident twins."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sluice.experiment import metrics, trial
from sluice.experiment.records import RunFigures
from sluice.experiment.result import BadResult
from sluice.experiment.run import RunFailed
from sluice.experiment.runner import OtherTree
from sluice.experiment.schema import Run
from sluice.host.interrupt import stopped
from sluice.host.paths import ROOT
from sluice.host.workers import Pool, iterate_completed, open_threads, take_result
from sluice.sweep.journal import Figures, Journal, figures_key, tree_hash

TOGETHER = 4  # runs that a worker gets at a time, because each transfer takes a millisecond


@dataclass(frozen=True)
class Made:
    """A worker's answer for a run: its figures, or an error."""

    key: str
    figures: Figures | None
    error: str


# ---- in a worker ----


def run_figures(run: Run, names: list[str]) -> Figures:
    """Make the run. Returns its values of these metrics. Raises RunFailed."""
    found = trial.measure_run(run).figures
    figures: RunFigures = {
        "arm": run.arm,
        "virtual_ms": found["virtual_ms"],
        "counters": found["counters"],
        "histograms": found["histograms"],
        "jobs": found["jobs"],
    }
    try:
        return metrics.evaluate_all(figures, names)
    except BadResult as error:
        raise RunFailed(str(error)) from None


def expect_same_tree(tree: str, when: str) -> None:
    """Raise OtherTree unless what is built here now has this hash."""
    if tree_hash() != tree:
        raise OtherTree(
            f"the worker in {ROOT} on {socket.gethostname()} {when}: update it to the commit that "
            "you have here, run make in it, and start its workers anew"
        )


def make_runs(runs: dict[str, Run], names: list[str], tree: str) -> list[Made]:
    """Make runs, given by key. Returns an answer for each. Raises OtherTree if this process has
    another tree than the caller."""
    expect_same_tree(tree, "has another tree, or a tree built with other tools")
    found = []
    for key, run in runs.items():
        if stopped.is_set():
            break
        try:
            found.append(Made(key, run_figures(run, names), ""))
        except RunFailed as error:
            if not stopped.is_set():
                found.append(Made(key, None, f"{run.name}: {error}"))
    expect_same_tree(tree, "had its tree built again while it made runs")
    return found


# ---- here ----


class Measurer:
    """Measures runs, and keeps their figures in the journal."""

    def __init__(self, workers: Pool, journal: Journal, names: list[str]) -> None:
        self.workers, self.journal, self.names = workers, journal, names
        self.tree = tree_hash()

    def key(self, run: Run) -> str:
        """Return the key of a run in the journal."""
        return figures_key(run, self.tree)

    def find(self, run: Run) -> Figures | None:
        """Return the figures of a run that has been made, or None."""
        return self.journal.find(self.key(run), self.names)

    def measure(self, runs: list[Run], done: Callable[[], None]) -> list[str]:
        """Make those of the runs that have no figures yet. Returns the errors. done: called for
        each of the runs."""
        todo, errors = {}, []
        for run in runs:  # some points may be the same
            if self.find(run) or self.key(run) in todo:
                done()
            else:
                todo[self.key(run)] = run
        keys = list(todo)
        parts = [keys[i : i + TOGETHER] for i in range(0, len(keys), TOGETHER)]
        futures = [
            self.workers.submit(
                make_runs, {key: todo[key] for key in part}, self.names, self.tree, pure=False
            )
            for part in parts
        ]
        try:
            for future in iterate_completed(futures):
                for made in take_result(future):
                    if made.figures is not None:
                        self.journal.add(made.key, made.figures)
                    else:
                        errors.append(made.error)
                    done()
        finally:
            self.workers.cancel(futures)
        return errors


@contextmanager
def open_measurer(
    journal: Journal, names: list[str], jobs: int, scheduler: str = ""
) -> Iterator[Measurer]:
    """Open a measurer with workers: `jobs` on this machine, or those of a scheduler's cluster."""
    with open_threads(jobs, scheduler) as workers:
        yield Measurer(workers, journal, names)
