"""`make experiment`: E= which one or all, SIZE= how large, N= one run of it.

JOBS= how many runs at a time, SCHEDULER= the address of a Dask cluster that is to
make them, LIST=1 shows what there is. Makes the runs that are lacking, shows what
came, and writes the report.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from grade.experiment import expect, runner, summary
from grade.experiment.files import FOLDER
from grade.experiment.load import FULL, load, read_toml
from grade.experiment.result import BadResult
from grade.experiment.runner import OtherTree, Outcome, Report, Step
from grade.experiment.schema import BadExperiment, Experiment, Run
from grade.paths import ROOT
from grade.report.comparison.write import write_comparison
from grade.report.write import write_report
from grade.workers import NoWorkers

EXPERIMENTS = ROOT / "grade" / "experiments"
ALL = "all"
DEFAULT = "mogul-4.1"  # of these words begin the names of those run without a name


def named(name: str) -> list[Path]:
    """The files meant: a path, a folder of them with its `/`, a name, or the beginning of names."""
    if name.endswith(".toml"):
        return [Path(name)]
    if name == ALL or name.endswith("/"):
        return sorted((EXPERIMENTS if name == ALL else Path(name)).glob("*.toml"))
    exact = EXPERIMENTS / f"{name}.toml"
    found = [exact] if exact.exists() else sorted(EXPERIMENTS.glob(f"{name}*.toml"))
    if not found:
        names = ", ".join(path.stem for path in sorted(EXPERIMENTS.glob("*.toml")))
        raise BadExperiment(f'no experiment "{name}"; there are {names}')
    return found


def chosen(name: str, size: str | None) -> list[Experiment]:
    """The experiments meant, of the size."""
    size = size or ("quick" if name == ALL else FULL)
    return [load(path, size) for path in named(name)]


def list_experiments() -> None:
    """Names and claims."""
    for path in sorted(EXPERIMENTS.glob("*.toml")):
        print(f"{path.stem}\n    {read_toml(path)[0].get('claim', '')}")


def list_runs(experiment: Experiment) -> None:
    """The runs of one experiment, with the numbers that N= takes."""
    print(f"{experiment.name}\n    {experiment.claim}")
    for run in experiment.runs:
        print(f"{run.number:5}  {run.name}")


def step_line(step: Step) -> str:
    """One run, for a log."""
    name = f"{step.run.experiment} {step.run.name}"
    if step.error:
        return f"FAILED {name}"
    return f"{name}: " + ("there already" if step.resumed else f"{step.host_s:.1f} s")


@contextmanager
def reporting(what: str, total: int) -> Iterator[Report]:
    """Show how far it is: a bar on a terminal, else a line for each run."""
    console = Console()
    if not console.is_terminal:
        yield lambda step: print(step_line(step), flush=True)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)

        def report(step: Step) -> None:
            if step.resumed:  # took no time: no ground to estimate from
                progress.update(task, total=progress.tasks[task].total - 1)
                return
            progress.advance(task)

        yield report


def asked_for(experiment: Experiment, number: int | None) -> list[Run]:
    """The runs meant."""
    if number is None:
        return experiment.runs
    if not 1 <= number <= len(experiment.runs):
        raise BadExperiment(f"{experiment.name} has runs 1 to {len(experiment.runs)}, no {number}")
    return [experiment.runs[number - 1]]


def show(
    experiment: Experiment, outcome: Outcome, choice: argparse.Namespace, aside: Executor
) -> bool:
    """Show what came; was all well? aside: draws, for while this process draws it starts no run."""
    folder = choice.folder / experiment.name
    print(f"\n{summary.text(experiment, outcome.results)}\n")
    for name, error in outcome.errors.items():
        print(f"FAILED {name}: {error}")
    print(f"{outcome.made} runs made; results in {folder / 'results.jsonl'}")
    if outcome.results and not choice.no_report:
        report = aside.submit(write_report, experiment, outcome.results, folder).result()
        print(f"report: {report}", flush=True)
    unmet = any(verdict.failed for verdict in expect.judge(experiment, outcome.results))
    return not outcome.errors and not unmet


def do(experiments: list[Experiment], choice: argparse.Namespace) -> bool:
    """Make the runs and show what came of each experiment; was all well?"""
    asked = [(experiment, asked_for(experiment, choice.run)) for experiment in experiments]
    runs = sum(len(only) for _, only in asked)
    what = experiments[0].name if len(experiments) == 1 else f"{len(experiments)} experiments"
    with reporting(what, runs) as report, ProcessPoolExecutor(1, get_context("spawn")) as aside:
        outcomes = runner.execute_all(asked, choice.jobs, report, choice.folder, choice.scheduler)
        good = [show(*of_one, choice, aside) for of_one in zip(experiments, outcomes, strict=True)]
    if len(experiments) > 1 and not choice.no_report:
        print(f"comparison: {write_comparison(experiments, choice.folder)}")
    return all(good)


def main() -> int:
    """The command; its exit status."""
    options = argparse.ArgumentParser(prog="make experiment", description=__doc__)
    options.add_argument("name", nargs="?", default=DEFAULT, help="or the beginning of names")
    options.add_argument("--run", type=int, help="only the run of this number")
    options.add_argument("--size", help="full, or as the file has it; of `all`, quick")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    options.add_argument("--scheduler", default="", help="address of a Dask scheduler")
    options.add_argument("--list", action="store_true", help="what there is")
    options.add_argument("--folder", type=Path, default=FOLDER, help="for the results")
    options.add_argument("--no-report", action="store_true", help="numbers only")
    choice = options.parse_args()
    if choice.jobs < 1:
        options.error("--jobs: at least 1")
    try:
        if choice.list and choice.name == DEFAULT:
            list_experiments()
            return 0
        experiments = chosen(choice.name, choice.size)
        if choice.list:
            for experiment in experiments:
                list_runs(experiment)
            return 0
        good = do(experiments, choice)
    except (BadExperiment, BadResult, NoWorkers, OtherTree) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
