"""Search for the values of an arm that are best under many loads at once, measured by the twin.

The file's table [tune] names the arm, the values to try, and the metrics to minimize. All
candidates are measured in all settings of the size `full` with the first `screened` seeds. A model
of the earlier results chooses each next candidate (sampling.search). The best candidates, the
finalists, are measured with the other seeds, too. The result is the best finalist, if its
difference from the arm over these seeds has a 95 % interval that excludes 0. Otherwise it is the
unchanged arm, because the best of many candidates with the first seeds is best partly by chance.

The difference of two arms with a seed is the mean, over settings and metrics, of the logarithm of
their ratio. So a metric at half its value compensates for another at twice its value.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from sluice.experiment import interval
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.load import Opened, load, open_experiment
from sluice.experiment.records import Arm, TuneTable, Value
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import TWIN, BadExperiment, Run
from sluice.sweep import sampling
from sluice.sweep.journal import Figures
from sluice.sweep.point import Maker
from sluice.sweep.ranges import ARM, Axis, Choice
from sluice.sweep.sampling import Came, Point
from sluice.sweep.sweep_runs import Measurer

SEED = "seed"
Setting = tuple[tuple[str, Value], ...]  # variables, as pairs (name, value)
Trials = dict[Setting, Figures]  # by the variables of each
Measure = Callable[[list[Point], list[Value], list[Axis]], list[Trials | None]]


@dataclass(frozen=True)
class Search:
    """A search: an experiment file, opened with --size=full, and its table [tune]."""

    path: Path
    opened: Opened
    tune: TuneTable

    @property
    def arm(self) -> str:
        """The name of the arm that is searched."""
        return self.tune["arm"]

    @property
    def metrics(self) -> list[str]:
        """The metrics to minimize."""
        return self.tune["metrics"]

    @property
    def first_point(self) -> Axis:
        """The axis with the unchanged arm as its only value."""
        return Choice(ARM, ARM, (self.arm,))

    @property
    def axes(self) -> list[Axis]:
        """The axes of the search: the arm, and the values to try."""
        kinds = dict.fromkeys(load_catalogue().policies, "policy")
        tried = self.tune["values"].items()
        return [
            self.first_point,
            *(Choice(name, kinds.get(name, "tunable"), tuple(values)) for name, values in tried),
        ]

    @property
    def seeds(self) -> tuple[list[Value], list[Value]]:
        """The seeds that screen the candidates, and the seeds that measure only the finalists."""
        count = self.tune["screened"]
        return self.opened.sweep[SEED][:count], self.opened.sweep[SEED][count:]

    @property
    def runs(self) -> int:
        """The number of runs; fewer are made if a candidate occurs twice."""
        first, others = map(len, self.seeds)
        settings = math.prod(len(row) for name, row in self.opened.sweep.items() if name != SEED)
        return settings * (
            first * (self.tune["candidates"] + 1) + others * (self.tune["finalists"] + 1)
        )

    def maker(self, seeds: list[Value], axes: list[Axis]) -> Maker:
        """Return the maker of runs with these seeds and axes."""
        of = replace(self.opened, sweep=self.opened.sweep | {SEED: seeds})
        return Maker(of, f"{self.path.stem}@{TWIN}", axes)

    def changed_values(self, point: Point) -> Point:
        """Return the values of a point that differ from the arm's."""
        raw = self.opened.raw["arms"][self.opened.names.index(self.arm)]
        own = (
            self.opened.raw.get("policies", {}) | raw.get("policies", {}) | raw.get("tunables", {})
        )
        return {n: value for n, value in point.items() if n != ARM and value != own.get(n)}

    def to_arm(self, point: Point, name: str) -> Arm:
        """Return the point in the form of an arm of the file."""
        raw: Arm = self.opened.raw["arms"][self.opened.names.index(self.arm)]

        def values(kind: str) -> Point:
            """Return the part of the point that is of this kind."""
            return {axis.name: point[axis.name] for axis in self.axes if axis.kind == kind}

        return {
            **raw,
            "name": name,
            "policies": raw.get("policies", {}) | values("policy"),
            "tunables": raw.get("tunables", {}) | values("tunable"),
        }


@dataclass(frozen=True)
class Candidate:
    """A point, and its difference from the arm with each seed that screens and, for a finalist,
    with each other seed."""

    number: int
    point: Point
    screened: list[float]
    others: list[float]

    @property
    def is_surely_less(self) -> bool:
        """True if the mean difference with the other seeds is significantly below 0."""
        sure = interval.mean_interval(self.others)
        return sure is not None and sure.high < 0


@dataclass(frozen=True)
class Found:
    """The result of a search.

    best: None if no finalist is significantly better than the arm. settings: the best finalist's
    difference in each metric, with the other seeds, by the other variables.
    """

    candidates: list[Candidate]
    finalists: list[Candidate]
    best: Candidate | None
    settings: dict[Setting, dict[str, list[float]]]


