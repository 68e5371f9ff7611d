"""A search for the values of an arm that are best under many loads at once, measured by the twin.

The file's table [tune] names the arm, what to try, and metrics that are to be less. All candidates
are measured in all settings of the size `full` with the first `screened` seeds; where each lies is
chosen by a model of those before (draw.search). The best of them, the finalists, are measured with
the other seeds, too. What was found is the best finalist, if its difference from the arm over these
has a 95 % interval that excludes 0, else the arm as it is: the best of many with the first seeds is
best partly by chance.

The difference of two arms with a seed is the mean, over settings and metrics, of the logarithm of
their ratio: so ten percent less in one makes up for ten percent more in another.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from sluice.experiment import interval
from sluice.experiment.catalogue import known
from sluice.experiment.load import Opened, load, opened
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import TWIN, BadExperiment
from sluice.sweep import sampling
from sluice.sweep.journal import Figures
from sluice.sweep.point import Maker
from sluice.sweep.ranges import ARM, Axis, Choice
from sluice.sweep.sampling import Point
from sluice.sweep.sweep_runs import Measurer

SEED = "seed"
Trials = dict[tuple, Figures]  # by the variables of each, as pairs (name, value)


@dataclass(frozen=True)
class Search:
    """What is searched: a file in its size `full`, and its [tune]."""

    path: Path
    of: Opened
    tune: dict

    @property
    def arm(self) -> str:
        return self.tune["arm"]

    @property
    def metrics(self) -> list[str]:
        return self.tune["metrics"]

    @property
    def begin(self) -> Axis:
        """The arm as it is."""
        return Choice(ARM, ARM, (self.arm,))

    @property
    def axes(self) -> list[Axis]:
        kinds = dict.fromkeys(known().policies, "policy")
        tried = self.tune["values"].items()
        return [
            self.begin,
            *(Choice(name, kinds.get(name, "tunable"), tuple(values)) for name, values in tried),
        ]

    @property
    def seeds(self) -> tuple[list, list]:
        """Those that screen, and the others."""
        count = self.tune["screened"]
        return self.of.sweep[SEED][:count], self.of.sweep[SEED][count:]

    @property
    def runs(self) -> int:
        """How many are made, or fewer if a candidate comes twice."""
        first, others = map(len, self.seeds)
        settings = math.prod(len(row) for name, row in self.of.sweep.items() if name != SEED)
        return settings * (
            first * (self.tune["candidates"] + 1) + others * (self.tune["finalists"] + 1)
        )

    def maker(self, seeds: list, axes: list[Axis]) -> Maker:
        of = replace(self.of, sweep=self.of.sweep | {SEED: seeds})
        return Maker(of, f"{self.path.stem}@{TWIN}", axes)

    def changes(self, point: Point) -> Point:
        """What a point changes of the arm."""
        raw = self.of.raw["arms"][self.of.names.index(self.arm)]
        own = self.of.raw.get("policies", {}) | raw.get("policies", {}) | raw.get("tunables", {})
        return {n: value for n, value in point.items() if n != ARM and value != own.get(n)}

    def as_an_arm(self, point: Point, name: str) -> dict:
        """The point as an arm of the file."""
        raw = self.of.raw["arms"][self.of.names.index(self.arm)]
        made = {"name": name}
        for table, kind in (("policies", "policy"), ("tunables", "tunable")):
            own = {axis.name: point[axis.name] for axis in self.axes if axis.kind == kind}
            made[table] = raw.get(table, {}) | own
        return raw | made


@dataclass(frozen=True)
class Candidate:
    """A point, and its difference from the arm: with each seed that screens and, of a finalist,
    with each of the others."""

    number: int
    point: Point
    screened: list[float]
    others: list[float]

    @property
    def is_surely_less(self) -> bool:
        """Is the mean difference with the other seeds told apart from 0, and less?"""
        sure = interval.of_mean(self.others)
        return sure is not None and sure.high < 0


@dataclass(frozen=True)
class Found:
    """What a search came to. best: None if nothing is better than the arm for sure; settings: its
    difference in each metric, with the other seeds, by the other variables."""

    candidates: list[Candidate]
    finalists: list[Candidate]
    best: Candidate | None
    settings: dict[tuple, dict[str, list[float]]]


def search_of(path: Path) -> Search:
    """The search that a file asks for. Raises BadExperiment."""
    tune, of = load(path).tune, opened(path)
    if not tune:
        raise BadExperiment(f"{path}: there is no [tune]")
    search = Search(path, of, tune)
    if len(of.sweep.get(SEED, [])) - tune["screened"] < interval.LEAST:
        raise BadExperiment(
            f"{path}: [tune] screened = {tune['screened']}: the size `full` must have "
            f"{interval.LEAST} seeds more, to judge the finalists"
        )
    return search


def difference(one: Figures, than: Figures, names: Iterable[str]) -> float:
    """The mean logarithm of the ratios of two trials' figures."""
    return mean(math.log(one[name] / than[name]) for name in names)


