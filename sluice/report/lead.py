"""Write the first sentence of a page: one metric, with its numbers.

The metric is the experiment's `lead` (in [plot]). Without `lead` it is the metric with the most
expectations; if several metrics have equally many, a longest wait is preferred. The sentence
compares arms, in the setting in which they differ most:

- of a contest, its arm, and the best and the worst of the others;
- otherwise, the arm of the first expectation about the metric and a second arm: the arm with which
  this expectation compares it, or the arm of the next expectation, or else the arm with the most
  different value.

A mean is printed with its 95 % interval, a longest wait as a range over the trials. An arm has the
least value only if its value is significantly less than the others'
(sluice/experiment/significance.py).
"""

import math
from collections import Counter
from dataclasses import dataclass

from sluice.experiment import contest, metrics, significance
from sluice.experiment.contest import Entry, Rival
from sluice.experiment.records import RunResult
from sluice.experiment.significance import Claim
from sluice.experiment.verdict import (
    NO_DIFFERENCE,
    NOT_DECIDED,
    NOT_JUDGED,
    UNKNOWN,
    WON,
    Verdict,
)
from sluice.report.study import Study, System
from sluice.report.study import variable_words as in_words
from sluice.report.wording import Words, metric_words

ALMOST = 1.05  # a smaller ratio is printed as "hardly a difference"


def lead_metric(study: Study) -> str | None:
    """Return the metric that the page begins with; None if the experiment names none."""
    experiment = study.experiment
    often = Counter(row["metric"] for row in experiment.expectations)
    ranked = sorted(often, key=lambda name: (-often[name], ".max" not in name))
    contested = experiment.contest["metrics"] if experiment.contest else []
    response = [f"{study.job}.max_ms"] if study.job else []
    named = [experiment.plot["lead"]] if experiment.plot.get("lead") else []
    return next(iter([*named, *ranked, *contested, *response, *experiment.plot["columns"]]), None)


def values_by_setting(study: Study, name: str) -> dict[str, dict[str, float]]:
    """Return the metric by setting, in words, and by arm."""
    found: dict[str, dict[str, float]] = {in_words(at): {} for at in study.settings}
    for system in study.systems:
        found[in_words(system.setting)][system.arm] = system_value(system, name)
    return found


def system_value(system: System, name: str) -> float:
    """Return a metric over a system's trials."""
    return metrics.aggregate(system.trials, name)


def setting_trials(study: Study, at: str, arm: str) -> list[RunResult]:
    """Return the runs of an arm in a setting, which is given in words."""
    [found] = [s.trials for s in study.systems if s.arm == arm and in_words(s.setting) == at]
    return found


def quote_value(words: Words, name: str, runs: list[RunResult]) -> str:
    """Return the metric over these runs as text: an extreme as the range over the trials, a mean
    with its interval."""
    whole, found = metrics.aggregate(runs, name), significance.spread_of_trials(runs, name)
    if not found or found.low == found.high:
        return words.value(whole)
    if metrics.aggregation(name) in ("min", "max"):
        return f"{words.value(found.low)} to {words.value(found.high)}"
    return f"{words.value(whole)} (95 %: {words.value(found.low)} to {words.value(found.high)})"


def compare_less(name: str, runs: list[RunResult], others: list[RunResult]) -> Claim:
    """Return the claim that the runs have less of the metric than the other runs."""
    pairs = significance.paired_values(
        significance.seed_values(runs, name), significance.seed_values(others, name)
    )
    point = metrics.aggregate(runs, name) < metrics.aggregate(others, name)
    return significance.compare_pairs("<", pairs, point)


def larger_ratio(one: float, other: float) -> float:
    """Return the distance of two values: the absolute logarithm of their ratio, or the absolute
    difference if one is not positive."""
    return abs(math.log(one / other)) if one > 0 and other > 0 else abs(one - other)


