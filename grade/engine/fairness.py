"""Judge whether a lab's points are fair, by grading known solutions with many nonces.

A wrong solution is fair if it loses points in the groups that it names, and in no other, and if no
group's points depend on the nonce: they differ by at most SPREAD. The reference must have all
points with each nonce, and an attack at most the points in its `most`. In a lab that is answered by
numbers the student's name determines the machine, so there the nonce chooses the name.

Kernels are built once. With one nonce the reference runs once for all solutions. On the twin
(twin_grading.py) a nonce takes a third of the time.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from grade.definition.lab import (
    FULL,
    BadLab,
    Edit,
    Group,
    Lab,
    find_lab,
    load_attacks,
    load_mistakes,
)
from grade.engine import grading, tree, twin_grading
from grade.engine.assertions import Wrong
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench
from grade.trust.archive import Refused
from grade.trust.compiler import BuildFailed

SPREAD = 1.0  # points by which a group may differ from nonce to nonce
LEAST = 1.0  # a group notices a mistake if at least so many of its points are lost

Points = Mapping[str, float]  # points by group


@dataclass(frozen=True)
class Case:
    """A solution to grade: the reference, a mistake, or an attack.

    loses: the groups that must lose points. disturbs: groups that may lose some, too. most: the
    points that it may score, all groups together.
    """

    name: str
    edits: tuple[Edit, ...] = ()
    loses: frozenset[str] = frozenset()
    disturbs: frozenset[str] = frozenset()
    most: float = FULL


@dataclass(frozen=True)
class Row:
    """The result of a case: the fewest and the most points by group, and what is unfair."""

    case: Case
    points: Mapping[str, tuple[float, float]]
    unfair: list[str]


def list_cases(lab: Lab, with_attacks: bool) -> list[Case]:
    """Return the reference, all wrong solutions, and the attacks if they are asked for."""
    wrong = [Case(m.name, m.edits, m.loses, m.disturbs) for m in load_mistakes(lab)]
    hostile = [Case(a.name, a.edits, a.loses, most=a.most) for a in load_attacks(lab)]
    return [Case("reference"), *wrong, *(hostile if with_attacks else [])]


def build_case(lab: Lab, case: Case, folder: Path, twin: bool = False) -> Path | None:
    """Build the kernel of a case, or its twin, and return its path.

    Returns None for an attack that is refused or does not build, which has no points. Raises BadLab
    for a mistake that does not build, because it would lose in every group.
    """
    build = twin_grading.build_twin if twin else tree.build_kernel
    try:
        return build(folder / case.name, lab, tree.solution_files(lab, case.edits))
    except (Refused, BuildFailed) as error:
        if case.most < FULL:
            return None
        raise BadLab(f"{lab.name}: {case.name} does not build: {error}") from None


def grade_groups(lab: Lab, bench: Workbench, only: str) -> Points:
    """Return the points of a kernel by group.

    only: groups, separated by commas; empty means all.
    """
    return {group.name: group.points for group in grading.grade_bench(bench, lab, only).groups}


def make_bench(
    lab: Lab, kernel: Path, runs: Path, nonce: str, files: Mapping[str, str], twin: bool
) -> Workbench:
    """Return a workbench for the kernel of a case, or for its twin."""
    if twin:
        return twin_grading.make_bench(lab, kernel, runs, nonce, files)
    return Workbench(kernel, lab.reference, runs, nonce, grading.BUDGET_S, files=files)


def grade_with_nonce(
    name: str, kernels: list[tuple[Case, Path | None]], nonce: str, only: str, twin: bool = False
) -> dict[str, Points]:
    """Grade each case of the lab with one nonce and return each case's points, by its name.

    only: groups, separated by commas; empty means all.
    """
    lab = find_lab(name)
    reference: dict[tuple[Path, str], Run | Wrong] = {}
    found: dict[str, Points] = {}
    facts: dict[str, int] = {}
    groups = {test.group.name for test in grading.choose_tests(lab, only)}
    with TemporaryDirectory(prefix="sluice-") as folder:
        for case, kernel in kernels:
            if not kernel:
                found[case.name] = dict.fromkeys(groups, 0.0)
                continue
            files = tree.solution_files(lab, case.edits, f"Student {nonce}")
            runs = Path(folder) / case.name
            bench = make_bench(lab, kernel, runs, nonce, files, twin)
            bench.facts, bench.made = facts, {**reference}
            found[case.name] = grade_groups(lab, bench, only)
            ours = {key: run for key, run in bench.made.items() if key[0] == bench.reference_kernel}
            reference |= ours
            for run in runs.glob("[!r]*"):  # the reference's runs stay for the other cases
                shutil.rmtree(run)
    return found


def graded_groups(lab: Lab, by_nonce: Mapping[str, Points]) -> list[Group]:
    """Return the groups that were graded."""
    return [group for group in lab.groups if all(group.name in got for got in by_nonce.values())]


def score_range(scores: list[float]) -> float:
    """Return the difference between the highest and the lowest score."""
    return max(scores) - min(scores)


def check_mistake(case: Case, lab: Lab, by_nonce: Mapping[str, Points]) -> list[str]:
    """Return what is unfair about the points of the reference or of a mistake.

    by_nonce: the points of each group, for each nonce. A mistake must lose points in the groups
    case.loses, may lose some in case.disturbs, and the reference (no edits) must lose none.
    """
    complaints = []
    for group in graded_groups(lab, by_nonce):
        scores = {nonce: got[group.name] for nonce, got in by_nonce.items()}
        low, high = min(scores, key=scores.__getitem__), max(scores, key=scores.__getitem__)
        kept = group.points - LEAST
        if score_range([*scores.values()]) > SPREAD:
            complaints.append(
                f"{group.name} depends on the nonce: {scores[low]:g} with NONCE={low}, "
                f"{scores[high]:g} with NONCE={high}"
            )
        if group.name in case.loses and scores[high] > kept:
            complaints.append(f"{group.name} loses no points with NONCE={high}")
        if group.name not in case.loses | case.disturbs and scores[low] <= kept:
            complaints.append(f"{group.name} loses points with NONCE={low}")
        if not case.edits and scores[low] < group.points:
            complaints.append(f"{group.name} has {scores[low]:g} points with NONCE={low}")
    return complaints


def check_attack(case: Case, lab: Lab, by_nonce: Mapping[str, Points]) -> list[str]:
    """Return what is unfair about the points of an attack.

    by_nonce: the points of each group, for each nonce. The attack must not get more than case.most
    with any nonce, and must lose points in each group of case.loses with each nonce.
    """
    totals = {nonce: round(sum(got.values()), 2) for nonce, got in by_nonce.items()}
    best = max(totals, key=totals.__getitem__)
    complaints = []
    if totals[best] > case.most:
        complaints.append(
            f"{totals[best]:g} points with NONCE={best}, expected at most {case.most:g}"
        )
    for group in (group for group in graded_groups(lab, by_nonce) if group.name in case.loses):
        kept = [n for n, got in by_nonce.items() if got[group.name] > group.points - LEAST]
        complaints += [f"{group.name} loses no points with NONCE={nonce}" for nonce in kept[:1]]
    return complaints


def judge_case(lab: Lab, case: Case, by_nonce: Mapping[str, Points]) -> Row:
    """Judge a case by its points with each nonce and return its row."""
    judge = check_attack if case.most < FULL else check_mistake
    groups = [group.name for group in graded_groups(lab, by_nonce)]
    scores = {group: [got[group] for got in by_nonce.values()] for group in groups}
    ranges = {group: (min(found), max(found)) for group, found in scores.items()}
    return Row(case, ranges, judge(case, lab, by_nonce))