def by_seed(mine: Trials, others: Trials, names: Iterable[str]) -> dict[object, float]:
    """The mean difference of each seed, over the settings that both have."""
    seeds: dict[object, list[float]] = {}
    for key in sorted(mine.keys() & others.keys(), key=str):
        row = difference(mine[key], others[key], names)
        seeds.setdefault(dict(key)[SEED], []).append(row)
    return {seed: mean(values) for seed, values in seeds.items()}


def by_setting(mine: Trials, others: Trials, names: Iterable[str]) -> dict:
    """The differences in each metric, one of each seed, by the variables but for the seed."""
    found: dict[tuple, dict[str, list[float]]] = {}
    for key in sorted(mine.keys() & others.keys(), key=str):
        setting = tuple((name, value) for name, value in key if name != SEED)
        row = found.setdefault(setting, {name: [] for name in names})
        for name in names:
            row[name].append(difference(mine[key], others[key], [name]))
    return found


def searched(search: Search, measurer: Measurer, done: Callable[[], None]) -> Found:
    """Make the search. `done` is called for each run. Raises RunFailed if the arm as it is fails;
    a candidate that fails is none."""

    def trials(points: list[Point], seeds: list, axes: list[Axis]) -> list[Trials | None]:
        maker = search.maker(seeds, axes)
        runs = [maker.runs(point, i + 1) for i, point in enumerate(points)]
        errors = measurer.measure([run for of_point in runs for run in of_point], done)
        came: list[Trials | None] = []
        for of_point in runs:
            figures = [measurer.find(run) for run in of_point]
            variables = [
                tuple((n, v) for n, v in run.variables.items() if n in search.of.sweep)
                for run in of_point
            ]
            whole = None not in figures and all(row[n] > 0 for row in figures for n in names)
            came.append(dict(zip(variables, figures, strict=True)) if whole else None)
        if axes == [search.begin] and None in came:
            raise RunFailed("\n".join(errors) or f'"{search.arm}": a metric is 0')
        return came

    first, others = search.seeds
    names, as_is = search.metrics, [{ARM: search.arm}]
    (base,) = trials(as_is, first, [search.begin])
    candidates: list[Candidate] = []
    ways = sampling.search(search.axes, search.tune["candidates"], 1)
    batch, number = next(ways), 0
    while batch:
        came = []
        for point, mine in zip(batch, trials(batch, first, search.axes), strict=True):
            number += 1
            if mine is None:
                came.append(None)
                continue
            screened = list(by_seed(mine, base, names).values())
            candidates.append(Candidate(number, point, screened, []))
            came.append((mean(screened),))
        try:
            batch = ways.send(came)
        except StopIteration:
            break
    return judged_by_the_others(search, candidates, trials, others)


def judged_by_the_others(
    search: Search, candidates: list[Candidate], trials: Callable, others: list
) -> Found:
    """Measure the finalists with the other seeds, and choose."""
    names, chosen = search.metrics, {}
    for candidate in sorted(candidates, key=lambda c: (mean(c.screened), c.number)):
        chosen.setdefault(tuple(candidate.point.items()), candidate)
    chosen = list(chosen.values())[: search.tune["finalists"]]
    (base,) = trials([{ARM: search.arm}], others, [search.begin])
    came = trials([c.point for c in chosen], others, search.axes)
    finalists = [
        replace(c, others=list(by_seed(mine, base, names).values()))
        for c, mine in zip(chosen, came, strict=True)
        if mine is not None
    ]
    better = [c for c in finalists if c.is_surely_less]
    best = min(better, key=lambda c: mean(c.others)) if better else None
    mine = came[[c.point for c in chosen].index(best.point)] if best else {}
    return Found(candidates, finalists, best, by_setting(mine, base, names))
