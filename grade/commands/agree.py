"""`make agree`: how well the twin's results agree with the machine's, of runs that both have made.

E= and SIZE= choose experiments as for `make experiment`. A row of the table is an arm: by how much
the twin's figures are off, in per cent of the machine's, in the mean over the arm's runs: the mean
and the deviation of each job's response times, and the requests that wrote to disks. Behind it is
the 95 % interval of that mean, by the bootstrap over the runs (grade/measure/interval.py), unless
they are too few. Below are the expectations about which the two do not say the same.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from grade.host.interrupt import stoppable
from grade.measure import commandline, expect, interval, result
from grade.measure.agreement import LIMITS, by_arm
from grade.measure.choose import ALL, chosen, on_twin
from grade.measure.result import BadResult
from grade.measure.schema import Experiment

MEAN, INTERVAL = 7, 18  # letters


def cell(values: np.ndarray) -> str:
    """A mean, and its interval if it has one."""
    of_mean = interval.of_mean(values.tolist())
    said = f"{of_mean.low:+.2f} to {of_mean.high:+.2f}" if of_mean else ""
    return f"{values.mean():+{MEAN}.2f} {said:{INTERVAL}}"


def row(words: list[str]) -> str:
    """The cells of a row, one below the other."""
    return " ".join(f"{word:{MEAN + 1 + INTERVAL}}" for word in words).rstrip()


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
    n = far = 0
    print(f"\n{experiment.name:40} {row([f'{kind:>{MEAN}}' for kind in LIMITS])}")
    for arm, rows in by_arm(*both).items():
        for whose in dict.fromkeys(whose for whose, _ in rows):
            cells = {kind: rows.get((whose, kind)) for kind in LIMITS}
            n += sum(values is not None for values in cells.values())
            far += sum(v is not None and abs(v.mean()) > LIMITS[k] for k, v in cells.items())
            shown = row([cell(v) if v is not None else "" for v in cells.values()])
            print(f"  {arm[:24]:24} {whose[:12]:13} {shown}".rstrip())
    pairs = ((experiment, both[0]), (twin, both[1]))
    words = [[v.word for v in expect.judge(e, r)] for e, r in pairs]
    for verdict, one, other in zip(expect.judge(experiment, both[0]), *words, strict=True):
        if one != other:
            print(f"  machine: {one}, twin: {other}: {verdict.says}")
    return n, far


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
