"""`make report`: the report of results that are there, E= and SIZE= of which experiment."""

import argparse
import sys
from pathlib import Path

from grade.experiment import result
from grade.experiment.__main__ import DEFAULT, chosen
from grade.experiment.files import FOLDER
from grade.experiment.result import BadResult
from grade.experiment.schema import BadExperiment
from grade.report.write import write_report


def main() -> int:
    """The command; its exit status."""
    options = argparse.ArgumentParser(prog="make report", description=__doc__)
    options.add_argument("name", nargs="?", default=DEFAULT, help="or the beginning of names")
    options.add_argument("--size", help="full, or as the file has it; of `all`, quick")
    options.add_argument("--folder", type=Path, default=FOLDER, help="where the results are")
    choice = options.parse_args()
    try:
        for experiment in chosen(choice.name, choice.size):
            folder = choice.folder / experiment.name
            results = result.read(folder / "results.jsonl")
            print(f"report: {write_report(experiment, results, folder)}")
    except (BadExperiment, BadResult) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
