"""Compares two arms: a comparison holds only if their difference is significantly different from 0.

A comparison is made of *differences*, one for each seed that both arms have: the arm's value less
`times` the other's. If a seed has several runs, in different settings, its values are those of all
these runs together. The comparison holds if the 95 % interval of the mean difference (interval.py)
lies on its side of 0, and does not hold if the interval lies on the other side. Otherwise it is
open: if the interval of the plain difference (`times` = 1) holds 0, no difference is seen, and
otherwise the arms differ, but perhaps not by the factor. Two arms are equal (==) if the interval
lies within the margin, and not merely if it holds 0: few and noisy trials would show equality best.
With too few trials for an interval a comparison is not judged. Between arms whose values are equal
no difference is seen.

Trials of a load without random numbers give the same times with each seed, and an interval without
width. But a kernel that another compiler made takes some instructions more or less, and moves all
times a little. So an interval reaches at least BUILD_PERCENT of the compared value to both sides of
the mean difference. Counts, which are whole numbers, are exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from sluice.experiment import interval, metrics
from sluice.experiment.interval import Interval
from sluice.experiment.records import RunResult
from sluice.experiment.verdict import NO_DIFFERENCE, NOT_DECIDED, NOT_JUDGED

# How far a kernel of another compiler may move a time. On the twin, a table of costs with 1 % more
# instructions moved nine of ten figures of loads without random numbers by at most 0.23 %. (The
# largest of 93 moved by 3.9 %: its reads came just too late for a rotation.)
BUILD_PERCENT = 0.2
Values = dict[object, float]  # by seed
# By operator: whether each value of an interval compares so with 0.
SURELY: dict[str, Callable[[Interval], bool]] = {
    "<": lambda i: i.high < 0,
    "<=": lambda i: i.high <= 0,
    ">": lambda i: i.low > 0,
    ">=": lambda i: i.low >= 0,
}
OPPOSITE = {"<": ">", "<=": ">", ">": "<", ">=": "<"}


@dataclass(frozen=True)
class Claim:
    """A comparison: whether it holds (None: open), the mean difference, its interval (None with too
    few trials), and the number of trials.

    leaning: whether the values of all trials together meet the comparison. is_different: whether
    the arms are significantly different, whatever the factor or margin of the comparison.
    is_tiny: whether only BUILD_PERCENT keeps it open.
    """

    met: bool | None
    difference: float
    interval: Interval | None
    trials: int
    leaning: bool | None = None
    is_different: bool = False
    is_tiny: bool = False

    @property
    def open_word(self) -> str:
        """The word for a comparison that is open."""
        if self.interval is None:
            return NOT_JUDGED
        return NOT_DECIDED if self.is_different else NO_DIFFERENCE

    @property
    def describe(self) -> str:
        """The difference in words, for the end of a sentence."""
        if self.interval is None:
            return missing_interval_note(self.trials)
        low, high = self.interval.low, self.interval.high
        tiny = f", less than {BUILD_PERCENT:g} % from the limit" if self.is_tiny else ""
        return f"difference {self.difference:,.4g} (95 %: {low:,.4g} to {high:,.4g}){tiny}"


def missing_interval_note(trials: int) -> str:
    """Return the words that say why there is no interval."""
    return f"{trials} trial{'s' if trials > 1 else ''}, so no interval"


def seed_values(results: list[RunResult], name: str, how: str | None = None) -> Values:
    """Return the metric of each seed."""
    seeds: dict[object, list[RunResult]] = {}
    for result in results:
        seeds.setdefault(result["variables"].get("seed"), []).append(result)
    return {seed: metrics.aggregate(some, name, how) for seed, some in seeds.items()}


def spread_of_trials(
    results: list[RunResult], name: str, how: str | None = None
) -> Interval | None:
    """Return the spread of trials in a metric: of a mean or a sum the 95 % interval, of an extreme
    the range of the trials. None if there are too few trials."""
    made = how or metrics.aggregation(name)
    trials = list(seed_values(results, name, how).values())
    if made in ("min", "max"):
        return Interval(min(trials), max(trials)) if len(trials) > 1 else None
    found = interval.mean_interval(trials)
    return found.scale(len(trials)) if found and made == "sum" else found


def paired_values(mine: Values, others: Values) -> list[tuple[float, float]]:
    """Return the pairs of values of the seeds that both arms have."""
    return [(value, others[seed]) for seed, value in mine.items() if seed in others]


def build_spread(pairs: list[tuple[float, float]], times: float = 1) -> float:
    """Return how far another compiler's kernel may move the difference of the first values and
    `times` the second: 0 for counts, and for values that are equal in each pair."""
    is_count = all(float(one).is_integer() and float(other).is_integer() for one, other in pairs)
    if is_count or all(one == times * other for one, other in pairs):
        return 0.0
    return abs(times * mean(other for _, other in pairs)) * BUILD_PERCENT / 100


def is_significant(op: str, differences: list[float], spread: float = 0) -> bool | None:
    """Return whether the mean difference compares with 0 as `op` says; None if the interval
    contains both answers, or if there is none. spread: how far it reaches at least."""
    found = interval.mean_interval(differences)
    if found is None:
        return None
    middle = mean(differences)
    found = Interval(min(found.low, middle - spread), max(found.high, middle + spread))
    if SURELY[op](found):
        return True
    return False if SURELY[OPPOSITE[op]](found) else None


def combine_open_words(claims: list[Claim]) -> str:
    """Return the word for comparisons that must all hold, from those that are open; "" if none
    is."""
    words = {claim.open_word for claim in claims if claim.met is None}
    order = (NOT_JUDGED, NO_DIFFERENCE, NOT_DECIDED)
    return next((word for word in order if word in words), "")


def combine_answers(answers: list[bool | None]) -> bool | None:
    """Return whether all answers are true; None if none is false and some are None."""
    if False in answers:
        return False
    return None if None in answers else True


def compare_pairs(
    op: str,
    pairs: list[tuple[float, float]],
    leaning: bool,
    percent: float = 0,
    times: float = 1,
) -> Claim:
    """Return the comparison of each pair's first value with `times` its second.

    percent: how far apart two values may be that count as equal, for ==. leaning: whether the
    values of all trials together meet the comparison.
    """
    if not pairs:
        return Claim(None, 0, None, 0)
    differences = [one - times * other for one, other in pairs]
    found = interval.mean_interval(differences)
    if found is None:
        return Claim(None, mean(differences), None, len(pairs), leaning)
    room = [abs(times * other) * percent / 100 for _, other in pairs]
    over = [d + r for d, r in zip(differences, room, strict=True)]
    under = [r - d for d, r in zip(differences, room, strict=True)]

    def judge(spread: float) -> bool | None:
        """Return whether the comparison holds if the interval reaches so far from the mean."""
        if op != "==":
            return is_significant(op, differences, spread)
        return combine_answers([is_significant(">=", side, spread) for side in (over, under)])

    met = judge(build_spread(pairs, times))
    plain = [one - other for one, other in pairs]
    is_different = any(is_significant(op, plain, build_spread(pairs)) for op in ("<", ">"))
    is_tiny = met is None and judge(0) is not None
    return Claim(met, mean(differences), found, len(pairs), leaning, is_different, is_tiny)
