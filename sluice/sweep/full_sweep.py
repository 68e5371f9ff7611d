"""A whole sweep: its points are chosen, their runs are made, and their figures are put together."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import le
from pathlib import Path

from sluice.experiment import jobs, metrics
from sluice.experiment.catalogue import known
from sluice.experiment.load import FULL, load, opened
from sluice.experiment.schema import TWIN
from sluice.experiment.selection import named
from sluice.sweep.point import Maker
from sluice.sweep.ranges import MOST_POINTS, Axis, BadSweep, axes, expect_one_of, grid_fits
from sluice.sweep.sampling import HOW, PRIMES, Came, Point
from sluice.sweep.sweep_runs import Measurer

MORE = "+"  # before a metric of which more is better


@dataclass(frozen=True)
class Objective:
    """A metric that is to be less, or more."""

    metric: str
    more: bool

    def cost(self, value: float) -> float:
        """A number that is to be less."""
        return -value if self.more else value


@dataclass(frozen=True)
class Sweep:
    """What is to be measured."""

    name: str  # of the experiment, with its size and @twin
    path: Path
    claim: str
    how: str
    count: int  # points
    objectives: list[Objective]
    columns: list[str]  # all metrics that are kept, those of the objectives first
    maker: Maker

    @property
    def axes(self) -> list[Axis]:
        return self.maker.axes

    @property
    def runs(self) -> int:
        """How many runs all points have."""
        swept = {axis.name for axis in self.axes}
        others = (row for name, row in self.maker.of.sweep.items() if name not in swept)
        return self.count * math.prod(map(len, others))


@dataclass(frozen=True)
class Measured:
    """A point, its figures over its runs, and those of each run with its variables."""

    number: int
    point: Point
    figures: dict[str, float]
    rows: list[dict]

    def costs(self, objectives: list[Objective]) -> tuple[float, ...]:
        return tuple(each.cost(self.figures[each.metric]) for each in objectives)


def objectives_of(text: str, columns: list[str], commands: str) -> list[Objective]:
    """The objectives that METRICS= names, for an experiment with these columns in its table, and
    these commands. Raises BadSweep."""
    found = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        name = word.removeprefix(MORE).strip()
        try:
            expect_metric(name, commands)
        except BadSweep as error:
            raise BadSweep(f"METRICS: {word}: {error}") from None
        found.append(Objective(name, word.startswith(MORE)))
    if not found:
        there = "; ".join(columns) or "none"
        raise BadSweep(
            "METRICS: say what is to be less, or with a + what is to be more, as "
            f'METRICS="read.mean_ms"; the table of the experiment has {there}'
        )
    return found


def expect_metric(name: str, commands: str) -> None:
    """Raise BadSweep unless this is a metric of an experiment with these commands."""
    bad = metrics.wrong(name, known().counters, known().histograms)
    if bad and bad[2]:
        expect_one_of(*bad)
    elif bad:
        raise BadSweep(f"is no metric; {metrics.no_metric(name)}")
    if metrics.asks_drive(name):
        raise BadSweep("is not known in a sweep, which reads no traces: ask an experiment")
    for job in metrics.jobs_of(name):
        expect_one_of("job", job, jobs.named(commands))


def asked(
    word: str,
    over: str,
    how: str = "grid",
    points: int | None = None,
    want: str = "",
    size: str = FULL,
) -> Sweep:
    """The sweep that a command asks for: E=, OVER=, HOW=, POINTS=, METRICS= and SIZE=.

    Raises BadSweep, or BadExperiment."""
    paths = named(word)
    if len(paths) > 1:
        names = ", ".join(path.stem for path in paths)
        raise BadSweep(f"E={word}: a sweep is of one experiment; these begin so: {names}")
    expect_one_of("HOW=", how, list(HOW))
    experiment = load(paths[0], size)
    of = opened(paths[0], size)
    name, in_table = f"{experiment.name}@{TWIN}", experiment.plot["columns"]
    commands = of.top["workload"].get("commands", "")
    columns = [column for column in in_table if not metrics.asks_drive(column)]  # as in METRICS
    objectives = objectives_of(want, columns, commands)
    found = axes(over, of, known())
    if len(found) > len(PRIMES):
        raise BadSweep(f"OVER: {len(found)} names: a sweep goes over {len(PRIMES)} at most")
    if how == "grid" and points:
        raise BadSweep("POINTS: a grid takes all; say how many of each range, as nbuf=256..4096:5")
    if how != "grid" and (not points or points < 1):
        raise BadSweep(f"POINTS: say how many points HOW={how} is to measure, 1 or more")
    count = grid_fits(found) if how == "grid" else points
    if count > MOST_POINTS:
        where = "OVER: give fewer values" if how == "grid" else "POINTS: give fewer"
        raise BadSweep(f"{where}: {count} points, and a sweep has at most {MOST_POINTS}")
    every = list(dict.fromkeys([*(each.metric for each in objectives), *columns]))
    maker = Maker(of, name, found)
    return Sweep(name, paths[0], experiment.claim, how, count, objectives, every, maker)


def together(sweep: Sweep, rows: list[dict]) -> dict[str, float]:
    """The figures of a point over its runs."""
    return {
        name: metrics.TOGETHER[metrics.over_runs(name)]([row[name] for row in rows])
        for name in sweep.columns
    }


def measured(
    sweep: Sweep, measurer: Measurer, done: Callable[[], None]
) -> tuple[list[Measured], list[str]]:
    """Measure all points. Returns those of which all runs were made, and what was wrong with
    others. `done` is called for each run."""
    found: list[Measured] = []
    errors: list[str] = []
    ways = HOW[sweep.how](sweep.axes, sweep.count, len(sweep.objectives))
    batch, number = next(ways, None), 0
    while batch:
        runs = [sweep.maker.runs(point, number + i + 1) for i, point in enumerate(batch)]
        errors += measurer.measure([run for of_point in runs for run in of_point], done)
        came: Came = []
        for point, of_point in zip(batch, runs, strict=True):
            number += 1
            figures = [measurer.find(run) for run in of_point]
            if None in figures:
                came.append(None)
                continue
            rows = [
                {"point": number, "arm": run.arm, **run.variables}
                | {name: values[name] for name in sweep.columns}
                for run, values in zip(of_point, figures, strict=True)
            ]
            found.append(Measured(number, point, together(sweep, rows), rows))
            came.append(found[-1].costs(sweep.objectives))
        try:
            batch = ways.send(came)
        except StopIteration:
            break
    return found, errors


def front(sweep: Sweep, points: list[Measured]) -> list[Measured]:
    """The points of which no other is at least as good in all objectives and better in one, with
    all of equal ones; the best in the first objective first."""
    found: list[Measured] = []
    costs: set[tuple[float, ...]] = set()  # of those that were found
    for point in sorted(points, key=lambda point: (point.costs(sweep.objectives), point.number)):
        own = point.costs(sweep.objectives)
        if own in costs or not any(all(map(le, others, own)) for others in costs):
            found.append(point)
            costs.add(own)
    return found
