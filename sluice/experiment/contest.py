"""A contest: is one arm at least as good as every other, in metrics of which less is better?

It is judged in each setting, over its seeds. It is won if the arm's value is told apart from each
other's and is less (significance.py), lost if another's is told apart from it and is
less, and otherwise not told. Only arms that give the same promise take part: those
whose `bound`, such as the age of the oldest block written, is at most `bound_times` the arm's own.
Besides, `no_more` names metrics in which the arm must not exceed one other arm. A lost contest is a
result, which is reported, and not a failure. With too few trials for an interval, the arm with the
better values is called ahead, and none is said to have won.
"""

import math
from collections import Counter
from dataclasses import dataclass

from sluice.experiment import metrics, significance
from sluice.experiment.interval import Interval
from sluice.experiment.schema import Experiment
from sluice.experiment.significance import Claim
from sluice.experiment.verdict import Verdict, by_setting, trials, within, words


@dataclass(frozen=True)
class Entry:
    """An arm in a setting: its runs there."""

    arm: str
    runs: list[dict]

    def value(self, name: str) -> float:
        return metrics.together(self.runs, name)


def entries(experiment: Experiment, results: list[dict], at: dict) -> dict[str, Entry]:
    """The arms of which all runs in a setting have been made, by name."""
    wanted = Counter(run.arm for run in experiment.runs if within(at, run.variables))
    found = [Entry(arm, trials(results, arm, at)) for arm in wanted]
    return {entry.arm: entry for entry in found if len(entry.runs) == wanted[entry.arm]}


def bound_to(row: dict, own: Entry, others: list[Entry]) -> list[Entry]:
    """The other arms that give the same promise."""
    if row["bound"] is None:
        return others
    limit = own.value(row["bound"]) * row["bound_times"]
    return [entry for entry in others if entry.value(row["bound"]) <= limit]


@dataclass(frozen=True)
class Rival:
    """Another arm: its value, and whether the contest's arm has less, as far as trials tell."""

    arm: str
    value: float
    less: Claim


@dataclass(frozen=True)
class Match:
    """A metric in a setting: the arm's value and its rivals, the best first.

    against: the one arm that it must not exceed; "" if all that give the same promise."""

    metric: str
    at: dict
    own: float
    rivals: list[Rival]
    against: str = ""

    @property
    def won(self) -> bool | None:
        """None if there is no rival, or if the trials do not tell."""
        return (
            significance.together([rival.less.met for rival in self.rivals])
            if self.rivals
            else None
        )

    @property
    def sure(self) -> bool:
        """The trials suffice for intervals."""
        return all(rival.less.interval is not None for rival in self.rivals)

    @property
    def decides(self) -> list[Rival]:
        """The rivals that decide it: those that have less, are not told apart, or are next."""
        same = [rival for rival in self.rivals if rival.less.met is self.won]
        return same if self.won is not True else same[:1]

    @property
    def behind(self) -> float:
        """By what share of the best value the arm's value, which has lost, is above it."""
        best = self.rivals[0].value
        return self.own / best - 1 if best else math.inf

    @property
    def behind_ends(self) -> Interval | None:
        """The interval of that share; None without one, or if the best value is 0."""
        best = self.rivals[0]
        found = best.less.interval
        return found.scaled(1 / best.value) if found and best.value else None


def rival(own: Entry, other: Entry, name: str, op: str) -> Rival:
    """Another arm's standing against the contest's arm in a metric."""
    value = other.value(name)
    pairs = significance.both(
        significance.values(own.runs, name), significance.values(other.runs, name)
    )
    return Rival(other.arm, value, significance.compared(op, pairs, own.value(name) <= value))


def match(own: Entry, others: list[Entry], name: str, at: dict, against: str = "") -> Match:
    """The arm against these in a metric."""
    op = "<=" if against else "<"
    rivals = sorted((rival(own, other, name, op) for other in others), key=lambda row: row.value)
    return Match(name, at, own.value(name), rivals, against)


def matches(experiment: Experiment, results: list[dict]) -> list[Match]:
    """A match for each metric and each setting in which all runs of the arm have been made; none if
    the experiment is no contest."""
    row, found = experiment.contest, []
    if not row:
        return []
    for at, _ in by_setting(trials(results, row["arm"], {})):
        there = entries(experiment, results, at)
        own = there.pop(row["arm"], None)
        if not own:
            continue
        others = [entry for entry in there.values() if entry.arm not in row["aside"]]
        rivals = bound_to(row, own, others)
        found += [match(own, rivals, name, at) for name in row["metrics"]]
        found += [
            match(own, [entry for entry in others if entry.arm == arm], name, at, arm)
            for name, arm in row["no_more"].items()
            if arm in experiment.arms
        ]
    return found


def told(arm: str, of: Match) -> str:
    """The arm's value, and the rivals that decide the match."""
    if not of.rivals:
        return (
            "not all of its runs have been made"
            if of.against
            else "no other arm gives the same promise"
        )
    kind = {True: "next", False: "better", None: "not told apart"}[of.won]
    shown = [f"{one.arm} {one.value:,.6g}" for one in of.decides]
    return f"{arm} {of.own:,.6g}; {kind}: {', '.join(shown)}; {of.decides[0].less.told}"


def verdict(arm: str, of: Match) -> Verdict:
    """The verdict of a match."""
    says = (
        f"{arm} has no more {of.metric} than {of.against}"
        if of.against
        else f"{arm} has the least {of.metric} of {len(of.rivals) + 1} arms"
    )
    undecided = bool(of.rivals) and of.won is None
    why = told(arm, of)
    return Verdict(
        says + words(of.at), of.won, why, contest=True, undecided=undecided, sure=of.sure
    )


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """A verdict for each setting and metric; none if the experiment is no contest."""
    return [verdict(experiment.contest["arm"], of) for of in matches(experiment, results)]
