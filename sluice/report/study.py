"""Describe the subject of a report: an experiment and its results.

A *point* is a combination of the sweep's values, and an arm has a run for each. A *setting* is a
point without its seed: runs that differ only in `seed` are trials of one system, and are combined.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from sluice.experiment import metrics
from sluice.experiment.metrics import Series
from sluice.experiment.records import RunResult, Value, Variables
from sluice.experiment.result import BadResult, disk_series, drop_seed, is_write_only, measured_disk
from sluice.experiment.schema import Experiment

T = TypeVar("T")


def variable_words(variables: Variables) -> str:
    """Return variables and their values as text."""
    return ", ".join(f"{name} = {value}" for name, value in variables.items())


def distinct(values: Iterable[T]) -> list[T]:
    """Return each value once, in the order of first occurrence."""
    found: list[T] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


@dataclass(frozen=True)
class System:
    """An arm in one setting, and its trials."""

    arm: str
    setting: Variables
    trials: list[RunResult]

    def response_series(self, job: str) -> Series:
        """Return the response times of all trials together."""
        counts: dict[int, list[int]] = {}
        for trial in self.trials:
            for low, high, n in metrics.series(trial, job).buckets:
                counts.setdefault(low, [high, 0])[1] += n
        most = max(metrics.evaluate(trial, f"{job}.max_ns") for trial in self.trials)
        return Series("ns", [[low, *rest] for low, rest in sorted(counts.items())], {"max": most})


@dataclass(frozen=True)
class Study:
    """An experiment, and its results as far as they exist."""

    experiment: Experiment
    results: list[RunResult]

    @property
    def job(self) -> str | None:
        """The job whose response times are shown, or None."""
        return self.experiment.plot.get("histogram")

    @cached_property
    def arms(self) -> list[str]:
        """The arms that have results, in the order of the file."""
        return [arm for arm in self.experiment.arms if self.arm_results(arm)]

    def arm_results(self, arm: str) -> list[RunResult]:
        """Return the results of an arm."""
        return [result for result in self.results if result["arm"] == arm]

    @cached_property
    def points(self) -> list[Variables]:
        """The points that have results."""
        return distinct([result["variables"] for result in self.results])

    @cached_property
    def settings(self) -> list[Variables]:
        """The settings that have results."""
        return distinct([drop_seed(point) for point in self.points])

    @cached_property
    def systems(self) -> list[System]:
        """Each arm in each setting, with its trials."""
        return [System(arm, at, trials) for arm in self.arms for at, trials in self.trials_of(arm)]

    def trials_of(self, arm: str) -> Iterator[tuple[Variables, list[RunResult]]]:
        """Yield the trials of an arm, setting by setting."""
        for at in self.settings:
            trials = [r for r in self.arm_results(arm) if drop_seed(r["variables"]) == at]
            if trials:
                yield at, trials

    @cached_property
    def seeds(self) -> list[Value]:
        """The seeds, in the order of their first results."""
        return distinct([p["seed"] for p in self.points if "seed" in p])

    @property
    def disk(self) -> str:
        """The disk that is measured."""
        return measured_disk(self.results[0])

    @cached_property
    def is_write_only(self) -> bool:
        """True if the load only writes, in all runs."""

        def is_write_only_run(result: RunResult) -> bool:
            """Return whether the load of this result only writes."""
            disk = disk_series(result)
            reads, writes = sum(disk["reads"]), sum(disk["writes"])
            return is_write_only(result["jobs"], reads, reads + writes)

        return all("jobs" in result and is_write_only_run(result) for result in self.results)

    def values(
        self, of: Callable[[RunResult], Mapping[str, object]], arm: str | None = None
    ) -> dict[str, list[Any]]:
        """Return the different values of each name in the results. None stands for results that
        lack the name.

        of: returns a result's values by name. arm: only this arm's results; None: all."""
        results = self.arm_results(arm) if arm else self.results
        rows = [of(result) for result in results]
        names = distinct([name for row in rows for name in row])
        return {name: distinct([row.get(name) for row in rows]) for name in names}


def build_study(experiment: Experiment, results: list[RunResult]) -> Study:
    """Return the study of these results. Raises BadResult if they are not the experiment's."""
    if not results:
        raise BadResult(f"{experiment.name}: no run of it has a result")
    runs = [(run.arm, run.variables) for run in experiment.runs]
    for number, result in enumerate(results, 1):
        at = f"{experiment.name}: result {number}"
        if (result["arm"], result["variables"]) not in runs:
            said = f"{result['arm']}, {variable_words(result['variables'])}"
            raise BadResult(f"{at} ({said}) belongs to no run that {experiment.path} has now")
        job = experiment.plot.get("histogram")
        try:
            if job:
                metrics.job_series(result, job)
        except BadResult as error:
            raise BadResult(f"{at}: {error}") from None
    return Study(experiment, results)
