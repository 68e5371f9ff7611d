"""A contest: is one arm at least as good as every other, in metrics of which less is better?

It is judged in each setting, over its seeds. Only arms that give the same promise are in
it: those of which the `bound`, such as the age of the oldest block written, is no more than
`bound_times` the arm's own. Beside that, the arm may have no more of a metric than one
other arm has. To lose is a result, which is told, and no failure.
"""

from dataclasses import dataclass

from grade.experiment import metrics
from grade.experiment.schema import Experiment
from grade.experiment.verdict import Verdict, by_setting, trials, words


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
    """Those of the others that give the same promise."""
    if row["bound"] is None:
        return others
    limit = own.value(row["bound"]) * row["bound_times"]
    return [entry for entry in others if entry.value(row["bound"]) <= limit]


def told(own: Entry, others: list[Entry], name: str) -> str:
    """The arm's value and those that are better, the best first; or the next best."""
    value = own.value(name)
    ranked = sorted(others, key=lambda entry: entry.value(name))
    better = [entry for entry in ranked if entry.value(name) < value]
    shown = [f"{entry.arm} {entry.value(name):,.6g}" for entry in better or ranked[:1]]
    return f"{own.arm} {value:,.6g}; {'better' if better else 'next'}: {', '.join(shown)}"


def against_all(row: dict, own: Entry, others: list[Entry], name: str, at: dict) -> Verdict:
    """Is the arm the best of those with its promise?"""
    rivals = bound_to(row, own, others)
    says = f"{own.arm} has the least {name} of {len(rivals) + 1} arms{words(at)}"
    if not rivals:
        return Verdict(says, None, "no other arm gives the promise", contest=True)
    won = own.value(name) <= min(entry.value(name) for entry in rivals)
    return Verdict(says, won, told(own, rivals, name), contest=True)


def against_one(own: Entry, others: list[Entry], name: str, arm: str, at: dict) -> Verdict:
    """Has the arm no more than another has?"""
    says = f"{own.arm} has no more {name} than {arm}{words(at)}"
    [other] = [entry for entry in others if entry.arm == arm] or [None]
    if not other:
        return Verdict(says, None, "not all of its runs are there", contest=True)
    won = own.value(name) <= other.value(name)
    return Verdict(says, won, told(own, [other], name), contest=True)


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """A verdict for each setting and metric; none if the experiment is no contest."""
    row, verdicts = experiment.contest, []
    if not row:
        return []
    for at, mine in by_setting(trials(results, row["arm"], {})):
        own = Entry(row["arm"], mine)
        found = entries(experiment, results, at, len(mine))
        others = [entry for entry in found if entry.arm not in (own.arm, *row["aside"])]
        verdicts += [against_all(row, own, others, name, at) for name in row["metrics"]]
        verdicts += [
            against_one(own, others, name, arm, at) for name, arm in row["no_more"].items()
        ]
    return verdicts
