"""`make repeat`: make experiments under two QEMUs, and compare all bytes of their results.

QEMU_OTHER= is the other QEMU (tools/other_qemu.sh fetches one), E= the experiments (all), SIZE=
their size (quick), and JOBS= the number of runs at a time.

Results are kept in build/repeat, in a folder for each QEMU: a run that was made by the same kernel
under the same QEMU is not made again. The table has a row for each experiment: its runs, and how
many of them are equal. Below it are the numbers that differ.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CalledProcessError

from sluice.experiment import commandline, runner
from sluice.experiment import run as runs
from sluice.experiment.aligned import aligned
from sluice.experiment.progress import reporting
from sluice.experiment.runner import Outcome
from sluice.experiment.schema import BadExperiment, Experiment
from sluice.experiment.selection import ALL, chosen
from sluice.host import printing
from sluice.host.interrupt import stoppable
from sluice.host.paths import BUILD

FOLDER = BUILD / "repeat"
SHOWN = 5  # numbers that differ, for each run


@dataclass
class Compared:
    """An experiment under both QEMUs: how many runs it has, how many are equal, what differs."""

    name: str
    runs: int
    equal: int = 0
    complaints: list[str] = field(default_factory=list)


def version(qemu: str) -> str:
    """A QEMU's version, as the name of a folder. Raises OSError if there is no such QEMU."""
    os.environ["QEMU"] = qemu
    runner.qemu_version.cache_clear()
    return re.sub(r"[^\w.+-]+", "_", runner.qemu_version().split("version ")[1]).strip("_")


def differences(one: object, other: object, at: str = "") -> Iterator[str]:
    """The places where two values of JSON differ, each with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            yield from differences(one.get(name), other.get(name), f"{at}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{at}[{i}]")
    elif one != other:
        yield f"{at.removeprefix('.')}: {str(one)[:40]} and {str(other)[:40]}"


def compare(experiment: Experiment, one: Outcome, other: Outcome) -> Compared:
    """Compare the runs of an experiment by their lines in results.jsonl."""
    compared = Compared(experiment.name, len(experiment.runs))
    for outcome in (one, other):
        compared.complaints += [f"{run}: {error}" for run, error in outcome.errors.items()]
    rows = [{row["key"]: row for row in outcome.results} for outcome in (one, other)]
    for run in experiment.runs:
        here, there = (by_key.get(runs.key(run), {}) for by_key in rows)
        if here and runner.to_line(here) == runner.to_line(there):
            compared.equal += 1
            continue
        found = list(differences(here, there))
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        compared.complaints.append(f"{run.name}: " + "; ".join(found[:SHOWN] + more))
    return compared


def made(experiments: list[Experiment], qemu: str, folder: Path, jobs: int) -> list[Outcome]:
    """The outcomes of all experiments under one QEMU."""
    os.environ["QEMU"] = qemu
    asked = [(experiment, experiment.runs) for experiment in experiments]
    with reporting(folder.name, sum(len(only) for _, only in asked)) as report:
        return list(runner.execute_all(asked, jobs, report, folder))


def table(rows: list[Compared]) -> str:
    """A row for each experiment. Below the table is what differs."""
    equal, count = sum(row.equal for row in rows), sum(row.runs for row in rows)
    cells = [[row.name, str(row.runs), str(row.equal)] for row in rows]
    lines = aligned([["", "runs", "equal"], *cells, ["all", str(count), str(equal)]])
    for row in rows:
        for complaint in row.complaints:
            lines += printing.filled(f"{row.name}: {complaint}", 4)
    return "\n".join(lines)


def do(experiments: list[Experiment], qemus: list[str], folder: Path, jobs: int) -> bool:
    """Make all runs under both QEMUs and print the table. Returns true if all are equal."""
    versions = [version(qemu) for qemu in qemus]
    if versions[0] == versions[1]:
        raise BadExperiment(
            f"QEMU_OTHER={qemus[1]}: this is the same version as {qemus[0]}, {versions[0]}"
        )
    outcomes = [
        made(experiments, qemu, folder / name, jobs)
        for qemu, name in zip(qemus, versions, strict=True)
    ]
    rows = [compare(*of_one) for of_one in zip(experiments, *outcomes, strict=True)]
    print(f"\n{versions[0]} and {versions[1]}:\n{table(rows)}")
    return all(row.equal == row.runs for row in rows)


def do_asked(choice: argparse.Namespace) -> bool:
    """Compare the QEMU that is used with the one that is given."""
    if not choice.other:
        raise BadExperiment(
            "QEMU_OTHER= is missing: give the path of another QEMU, as in\n"
            "make repeat QEMU_OTHER=$(tools/other_qemu.sh build/other)"
        )
    qemus = [os.environ.get("QEMU", "qemu-system-riscv64"), choice.other]
    return do(chosen(choice.name, choice.size), qemus, choice.folder, choice.jobs)


def main() -> int:
    """Returns the exit status: 1 if a run differs or failed, 2 for a wrong choice."""
    options = argparse.ArgumentParser(prog="make repeat", description=__doc__)
    options.add_argument(
        "name", nargs="?", default=ALL, help="an experiment, the beginning of several names, or all"
    )
    options.add_argument("--other", default="", help="path of the other QEMU")
    options.add_argument("--size", default="quick", help="of the experiments")
    commandline.add_jobs(options)
    commandline.add_folder(options, FOLDER)
    choice = options.parse_args()
    return commandline.status(lambda: do_asked(choice), (OSError, CalledProcessError))


if __name__ == "__main__":
    sys.exit(stoppable(main, f"runs that are done are kept in {FOLDER}; the same command goes on"))