@dataclass(frozen=True)
class Pair:
    """Two arms in a setting, and their values."""

    at: str
    arms: tuple[str, str]
    values: tuple[float, float]


def lead_pair(study: Study, name: str) -> tuple[str, str | None]:
    """Return the arm of the first expectation about the metric, and the arm that it is compared
    with, or None.

    The second arm is in the same expectation, or it is the arm of the next one about the metric.
    """
    rows = [r for r in study.experiment.expectations if r["metric"] == name]
    rows = [r for r in rows if r["arm"] in study.arms]
    if not rows:
        return study.arms[0], None
    arm = rows[0]["arm"]
    others = [rows[0]["than"], *(row["arm"] for row in rows)]
    return arm, next((a for a in others if a in study.arms and a != arm), None)


def most_different_arm(by_arm: dict[str, float], arm: str) -> str:
    """Return the arm with the most different value."""
    return max((a for a in by_arm if a != arm), key=lambda a: larger_ratio(by_arm[a], by_arm[arm]))


def compared_pair(study: Study, name: str) -> Pair | None:
    """Return the two arms to compare; None if there is only one."""
    arm, than = lead_pair(study, name)
    found = []
    for at, by_arm in values_by_setting(study, name).items():
        if len(by_arm) < 2 or arm not in by_arm or (than and than not in by_arm):
            continue
        other = than or most_different_arm(by_arm, arm)
        found.append(Pair(at, (arm, other), (by_arm[arm], by_arm[other])))
    return max(found, key=lambda row: larger_ratio(*row.values), default=None)


def ratio_words(more: float, less: float) -> str:
    """Return a ratio in words, after a colon; "" if a value is not positive."""
    if less <= 0 or more <= 0:
        return ""
    ratio = more / less
    if ratio < ALMOST:
        return ": hardly a difference"
    return f": {ratio:.0f} to 1" if ratio >= 9.95 else f": {ratio:.2g} to 1"


def pair_sentence(study: Study, name: str, words: Words, found: Pair) -> str:
    """Return a sentence about two arms, the one with the larger value first."""
    rows = sorted(zip(found.values, found.arms, strict=True), reverse=True)
    (more, arm), (least, other) = rows
    at = f" (at {found.at})" if found.at else ""
    runs, others = (setting_trials(study, found.at, one) for one in (arm, other))
    apart_by, less = ratio_words(more, least), compare_less(name, others, runs)
    if less.met is None and less.interval is None:
        apart_by += f", {NOT_JUDGED} ({less.describe})"
    elif less.met is None:
        apart_by = f": {NO_DIFFERENCE}"
    return (
        f"{words.capital}{at}: {quote_value(words, name, runs)} with {arm}, "
        f"{quote_value(words, name, others)} with {other}{apart_by}."
    )


@dataclass(frozen=True)
class Standing:
    """The position of the contest's arm among the other arms, in the setting where the other arms
    are worst."""

    at: str
    own: Entry
    order: list[Rival]  # the others, the least first


def contest_standing(study: Study, name: str) -> Standing | None:
    """Return the standing of the contest's arm; None without a contest of three arms or more."""
    row = study.experiment.contest
    if not row or len(study.arms) < 3:
        return None
    found = []
    for at, by_arm in values_by_setting(study, name).items():
        here = {arm: Entry(arm, setting_trials(study, at, arm)) for arm in by_arm}
        own = here.get(row["arm"])
        others = [here[arm] for arm in by_arm if arm not in (row["arm"], *row["aside"])]
        if own and others:
            order = [contest.compare_rival(own, other, name, "<") for other in others]
            found.append(Standing(at, own, sorted(order, key=lambda one: one.value)))
    return max(found, key=lambda place: place.order[-1].value, default=None)


def rank_words(place: Standing) -> str:
    """Return the position of the contest's arm in words."""
    first = place.order[0].less
    if first.interval is None:
        return f"{NOT_JUDGED} ({first.describe})"
    better = sum(one.less.met is False for one in place.order)
    same = sum(one.less.met is None for one in place.order)
    if better:
        return f"{better} of the others have less"
    return f"{NO_DIFFERENCE} from {same} of the others" if same else "the least"


