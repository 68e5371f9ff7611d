"""Judges each expectation of an experiment by its results, and explains the verdict in a sentence.

What is expected of one arm alone, with a fixed limit or against the model, is judged by the values
of its trials. Two arms are compared by their trials' differences (significance.py).
"""

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean, median

from sluice.experiment import contest, equal_arms, interval, metrics, significance
from sluice.experiment.records import Expectation, RunResult, Variables
from sluice.experiment.result import drop_seed
from sluice.experiment.schema import MODEL_SAYS, Experiment
from sluice.experiment.significance import Claim
from sluice.experiment.verdict import (
    Verdict,
    group_by_setting,
    matches_variables,
    select_trials,
    setting_words,
)

Predicted = Callable[[RunResult], dict[str, float]]  # the model's figures for a result's run
Curve = dict[float, float]

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
WORDS = {"<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least ", "==": ""}
SHARES = {0.5: "half of ", 1: "", 2: "twice "}
OVER_RUNS = {"mean": "the mean", "min": "the smallest", "max": "the largest", "sum": "the sum"}


def satisfies(row: Expectation, value: float, limit: float) -> bool:
    """Return whether the value meets the expectation."""
    if row["within_percent"] is not None:
        return abs(value - limit) <= abs(limit) * row["within_percent"] / 100
    return COMPARE[row["op"]](value, limit)


def format_figure(value: float, name: str) -> str:
    """Return a metric's value as text, with the unit in which the metric's name ends."""
    unit = None if metrics.PARTS.search(name) else metrics.IN_UNIT.fullmatch(name)
    return f"{value:,.6g}{unit[2].replace('_', ' ').replace('percent', '%') if unit else ''}"


def factor_words(row: Expectation) -> str:
    """Return the factor in words that stand before the other value, as "half of "."""
    return SHARES.get(row["times"], f"{row['times']:g} times ")


def limit_words(row: Expectation, limit: str) -> str:
    """Return the expected limit in words. limit: its figure, with a unit if it has one."""
    within = f" within {row['within_percent']:g} %" if row["within_percent"] is not None else ""
    whose = "the model" if row["than"] == MODEL_SAYS else row["than"]
    of = f" ({factor_words(row)}{whose}'s)" if whose else ""
    return f"expected {WORDS[row['op']]}{limit}{within}{of}"


def aggregation_words(how: str, name: str, runs: list[RunResult]) -> str:
    """Return how one value was made from several runs, and the spread of the runs: a mean's
    interval, or an extreme's range over the trials."""
    if len(runs) < 2:
        return ""
    made = f"{OVER_RUNS[how]} of {len(runs)} runs"
    found = significance.spread_of_trials(runs, name, how)
    if not found:
        return f" ({made})"
    sure = "" if how in ("min", "max") else "95 %: "
    return f" ({made}, {sure}{found.low:,.4g} to {found.high:,.4g})"


def compare_arms(
    row: Expectation, mine: list[RunResult], others: list[RunResult], how: str
) -> Claim:
    """Return the comparison of two arms, or of one arm at two values of a variable."""
    name, times = row["metric"], row["times"]
    limit = metrics.aggregate(others, name, how) * times
    point = satisfies(row, metrics.aggregate(mine, name, how), limit)
    pairs = significance.paired_values(
        significance.seed_values(mine, name, how), significance.seed_values(others, name, how)
    )
    return significance.compare_pairs(row["op"], pairs, point, row["within_percent"] or 0, times)


def verdict_of_claims(row: Expectation, claims: list[Claim], why: str) -> Verdict:
    """Return the verdict of comparisons that must all hold. It shows the smallest difference among
    those that decide it."""
    met = significance.combine_answers([claim.met for claim in claims])
    shown = [claim for claim in claims if claim.met is met]
    least = min(shown, key=lambda claim: abs(claim.difference))
    open_ = significance.combine_open_words(claims) if met is None else ""
    leaning = significance.combine_answers([claim.leaning for claim in claims])
    return Verdict(row["says"], met, f"{why}; {least.describe}", open=open_, leaning=leaning)


def judge_trend(row: Expectation, mine: list[RunResult]) -> Verdict:
    """Return the verdict of an expectation about how a metric changes along a variable."""
    name, along = row["metric"], row["along"]
    assert along
    points: dict[object, list[RunResult]] = {}
    for result in mine:
        points.setdefault(result["variables"][along], []).append(result)
    how = row["of"] or metrics.aggregation(name)
    values = [metrics.aggregate(trials, name, how) for trials in points.values()]
    steps = itertools.pairwise(points.values())
    claims = [compare_arms(row, after, before, how) for before, after in steps]
    shown = ", ".join(format_figure(value, name) for value in values)
    at = ", ".join(map(str, points))
    before = f"{factor_words(row)}the one before it"
    why = (
        f"{row['arm']}: {name} is {shown} at {along} {at}; "
        f"expected each to be {WORDS[row['op']]}{before}"
    )
    return verdict_of_claims(row, claims, why)