def read_search(path: Path) -> Search:
    """Return the search that a file describes. Raises BadExperiment."""
    tune, of = load(path).tune, open_experiment(path)
    if not tune:
        raise BadExperiment(f"{path}: there is no [tune]")
    search = Search(path, of, tune)
    if len(of.sweep.get(SEED, [])) - tune["screened"] < interval.LEAST:
        raise BadExperiment(
            f"{path}: [tune] screened = {tune['screened']}: the size `full` must have "
            f"{interval.LEAST} seeds more, to judge the finalists"
        )
    return search


def mean_log_ratio(one: Figures, than: Figures, names: Iterable[str]) -> float:
    """Return the mean logarithm of the ratios of two trials' figures."""
    return mean(math.log(one[name] / than[name]) for name in names)


def differences_by_seed(mine: Trials, others: Trials, names: Iterable[str]) -> dict[object, float]:
    """Return the mean difference of each seed, over the settings that both have."""
    seeds: dict[object, list[float]] = {}
    for key in sorted(mine.keys() & others.keys(), key=str):
        row = mean_log_ratio(mine[key], others[key], names)
        seeds.setdefault(dict(key)[SEED], []).append(row)
    return {seed: mean(values) for seed, values in seeds.items()}


def differences_by_setting(
    mine: Trials, others: Trials, names: Iterable[str]
) -> dict[Setting, dict[str, list[float]]]:
    """Return the differences in each metric, one for each seed, by the variables without the
    seed."""
    found: dict[Setting, dict[str, list[float]]] = {}
    for key in sorted(mine.keys() & others.keys(), key=str):
        setting = tuple((name, value) for name, value in key if name != SEED)
        row = found.setdefault(setting, {name: [] for name in names})
        for name in names:
            row[name].append(mean_log_ratio(mine[key], others[key], [name]))
    return found


def find_trials(search: Search, measurer: Measurer, runs: list[Run]) -> Trials | None:
    """Return the figures of a point's measured runs, by the variables of each; None if a run has
    failed, or if a metric is not above 0."""
    trials: Trials = {}
    for run in runs:
        figures = measurer.find(run)
        if figures is None or not all(figures[name] > 0 for name in search.metrics):
            return None
        swept = [(n, v) for n, v in run.variables.items() if n in search.opened.sweep]
        trials[tuple(swept)] = figures
    return trials


def run_search(search: Search, measurer: Measurer, done: Callable[[], None]) -> Found:
    """Make the search. Returns its result.

    done: called for each run. Raises RunFailed if the unchanged arm fails; a candidate that fails
    is left out.
    """

    def measure_trials(
        points: list[Point], seeds: list[Value], axes: list[Axis]
    ) -> list[Trials | None]:
        """Return the figures of each point's runs by their variables; None for a point that
        failed."""
        maker = search.maker(seeds, axes)
        runs = [maker.runs(point, i + 1) for i, point in enumerate(points)]
        errors = measurer.measure([run for of_point in runs for run in of_point], done)
        found = [find_trials(search, measurer, of_point) for of_point in runs]
        if axes == [search.first_point] and None in found:
            raise RunFailed("\n".join(errors) or f'"{search.arm}": a metric is 0')
        return found

    first, others = search.seeds
    names = search.metrics
    as_is: list[Point] = [{ARM: search.arm}]
    (base,) = measure_trials(as_is, first, [search.first_point])
    assert base is not None  # or it has raised RunFailed
    candidates: list[Candidate] = []
    ways = sampling.search_points(search.axes, search.tune["candidates"], 1)
    batch, number = next(ways), 0
    while batch:
        objectives: Came = []
        for point, mine in zip(batch, measure_trials(batch, first, search.axes), strict=True):
            number += 1
            if mine is None:
                objectives.append(None)
                continue
            screened = list(differences_by_seed(mine, base, names).values())
            candidates.append(Candidate(number, point, screened, []))
            objectives.append((mean(screened),))
        try:
            batch = ways.send(objectives)
        except StopIteration:
            break
    return judge_finalists(search, candidates, measure_trials, others)


def judge_finalists(
    search: Search, candidates: list[Candidate], trials: Measure, others: list[Value]
) -> Found:
    """Measure the finalists with the other seeds. Returns the result with the best finalist."""
    names = search.metrics
    by_point: dict[Setting, Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: (mean(c.screened), c.number)):
        by_point.setdefault(tuple(candidate.point.items()), candidate)
    chosen = list(by_point.values())[: search.tune["finalists"]]
    (base,) = trials([{ARM: search.arm}], others, [search.first_point])
    assert base is not None  # or it has raised RunFailed
    measured = trials([c.point for c in chosen], others, search.axes)
    finalists = [
        replace(c, others=list(differences_by_seed(mine, base, names).values()))
        for c, mine in zip(chosen, measured, strict=True)
        if mine is not None
    ]
    better = [c for c in finalists if c.is_surely_less]
    best = min(better, key=lambda c: mean(c.others)) if better else None
    of_best = measured[[c.point for c in chosen].index(best.point)] if best else None
    return Found(candidates, finalists, best, differences_by_setting(of_best or {}, base, names))
