"""Arms that must differ and do not: a row or an argument that has no effect shows as equal figures.

Two arms are equal in a setting if the experiment's lead metric has the same value, to the last
digit and not 0, in each of their trials, of which there are two at least. That is a failure unless
the file has a row of [[equal]] that names the two, and says why they are equal.
"""

from itertools import combinations

from sluice.experiment import significance
from sluice.experiment.schema import Experiment
from sluice.experiment.verdict import Verdict, by_setting, within, words

SEEDS = 2  # fewer may be equal by chance


def judge(experiment: Experiment, results: list[dict]) -> list[Verdict]:
    """A failed verdict for each two arms that are equal in a setting. None if there are none."""
    lead, found = experiment.plot.get("lead"), []
    if not lead:
        return []
    for at, group in by_setting(results):
        may = [set(row["arms"]) for row in experiment.equal if within(row["where"], at)]
        arms: dict[str, list[dict]] = {}
        for result in group:
            arms.setdefault(result["arm"], []).append(result)
        seeds = {arm: significance.values(trials, lead) for arm, trials in arms.items()}
        for one, other in combinations(seeds, 2):
            values = seeds[one]
            same = values == seeds[other] and len(values) >= SEEDS and any(values.values())
            if same and {one, other} not in may:
                says = f"{one} and {other} are not the same thing"
                why = f"{lead} is equal to the last digit in all {len(values)} trials{words(at)}"
                found.append(Verdict(says, False, why))
    return found