@dataclass(frozen=True)
class Point:
    """A combination of variables, and how the expectation is met there."""

    at: Variables
    value: float
    limit: float
    met: bool | None  # whether the value meets the expectation; None: open
    claim: Claim | None = None  # the comparison, if the limit is another arm's value

    @property
    def deviation(self) -> float:
        """The relative deviation of the value from the limit."""
        return abs(self.value - self.limit) / abs(self.limit or 1)


def verdict_at_worst_point(row: Expectation, points: list[Point], what: str, unit: str) -> Verdict:
    """Return the verdict of an expectation that must be met at all points.

    It shows one point: of the points that fail, the one with the largest deviation; if none fails,
    the one that is nearest to failing. A point at which the comparison is open neither passes nor
    fails.
    """
    failed = [point for point in points if point.met is False]
    open_ = [point for point in points if point.met is None]
    met = significance.combine_answers([point.met for point in points])
    # A point that meets "==" is nearest to failing if it deviates most. A point that meets another
    # operator deviates in the right direction, so the one that deviates least is nearest.
    worst = max if failed or row["op"] == "==" else min
    point = worst(failed or open_ or points, key=lambda point: point.deviation)
    count = f"the worst of {len(points)}" + (f"; {len(failed)} not as expected" if failed else "")
    claims = [point.claim for point in points if point.claim]
    open_word = significance.combine_open_words(claims) if met is None else ""
    count += f"; {len(open_)} open" if open_ else ""
    value, limit = (f"{number:,.6g}{unit}" for number in (point.value, point.limit))
    came = f"{row['arm']}: {what}{setting_words(point.at)} is {value} ({count})"
    why = f"{came}; {limit_words(row, limit)}"
    if point.claim:
        why += f"; {point.claim.describe}"
    leaning = significance.combine_answers([claim.leaning for claim in claims])
    return Verdict(row["says"], met, why, open=open_word, leaning=leaning)


def verdict_at_median_point(row: Expectation, points: list[Point]) -> Verdict:
    """Return the verdict of an expectation about the median deviation of all points."""
    off = 100 * median(point.deviation for point in points)
    came = f"{row['arm']}: {row['metric']} is {off:.2g} % off in the median of {len(points)}"
    limit = row["median_percent"]
    assert limit is not None
    return Verdict(row["says"], off <= limit, f"{came}; expected at most {limit:g} %")


def judge_points(
    row: Expectation, mine: list[RunResult], others: list[RunResult], predicted: Predicted
) -> Verdict:
    """Return the verdict of an expectation about each combination of variables."""
    name, points = row["metric"], []
    how = row["of"] if row["of"] != "point" else None
    for at, group in group_by_setting(mine):
        value, limit, claim = metrics.aggregate(group, name, how), row["value"], None
        if row["than"] == MODEL_SAYS:
            limit = mean(predicted(trial)[name] for trial in group) * row["times"]
        elif others:
            there = [r for r in others if drop_seed(r["variables"]) == at]
            limit = metrics.aggregate(there, name, how) * row["times"]
            claim = compare_arms(row, group, there, how or metrics.aggregation(name))
        assert limit is not None  # load.check_expectation saw to it
        met = claim.met if claim else satisfies(row, value, limit)
        points.append(Point(at, value, limit, met, claim))
    if row["median_percent"] is not None:
        return verdict_at_median_point(row, points)
    return verdict_at_worst_point(row, points, name, format_figure(0, name)[1:])


def crossing_point(one: Curve, other: Curve) -> float | None:
    """Return the x at which two curves of positive values cross, or None unless they cross exactly
    once.

    Between two points the logarithm of their ratio is taken to be a straight line, which crosses 0
    where the curves cross.
    """
    shared = sorted(one.keys() & other.keys())
    ratios = [(x, math.log(one[x] / other[x])) for x in shared]
    found = [
        x0 + (x1 - x0) * r0 / (r0 - r1)
        for (x0, r0), (x1, r1) in itertools.pairwise(ratios)
        if (r0 < 0) != (r1 < 0)
    ]
    return found[0] if len(found) == 1 else None


def mean_curve(
    results: list[RunResult], variable: str, at: Variables, of: Callable[[list[RunResult]], float]
) -> Curve:
    """Return the curve of a value along a variable: of the runs with the variables `at`, the value
    that `of` computes."""
    here = [r for r in results if at.items() <= r["variables"].items()]
    return {float(x[variable]): of(group) for x, group in group_by_setting(here)}


