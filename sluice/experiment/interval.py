"""Computes the 95 % confidence interval of a mean over trials, by the bootstrap.

Trials of one system differ in their seed alone. The interval of their mean comes from the means of
RESAMPLES samples, as many values each as there are trials, drawn from them with replacement. The
interval of a difference between two arms is paired: it is made from the differences of trials with
equal seeds, in which what both have in common is gone.

- Fewer than LEAST trials have no interval: of four values, even the whole range contains the middle
  of their distribution in 87.5 % of cases only (1 - 2 / 2^4).
- The plain percentile bootstrap is too narrow for few trials: with five from a normal distribution
  it contains the mean in 84 % of cases. So the shares that are cut off at both ends are those of
  the *expanded percentile interval*: Phi(-sqrt(n / (n - 1)) t), where t is the 97.5 % quantile of
  Student's distribution with n - 1 degrees of freedom (T. Hesterberg, What Teachers Should Know
  About the Bootstrap, The American Statistician 69, 2015).
- Equal trials give equal intervals, to the last bit, on every machine: the generator begins at a
  fixed seed, sums are made in one order, and no two values are interpolated.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

LEAST = 5  # trials
RESAMPLES = 10_000
SEED = 1994
# The share cut off at each end, by the number of trials. More than 10 trials have the share of 10.
TAILS = {5: 0.00095, 6: 0.00243, 7: 0.00411, 8: 0.00574, 9: 0.00722, 10: 0.00855}


@dataclass(frozen=True)
class Interval:
    """A 95 % interval, in the unit of its values."""

    low: float
    high: float

    def scale(self, by: float) -> "Interval":
        """Return the interval times a factor."""
        return Interval(self.low * by, self.high * by)


@cache
def resample_indices(trials: int) -> np.ndarray:
    """Return the indices of the bootstrap's samples: RESAMPLES rows of `trials` indices."""
    return np.random.default_rng(SEED).integers(trials, size=(RESAMPLES, trials))


def mean_interval(values: list[float]) -> Interval | None:
    """Return the interval of the mean of the trials' values; None if there are too few trials."""
    return compute_interval(tuple(values))


@lru_cache(maxsize=1024)  # a comparison needs the same interval several times
def compute_interval(values: tuple[float, ...]) -> Interval | None:
    """Return what mean_interval() does."""
    count = len(values)
    if count < LEAST:
        return None
    if len(set(values)) == 1:  # no sum may round it
        return Interval(values[0], values[0])
    drawn, given = resample_indices(count), np.array(values, dtype=float)
    sums = np.zeros(RESAMPLES)
    for place in range(count):
        sums += given[drawn[:, place]]
    means = np.sort(sums / count)
    cut = int(TAILS.get(count, TAILS[max(TAILS)]) * RESAMPLES)
    return Interval(float(means[cut]), float(means[-1 - cut]))
