"""Choose the points that a sweep measures. The table HOW has a function for each method.

A method's arguments are the axes, the number of points to choose (a grid ignores it), and the
number of objectives. It is a generator of batches of points. The caller sends back the objectives
of each point of the batch, or None if the point failed. Equal arguments give equal points, with any
number of workers.
"""

import itertools
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sluice.sweep.ranges import Axis, Choice, Value

if TYPE_CHECKING:  # importing optuna takes most of a second
    from optuna.distributions import BaseDistribution

Point = dict[str, Value]
# For each point of the last batch: its objectives, to be minimized, or None if it failed.
Came = list[tuple[float, ...] | None]
Points = Generator[list[Point], Came, None]
BATCH = 256  # points of a batch if later points do not depend on results
GUIDED = 8  # points of a batch if later points depend on results
SEED = 1994
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)


def split_batches(points: Iterator[Point]) -> Points:
    """Yield points in batches that depend on no result."""
    while batch := list(itertools.islice(points, BATCH)):
        yield batch


def grid_points(axes: list[Axis], count: int, objectives: int) -> Points:
    """Yield every combination of the axes' values."""
    names = [axis.name for axis in axes]
    values = itertools.product(*(axis.grid() for axis in axes))
    return split_batches(dict(zip(names, row, strict=True)) for row in values)


def point_at(axes: list[Axis], shares: NDArray[np.float64]) -> Point:
    """Return the point at these shares, one for each axis, from 0 to below 1."""
    return {
        axis.name: axis.value_at(float(share)) for axis, share in zip(axes, shares, strict=True)
    }


def random_points(axes: list[Axis], count: int, objectives: int) -> Points:
    """Yield random points."""
    chance = np.random.default_rng(SEED)
    return split_batches(point_at(axes, chance.random(len(axes))) for _ in range(count))


def halton_number(i: int, base: int) -> float:
    """Return the i-th number of van der Corput's sequence: the digits of i after the point,
    reversed."""
    share, digit = 0.0, 1.0
    while i:
        digit /= base
        share += i % base * digit
        i //= base
    return share


def halton_points(axes: list[Axis], count: int, objectives: int) -> Points:
    """Yield points that fill the space evenly: Halton's sequence, shifted on each axis by a random
    share.

    Source: J. H. Halton, Numerische Mathematik 2, 1960.
    """
    shift = np.random.default_rng(SEED).random(len(axes))
    bases = PRIMES[: len(axes)]
    rows = (np.array([halton_number(i, base) for base in bases]) for i in range(1, count + 1))
    return split_batches(point_at(axes, (row + shift) % 1) for row in rows)


def search_points(axes: list[Axis], count: int, objectives: int) -> Points:
    """Yield points where a model of the earlier results expects better ones: optuna's
    tree-structured Parzen estimator (J. Bergstra et al., NIPS 2011), a batch at a time."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=SEED, constant_liar=True)
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)
    spaces = {axis.name: search_space(axis) for axis in axes}
    for start in range(0, count, GUIDED):
        asked = [study.ask(spaces) for _ in range(min(GUIDED, count - start))]
        came = yield [trial.params for trial in asked]
        for trial, values in zip(asked, came, strict=True):
            state = None if values else optuna.trial.TrialState.FAIL
            study.tell(trial, values, state=state)


def search_space(axis: Axis) -> "BaseDistribution":
    """Return the axis in optuna's form."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(axis, Choice):
        return CategoricalDistribution(axis.values)
    if axis.is_whole:
        return IntDistribution(int(axis.low), int(axis.high), log=axis.log)
    return FloatDistribution(axis.low, axis.high, log=axis.log)


HOW: dict[str, Callable[[list[Axis], int, int], Points]] = {
    "grid": grid_points,
    "random": random_points,
    "quasi": halton_points,
    "search": search_points,
}
