"""`sluice sweep`: measure an experiment over any numbers that it depends on, by the twin.

--over names the axes (ranges.py): variables of the experiment, tunables of policies, numbers of the
machine, policies, and arms. --how says which points are measured: all points of a grid, or --points
points that are random, evenly spread (quasi), or chosen by a model of the earlier results (search).
--metrics are the objectives.

Runs that were made before are not made again, so the same command continues a stopped sweep. The
results are a table in Parquet and a page; the command prints where they are, and the best points.
"""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment.files import hash_value
from sluice.experiment.load import FULL
from sluice.experiment.progress import show_count
from sluice.sweep import full_sweep, presentation
from sluice.sweep.full_sweep import Measured, Sweep
from sluice.sweep.journal import FOLDER, Journal, tree_hash, write_table
from sluice.sweep.sweep_runs import open_measurer

Lines = Callable[[list[Measured]], list[str]]
MOST_ERRORS = 5  # errors that are printed


@dataclass(frozen=True)
class SweepRequest:
    """The options of a command. folder: where the results go."""

    name: str
    over: str = ""
    how: str = "grid"
    points: int | None = None
    metrics: str = ""
    size: str = FULL
    jobs: int = 1
    scheduler: str = ""
    folder: Path = FOLDER


def command_of(request: SweepRequest) -> str:
    """Return the command that makes the same sweep, as a user types it."""
    given = {
        "size": request.size if request.size != FULL else "",
        "over": request.over,
        "how": request.how if request.how != "grid" else "",
        "points": str(request.points or ""),
        "metrics": request.metrics,
    }
    words = [f"--{name}={value}" for name, value in given.items() if value]
    return shlex.join(["sluice", "sweep", request.name, *words])


def folder_of(sweep: Sweep, command: str, base: Path) -> Path:
    """Return the folder of this sweep's results. Equal commands have equal folders."""
    folder = base / f"{sweep.name}-{hash_value(command)[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def make_runs(
    sweep: Sweep, folder: Path, jobs: int, scheduler: str
) -> tuple[list[Measured], list[str]]:
    """Make the runs of the sweep. Returns its points, and the errors of failed runs."""
    journal = Journal(folder / f"{sweep.name}.jsonl")
    with (
        show_count(f"sweep of {sweep.name}", sweep.runs) as done,
        open_measurer(journal, sweep.columns, jobs, scheduler) as measurer,
    ):
        return full_sweep.measure_points(sweep, measurer, done)


def make_sweep(
    sweep: Sweep,
    request: SweepRequest,
    show: Lines = lambda points: [],
    remarks: Lines = lambda points: [],
) -> bool:
    """Make a sweep, write its files, and print its best points. Returns true if all runs were made.

    show: returns lines about all points, which are printed first; remarks: returns notes about the
    points, which are printed next, and are on the page, too."""
    points, errors = make_runs(sweep, request.folder, request.jobs, request.scheduler)
    for error in errors[:MOST_ERRORS]:
        print(f"FAILED {error}", file=sys.stderr)
    if len(errors) > MOST_ERRORS:
        print(f"and {len(errors) - MOST_ERRORS} runs more failed", file=sys.stderr)
    if not points:
        return False
    command = command_of(request)
    folder = folder_of(sweep, command, request.folder)
    rows = [row for point in points for row in point.rows]
    about = {"command": command, "twin": tree_hash()}
    write_table(folder / "results.parquet", rows, about)
    said = remarks(points)
    path = presentation.write_page(sweep, points, errors, said, command, folder)
    above = [*show(points), *said]
    files = [f"table: {folder / 'results.parquet'}", f"page:  {path}"]
    print(
        "\n".join(
            [*above, *([""] if above else []), *presentation.text_lines(sweep, points), *files]
        )
    )
    return not errors


def execute(request: SweepRequest) -> bool:
    """Make the requested sweep. Returns true if all runs were made."""
    sweep = full_sweep.parse_sweep(
        request.name, request.over, request.how, request.points, request.metrics, request.size
    )
    return make_sweep(sweep, request)
