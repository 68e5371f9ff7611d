"""Whether a lab's points are fair: each solution whose mistake is known is graded with many nonces.

A wrong solution is fair if it loses points in the groups that it names, and in no other, and if no
group's points depend on the nonce: they differ by at most SPREAD. The reference must have all
points with each nonce, and an attack no more than it deserves. In a lab that is answered by numbers
the student's name determines the machine, so there the nonce chooses the name.

Kernels are built once. With one nonce the reference runs once for all solutions. On the twin
(twin_grading.py) a nonce takes a third of the time.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from grade.definition.lab import FULL, BadLab, Edit, Group, Lab, attacks, mistakes, named
from grade.engine import grading, tree, twin_grading
from grade.engine.workbench import Workbench
from grade.trust.compiler import BuildFailed
from grade.trust.submission import Refused

SPREAD = 1.0  # points by which a group may differ from nonce to nonce
LEAST = 1.0  # points that are lost in a group that notices a mistake

Points = Mapping[str, float]  # by group


@dataclass(frozen=True)
class Case:
    """A solution to grade: the reference, a mistake, or an attack.

    loses: the groups that must lose points; disturbs: groups that may lose some, too; most: points
    that it may score, all groups together.
    """

    name: str
    edits: tuple[Edit, ...] = ()
    loses: frozenset[str] = frozenset()
    disturbs: frozenset[str] = frozenset()
    most: float = FULL


@dataclass(frozen=True)
class Row:
    """What a case got: the fewest and the most points by group, and what is unfair about it."""

    case: Case
    points: Mapping[str, tuple[float, float]]
    unfair: list[str]


def cases(lab: Lab, with_attacks: bool) -> list[Case]:
    """The reference, all wrong solutions, and the attacks if they are asked for."""
    wrong = [Case(m.name, m.edits, m.loses, m.disturbs) for m in mistakes(lab)]
    hostile = [Case(a.name, a.edits, a.loses, most=a.most) for a in attacks(lab)]
    return [Case("reference"), *wrong, *(hostile if with_attacks else [])]


def built(lab: Lab, case: Case, folder: Path, twin: bool = False) -> Path | None:
    """The kernel of a case, or its twin; None if it is an attack that is refused or does not build,
    which has no points. Raises BadLab for a mistake that does not build, because it would lose in
    every group."""
    build = twin_grading.build if twin else tree.build
    try:
        return build(folder / case.name, lab, tree.solution(lab, case.edits))
    except (Refused, BuildFailed) as error:
        if case.most < FULL:
            return None
        raise BadLab(f"{lab.name}: {case.name} is no kernel: {error}") from None


def points(lab: Lab, bench: Workbench, only: str) -> Points:
    """The points of a kernel by group; only: groups, or empty: all."""
    return {group.name: group.points for group in grading.asked_of(bench, lab, only).groups}


def bench_of(
    lab: Lab, kernel: Path, runs: Path, nonce: str, files: Mapping[str, str], twin: bool
) -> Workbench:
    """A workbench for the kernel of a case, or for its twin."""
    if twin:
        return twin_grading.bench(lab, kernel, runs, nonce, files)
    return Workbench(kernel, lab.reference, runs, nonce, grading.BUDGET_S, files=files)


def with_one_nonce(
    name: str, kernels: list[tuple[Case, Path | None]], nonce: str, only: str, twin: bool = False
) -> dict[str, Points]:
    """The points of each case of the lab of that name, in all groups or in these."""
    lab, reference, found, facts = named(name), {}, {}, {}
    groups = {test.group.name for test in grading.chosen(lab, only)}
    with TemporaryDirectory(prefix="sluice-") as folder:
        for case, kernel in kernels:
            if not kernel:
                found[case.name] = dict.fromkeys(groups, 0.0)
                continue
            files = tree.solution(lab, case.edits, f"Student {nonce}")
            runs = Path(folder) / case.name
            bench = bench_of(lab, kernel, runs, nonce, files, twin)
            bench.facts, bench.made = facts, {**reference}
            found[case.name] = points(lab, bench, only)
            ours = {key: run for key, run in bench.made.items() if key[0] == bench.reference_kernel}
            reference |= ours
            for run in runs.glob("[!r]*"):  # the reference's runs stay for the other cases
                shutil.rmtree(run)
    return found


def asked(lab: Lab, by_nonce: Mapping[str, Points]) -> list[Group]:
    """The groups that were graded."""
    return [group for group in lab.groups if all(group.name in got for got in by_nonce.values())]


def spread(scores: list[float]) -> float:
    """By how much scores differ."""
    return max(scores) - min(scores)


def unfair_mistake(case: Case, lab: Lab, by_nonce: Mapping[str, Points]) -> list[str]:
    """What is unfair about the points of the reference or of a mistake."""
    complaints = []
    for group in asked(lab, by_nonce):
        scores = {nonce: got[group.name] for nonce, got in by_nonce.items()}
        low, high = min(scores, key=scores.get), max(scores, key=scores.get)
        kept = group.points - LEAST
        if spread([*scores.values()]) > SPREAD:
            complaints.append(
                f"{group.name} depends on the nonce: {scores[low]:g} with NONCE={low}, "
                f"{scores[high]:g} with NONCE={high}"
            )
        if group.name in case.loses and scores[high] > kept:
            complaints.append(f"{group.name} does not lose with NONCE={high}")
        if group.name not in case.loses | case.disturbs and scores[low] <= kept:
            complaints.append(f"{group.name} loses with NONCE={low}")
        if not case.edits and scores[low] < group.points:
            complaints.append(f"{group.name} has {scores[low]:g} points with NONCE={low}")
    return complaints


def unfair_attack(case: Case, lab: Lab, by_nonce: Mapping[str, Points]) -> list[str]:
    """What is unfair about the points of an attack."""
    totals = {nonce: round(sum(got.values()), 2) for nonce, got in by_nonce.items()}
    best = max(totals, key=totals.get)
    complaints = []
    if totals[best] > case.most:
        complaints.append(
            f"{totals[best]:g} points with NONCE={best}, at most {case.most:g} wanted"
        )
    for group in (group for group in asked(lab, by_nonce) if group.name in case.loses):
        kept = [n for n, got in by_nonce.items() if got[group.name] > group.points - LEAST]
        complaints += [f"{group.name} does not lose with NONCE={nonce}" for nonce in kept[:1]]
    return complaints


def judged(lab: Lab, case: Case, by_nonce: Mapping[str, Points]) -> Row:
    """The row of a case, from its points with each nonce."""
    judge = unfair_attack if case.most < FULL else unfair_mistake
    groups = [group.name for group in asked(lab, by_nonce)]
    scores = {group: [got[group] for got in by_nonce.values()] for group in groups}
    ranges = {group: (min(found), max(found)) for group, found in scores.items()}
    return Row(case, ranges, judge(case, lab, by_nonce))
