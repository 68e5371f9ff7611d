"""The first sentence of a page: one metric, with its numbers.

The metric is the experiment's `lead` (in [plot]). If it has none, it is the metric of most of its
expectations, and among several with as many, a longest wait. The sentence compares two arms, in the
setting in which they differ most:

- of a contest, its arm and the best of the others;
- otherwise the arm of the first expectation about the metric, and the one that it is compared with,
  or the arm of the next expectation, or else the arm with the most different value.
"""

import math
from collections import Counter
from dataclasses import dataclass

from grade.measure import metrics
from grade.measure.verdict import Verdict
from grade.report.study import Study, System
from grade.report.study import words as in_words
from grade.report.wording import Words, words

ALMOST = 1.05  # times as much: no difference worth a number


def metric(study: Study) -> str | None:
    """The metric that the page begins with; None if the experiment names none."""
    of = study.experiment
    often = Counter(row["metric"] for row in of.expectations)
    ranked = sorted(often, key=lambda name: (-often[name], ".max" not in name))
    contested = of.contest["metrics"] if of.contest else []
    response = [f"{study.job}.max_ms"] if study.job else []
    named = [of.plot["lead"]] if of.plot.get("lead") else []
    return next(iter([*named, *ranked, *contested, *response, *of.plot["columns"]]), None)


def values(study: Study, name: str) -> dict[str, dict[str, float]]:
    """The metric by setting, in words, and by arm."""
    found: dict[str, dict[str, float]] = {in_words(at): {} for at in study.settings}
    for system in study.systems:
        found[in_words(system.setting)][system.arm] = value(system, name)
    return found


def value(system: System, name: str) -> float:
    return metrics.together(system.trials, name)


def far(one: float, other: float) -> float:
    """The ratio of two values, the larger one above."""
    return abs(math.log(one / other)) if one > 0 and other > 0 else abs(one - other)


@dataclass(frozen=True)
class Pair:
    """Two arms in a setting, and their values."""

    at: str
    arms: tuple[str, str]
    values: tuple[float, float]


def first(study: Study, name: str) -> tuple[str, str | None]:
    """The arm that the metric is about, and the one that it is compared with, if the expectations
    say so: in the same expectation, or as the arm of the next one about the metric."""
    rows = [r for r in study.experiment.expectations if r["metric"] == name]
    rows = [r for r in rows if r["arm"] in study.arms]
    if not rows:
        return study.arms[0], None
    arm = rows[0]["arm"]
    others = [rows[0]["than"], *(row["arm"] for row in rows)]
    return arm, next((a for a in others if a in study.arms and a != arm), None)


def rival(by_arm: dict[str, float], arm: str) -> str:
    """The arm with the most different value."""
    return max((a for a in by_arm if a != arm), key=lambda a: far(by_arm[a], by_arm[arm]))


def pair(study: Study, name: str) -> Pair | None:
    """The two arms to compare; None if there is only one."""
    arm, than = first(study, name)
    found = []
    for at, by_arm in values(study, name).items():
        if len(by_arm) < 2 or arm not in by_arm or (than and than not in by_arm):
            continue
        other = than or rival(by_arm, arm)
        found.append(Pair(at, (arm, other), (by_arm[arm], by_arm[other])))
    return max(found, key=lambda row: far(*row.values), default=None)


def times(more: float, less: float) -> str:
    """A ratio in words."""
    if less <= 0 or more <= 0:
        return ""
    ratio = more / less
    if ratio < ALMOST:
        return ": hardly a difference"
    return f": {ratio:.0f} to 1" if ratio >= 9.95 else f": {ratio:.2g} to 1"


def of_pair(said: Words, found: Pair) -> str:
    """A sentence about two arms, the one with the larger value first."""
    rows = sorted(zip(found.values, found.arms, strict=True), reverse=True)
    (more, arm), (less, other) = rows
    at = f" (at {found.at})" if found.at else ""
    return (
        f"{said.capital}{at}: {said.value(more)} with {arm}, {said.value(less)} with "
        f"{other}{times(more, less)}."
    )


@dataclass(frozen=True)
class Standing:
    """The contest's arm among the others, in the setting where the others are worst."""

    at: str
    own: float
    order: list[tuple[str, float]]  # the others, the least first


def standing(study: Study, name: str) -> Standing | None:
    """The standing of the contest's arm; None without a contest of three arms or more."""
    contest = study.experiment.contest
    if not contest or len(study.arms) < 3:
        return None
    found = []
    for at, by_arm in values(study, name).items():
        order = sorted(by_arm.items(), key=lambda row: row[1])
        others = [row for row in order if row[0] not in (contest["arm"], *contest["aside"])]
        if contest["arm"] in by_arm and others:
            found.append(Standing(at, by_arm[contest["arm"]], others))
    return max(found, key=lambda row: row.order[-1][1], default=None)


def of_contest(arm: str, said: Words, place: Standing) -> str:
    """A sentence about the place of the contest's arm."""
    better = sum(v < place.own for _, v in place.order)
    (best, least), (worst, most) = place.order[0], place.order[-1]
    rank = "the least" if not better else f"{better} of the others have less"
    where = f" (at {place.at})" if place.at else ""
    return (
        f"{said.capital}{where}: {said.value(place.own)} with {arm}, {rank}; of the "
        f"{len(place.order)} others the least is {said.value(least)} with {best}, the most "
        f"{said.value(most)} with {worst}."
    )


def named(study: Study) -> list[str]:
    """The arms that the sentence is about, in its order."""
    name = metric(study)
    if name is None:
        return []
    place = standing(study, name)
    if place:
        arms = [study.experiment.contest["arm"], place.order[0][0], place.order[-1][0]]
        return list(dict.fromkeys(arms))
    found = pair(study, name)
    return list(found.arms) if found else []


def along(study: Study, name: str, said: Words) -> str:
    """A sentence about the first and the last value of the only arm."""
    ends = [study.systems[0], study.systems[-1]]
    texts = [f"{said.value(value(s, name))} at {in_words(s.setting)}" for s in ends]
    return f"{said.capital} with {ends[0].arm}: from {texts[0]} to {texts[1]}."


def sentence(study: Study) -> str:
    """The result of the metric, with its numbers; "" if there is none."""
    name = metric(study)
    if name is None:
        return ""
    said = words(name)
    place = standing(study, name)
    if place:
        return of_contest(study.experiment.contest["arm"], said, place)
    found = pair(study, name)
    if found:
        return of_pair(said, found)
    if len(study.systems) > 1:
        return along(study, name, said)
    [system] = study.systems
    return f"{said.capital}: {said.value(value(system, name))} with {system.arm}."


def tally(verdicts: list[Verdict]) -> str:
    """How many expectations were met, and how many matches were won."""
    own = [v for v in verdicts if not v.contest]
    matches = [v for v in verdicts if v.contest and v.met is not None]
    met, unknown = sum(v.met is True for v in own), sum(v.met is None for v in own)
    explained = sum(v.explained for v in own)
    parts = []
    if len(own) == 1 and met:
        parts.append("The one expectation was met.")
    elif own:
        said = f"All {met}" if met == len(own) else f"{met} of {len(own)}"
        parts.append(f"{said} expectations were met.")
    if explained:
        are = "1 differs" if explained == 1 else f"{explained} differ"
        parts.append(f"{are} from the paper for a cause that is known.")
    if unknown:
        parts.append(f"{unknown} cannot be judged, as runs are missing.")
    if matches:
        won = sum(v.met is True for v in matches)
        parts.append(f"{won} of {len(matches)} matches of the contest were won.")
    return " ".join(parts)
