"""Two arms compared: what is said of them holds only where their difference is told apart from 0.

A comparison is made of *differences*, one for each seed that both arms have: the arm's value less
`times` the other's. If a seed has several runs, in different settings, its values are those of all
these runs together. The comparison holds if the 95 % interval of the mean difference (interval.py)
lies on its side of 0, and does not hold if the interval lies on the other side. Otherwise the arms
are not told apart. With too few trials for an interval, the values decide, and the words say so.
Arms whose values are equal are not told apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from sluice.experiment import interval, metrics
from sluice.experiment.interval import Interval

Values = dict[object, float]  # by seed
# Whether a comparison with 0 surely holds of what lies in an interval.
SURELY: dict[str, Callable[[Interval], bool]] = {
    "<": lambda i: i.high < 0,
    "<=": lambda i: i.high <= 0,
    ">": lambda i: i.low > 0,
    ">=": lambda i: i.low >= 0,
}
OPPOSITE = {"<": ">", "<=": ">", ">": "<", ">=": "<"}


@dataclass(frozen=True)
class Claim:
    """A comparison that holds, does not, or cannot be told (None), and why: the mean difference,
    its interval (None with too few trials), and the number of trials. Without a trial of the same
    seed nothing is told."""

    met: bool | None
    difference: float
    interval: Interval | None
    trials: int

    @property
    def told(self) -> str:
        """The difference in words, to stand at the end of a sentence."""
        if self.interval is None:
            return no_interval(self.trials)
        low, high = self.interval.low, self.interval.high
        return f"difference {self.difference:,.4g} (95 %: {low:,.4g} to {high:,.4g})"


def no_interval(trials: int) -> str:
    return f"{trials} trial{'s' if trials > 1 else ''}, so no interval"


def values(results: list[dict], name: str, how: str | None = None) -> Values:
    """The metric of each seed."""
    seeds: dict[object, list[dict]] = {}
    for result in results:
        seeds.setdefault(result["variables"].get("seed"), []).append(result)
    return {seed: metrics.together(some, name, how) for seed, some in seeds.items()}


def spread(results: list[dict], name: str, how: str | None = None) -> Interval | None:
    """How far trials are apart in a metric: of a mean or a sum its 95 % interval, of an extreme
    the range of the trials. None if there are too few."""
    made = how or metrics.over_runs(name)
    trials = list(values(results, name, how).values())
    if made in ("min", "max"):
        return Interval(min(trials), max(trials)) if len(trials) > 1 else None
    found = interval.of_mean(trials)
    return found.scaled(len(trials)) if found and made == "sum" else found


def both(mine: Values, others: Values) -> list[tuple[float, float]]:
    """The pairs of the seeds that both have."""
    return [(value, others[seed]) for seed, value in mine.items() if seed in others]


def surely(op: str, differences: list[float]) -> bool | None:
    """Whether the mean difference compares so with 0; None if that is not told."""
    found = interval.of_mean(differences)
    if found is None:
        return None
    if SURELY[op](found):
        return True
    return False if SURELY[OPPOSITE[op]](found) else None


def together(answers: list[bool | None]) -> bool | None:
    """Whether all hold; None if none fails, and one is not told."""
    if False in answers:
        return False
    return None if None in answers else True


def compared(op: str, pairs: list[tuple[float, float]], point: bool, percent: float = 0) -> Claim:
    """Whether the first of each pair compares so with the second; == within `percent` of it.

    point: whether the values of all trials together do, which decides if there are too few trials.
    """
    differences = [one - other for one, other in pairs]
    found = interval.of_mean(differences)
    if not pairs:
        return Claim(None, 0, None, 0)
    if found is None:
        met = point
    elif op == "==":
        room = [abs(other) * percent / 100 for _, other in pairs]
        over = [d + r for d, r in zip(differences, room, strict=True)]
        under = [r - d for d, r in zip(differences, room, strict=True)]
        met = together([surely(">=", over), surely(">=", under)])
    else:
        met = surely(op, differences)
    return Claim(met, mean(differences), found, len(pairs))
