"""Makes a whole sweep: chooses points, makes their runs, and combines their figures."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import le
from pathlib import Path
from typing import Any

from sluice.experiment import jobs, metrics
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.load import FULL, load, open_experiment
from sluice.experiment.schema import TWIN
from sluice.experiment.selection import find_experiment_files
from sluice.sweep.point import Maker
from sluice.sweep.ranges import MOST_POINTS, Axis, BadSweep, expect_known, grid_size, parse_axes
from sluice.sweep.sampling import HOW, PRIMES, Came, Point
from sluice.sweep.sweep_runs import Measurer

Row = dict[str, Any]  # a run's variables, which are texts or numbers, and its metrics
MORE = "+"  # stands before a metric to maximize


@dataclass(frozen=True)
class Objective:
    """A metric to minimize, or to maximize if `more` is true."""

    metric: str
    more: bool

    def cost(self, value: float) -> float:
        """Return a number to minimize."""
        return -value if self.more else value


@dataclass(frozen=True)
class Sweep:
    """A sweep: its experiment, its axes, the way its points are chosen, and its objectives."""

    name: str  # of the experiment, with its size and @twin
    path: Path
    claim: str
    how: str
    count: int  # points
    objectives: list[Objective]
    columns: list[str]  # all metrics that are stored, those of the objectives first
    maker: Maker

    @property
    def axes(self) -> list[Axis]:
        """The axes of the sweep."""
        return self.maker.axes

    @property
    def runs(self) -> int:
        """The number of runs that all points have together."""
        swept = {axis.name for axis in self.axes}
        others = (row for name, row in self.maker.opened.sweep.items() if name not in swept)
        return self.count * math.prod(map(len, others))


@dataclass(frozen=True)
class Measured:
    """A point, its figures over its runs, and each run's figures with its variables."""

    number: int
    point: Point
    figures: dict[str, float]
    rows: list[Row]

    def costs(self, objectives: list[Objective]) -> tuple[float, ...]:
        """Return the point's value for each objective, in the form that is minimized."""
        return tuple(each.cost(self.figures[each.metric]) for each in objectives)


def parse_objectives(text: str, columns: list[str], commands: str) -> list[Objective]:
    """Return the objectives that --metrics names. Raises BadSweep.

    columns: metrics of the experiment's table, for a message; commands: the experiment's.
    """
    found = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        name = word.removeprefix(MORE).strip()
        try:
            expect_metric(name, commands)
        except BadSweep as error:
            raise BadSweep(f"--metrics: {word}: {error}") from None
        found.append(Objective(name, word.startswith(MORE)))
    if not found:
        there = "; ".join(columns) or "none"
        raise BadSweep(
            "--metrics: say what is to be less, or with a + what is to be more, as "
            f'--metrics="read.mean_ms"; the table of the experiment has {there}'
        )
    return found


def expect_metric(name: str, commands: str) -> None:
    """Raise BadSweep unless this is a metric of an experiment with these commands."""
    bad = metrics.find_metric_error(name, load_catalogue().counters, load_catalogue().histograms)
    if bad and bad[2]:
        expect_known(*bad)
    elif bad:
        raise BadSweep(f"is no metric; {metrics.suggest_metric(name)}")
    if metrics.needs_drive_times(name) or metrics.needs_loss_ages(name):
        raise BadSweep("is not known in a sweep, which reads no traces: use an experiment")
    for job in metrics.jobs_in_metric(name):
        expect_known("job", job, jobs.job_names(commands))


