"""Finds arms that should differ and are equal, because a row or an argument has no effect.

Two arms are equal in a setting if the experiment's lead metric has the same value, to the last
digit and not 0, in each of their trials, of which there are two at least. That is a failure unless
the file has a row of [[equal]] that names the two, and says why they are equal.
"""

from itertools import combinations

from sluice.experiment import significance
from sluice.experiment.records import RunResult
from sluice.experiment.schema import Experiment
from sluice.experiment.verdict import Verdict, group_by_setting, matches_variables, setting_words

SEEDS = 2  # fewer may be equal by chance


def judge_equal_arms(experiment: Experiment, results: list[RunResult]) -> list[Verdict]:
    """Return a failed verdict for each two arms that are equal in a setting without a row of
    [[equal]]."""
    lead = experiment.plot.get("lead")
    found: list[Verdict] = []
    if not lead:
        return []
    for at, group in group_by_setting(results):
        may = [set(row["arms"]) for row in experiment.equal if matches_variables(row["where"], at)]
        arms: dict[str, list[RunResult]] = {}
        for result in group:
            arms.setdefault(result["arm"], []).append(result)
        seeds = {arm: significance.seed_values(trials, lead) for arm, trials in arms.items()}
        for one, other in combinations(seeds, 2):
            values = seeds[one]
            same = values == seeds[other] and len(values) >= SEEDS and any(values.values())
            if same and {one, other} not in may:
                says = f"{one} and {other} are not the same thing"
                where = setting_words(at)
                why = f"{lead} is equal to the last digit in all {len(values)} trials{where}"
                found.append(Verdict(says, False, why))
    return found
