"""Judges a contest: whether one arm is at least as good as every other, in metrics of which less is
better.

It is judged in each setting, over its seeds. It is won if the arm's value is significantly less
than each other's (significance.py), lost if another's is significantly less, and otherwise open.
Only arms that give the same promise take part: those whose `bound`, such as the age of the oldest
block written, is at most `bound_times` the arm's own. Besides, `no_more` names metrics in which the
arm must not exceed one other arm. A lost contest is a result, which is reported, and not a failure.
With too few trials for an interval, it is not judged.
"""

import math
from collections import Counter
from dataclasses import dataclass

from sluice.experiment import metrics, significance
from sluice.experiment.interval import Interval
from sluice.experiment.records import ContestTable, RunResult, Variables
from sluice.experiment.schema import Experiment
from sluice.experiment.significance import Claim
from sluice.experiment.verdict import (
    Verdict,
    group_by_setting,
    matches_variables,
    select_trials,
    setting_words,
)


@dataclass(frozen=True)
class Entry:
    """An arm in a setting, with its runs there."""

    arm: str
    runs: list[RunResult]

    def value(self, name: str) -> float:
        """Return a metric over the arm's runs."""
        return metrics.aggregate(self.runs, name)


def contest_entries(
    experiment: Experiment, results: list[RunResult], at: Variables
) -> dict[str, Entry]:
    """Return, by name, the arms whose runs in a setting have all been made."""
    wanted = Counter(run.arm for run in experiment.runs if matches_variables(at, run.variables))
    found = [Entry(arm, select_trials(results, arm, at)) for arm in wanted]
    return {entry.arm: entry for entry in found if len(entry.runs) == wanted[entry.arm]}


def entries_with_guarantee(row: ContestTable, own: Entry, others: list[Entry]) -> list[Entry]:
    """Return the other arms that keep the contest's guarantee: their metric `bound` is at most
    `bound_times` the own arm's."""
    if row["bound"] is None:
        return others
    limit = own.value(row["bound"]) * row["bound_times"]
    return [entry for entry in others if entry.value(row["bound"]) <= limit]


@dataclass(frozen=True)
class Rival:
    """Another arm: its value, and whether the contest's arm has less, as far as the trials tell."""

    arm: str
    value: float
    less: Claim


@dataclass(frozen=True)
class Match:
    """A metric in a setting: the arm's value and its rivals, the best first. against: the one arm
    that it must not exceed; "" if its rivals are all arms that keep the guarantee."""

    metric: str
    at: Variables
    own: float
    rivals: list[Rival]
    against: str = ""

    @property
    def is_won(self) -> bool | None:
        """True if the arm is better than each rival. None if there is no rival, or if the trials do
        not tell."""
        return (
            significance.combine_answers([rival.less.met for rival in self.rivals])
            if self.rivals
            else None
        )

    @property
    def open_word(self) -> str:
        """The word for a match that is neither won nor lost; "" if there is no rival."""
        return significance.combine_open_words([rival.less for rival in self.rivals])

    @property
    def is_judged(self) -> bool:
        """True if there are enough trials for intervals."""
        return all(rival.less.interval is not None for rival in self.rivals)

    @property
    def deciding_rivals(self) -> list[Rival]:
        """The rivals that decide the match: those that have less, those that are not significantly
        different, or the next one."""
        same = [rival for rival in self.rivals if rival.less.met is self.is_won]
        return same if self.is_won is not True else same[:1]

    @property
    def loss_ratio(self) -> float:
        """The relative distance of a lost match: own value / best value - 1."""
        best = self.rivals[0].value
        return self.own / best - 1 if best else math.inf

    @property
    def loss_interval(self) -> Interval | None:
        """The interval of the relative distance; None without one, or if the best value is 0."""
        best = self.rivals[0]
        found = best.less.interval
        return found.scale(1 / best.value) if found and best.value else None


def compare_rival(own: Entry, other: Entry, name: str, op: str) -> Rival:
    """Return another arm's standing against the contest's arm in a metric."""
    value = other.value(name)
    pairs = significance.paired_values(
        significance.seed_values(own.runs, name), significance.seed_values(other.runs, name)
    )
    return Rival(other.arm, value, significance.compare_pairs(op, pairs, own.value(name) <= value))


def play_match(
    own: Entry, others: list[Entry], name: str, at: Variables, against: str = ""
) -> Match:
    """Return the match of an arm against others in a metric."""
    op = "<=" if against else "<"
    rivals = sorted(
        (compare_rival(own, other, name, op) for other in others), key=lambda row: row.value
    )
    return Match(name, at, own.value(name), rivals, against)


def play_matches(experiment: Experiment, results: list[RunResult]) -> list[Match]:
    """Return a match for each metric and each setting in which all runs of the arm have been made;
    none if the experiment is no contest."""
    row = experiment.contest
    found: list[Match] = []
    if not row:
        return []
    for at, _ in group_by_setting(select_trials(results, row["arm"], {})):
        there = contest_entries(experiment, results, at)
        own = there.pop(row["arm"], None)
        if not own:
            continue
        others = [entry for entry in there.values() if entry.arm not in row["aside"]]
        rivals = entries_with_guarantee(row, own, others)
        found += [play_match(own, rivals, name, at) for name in row["metrics"]]
        found += [
            play_match(own, [entry for entry in others if entry.arm == arm], name, at, arm)
            for name, arm in row["no_more"].items()
            if arm in experiment.arms
        ]
    return found


def describe_match(arm: str, match: Match) -> str:
    """Return the arm's value and the rivals that decide the match, in words."""
    if not match.rivals:
        return (
            "not all of its runs have been made"
            if match.against
            else "no other arm gives the same promise"
        )
    kind = {True: "next", False: "better", None: match.open_word}[match.is_won]
    shown = [f"{one.arm} {one.value:,.6g}" for one in match.deciding_rivals]
    less = match.deciding_rivals[0].less
    return f"{arm} {match.own:,.6g}; {kind}: {', '.join(shown)}; {less.describe}"


def match_verdict(arm: str, match: Match) -> Verdict:
    """Return the verdict of a match."""
    says = (
        f"{arm} has no more {match.metric} than {match.against}"
        if match.against
        else f"{arm} has the least {match.metric} of {len(match.rivals) + 1} arms"
    )
    open_ = match.open_word if match.is_won is None else ""
    why = describe_match(arm, match)
    return Verdict(says + setting_words(match.at), match.is_won, why, contest=True, open=open_)


def judge(experiment: Experiment, results: list[RunResult]) -> list[Verdict]:
    """Return a verdict for each setting and metric; none if the experiment is no contest."""
    row = experiment.contest
    found = play_matches(experiment, results)
    return [match_verdict(row["arm"], match) for match in found] if row else []
