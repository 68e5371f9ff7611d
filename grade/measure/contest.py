"""A contest: is one arm at least as good as every other, in metrics of which less is better?

It is judged in each setting, over its seeds. Only arms that give the same promise take part: those
whose `bound`, such as the age of the oldest block written, is at most `bound_times` the arm's own.
Besides, `no_more` names metrics in which the arm must not exceed one other arm. A lost contest is a
result, which is reported, and not a failure.
"""

import math
from dataclasses import dataclass

from grade.measure import metrics
from grade.measure.schema import Experiment
from grade.measure.verdict import Verdict, by_setting, trials, words


@dataclass(frozen=True)
class Entry:
    """An arm in a setting: its runs there."""

    arm: str
    runs: list[dict]

    def value(self, name: str) -> float:
        return metrics.together(self.runs, name)


def entries(experiment: Experiment, results: list[dict], at: dict, wanted: int) -> list[Entry]:
    """The arms that have all of their runs in a setting."""
    found = [Entry(arm, trials(results, arm, at)) for arm in experiment.arms]
    return [entry for entry in found if len(entry.runs) == wanted]


def bound_to(row: dict, own: Entry, others: list[Entry]) -> list[Entry]:
    """The other arms that give the same promise."""
    if row["bound"] is None:
        return others
    limit = own.value(row["bound"]) * row["bound_times"]
    return [entry for entry in others if entry.value(row["bound"]) <= limit]


@dataclass(frozen=True)
class Match:
    """A metric in a setting: the arm's value and its rivals' values, the best first.

    against: the one arm that it must not exceed; "" if all that give the same promise."""

    metric: str
    at: dict
    own: float
    rivals: list[tuple[str, float]]
    against: str = ""

    @property
    def won(self) -> bool | None:
        """None if there is no rival."""
        return self.own <= self.rivals[0][1] if self.rivals else None

    @property
    def behind(self) -> float:
        """By what share of the best value the arm's value, which has lost, is above it."""
        best = self.rivals[0][1]
        return self.own / best - 1 if best else math.inf


def match(own: Entry, others: list[Entry], name: str, at: dict, against: str = "") -> Match:
    """The arm against these in a metric."""
    rivals = sorted(((entry.arm, entry.value(name)) for entry in others), key=lambda row: row[1])
    return Match(name, at, own.value(name), rivals, against)


def matches(experiment: Experiment, results: list[dict]) -> list[Match]:
    """A match for each setting and metric; none if the experiment is no contest."""
    row, found = experiment.contest, []
    if not row:
        return []
    for at, mine in by_setting(trials(results, row["arm"], {})):
        own = Entry(row["arm"], mine)
        there = entries(experiment, results, at, len(mine))
        others = [entry for entry in there if entry.arm not in (own.arm, *row["aside"])]
        rivals = bound_to(row, own, others)
        found += [match(own, rivals, name, at) for name in row["metrics"]]
        found += [
            match(own, [entry for entry in others if entry.arm == arm], name, at, arm)
            for name, arm in row["no_more"].items()
        ]
    return found


def told(arm: str, of: Match) -> str:
    """The arm's value, and the values that are better, the best first; or the next best."""
    if of.won is None:
        return (
            "not all of its runs have been made"
            if of.against
            else "no other arm gives the same promise"
        )
    better = [rival for rival in of.rivals if rival[1] < of.own]
    shown = [f"{name} {value:,.6g}" for name, value in better or of.rivals[:1]]
    return f"{arm} {of.own:,.6g}; {'better' if better else 'next'}: {', '.join(shown)}"


def verdict(arm: str, of: Match) -> Verdict:
    """The verdict of a match."""
    says = (
        f"{arm} has no more {of.metric} than {of.against}"
        if of.against
        else f"{arm} has the least {of.metric} of {len(of.rivals) + 1} arms"
    )
    return Verdict(says + words(of.at), of.won, told(arm, of), contest=True)


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """A verdict for each setting and metric; none if the experiment is no contest."""
    return [verdict(experiment.contest["arm"], of) for of in matches(experiment, results)]