def parse_sweep(
    word: str,
    over: str,
    how: str = "grid",
    points: int | None = None,
    want: str = "",
    size: str = FULL,
) -> Sweep:
    """Return the sweep that a command's arguments describe: the experiment, --over, --how,
    --points, --metrics and --size. Raises BadSweep or BadExperiment."""
    paths = find_experiment_files(word)
    if len(paths) > 1:
        names = ", ".join(path.stem for path in paths)
        raise BadSweep(f"{word}: a sweep is of one experiment; these begin so: {names}")
    expect_known("--how", how, list(HOW))
    experiment = load(paths[0], size)
    of = open_experiment(paths[0], size)
    name, in_table = f"{experiment.name}@{TWIN}", experiment.plot["columns"]
    commands = of.top["workload"].get("commands", "")
    columns = [
        column
        for column in in_table
        if not metrics.needs_drive_times(column) and not metrics.needs_loss_ages(column)
    ]  # a sweep reads no trace (trial.py)
    objectives = parse_objectives(want, columns, commands)
    found = parse_axes(over, of, load_catalogue())
    if len(found) > len(PRIMES):
        raise BadSweep(f"--over: {len(found)} names: a sweep goes over {len(PRIMES)} at most")
    if how == "grid" and points:
        raise BadSweep(
            "--points: a grid takes all; say how many of each range, as nbuf=256..4096:5"
        )
    if how != "grid" and (not points or points < 1):
        raise BadSweep(f"--points: say how many points --how={how} is to measure, 1 or more")
    count = grid_size(found) if how == "grid" or not points else points
    if count > MOST_POINTS:
        where = "--over: give fewer values" if how == "grid" else "--points: give fewer"
        raise BadSweep(f"{where}: {count} points, and a sweep has at most {MOST_POINTS}")
    every = list(dict.fromkeys([*(each.metric for each in objectives), *columns]))
    maker = Maker(of, name, found)
    return Sweep(name, paths[0], experiment.claim, how, count, objectives, every, maker)


def aggregate_point(sweep: Sweep, rows: list[Row]) -> dict[str, float]:
    """Return the figures of a point over its runs."""
    return {
        name: metrics.TOGETHER[metrics.aggregation(name)]([row[name] for row in rows])
        for name in sweep.columns
    }


def measure_points(
    sweep: Sweep, measurer: Measurer, done: Callable[[], None]
) -> tuple[list[Measured], list[str]]:
    """Measure all points. Returns the points whose runs were all made, and the errors of other
    runs. done: called for each run."""
    found: list[Measured] = []
    errors: list[str] = []
    # A generator of batches of points, which takes what the last batch cost (sampling.py).
    batches = HOW[sweep.how](sweep.axes, sweep.count, len(sweep.objectives))
    batch, number = next(batches, None), 0
    while batch:
        runs = [sweep.maker.runs(point, number + i + 1) for i, point in enumerate(batch)]
        errors += measurer.measure([run for of_point in runs for run in of_point], done)
        came: Came = []
        for point, of_point in zip(batch, runs, strict=True):
            number += 1
            answers = [measurer.find(run) for run in of_point]
            figures = [answer for answer in answers if answer is not None]
            if len(figures) < len(answers):
                came.append(None)
                continue
            rows = [
                {"point": number, "arm": run.arm, **run.variables}
                | {name: values[name] for name in sweep.columns}
                for run, values in zip(of_point, figures, strict=True)
            ]
            found.append(Measured(number, point, aggregate_point(sweep, rows), rows))
            came.append(found[-1].costs(sweep.objectives))
        try:
            batch = batches.send(came)
        except StopIteration:
            break
    return found, errors


def pareto_front(sweep: Sweep, points: list[Measured]) -> list[Measured]:
    """Return the Pareto front, the best point in the first objective first.

    A point is on the front if no other point is at least as good in all objectives and better in
    one. Of points with equal objectives, only one is on the front.
    """
    found: list[Measured] = []
    costs: set[tuple[float, ...]] = set()  # the costs of the points found so far
    for point in sorted(points, key=lambda point: (point.costs(sweep.objectives), point.number)):
        own = point.costs(sweep.objectives)
        if own in costs or not any(all(map(le, others, own)) for others in costs):
            found.append(point)
            costs.add(own)
    return found
