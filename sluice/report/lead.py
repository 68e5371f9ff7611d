"""The first sentence of a page: one metric, with its numbers.

The metric is the experiment's `lead` (in [plot]). If it has none, it is the metric of most of its
expectations, and among several with as many, a longest wait. The sentence compares two arms, in the
setting in which they differ most:

- of a contest, its arm and the best of the others;
- otherwise the arm of the first expectation about the metric, and the one that it is compared with,
  or the arm of the next expectation, or else the arm with the most different value.

A mean is told with its 95 % interval, a longest wait as a range over the trials, and an arm has the
least only if it is told apart from the others (sluice/experiment/significance.py).
"""

import math
from collections import Counter
from dataclasses import dataclass

from sluice.experiment import contest, metrics, significance
from sluice.experiment.contest import Entry, Rival
from sluice.experiment.significance import Claim
from sluice.experiment.verdict import Verdict
from sluice.report.study import Study, System
from sluice.report.study import words as in_words
from sluice.report.wording import Words, words

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


def trials(study: Study, at: str, arm: str) -> list[dict]:
    """The runs of an arm in a setting, which is given in words."""
    [found] = [s.trials for s in study.systems if s.arm == arm and in_words(s.setting) == at]
    return found


def quoted(said: Words, name: str, runs: list[dict]) -> str:
    """The metric over these runs: an extreme as the range over the trials, a mean with its
    interval."""
    whole, found = metrics.together(runs, name), significance.spread(runs, name)
    if not found or found.low == found.high:
        return said.value(whole)
    if metrics.over_runs(name) in ("min", "max"):
        return f"{said.value(found.low)} to {said.value(found.high)}"
    return f"{said.value(whole)} (95 %: {said.value(found.low)} to {said.value(found.high)})"


def less(name: str, runs: list[dict], others: list[dict]) -> Claim:
    """Whether the runs have less of the metric than the others, as far as trials tell."""
    pairs = significance.both(significance.values(runs, name), significance.values(others, name))
    point = metrics.together(runs, name) < metrics.together(others, name)
    return significance.compared("<", pairs, point)


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


def of_pair(study: Study, name: str, said: Words, found: Pair) -> str:
    """A sentence about two arms, the one with the larger value first."""
    rows = sorted(zip(found.values, found.arms, strict=True), reverse=True)
    (more, arm), (least, other) = rows
    at = f" (at {found.at})" if found.at else ""
    runs, others = (trials(study, found.at, one) for one in (arm, other))
    apart_by = times(more, least)
    if less(name, others, runs).met is None:
        apart_by = ": not told apart"
    return (
        f"{said.capital}{at}: {quoted(said, name, runs)} with {arm}, "
        f"{quoted(said, name, others)} with {other}{apart_by}."
    )


@dataclass(frozen=True)
class Standing:
    """The contest's arm among the others, in the setting where the others are worst."""

    at: str
    own: Entry
    order: list[Rival]  # the others, the least first


def standing(study: Study, name: str) -> Standing | None:
    """The standing of the contest's arm; None without a contest of three arms or more."""
    row = study.experiment.contest
    if not row or len(study.arms) < 3:
        return None
    found = []
    for at, by_arm in values(study, name).items():
        here = {arm: Entry(arm, trials(study, at, arm)) for arm in by_arm}
        own = here.get(row["arm"])
        others = [here[arm] for arm in by_arm if arm not in (row["arm"], *row["aside"])]
        if own and others:
            order = [contest.rival(own, other, name, "<") for other in others]
            found.append(Standing(at, own, sorted(order, key=lambda one: one.value)))
    return max(found, key=lambda place: place.order[-1].value, default=None)


def rank(place: Standing) -> str:
    """The place of the contest's arm in words."""
    better = sum(one.less.met is False for one in place.order)
    same = sum(one.less.met is None for one in place.order)
    if better:
        return f"{better} of the others have less"
    if same:
        return f"not told apart from {same} of the others"
    first = place.order[0].less
    return "the least" if first.interval else f"the least ({first.told})"


def of_contest(study: Study, name: str, said: Words, place: Standing) -> str:
    """A sentence about the place of the contest's arm."""
    best, worst = (
        f"{quoted(said, name, trials(study, place.at, one.arm))} with {one.arm}"
        for one in (place.order[0], place.order[-1])
    )
    where = f" (at {place.at})" if place.at else ""
    return (
        f"{said.capital}{where}: {quoted(said, name, place.own.runs)} with {place.own.arm}, "
        f"{rank(place)}; of the {len(place.order)} others the least is {best}, the most {worst}."
    )


def named(study: Study) -> list[str]:
    """The arms that the sentence is about, in its order."""
    name = metric(study)
    if name is None:
        return []
    place = standing(study, name)
    if place:
        arms = [place.own.arm, place.order[0].arm, place.order[-1].arm]
        return list(dict.fromkeys(arms))
    found = pair(study, name)
    return list(found.arms) if found else []


def along(study: Study, name: str, said: Words) -> str:
    """A sentence about the first and the last value of the only arm."""
    ends = [study.systems[0], study.systems[-1]]
    texts = [f"{quoted(said, name, s.trials)} at {in_words(s.setting)}" for s in ends]
    return f"{said.capital} with {ends[0].arm}: from {texts[0]} to {texts[1]}."


def sentence(study: Study) -> str:
    """The result of the metric, with its numbers; "" if there is none."""
    name = metric(study)
    if name is None:
        return ""
    said = words(name)
    place = standing(study, name)
    if place:
        return of_contest(study, name, said, place)
    found = pair(study, name)
    if found:
        return of_pair(study, name, said, found)
    if len(study.systems) > 1:
        return along(study, name, said)
    [system] = study.systems
    return f"{said.capital}: {quoted(said, name, system.trials)} with {system.arm}."


def tally(verdicts: list[Verdict]) -> str:
    """How many expectations were met, and how many matches were won."""
    own = [v for v in verdicts if not v.contest]
    matches = [v for v in verdicts if v.contest and (v.met is not None or v.undecided)]
    met, unknown = (
        sum(v.met is True for v in own),
        sum(v.met is None and not v.undecided for v in own),
    )
    explained, undecided = sum(v.explained for v in own), sum(v.undecided for v in own)
    parts = []
    if len(own) == 1 and met:
        parts.append("The one expectation was met.")
    elif own:
        said = f"All {met}" if met == len(own) else f"{met} of {len(own)}"
        parts.append(f"{said} expectations were met.")
    if explained:
        are = "1 differs" if explained == 1 else f"{explained} differ"
        parts.append(f"{are} for a cause that is known.")
    if undecided:
        parts.append(f"{undecided} compare{'s' * (undecided == 1)} arms that are not told apart.")
    if unknown:
        parts.append(f"{unknown} cannot be judged, as runs are missing.")
    if matches:
        parts.append(of_matches(matches))
    return " ".join(parts)


def of_matches(matches: list[Verdict]) -> str:
    """How many matches of a contest were won."""
    won, same = sum(v.met is True for v in matches), sum(v.undecided for v in matches)
    if all(v.sure for v in matches):
        told = f", {same} not told apart" if same else ""
        return f"{won} of {len(matches)} matches of the contest were won{told}."
    return f"In {won} of {len(matches)} matches of the contest it is ahead, without an interval."
