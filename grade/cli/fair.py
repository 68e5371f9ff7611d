"""Counts the points of a lab's wrong solutions by group, over many nonces.

A row for each solution shows the groups in which it does not have all points: the fewest and the
most points over all nonces. Below it stands what is unfair, with a nonce that shows it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from distributed import Client, as_completed

from grade.definition.lab import BadLab, Lab, find_lab
from grade.engine import fairness, grading, twin_grading
from grade.engine.fairness import Case, Points, Row
from sluice.experiment.aligned import format_table
from sluice.experiment.progress import show_count
from sluice.host import printing
from sluice.host.nearest import suggest
from sluice.host.workers import open_workers


@dataclass(frozen=True)
class FairRequest:
    """The options of `lab fair`: what is graded.

    nonces: how many, from 1 on. only: solutions by name, and tests: groups, separated by commas.
    attacks: these, too. twin: the twin grades.
    """

    nonces: int
    jobs: int
    only: str = ""
    tests: str = ""
    attacks: bool = False
    twin: bool = False


def choose_cases(lab: Lab, names: str, with_attacks: bool) -> list[Case]:
    """Return the cases of these names, separated by commas, or all.

    Raises BadLab for an unknown name.
    """
    found = fairness.list_cases(lab, with_attacks)
    wanted = names.split(",") if names else [case.name for case in found]
    there = [case.name for case in found]
    for name in sorted(set(wanted) - set(there)):
        raise BadLab(f"--only={name}: {lab.name} has no such solution; {suggest(name, there)}")
    return [case for case in found if case.name in wanted]


def expect_twin(lab: Lab, with_attacks: bool) -> None:
    """Raise BadLab if the lab's solutions cannot be graded on the twin."""
    why = twin_grading.refusal(lab)
    if with_attacks:
        why = "attacks are graded in the machine only, which shuts them in"
    if why:
        raise BadLab(f"--engine=twin: {why}")


def grade_cases(
    client: Client, lab: Lab, cases: list[Case], nonces: list[str], only: str, twin: bool
) -> Iterator[dict[str, Any]]:
    """Yield the points of each case with each nonce, in any order.

    Each item has a nonce as "nonce", and what grade_with_nonce returns for this nonce as "points".
    """
    with TemporaryDirectory(prefix="sluice-") as folder:
        kernels = client.gather(
            [
                client.submit(fairness.build_case, lab, case, Path(folder), twin, pure=False)
                for case in cases
            ]
        )
        pairs = list(zip(cases, kernels, strict=True))
        todo = {
            client.submit(
                fairness.grade_with_nonce, lab.name, pairs, nonce, only, twin, pure=False
            ): nonce
            for nonce in nonces
        }
        for future in as_completed(todo):
            yield {"nonce": todo[future], "points": future.result()}


def collect_points(
    client: Client, asked: FairRequest, lab: Lab, cases: list[Case]
) -> dict[str, dict[str, Points]]:
    """Return the points of each case by nonce.

    After ^C, print the points of the nonces that are done.
    """
    by_nonce: dict[str, dict[str, Points]] = {}
    nonces = [str(number) for number in range(1, asked.nonces + 1)]
    try:
        with show_count(f"{lab.name}, nonces", len(nonces)) as count:
            for done in grade_cases(client, lab, cases, nonces, asked.tests, asked.twin):
                by_nonce[done["nonce"]] = done["points"]
                count()
    except KeyboardInterrupt:
        if not by_nonce:
            raise
        print(table(lab, judge_cases(lab, cases, by_nonce)), flush=True)
        done_so_far = f"{len(by_nonce)} of {asked.nonces} nonces"
        raise KeyboardInterrupt(f"the table is of {done_so_far}") from None
    return by_nonce


def judge_cases(
    lab: Lab, cases: list[Case], by_nonce: Mapping[str, dict[str, Points]]
) -> list[Row]:
    """Return a row for each case."""
    nonces = sorted(by_nonce, key=int)
    return [
        fairness.judge_case(lab, case, {nonce: by_nonce[nonce][case.name] for nonce in nonces})
        for case in cases
    ]


def describe_lost(lab: Lab, row: Row) -> str:
    """Return the groups in which a case lacks points, and its points there."""
    most = {group.name: group.points for group in lab.groups}
    cells = [
        f"{group} {low:g}{f' to {high:g}' if high > low else ''} of {most[group]}"
        for group, (low, high) in row.points.items()
        if low < most[group]
    ]
    return ", ".join(cells) or "all points"


def table(lab: Lab, rows: list[Row]) -> str:
    """Return a row for each case, and below the table what is unfair."""
    cells = [[row.case.name, describe_lost(lab, row)] for row in rows]
    lines = format_table([["solution", "points where it lacks some"], *cells], words=(1,))
    for row in rows:
        for complaint in row.unfair:
            lines += printing.fill_lines(f"UNFAIR: {row.case.name}: {complaint}", 4)
    return "\n".join(lines)


def print_points(lab_name: str, asked: FairRequest) -> int:
    """Count the points and print them. Returns the exit status: 1 if something is unfair."""
    lab = find_lab(lab_name)
    cases = choose_cases(lab, asked.only, asked.attacks)
    grading.choose_tests(lab, asked.tests)
    if asked.twin:
        expect_twin(lab, asked.attacks)
    with open_workers(asked.jobs) as client:
        found = judge_cases(lab, cases, collect_points(client, asked, lab, cases))
    print(table(lab, found))
    return int(any(row.unfair for row in found))
