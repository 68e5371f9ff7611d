"""Whether results are as the experiment expects them to be."""

import itertools
import operator
from dataclasses import dataclass

from grade.experiment import metrics
from grade.experiment.schema import Experiment

COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}


@dataclass(frozen=True)
class Verdict:
    """met is None if runs are lacking."""

    says: str
    met: bool | None
    why: str

    @property
    def word(self) -> str:
        return {True: "as said", False: "NOT SO", None: "unknown"}[self.met]


def trials(results: list[dict], arm: str, where: dict) -> list[dict]:
    """The runs of an arm with these values."""
    return [
        result
        for result in results
        if result["arm"] == arm and where.items() <= result["variables"].items()
    ]


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


def judge_one(row: dict, results: list[dict], wanted: int) -> Verdict:
    """One expectation; `wanted` is how many runs its arm should have."""
    name, where = row["metric"], row["where"]
    mine = trials(results, row["arm"], where)
    others = trials(results, row["than"], where) if row["than"] else []
    if len(mine) < wanted or (row["than"] and len(others) < wanted):
        return Verdict(row["says"], None, "not all of its runs are there")
    if row["along"]:
        return judge_along(row, mine)
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
    """All expectations of the experiment."""
    verdicts = []
    for row in experiment.expectations:
        where = row["where"].items()
        wanted = sum(
            run.arm == row["arm"] and where <= run.variables.items() for run in experiment.runs
        )
        verdicts.append(judge_one(row, results, wanted))
    return verdicts
