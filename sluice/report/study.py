"""The subject of a report: an experiment and its results.

A *point* is a combination of the sweep's values, and an arm has a run for each. A *setting* is a
point without its seed: runs that differ only in `seed` are trials of one system, and are combined.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sluice.experiment import metrics
from sluice.experiment.metrics import Series
from sluice.experiment.result import BadResult, disk_series, measured_disk, only_writes, setting
from sluice.experiment.schema import Experiment


def words(variables: dict[str, object]) -> str:
    """Variables and their values for people."""
    return ", ".join(f"{name} = {value}" for name, value in variables.items())


def in_order(values: list) -> list:
    """Each value once, in the order of its first occurrence."""
    return [value for i, value in enumerate(values) if value not in values[:i]]


@dataclass(frozen=True)
class System:
    """An arm in one setting, and its trials."""

    arm: str
    setting: dict[str, object]
    trials: list[dict]

    def responses(self, job: str) -> Series:
        """The response times of all trials together."""
        counts: dict[int, list[int]] = {}
        for trial in self.trials:
            for low, high, n in metrics.series(trial, job).buckets:
                counts.setdefault(low, [high, 0])[1] += n
        most = max(metrics.of(trial, f"{job}.max_ns") for trial in self.trials)
        return Series("ns", [[low, *rest] for low, rest in sorted(counts.items())], {"max": most})


@dataclass(frozen=True)
class Study:
    """An experiment, and those of its results that exist."""

    experiment: Experiment
    results: list[dict]

    @property
    def job(self) -> str | None:
        """The job whose response times are shown."""
        return self.experiment.plot.get("histogram")

    @cached_property
    def arms(self) -> list[str]:
        return [arm for arm in self.experiment.arms if self.of_arm(arm)]

    def of_arm(self, arm: str) -> list[dict]:
        return [result for result in self.results if result["arm"] == arm]

    @cached_property
    def points(self) -> list[dict[str, object]]:
        return in_order([result["variables"] for result in self.results])

    @cached_property
    def settings(self) -> list[dict[str, object]]:
        return in_order([setting(point) for point in self.points])

    @cached_property
    def systems(self) -> list[System]:
        return [System(arm, at, trials) for arm in self.arms for at, trials in self.trials_of(arm)]

    def trials_of(self, arm: str) -> Iterator[tuple[dict[str, object], list[dict]]]:
        """The trials of an arm, setting by setting."""
        for at in self.settings:
            trials = [r for r in self.of_arm(arm) if setting(r["variables"]) == at]
            if trials:
                yield at, trials

    @cached_property
    def seeds(self) -> list:
        return in_order([p["seed"] for p in self.points if "seed" in p])

    @property
    def disk(self) -> str:
        """The disk that is measured."""
        return measured_disk(self.results[0])

    @cached_property
    def only_writes(self) -> bool:
        """Whether the load only writes, in all runs."""

        def of(result: dict) -> bool:
            disk = disk_series(result)
            reads, writes = sum(disk["reads"]), sum(disk["writes"])
            return only_writes(result["jobs"], reads, reads + writes)

        return all("jobs" in result and of(result) for result in self.results)

    def values(self, of: Callable[[dict], dict], arm: str | None = None) -> dict[str, list]:
        """The different values of the results (of an arm), by name; None if some lack the name."""
        rows = [of(result) for result in (self.of_arm(arm) if arm else self.results)]
        names = in_order([name for row in rows for name in row])
        return {name: in_order([row.get(name) for row in rows]) for name in names}


def check(experiment: Experiment, results: list[dict]) -> Study:
    """The study of these results. Raises BadResult if they are not the experiment's."""
    if not results:
        raise BadResult(f"{experiment.name}: no run of it has a result")
    runs = [(run.arm, run.variables) for run in experiment.runs]
    for number, result in enumerate(results, 1):
        at = f"{experiment.name}: result {number}"
        if (result["arm"], result["variables"]) not in runs:
            said = f"{result['arm']}, {words(result['variables'])}"
            raise BadResult(f"{at} ({said}) is of none of the runs that {experiment.path} has now")
        job = experiment.plot.get("histogram")
        try:
            if job:
                metrics.job_series(result, job)
        except BadResult as error:
            raise BadResult(f"{at}: {error}") from None
    return Study(experiment, results)
