"""`make fair`: the points of a lab's wrong solutions by group, over many nonces.

A row for each solution shows the groups in which it does not have all points: the fewest and the
most points over all nonces. Below it stands what is unfair, with a nonce that shows it.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from distributed import Client, as_completed

from grade.definition.lab import BadLab, Lab, named
from grade.engine import fairness, grading, twin_grading
from grade.engine.fairness import Case, Points, Row
from grade.engine.grading import NoTest
from sluice.experiment import commandline
from sluice.experiment.aligned import aligned
from sluice.experiment.schema import MACHINE_ENGINE, TWIN
from sluice.host import printing
from sluice.host.interrupt import stoppable
from sluice.host.nearest import meant
from sluice.host.workers import workers

NONCES = 20


def chosen(lab: Lab, names: str, with_attacks: bool) -> list[Case]:
    """The cases of these names, separated by commas, or all. Raises BadLab for an unknown name."""
    found = fairness.cases(lab, with_attacks)
    wanted = names.split(",") if names else [case.name for case in found]
    there = [case.name for case in found]
    for name in sorted(set(wanted) - set(there)):
        raise BadLab(f"T={name}: {lab.name} has no such solution; {meant(name, there)}")
    return [case for case in found if case.name in wanted]


def expect_twin(lab: Lab, with_attacks: bool) -> None:
    """Raises BadLab if the lab's solutions cannot be graded on the twin."""
    why = twin_grading.refusal(lab)
    if with_attacks:
        why = "attacks are graded in the machine only, which shuts them in"
    if why:
        raise BadLab(f"ENGINE=twin: {why}")


def graded(
    client: Client, lab: Lab, cases: list[Case], nonces: list[str], only: str, twin: bool
) -> Iterator[dict]:
    """The points of each case with each nonce: dictionaries as with_one_nonce makes them, in any
    order, with the nonce under its own name."""
    with TemporaryDirectory(prefix="sluice-") as folder:
        kernels = client.gather(
            [
                client.submit(fairness.built, lab, case, Path(folder), twin, pure=False)
                for case in cases
            ]
        )
        pairs = list(zip(cases, kernels, strict=True))
        todo = {
            client.submit(
                fairness.with_one_nonce, lab.name, pairs, nonce, only, twin, pure=False
            ): nonce
            for nonce in nonces
        }
        for future in as_completed(todo):
            yield {"nonce": todo[future], "points": future.result()}


def rows(
    client: Client, lab: Lab, cases: list[Case], nonces: list[str], only: str, twin: bool
) -> list[Row]:
    """A row for each case."""
    by_nonce: dict[str, dict[str, Points]] = {}
    for done in graded(client, lab, cases, nonces, only, twin):
        by_nonce[done["nonce"]] = done["points"]
        print(f"{lab.name}: {len(by_nonce)} of {len(nonces)} nonces", file=sys.stderr, flush=True)
    return [
        fairness.judged(lab, case, {nonce: by_nonce[nonce][case.name] for nonce in nonces})
        for case in cases
    ]


def lost(lab: Lab, row: Row) -> str:
    """The groups in which a case lacks points, and its points there."""
    most = {group.name: group.points for group in lab.groups}
    cells = [
        f"{group} {low:g}{f' to {high:g}' if high > low else ''} of {most[group]}"
        for group, (low, high) in row.points.items()
        if low < most[group]
    ]
    return ", ".join(cells) or "all points"


def table(lab: Lab, rows: list[Row]) -> str:
    """A row for each case, and below the table what is unfair."""
    cells = [[row.case.name, lost(lab, row)] for row in rows]
    lines = aligned([["solution", "points where it lacks some"], *cells], words=(1,))
    for row in rows:
        for complaint in row.unfair:
            lines += printing.filled(f"UNFAIR: {row.case.name}: {complaint}", 4)
    return "\n".join(lines)


def do(choice: argparse.Namespace) -> bool:
    """Count the points and print them. Returns true if nothing is unfair."""
    lab = named(choice.lab)
    cases = chosen(lab, choice.only, choice.attacks)
    grading.chosen(lab, choice.test)
    twin = choice.engine == TWIN
    if twin:
        expect_twin(lab, choice.attacks)
    nonces = [str(number) for number in range(1, choice.nonces + 1)]
    with workers(choice.jobs) as client:
        found = rows(client, lab, cases, nonces, choice.test, twin)
    print(table(lab, found))
    return not any(row.unfair for row in found)


def main() -> int:
    """Returns the exit status: 1 if something is unfair, 2 for a wrong choice."""
    options = argparse.ArgumentParser(prog="make fair", description=__doc__)
    options.add_argument("--lab", required=True)
    options.add_argument("--nonces", type=int, default=NONCES, help="how many, from 1 on")
    options.add_argument("--only", default="", help="solutions by name, separated by commas")
    options.add_argument("--test", default="", help="groups, separated by commas")
    options.add_argument("--attacks", action="store_true", help="the attacks, too")
    options.add_argument("--engine", choices=(MACHINE_ENGINE, TWIN), default=MACHINE_ENGINE)
    commandline.add_jobs(options, "nonces")
    choice = options.parse_args()
    return commandline.status(lambda: do(choice), (BadLab, NoTest))


if __name__ == "__main__":
    sys.exit(stoppable(main, "the table was not made"))
