"""Whether results are as the experiment expects them to be."""

import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import mean, median

from grade.measure import contest, metrics
from grade.measure.result import setting
from grade.measure.schema import MODEL_SAYS, Experiment
from grade.measure.verdict import Verdict, by_setting, trials, words

Predicted = Callable[[dict], dict[str, float]]  # what the model says of a result's run
Curve = dict[float, float]

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


def compared(row: dict, value: float, limit: float) -> bool:
    """Is the value as the expectation says?"""
    if row["within_percent"] is not None:
        return abs(value - limit) <= abs(limit) * row["within_percent"] / 100
    return COMPARE[row["op"]](value, limit)


def expected(row: dict, limit: float) -> str:
    """What the limit is, for people."""
    within = f" within {row['within_percent']:g} %" if row["within_percent"] is not None else ""
    of = f" of {row['times']:g} x {row['than']}" if row["than"] else ""
    return f"expected {row['op']} {limit:,.6g}{within}{of}"


def judge_along(row: dict, mine: list[dict]) -> Verdict:
    """Of an expectation about how a metric changes along a variable."""
    name, along = row["metric"], row["along"]
    points: dict[object, list[dict]] = {}
    for result in mine:
        points.setdefault(result["variables"][along], []).append(result)
    values = [metrics.together(trials, name, row["of"]) for trials in points.values()]
    met = all(
        compared(row, value, before * row["times"]) for before, value in itertools.pairwise(values)
    )
    shown = ", ".join(f"{value:,.6g}" for value in values)
    at = ", ".join(map(str, points))
    last = "the last" if row["times"] == 1 else f"{row['times']:g} x the last"
    why = f"{row['arm']}: {name} is {shown} at {along} {at}; expected each {row['op']} {last}"
    return Verdict(row["says"], met, why)


@dataclass(frozen=True)
class Point:
    """A combination of variables: what came, what was expected, and is that met?"""

    at: dict
    value: float
    limit: float
    met: bool

    @property
    def off(self) -> float:
        return abs(self.value - self.limit) / abs(self.limit or 1)


def worst(row: dict, points: list[Point], what: str) -> Verdict:
    """The verdict of an expectation that must be met at all points. It tells of the worst: of
    bad ones the farthest off, of good ones that which is the nearest to being bad."""
    bad = [point for point in points if not point.met]
    far = bad or row["op"] == "=="
    point = max(bad or points, key=lambda point: point.off if far else -point.off)
    count = f"{len(bad)} of {len(points)} not so, the worst" if bad else f"worst of {len(points)}"
    came = f"{row['arm']}: {what}{words(point.at)} is {point.value:,.6g} ({count})"
    return Verdict(row["says"], not bad, f"{came}; {expected(row, point.limit)}")


def in_the_middle(row: dict, points: list[Point]) -> Verdict:
    """The verdict of an expectation that half of the points are not far off."""
    off = 100 * median(point.off for point in points)
    came = f"{row['arm']}: {row['metric']} is {off:.2g} % off in the median of {len(points)}"
    limit = row["median_percent"]
    return Verdict(row["says"], off <= limit, f"{came}; expected <= {limit:g} % of {row['than']}")


def judge_points(row: dict, mine: list[dict], others: list[dict], predicted: Predicted) -> Verdict:
    """Of an expectation about each combination of variables."""
    name, points = row["metric"], []
    how = row["of"] if row["of"] != "point" else None
    for at, group in by_setting(mine):
        value, limit = metrics.together(group, name, how), row["value"]
        if row["than"] == MODEL_SAYS:
            limit = mean(predicted(trial)[name] for trial in group) * row["times"]
        elif others:
            there = [r for r in others if setting(r["variables"]) == at]
            limit = metrics.together(there, name, how) * row["times"]
        points.append(Point(at, value, limit, compared(row, value, limit)))
    if row["median_percent"] is not None:
        return in_the_middle(row, points)
    return worst(row, points, name)


def meeting(one: Curve, other: Curve) -> float | None:
    """Where two curves of positive values cross, if it is once: between two of their points,
    as if their ratio's logarithm were a straight line there."""
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


def meeting_line(op: str, point: Point) -> str:
    """Where the curves meet with these variables, and where they were expected to."""
    return f"{point.value:.4g} (expected {op} {point.limit:.4g}){words(point.at)}"


def judge_crosses(row: dict, mine: list[dict], others: list[dict], predicted: Predicted) -> Verdict:
    """Of an expectation about where along a variable two arms' values meet."""
    name, variable, points = row["metric"], row["crosses"], []

    def measured(group: list[dict]) -> float:
        return metrics.together(group, name, row["of"])

    def model(group: list[dict]) -> float:
        return mean(predicted(trial)[name] for trial in group)

    for at, _ in by_setting(mine, variable):
        value = meeting(*(curve(arm, variable, at, measured) for arm in (mine, others)))
        limit = row["value"]
        if limit is None:
            limit = meeting(*(curve(arm, variable, at, model) for arm in (mine, others)))
        if value is None or limit is None:
            whose = f"{name} of {row['arm']} and {row['than']}"
            who = "measured" if value is None else "the model's"
            why = f"{who}, {whose} do not meet once along {variable}{words(at)}"
            return Verdict(row["says"], False, why)
        points.append(Point(at, value, limit, compared(row, value, limit)))
    what = f"{variable} where {name} meets that of {row['than']}"
    verdict = worst({**row, "than": None}, points, what)
    return replace(verdict, details=tuple(meeting_line(row["op"], p) for p in points))


def judge_one(row: dict, results: list[dict], wanted: int, predicted: Predicted) -> Verdict:
    """One expectation; `wanted` is how many runs its arm should have."""
    name, where = row["metric"], row["where"]
    other = row["than"] if row["than"] != MODEL_SAYS else None
    mine = trials(results, row["arm"], where)
    others = trials(results, other, where) if other else []
    if len(mine) < wanted or (other and len(others) < wanted):
        return Verdict(row["says"], None, "not all of its runs are there")
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
        shown = f"{min(values):,.6g} to {max(values):,.6g}"
    else:
        value = metrics.together(mine, name, how)
        met, shown = compared(row, value, limit), f"{value:,.6g}"
    why = f"{row['arm']}: {name} ({how}) is {shown}; {expected(row, limit)}"
    return Verdict(row["says"], met, why)


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """All expectations of the experiment, and its contest."""
    verdicts = []
    for row in experiment.expectations:
        where = row["where"].items()
        wanted = sum(
            run.arm == row["arm"] and where <= run.variables.items() for run in experiment.runs
        )
        verdicts.append(judge_one(row, results, wanted, experiment.predicted))
    return verdicts + contest.judge(experiment, results)
