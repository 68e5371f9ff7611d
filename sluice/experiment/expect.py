"""Whether results are as the experiment expects, and a sentence that says so for each.

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
from sluice.experiment.result import setting
from sluice.experiment.schema import MODEL_SAYS, Experiment
from sluice.experiment.significance import Claim
from sluice.experiment.verdict import Verdict, by_setting, trials, within, words

Predicted = Callable[[dict], dict[str, float]]  # the model's figures for a result's run
Curve = dict[float, float]

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
WORDS = {"<": "less than ", "<=": "at most ", ">": "more than ", ">=": "at least ", "==": ""}
SHARES = {0.5: "half of ", 1: "", 2: "twice "}
OVER_RUNS = {"mean": "the mean", "min": "the smallest", "max": "the largest", "sum": "the sum"}


def compared(row: dict, value: float, limit: float) -> bool:
    """Is the value as the expectation says?"""
    if row["within_percent"] is not None:
        return abs(value - limit) <= abs(limit) * row["within_percent"] / 100
    return COMPARE[row["op"]](value, limit)


def figure(value: float, name: str) -> str:
    """A metric's value, with the unit that its name ends in."""
    unit = None if metrics.RATIO in name else metrics.IN_UNIT.fullmatch(name)
    return f"{value:,.6g}{unit[2].replace('_', ' ').replace('percent', '%') if unit else ''}"


def share(row: dict) -> str:
    """What a limit is of another value: words to put before that value."""
    return SHARES.get(row["times"], f"{row['times']:g} times ")


def expected(row: dict, limit: str) -> str:
    """The limit in words; `limit` is its figure, with a unit if it has one."""
    within = f" within {row['within_percent']:g} %" if row["within_percent"] is not None else ""
    whose = "the model" if row["than"] == MODEL_SAYS else row["than"]
    of = f" ({share(row)}{whose}'s)" if whose else ""
    return f"expected {WORDS[row['op']]}{limit}{within}{of}"


def over_runs(how: str, name: str, runs: list[dict]) -> str:
    """How a value was made from the values of several runs, and how far these are apart: of a
    mean its interval, of an extreme the range of the trials."""
    if len(runs) < 2:
        return ""
    made = f"{OVER_RUNS[how]} of {len(runs)} runs"
    found = significance.spread(runs, name, how)
    if not found:
        return f" ({made})"
    sure = "" if how in ("min", "max") else "95 %: "
    return f" ({made}, {sure}{found.low:,.4g} to {found.high:,.4g})"


def compare(row: dict, mine: list[dict], others: list[dict], how: str) -> Claim:
    """The comparison of two arms, or of an arm at two values of a variable."""
    name, times = row["metric"], row["times"]
    limit = metrics.together(others, name, how) * times
    point = compared(row, metrics.together(mine, name, how), limit)
    pairs = significance.both(
        significance.values(mine, name, how), significance.values(others, name, how)
    )
    scaled = [(value, other * times) for value, other in pairs]
    return significance.compared(row["op"], scaled, point, row["within_percent"] or 0)


def claimed(row: dict, claims: list[Claim], why: str) -> Verdict:
    """The verdict of comparisons that must all hold. It shows the difference that is closest to
    being none, unless one does not hold."""
    met = significance.together([claim.met for claim in claims])
    shown = [claim for claim in claims if claim.met is met]
    least = min(shown, key=lambda claim: abs(claim.difference))
    sure = all(claim.interval is not None for claim in claims)
    undecided = met is None
    return Verdict(row["says"], met, f"{why}; {least.told}", undecided=undecided, sure=sure)


def judge_along(row: dict, mine: list[dict]) -> Verdict:
    """The verdict of an expectation about how a metric changes along a variable."""
    name, along = row["metric"], row["along"]
    points: dict[object, list[dict]] = {}
    for result in mine:
        points.setdefault(result["variables"][along], []).append(result)
    how = row["of"] or metrics.over_runs(name)
    values = [metrics.together(trials, name, how) for trials in points.values()]
    steps = itertools.pairwise(points.values())
    claims = [compare(row, after, before, how) for before, after in steps]
    shown = ", ".join(figure(value, name) for value in values)
    at = ", ".join(map(str, points))
    before = f"{share(row)}the one before it"
    why = (
        f"{row['arm']}: {name} is {shown} at {along} {at}; "
        f"expected each to be {WORDS[row['op']]}{before}"
    )
    return claimed(row, claims, why)


