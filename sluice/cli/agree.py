"""`make agree`: how well the twin's results agree with the machine's, of runs that both have made.

E= and SIZE= choose experiments as for `make experiment`. A row of the table is an arm: by how much
the twin's figures are off, in per cent of the machine's, in the mean over the arm's runs: the mean
and the deviation of each job's response times, and the requests that wrote to disks. Behind it is
the 95 % interval of that mean, by the bootstrap over the runs (interval.py), unless
they are too few. Below are the expectations about which the two do not say the same.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from sluice.experiment import commandline, expect, interval, result
from sluice.experiment.agreement import LIMITS, by_arm
from sluice.experiment.aligned import aligned
from sluice.experiment.result import BadResult
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import ALL, chosen, on_twin
from sluice.host import printing
from sluice.host.interrupt import stoppable


def cells(values: np.ndarray | None) -> list[str]:
    """A mean and its interval, each if there is one."""
    if values is None:
        return ["", ""]
    of_mean = interval.of_mean(values.tolist())
    return [
        f"{values.mean():+.2f}",
        f"{of_mean.low:+.2f} to {of_mean.high:+.2f}" if of_mean else "",
    ]


def table(arms: dict[str, dict[tuple[str, str], np.ndarray]]) -> list[str]:
    """The lines of the table: a row for each arm and job."""
    rows = [["arm", "job", *(word for kind in LIMITS for word in (kind, "95 %"))]]
    for arm, found in arms.items():
        for whose in dict.fromkeys(whose for whose, _ in found):
            figures = [cell for kind in LIMITS for cell in cells(found.get((whose, kind)))]
            rows.append([arm, whose, *figures])
    return aligned(rows, keys=2)


def results(experiment: Experiment, folder: Path) -> list[dict]:
    """The results of an experiment, if all its runs have been made."""
    path = folder / experiment.name / "results.jsonl"
    found = result.read(path)
    if len(found) != len(experiment.runs):
        raise BadResult(f"{path}: {len(found)} of {len(experiment.runs)} runs have been made")
    return found


def compare(experiment: Experiment, folder: Path) -> tuple[int, int]:
    """Print the table of one experiment. Returns how many figures it has, and how many of them are
    off by more than their limit."""
    twin = on_twin(experiment)
    both = results(experiment, folder), results(twin, folder)
    arms = by_arm(*both)
    off = [abs(v.mean()) > LIMITS[kind] for row in arms.values() for (_, kind), v in row.items()]
    print("\n".join(["", experiment.name, *table(arms)]))
    pairs = ((experiment, both[0]), (twin, both[1]))
    words = [[v.word for v in expect.judge(e, r)] for e, r in pairs]
    for verdict, one, other in zip(expect.judge(experiment, both[0]), *words, strict=True):
        if one != other:
            said = f"  machine: {one}, twin: {other}: {verdict.says}"
            print("\n".join(printing.filled(said, 4)))
    return len(off), sum(off)


def do(choice: argparse.Namespace) -> bool:
    """Compare each experiment, and count."""
    n = far = 0
    for experiment in chosen(choice.name, choice.size):
        try:
            more = compare(experiment, choice.folder)
        except BadResult as error:
            if choice.name != ALL:
                raise
            print(f"\n{experiment.name}: {error}")
            continue
        n, far = n + more[0], far + more[1]
    limits = ", ".join(f"{kind} {limit:g} %" for kind, limit in LIMITS.items())
    print(f"\n{n} figures, {n - far} of them within their limit ({limits})")
    return True


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make agree", description=__doc__)
    options.add_argument("name", nargs="?", default=ALL, help="as of make experiment")
    options.add_argument("--size", default="quick")
    commandline.add_folder(options)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice))


if __name__ == "__main__":
    sys.exit(stoppable(main, "nothing was changed"))