def contest_sentence(study: Study, name: str, words: Words, place: Standing) -> str:
    """Return a sentence about the position of the contest's arm."""
    best, worst = (
        f"{quote_value(words, name, setting_trials(study, place.at, one.arm))} with {one.arm}"
        for one in (place.order[0], place.order[-1])
    )
    where = f" (at {place.at})" if place.at else ""
    return (
        f"{words.capital}{where}: {quote_value(words, name, place.own.runs)} with {place.own.arm}, "
        f"{rank_words(place)}; of the {len(place.order)} others "
        f"the least is {best}, the most {worst}."
    )


def sentence_arms(study: Study) -> list[str]:
    """Return the arms that the sentence is about, in its order."""
    name = lead_metric(study)
    if name is None:
        return []
    place = contest_standing(study, name)
    if place:
        arms = [place.own.arm, place.order[0].arm, place.order[-1].arm]
        return list(dict.fromkeys(arms))
    found = compared_pair(study, name)
    return list(found.arms) if found else []


def trend_sentence(study: Study, name: str, words: Words) -> str:
    """Return a sentence about the first and the last value of the only arm."""
    ends = [study.systems[0], study.systems[-1]]
    texts = [f"{quote_value(words, name, s.trials)} at {in_words(s.setting)}" for s in ends]
    return f"{words.capital} with {ends[0].arm}: from {texts[0]} to {texts[1]}."


def lead_sentence(study: Study) -> str:
    """Return the page's first sentence, the metric with its numbers; "" if there is no metric."""
    name = lead_metric(study)
    if name is None:
        return ""
    words = metric_words(name)
    place = contest_standing(study, name)
    if place:
        return contest_sentence(study, name, words, place)
    found = compared_pair(study, name)
    if found:
        return pair_sentence(study, name, words, found)
    if len(study.systems) > 1:
        return trend_sentence(study, name, words)
    [system] = study.systems
    return f"{words.capital}: {quote_value(words, name, system.trials)} with {system.arm}."


def verdict_counts(verdicts: list[Verdict]) -> str:
    """Return sentences about how many expectations were met, and how many matches were won."""
    own = [v for v in verdicts if not v.contest]
    matches = [v for v in verdicts if v.contest and v.word != UNKNOWN]
    met, explained = sum(v.met is True for v in own), sum(v.is_explained for v in own)
    count = Counter(v.word for v in own)
    parts = []
    if len(own) == 1 and met:
        parts.append("The one expectation was met.")
    elif own:
        said = f"All {met}" if met == len(own) else f"{met} of {len(own)}"
        parts.append(f"{said} expectations were met.")
    if explained:
        are = "1 differs" if explained == 1 else f"{explained} differ"
        parts.append(f"{are} for a cause that is known.")
    if count[NO_DIFFERENCE]:
        parts.append(f"In {count[NO_DIFFERENCE]} no difference is seen.")
    if count[NOT_DECIDED]:
        parts.append(f"{count[NOT_DECIDED]} not decided: the interval holds the limit.")
    if count[NOT_JUDGED]:
        parts.append(f"{count[NOT_JUDGED]} not judged: too few trials for an interval.")
    if count[UNKNOWN]:
        parts.append(f"{count[UNKNOWN]} cannot be judged, as runs are missing.")
    if matches:
        parts.append(match_counts(matches))
    return " ".join(parts)


def match_counts(matches: list[Verdict]) -> str:
    """Return a sentence about how many matches of a contest were won."""
    count = Counter(v.word for v in matches)
    told = "".join(f", {count[word]} {word}" for word in (NO_DIFFERENCE, NOT_JUDGED) if count[word])
    return f"{count[WON]} of {len(matches)} matches of the contest were won{told}."
