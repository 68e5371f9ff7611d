"""`make experiment`: E= which one or all, SIZE= how large, N= one run of it.

JOBS= how many runs at a time, SCHEDULER= the address of a Dask cluster that is to
make them, LIST=1 shows what there is. Makes the runs that are lacking, shows what
came, and writes the report.
"""

import argparse
import os
import sys
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
    if step.error:
        return f"FAILED {step.run.name}"
    return f"{step.run.name}: " + ("there already" if step.resumed else f"{step.host_s:.1f} s")


def execute(experiment: Experiment, only: list[Run], choice: argparse.Namespace) -> Outcome:
    """Make the runs, with a bar on a terminal, else with a line for each."""

    def make(report: Report) -> Outcome:
        return runner.execute(
            experiment, only, choice.jobs, report, choice.folder, choice.scheduler
        )

    console = Console()
    if not console.is_terminal:
        return make(lambda step: print(step_line(step), flush=True))
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(experiment.name, total=len(only))

        def report(step: Step) -> None:
            if step.resumed:  # took no time: no ground to estimate from
                progress.update(task, total=progress.tasks[task].total - 1)
                return
            progress.advance(task)

        return make(report)


def do(experiment: Experiment, choice: argparse.Namespace) -> bool:
    """Make the runs and show what came; was all well?"""
    number, folder = choice.run, choice.folder / experiment.name
    if number is not None and not 1 <= number <= len(experiment.runs):
        raise BadExperiment(f"{experiment.name} has runs 1 to {len(experiment.runs)}, no {number}")
    only = experiment.runs if number is None else [experiment.runs[number - 1]]
    outcome = execute(experiment, only, choice)
    print(f"\n{summary.text(experiment, outcome.results)}\n")
    for name, error in outcome.errors.items():
        print(f"FAILED {name}: {error}")
    print(f"{outcome.made} runs made; results in {folder / 'results.jsonl'}")
    if outcome.results and not choice.no_report:
        print(f"report: {write_report(experiment, outcome.results, folder)}")
    unmet = any(verdict.failed for verdict in expect.judge(experiment, outcome.results))
    return not outcome.errors and not unmet


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
        good = [do(experiment, choice) for experiment in experiments]
        if len(experiments) > 1 and not choice.no_report:
            print(f"comparison: {write_comparison(experiments, choice.folder)}")
    except (BadExperiment, BadResult, NoWorkers, OtherTree) as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
