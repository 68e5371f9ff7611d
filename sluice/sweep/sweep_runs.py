"""Makes the runs of a sweep: Dask workers, of this machine or of a cluster, with resident twins."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sluice.experiment import metrics, trial
from sluice.experiment.result import BadResult
from sluice.experiment.run import RunFailed
from sluice.experiment.runner import OtherTree
from sluice.experiment.schema import Run
from sluice.host.interrupt import stopped
from sluice.host.paths import ROOT
from sluice.host.workers import completed, workers
from sluice.sweep.journal import Figures, Journal, key_of, tree_hash

if TYPE_CHECKING:
    from distributed import Client

TOGETHER = 4  # runs that a worker gets at a time: to hand one over costs a millisecond


@dataclass(frozen=True)
class Made:
    """A run that a worker has made: its figures, or why there are none."""

    key: str
    figures: Figures | None
    error: str


# ---- in a worker ----


def figures_of(run: Run, names: list[str]) -> Figures:
    """Make the run, and compute these metrics. Raises RunFailed."""
    figures = trial.measure(run).figures | {"arm": run.arm}
    try:
        return metrics.of_all(figures, names)
    except BadResult as error:
        raise RunFailed(str(error)) from None


def check_tree(tree: str, when: str) -> None:
    """Raise OtherTree unless what is built here now has this hash."""
    if tree_hash() != tree:
        raise OtherTree(
            f"the worker in {ROOT} on {socket.gethostname()} {when}: update it to the commit that "
            "you have here, run make in it, and start its workers anew"
        )


def make_some(runs: dict[str, Run], names: list[str], tree: str) -> list[Made]:
    """Make runs, by key. Raises OtherTree if this process has another tree than the caller."""
    check_tree(tree, "has another tree, or built otherwise")
    found = []
    for key, run in runs.items():
        if stopped.is_set():
            break
        try:
            found.append(Made(key, figures_of(run, names), ""))
        except RunFailed as error:
            if not stopped.is_set():
                found.append(Made(key, None, f"{run.name}: {error}"))
    check_tree(tree, "had its tree built anew while it made runs")
    return found


# ---- here ----


class Measurer:
    """Measures runs, and keeps what they came to."""

    def __init__(self, client: Client, journal: Journal, names: list[str]) -> None:
        self.client, self.journal, self.names = client, journal, names
        self.tree = tree_hash()

    def key(self, run: Run) -> str:
        return key_of(run, self.tree)

    def find(self, run: Run) -> Figures | None:
        """The figures of a run that has been made."""
        return self.journal.find(self.key(run), self.names)

    def measure(self, runs: list[Run], done: Callable[[], None]) -> list[str]:
        """Make those of the runs that have not been made, and call `done` for each of all. Returns
        what was wrong with some."""
        todo, errors = {}, []
        for run in runs:  # some points may be the same
            if self.find(run) or self.key(run) in todo:
                done()
            else:
                todo[self.key(run)] = run
        keys = list(todo)
        parts = [keys[i : i + TOGETHER] for i in range(0, len(keys), TOGETHER)]
        futures = [
            self.client.submit(
                make_some, {key: todo[key] for key in part}, self.names, self.tree, pure=False
            )
            for part in parts
        ]
        try:
            for future in completed(futures):
                for made in future.result():
                    if made.figures is not None:
                        self.journal.add(made.key, made.figures)
                    else:
                        errors.append(made.error)
                    done()
        finally:
            self.client.cancel(futures)
        return errors


@contextmanager
def measuring(
    journal: Journal, names: list[str], jobs: int, scheduler: str = ""
) -> Iterator[Measurer]:
    """A measurer with workers: `jobs` on this machine, or those of a scheduler's cluster."""
    with workers(jobs, scheduler, threads=True) as client:
        yield Measurer(client, journal, names)
