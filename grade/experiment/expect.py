"""Whether results are as the experiment expects them to be."""

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


def judge_one(row: dict, results: list[dict], expected: int) -> Verdict:
    """One expectation; `expected` is how many runs its arm should have."""
    name, where = row["metric"], row["where"]
    mine = trials(results, row["arm"], where)
    others = trials(results, row["than"], where) if row["than"] else []
    if len(mine) < expected or (row["than"] and len(others) < expected):
        return Verdict(row["says"], None, "not all of its runs are there")
    limit = metrics.together(others, name) * row["times"] if others else row["value"]
    compare = COMPARE[row["op"]]
    how = row["of"] or metrics.over_runs(name)
    if how in ("every", "any"):
        values = [metrics.of(result, name) for result in mine]
        met = (all if how == "every" else any)(compare(value, limit) for value in values)
        shown = f"{min(values):,.6g} to {max(values):,.6g}"
    else:
        value = metrics.together(mine, name, how)
        met, shown = compare(value, limit), f"{value:,.6g}"
    of = f" of {row['times']:g} x {row['than']}" if row["than"] else ""
    why = f"{row['arm']}: {name} ({how}) is {shown}; expected {row['op']} {limit:,.6g}{of}"
    return Verdict(row["says"], met, why)


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """All expectations of the experiment."""
    verdicts = []
    for row in experiment.expectations:
        wanted = row["where"].items()
        expected = sum(
            run.arm == row["arm"] and wanted <= run.variables.items() for run in experiment.runs
        )
        verdicts.append(judge_one(row, results, expected))
    return verdicts