@dataclass(frozen=True)
class Point:
    """A combination of variables: the value, the limit, and whether the value is as expected.

    claim: of two arms, their comparison."""

    at: dict
    value: float
    limit: float
    met: bool | None
    claim: Claim | None = None

    @property
    def off(self) -> float:
        return abs(self.value - self.limit) / abs(self.limit or 1)


def worst(row: dict, points: list[Point], what: str, unit: str) -> Verdict:
    """The verdict of an expectation that must be met at all points. It shows one of them: the bad
    point that is farthest off, or, if all are good, the one that is closest to being bad. A point
    at which arms are not told apart is neither."""
    bad = [point for point in points if point.met is False]
    open_ = [point for point in points if point.met is None]
    met = significance.together([point.met for point in points])
    far = bad or row["op"] == "=="
    point = max(bad or open_ or points, key=lambda point: point.off if far else -point.off)
    count = f"the worst of {len(points)}" + (f"; {len(bad)} not as expected" if bad else "")
    count += f"; {len(open_)} not told apart" if open_ else ""
    value, limit = (f"{number:,.6g}{unit}" for number in (point.value, point.limit))
    came = f"{row['arm']}: {what}{words(point.at)} is {value} ({count})"
    why = f"{came}; {expected(row, limit)}"
    if point.claim:
        why += f"; {point.claim.told}"
    sure = all(p.claim is None or p.claim.interval is not None for p in points)
    return Verdict(row["says"], met, why, undecided=met is None, sure=sure)


def in_the_middle(row: dict, points: list[Point]) -> Verdict:
    """The verdict of an expectation that half of the points are not far off."""
    off = 100 * median(point.off for point in points)
    came = f"{row['arm']}: {row['metric']} is {off:.2g} % off in the median of {len(points)}"
    limit = row["median_percent"]
    return Verdict(row["says"], off <= limit, f"{came}; expected at most {limit:g} %")


def judge_points(row: dict, mine: list[dict], others: list[dict], predicted: Predicted) -> Verdict:
    """The verdict of an expectation about each combination of variables."""
    name, points = row["metric"], []
    how = row["of"] if row["of"] != "point" else None
    for at, group in by_setting(mine):
        value, limit, claim = metrics.together(group, name, how), row["value"], None
        if row["than"] == MODEL_SAYS:
            limit = mean(predicted(trial)[name] for trial in group) * row["times"]
        elif others:
            there = [r for r in others if setting(r["variables"]) == at]
            limit = metrics.together(there, name, how) * row["times"]
            claim = compare(row, group, there, how or metrics.over_runs(name))
        met = claim.met if claim else compared(row, value, limit)
        points.append(Point(at, value, limit, met, claim))
    if row["median_percent"] is not None:
        return in_the_middle(row, points)
    return worst(row, points, name, figure(0, name)[1:])


def meeting(one: Curve, other: Curve) -> float | None:
    """The place where two curves of positive values cross, if they cross once. Between two points
    the logarithm of their ratio is taken to be a straight line."""
    ratios = [(x, math.log(one[x] / other[x])) for x in sorted(one.keys() & other.keys())]
    found = [
        x0 + (x1 - x0) * r0 / (r0 - r1)
        for (x0, r0), (x1, r1) in itertools.pairwise(ratios)
        if (r0 < 0) != (r1 < 0)
    ]
    return found[0] if len(found) == 1 else None


def curve(results: list[dict], variable: str, at: dict, of: Callable[[list[dict]], float]) -> Curve:
    """A value of the runs with these variables, along one more."""
    here = [r for r in results if at.items() <= r["variables"].items()]
    return {x[variable]: of(group) for x, group in by_setting(here)}


