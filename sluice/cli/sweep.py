"""`make sweep`: measure an experiment over any numbers that it depends on, by the twin.

OVER= says over what (ranges.py): a variable of the experiment, a tunable of a policy, a
number of the machine, the policies, and the arms. HOW= says which points are measured: all of a
grid, POINTS= points by chance (random), evenly spread ones (quasi), or those of a search that is
guided by what came before (search). METRICS= are the objectives.

Runs that were made before are not made again, so a sweep that was stopped goes on. The results are
a table in Parquet and a page; the command prints where they are, and the best points.
"""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from sluice.experiment import commandline
from sluice.experiment.files import hash_of
from sluice.experiment.load import FULL
from sluice.experiment.progress import counting
from sluice.host.interrupt import stoppable
from sluice.sweep import full_sweep, presentation
from sluice.sweep.full_sweep import Measured, Sweep
from sluice.sweep.journal import FOLDER, Journal, tree_hash, write_table
from sluice.sweep.ranges import BadSweep
from sluice.sweep.sampling import HOW
from sluice.sweep.sweep_runs import measuring

Lines = Callable[[list[Measured]], list[str]]
MOST_ERRORS = 5  # that are printed


def command_of(choice: argparse.Namespace) -> str:
    """The command, as it could be typed again."""
    given = {
        "E": choice.name,
        "SIZE": choice.size if choice.size != FULL else "",
        "OVER": choice.over,
        "HOW": choice.how if choice.how != "grid" else "",
        "POINTS": str(choice.points or ""),
        "METRICS": choice.metrics,
    }
    words = [f"{name}={shlex.quote(value)}" for name, value in given.items() if value]
    return " ".join(["make sweep", *words])


def folder_of(sweep: Sweep, command: str, base: Path) -> Path:
    """Where the results of this sweep go; equal commands have equal folders."""
    folder = base / f"{sweep.name}-{hash_of(command)[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def make(sweep: Sweep, choice: argparse.Namespace) -> tuple[list[Measured], list[str]]:
    """Make the runs of the sweep."""
    journal = Journal(choice.folder / f"{sweep.name}.jsonl")
    with (
        counting(f"sweep of {sweep.name}", sweep.runs) as done,
        measuring(journal, sweep.columns, choice.jobs, choice.scheduler) as measurer,
    ):
        return full_sweep.measured(sweep, measurer, done)


def done(
    sweep: Sweep,
    choice: argparse.Namespace,
    show: Lines = lambda points: [],
    remarks: Lines = lambda points: [],
) -> bool:
    """Make a sweep, write its files, and print its best points, after the lines that `show` makes
    of all points and what `remarks` says of them, which the page says, too. Returns true if all
    runs were made."""
    points, errors = make(sweep, choice)
    for error in errors[:MOST_ERRORS]:
        print(f"FAILED {error}", file=sys.stderr)
    if len(errors) > MOST_ERRORS:
        print(f"and {len(errors) - MOST_ERRORS} runs more failed", file=sys.stderr)
    if not points:
        return False
    command = command_of(choice)
    folder = folder_of(sweep, command, choice.folder)
    rows = [row for point in points for row in point.rows]
    about = {"command": command, "twin": tree_hash()}
    write_table(folder / "results.parquet", rows, about)
    said = remarks(points)
    path = presentation.write_page(sweep, points, errors, said, command, folder)
    above = [*show(points), *said]
    files = [f"table: {folder / 'results.parquet'}", f"page:  {path}"]
    print("\n".join([*above, *([""] if above else []), *presentation.lines(sweep, points), *files]))
    return not errors


def do(choice: argparse.Namespace) -> bool:
    """Make the sweep that is asked for."""
    sweep = full_sweep.asked(
        choice.name, choice.over, choice.how, choice.points, choice.metrics, choice.size
    )
    return done(sweep, choice)


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make sweep", description=__doc__)
    options.add_argument("name", help="an experiment")
    options.add_argument("--over", default="", help="what the sweep goes over")
    options.add_argument("--how", default="grid", help=f"which points: {', '.join(HOW)}")
    options.add_argument("--points", type=int, help="how many, but for a grid")
    commandline.add_metrics(options)
    options.add_argument("--size", default=FULL, help="a size that the experiment has")
    commandline.add_workers(options)
    commandline.add_folder(options, FOLDER)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice), (BadSweep,))


if __name__ == "__main__":
    sys.exit(stoppable(main, "all runs so far are kept; the same command goes on from there"))
