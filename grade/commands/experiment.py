"""`make experiment`: E= which one or all, SIZE= how large, N= one run of it.

JOBS= how many runs at a time, SCHEDULER= the address of a Dask cluster that is to
make them, LIST=1 shows what there is. Makes the runs that are lacking, shows what
came, and writes the report.
"""

import argparse
import os
import sys
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from grade.host.workers import NoWorkers
from grade.measure import expect, runner, summary
from grade.measure.choose import DEFAULT, asked_for, chosen, list_experiments, list_runs
from grade.measure.files import FOLDER
from grade.measure.progress import reporting
from grade.measure.result import BadResult
from grade.measure.runner import OtherTree, Outcome
from grade.measure.schema import BadExperiment, Experiment
from grade.report.comparison.write import write_comparison
from grade.report.write import write_report


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
