"""`make report`: write the report of results that have been made. E= and SIZE= say of which
experiment. For several experiments their comparison is written too.
"""

import argparse
import sys
from pathlib import Path

from sluice.experiment import commandline, result
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import DEFAULT, chosen
from sluice.host.interrupt import stoppable
from sluice.report.comparison.write import has_results, write_comparison
from sluice.report.write import write_report


def with_results(experiments: list[Experiment], folder: Path) -> list[Experiment]:
    """If there are several, those that have results. (A single one is reported when it is read.)"""
    if len(experiments) == 1:
        return experiments
    return [e for e in experiments if has_results(e, folder)]


def do(choice: argparse.Namespace) -> bool:
    """Write the reports, and of several the comparison."""
    experiments = chosen(choice.name, choice.size)
    for experiment in with_results(experiments, choice.folder):
        folder = choice.folder / experiment.name
        results = result.read(folder / "results.jsonl")
        print(f"report: {write_report(experiment, results, folder)}")
    if len(experiments) > 1:
        print(f"comparison: {write_comparison(experiments, choice.folder)}")
    return True


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make report", description=__doc__)
    options.add_argument(
        "name",
        nargs="?",
        default=DEFAULT,
        help="an experiment, the beginning of several names, or all",
    )
    options.add_argument(
        "--size", help="a size that the experiment has; if not given, full, and quick for `all`"
    )
    commandline.add_folder(options)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice))


if __name__ == "__main__":
    sys.exit(stoppable(main, "the reports named above are written; the results are as before"))