def crossing_spread(
    mine: list[RunResult],
    others: list[RunResult],
    variable: str,
    at: Variables,
    of: Callable[[list[RunResult]], float],
) -> str:
    """Return the 95 % interval of the crossing, from each seed's own crossing, in words.

    It is "" if there are too few seeds, or if some seed has no single crossing.
    """

    def curve_of_seed(arm: list[RunResult], seed: object) -> Curve:
        """Return an arm's curve from the runs with this seed."""
        runs = [result for result in arm if result["variables"].get("seed") == seed]
        return mean_curve(runs, variable, at, of)

    seeds = dict.fromkeys(result["variables"].get("seed") for result in mine)
    found = [
        crossing_point(curve_of_seed(mine, seed), curve_of_seed(others, seed)) for seed in seeds
    ]
    single = [x for x in found if x is not None]
    spread = interval.mean_interval(single) if len(single) == len(found) else None
    return f", 95 %: {spread.low:.4g} to {spread.high:.4g}" if spread else ""


def describe_crossing(op: str, point: Point) -> str:
    """Return the text for one crossing: where it is, and where it was expected."""
    return f"{point.value:.4g} (expected {WORDS[op]}{point.limit:.4g}){setting_words(point.at)}"


def judge_crossings(
    row: Expectation, mine: list[RunResult], others: list[RunResult], predicted: Predicted
) -> Verdict:
    """Return the verdict of an expectation about where two arms' values cross along a variable."""
    name, variable, points = row["metric"], row["crosses"], []
    assert variable

    def measured_value(group: list[RunResult]) -> float:
        """Return the measured value of some runs."""
        return metrics.aggregate(group, name, row["of"])

    def predicted_value(group: list[RunResult]) -> float:
        """Return the model's value for some runs."""
        return mean(predicted(trial)[name] for trial in group)

    spreads: list[str] = []
    for at, _ in group_by_setting(mine, variable):
        value = crossing_point(
            *(mean_curve(arm, variable, at, measured_value) for arm in (mine, others))
        )
        spreads.append(crossing_spread(mine, others, variable, at, measured_value))
        limit = row["value"]
        if limit is None:
            limit = crossing_point(
                *(mean_curve(arm, variable, at, predicted_value) for arm in (mine, others))
            )
        if value is None or limit is None:
            whose = f"{name} of {row['arm']} and {row['than']}"
            where = "as measured" if value is None else "in the model"
            why = f"{where}, {whose} do not meet exactly once along {variable}{setting_words(at)}"
            return Verdict(row["says"], False, why)
        points.append(Point(at, value, limit, satisfies(row, value, limit)))
    what = f"{variable} where {name} meets that of {row['than']}"
    verdict = verdict_at_worst_point({**row, "than": None}, points, what, "")
    lines = [describe_crossing(row["op"], p) + s for p, s in zip(points, spreads, strict=True)]
    return replace(verdict, details=tuple(lines))


def judge_one(
    row: Expectation, results: list[RunResult], wanted: int, predicted: Predicted
) -> Verdict:
    """Return the verdict of one expectation. wanted: how many runs its arm should have."""
    name, where = row["metric"], row["where"]
    other = row["than"] if row["than"] != MODEL_SAYS else None
    mine = select_trials(results, row["arm"], where)
    others = select_trials(results, other, where) if other else []
    if len(mine) < wanted or (other and len(others) < wanted):
        return Verdict(row["says"], None, "not all of its runs have been made")
    if row["along"]:
        return judge_trend(row, mine)
    if row["crosses"]:
        return judge_crossings(row, mine, others, predicted)
    if row["than"] == MODEL_SAYS or row["of"] == "point":
        return judge_points(row, mine, others, predicted)
    limit = metrics.aggregate(others, name) * row["times"] if others else row["value"]
    assert limit is not None  # load.check_expectation saw to it
    how = row["of"] or metrics.aggregation(name)
    if how in ("every", "any"):
        values = [metrics.evaluate(result, name) for result in mine]
        met = (all if how == "every" else any)(satisfies(row, value, limit) for value in values)
        shown = f"{format_figure(min(values), name)} to {format_figure(max(values), name)}"
        needed = f"{limit_words(row, format_figure(limit, name))} in {how} run"
    else:
        value = metrics.aggregate(mine, name, how)
        met = satisfies(row, value, limit)
        shown = format_figure(value, name) + aggregation_words(how, name, mine)
        needed = limit_words(row, format_figure(limit, name))
    why = f"{row['arm']}: {name} is {shown}; {needed}"
    if others and how not in ("every", "any"):
        return verdict_of_claims(row, [compare_arms(row, mine, others, how)], why)
    return Verdict(row["says"], met, why)


def judge_experiment(experiment: Experiment, results: list[RunResult]) -> list[Verdict]:
    """Return the verdicts of the experiment's expectations, of its contest, and of arms that must
    not be equal."""
    verdicts = []
    for row in experiment.expectations:
        wanted = sum(
            run.arm == row["arm"] and matches_variables(row["where"], run.variables)
            for run in experiment.runs
        )
        verdict = judge_one(row, results, wanted, experiment.find_prediction)
        verdict = replace(verdict, paper=row["paper"], differs=row["differs"])
        verdicts.append(replace(verdict, finding=row["finding"], check=row["check"]))
    return (
        verdicts
        + contest.judge(experiment, results)
        + equal_arms.judge_equal_arms(experiment, results)
    )
