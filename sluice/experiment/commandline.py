"""What the command lines of several commands have in common.

An option that several commands have is added here, so that it has one name, default and help. A
command that loads experiments or makes runs ends through `status`, which prints what was wrong.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from sluice.experiment.files import FOLDER
from sluice.experiment.result import BadResult
from sluice.experiment.run import RunFailed
from sluice.experiment.runner import OtherTree
from sluice.experiment.schema import BadExperiment
from sluice.host.out import BadOut
from sluice.host.workers import NoWorkers

RUNS = "runs"
WRONG = (BadExperiment, BadOut, BadResult, NoWorkers, OtherTree)


def add_jobs(options: argparse.ArgumentParser, what: str = RUNS) -> None:
    """--jobs: how much is done at a time on this host."""
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help=f"{what} at a time")


def add_workers(options: argparse.ArgumentParser, what: str = RUNS) -> None:
    """--jobs, and --scheduler for workers elsewhere."""
    add_jobs(options, what)
    options.add_argument("--scheduler", default="", help="address of a Dask scheduler")


def add_folder(options: argparse.ArgumentParser, folder: Path = FOLDER) -> None:
    """--folder, where results are kept."""
    options.add_argument("--folder", type=Path, default=folder, help="folder of the results")


def add_metrics(options: argparse.ArgumentParser, metrics: str = "") -> None:
    """--metrics, the objectives of a sweep."""
    options.add_argument("--metrics", default=metrics, help="what is to be less; with a +: more")


def status(
    do: Callable[[], bool],
    wrong: tuple[type[Exception], ...] = (),
    told: Callable[[Exception], object] = str,
) -> int:
    """Run a command. Returns its exit status: 0; 1 if `do` returns false or its run failed; 2 after
    one of WRONG or `wrong`. What was raised is printed as `told` has it."""
    try:
        return 0 if do() else 1
    except (RunFailed, *WRONG, *wrong) as error:
        print(told(error), file=sys.stderr)
        return 1 if isinstance(error, RunFailed) else 2