def crossing_spread(
    mine: list[dict],
    others: list[dict],
    variable: str,
    at: dict,
    of: Callable[[list[dict]], float],
) -> str:
    """The 95 % interval of where the arms' values cross, from the crossing of each seed; in words,
    or "" if there are too few seeds, or some without a single crossing."""
    found = []
    for seed in dict.fromkeys(result["variables"].get("seed") for result in mine):
        trial = [[r for r in arm if r["variables"].get("seed") == seed] for arm in (mine, others)]
        found.append(meeting(*(curve(arm, variable, at, of) for arm in trial)))
    spread = interval.of_mean(found) if None not in found else None
    return f", 95 %: {spread.low:.4g} to {spread.high:.4g}" if spread else ""


def meeting_line(op: str, point: Point) -> str:
    """A line for one crossing: where it is, and where it was expected."""
    return f"{point.value:.4g} (expected {WORDS[op]}{point.limit:.4g}){words(point.at)}"


def judge_crosses(row: dict, mine: list[dict], others: list[dict], predicted: Predicted) -> Verdict:
    """The verdict of an expectation about where two arms' values meet along a variable."""
    name, variable, points = row["metric"], row["crosses"], []

    def measured(group: list[dict]) -> float:
        return metrics.together(group, name, row["of"])

    def model(group: list[dict]) -> float:
        return mean(predicted(trial)[name] for trial in group)

    spreads: list[str] = []
    for at, _ in by_setting(mine, variable):
        value = meeting(*(curve(arm, variable, at, measured) for arm in (mine, others)))
        spreads.append(crossing_spread(mine, others, variable, at, measured))
        limit = row["value"]
        if limit is None:
            limit = meeting(*(curve(arm, variable, at, model) for arm in (mine, others)))
        if value is None or limit is None:
            whose = f"{name} of {row['arm']} and {row['than']}"
            where = "as measured" if value is None else "in the model"
            why = f"{where}, {whose} do not meet exactly once along {variable}{words(at)}"
            return Verdict(row["says"], False, why)
        points.append(Point(at, value, limit, compared(row, value, limit)))
    what = f"{variable} where {name} meets that of {row['than']}"
    verdict = worst({**row, "than": None}, points, what, "")
    lines = [meeting_line(row["op"], p) + s for p, s in zip(points, spreads, strict=True)]
    return replace(verdict, details=tuple(lines))


def judge_one(row: dict, results: list[dict], wanted: int, predicted: Predicted) -> Verdict:
    """The verdict of one expectation; `wanted` is how many runs its arm should have."""
    name, where = row["metric"], row["where"]
    other = row["than"] if row["than"] != MODEL_SAYS else None
    mine = trials(results, row["arm"], where)
    others = trials(results, other, where) if other else []
    if len(mine) < wanted or (other and len(others) < wanted):
        return Verdict(row["says"], None, "not all of its runs have been made")
    if row["along"]:
        return judge_along(row, mine)
    if row["crosses"]:
        return judge_crosses(row, mine, others, predicted)
    if row["than"] == MODEL_SAYS or row["of"] == "point":
        return judge_points(row, mine, others, predicted)
    limit = metrics.together(others, name) * row["times"] if others else row["value"]
    how = row["of"] or metrics.over_runs(name)
    if how in ("every", "any"):
        values = [metrics.of(result, name) for result in mine]
        met = (all if how == "every" else any)(compared(row, value, limit) for value in values)
        shown = f"{figure(min(values), name)} to {figure(max(values), name)}"
        needed = f"{expected(row, figure(limit, name))} in {how} run"
    else:
        value = metrics.together(mine, name, how)
        met = compared(row, value, limit)
        shown = figure(value, name) + over_runs(how, name, mine)
        needed = expected(row, figure(limit, name))
    why = f"{row['arm']}: {name} is {shown}; {needed}"
    if others and how not in ("every", "any"):
        return claimed(row, [compare(row, mine, others, how)], why)
    return Verdict(row["says"], met, why)


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """All expectations of the experiment, its contest, and arms that must not be equal."""
    verdicts = []
    for row in experiment.expectations:
        wanted = sum(
            run.arm == row["arm"] and within(row["where"], run.variables) for run in experiment.runs
        )
        verdict = judge_one(row, results, wanted, experiment.predicted)
        verdicts.append(replace(verdict, paper=row["paper"], differs=row["differs"]))
    return verdicts + contest.judge(experiment, results) + equal_arms.judge(experiment, results)
