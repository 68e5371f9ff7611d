"""The figures to compare: for each system of each experiment, its set of policies and some
measures.

- A *set of policies* is the policies of those kinds in which the compared systems differ, with
  those of their tunables that the arm sets, in all of its runs, to other values than the default.
  (A tunable that is swept is part of the setting.)
- A *case* is where different sets can be compared: an experiment in one setting. If it has several
  arms of one set, which then differ in their machines or loads, each is compared, and the name of
  the set has the arm's in brackets.
- Of each measure less is better. A measure is None where a system has none, such as responses where
  nothing was read.
- Systems differ in a measure only if their trials tell them apart (significance.py).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from sluice.experiment import interval, metrics, significance
from sluice.experiment.catalogue import known
from sluice.experiment.interval import Interval
from sluice.experiment.result import measured_disk
from sluice.experiment.significance import Claim
from sluice.report.study import Study, System, in_order, words

FEW = 3  # a set of fewer cases has little to be compared with


@dataclass(frozen=True)
class Measure:
    """A column: its name, its unit, and its value for a system of a study."""

    name: str
    unit: str
    about: str
    of: Callable[[Study, System], float | None]
    extreme: bool = False  # over trials, the largest


def responses(study: Study) -> str:
    """The response times that a study is about: its job's, or those of all reads of its disk."""
    return study.job or f"hist.{measured_disk(study.results[0])}.read_response"


def response(field: str) -> Callable[[Study, System], float | None]:
    """A measure of the response times."""

    def of(study: Study, system: System) -> float | None:
        counted = metrics.together(system.trials, f"{responses(study)}.count")
        return metrics.together(system.trials, f"{responses(study)}.{field}") if counted else None

    return of


def metric(name: str) -> Callable[[Study, System], float | None]:
    """A measure that is a metric."""
    return lambda study, system: metrics.together(system.trials, name)


def cpu_s(study: Study, system: System) -> float | None:
    """The time in which the CPU was busy."""
    took_s = sum(trial["virtual_ms"] for trial in system.trials) / len(system.trials) / 1000
    return took_s - metrics.together(system.trials, "stat.cpu.idle_s")


# The first is what the page opens on: in the mean, systems hardly differ.
MEASURES = (
    Measure("worst", "ms", "response, the longest", response("max_ms"), extreme=True),
    Measure("mean", "ms", "response, the mean", response("mean_ms")),
    Measure("std", "ms", "response, the standard deviation", response("std_ms")),
    Measure("p99", "ms", "response, the 99th percentile", response("p99_ms")),
    Measure("p99.9", "ms", "response, the 99.9th percentile", response("p99.9_ms")),
    Measure("writes", "blocks", "requests written, all disks", metric("stat.disk.writes")),
    Measure(
        "oldest",
        "s",
        "age of the oldest dirty block that was written",
        metric("hist.bio.age_written.max_s"),
        extreme=True,
    ),
    Measure("cpu", "s", "the CPU was not idle", cpu_s),
    Measure("daemon", "ms", "of that, the update daemon", metric("stat.updated.cpu_ms")),
)


@dataclass(frozen=True)
class Row:
    """A system in a case, with its values in the order of MEASURES."""

    study: Study
    system: System
    policies: str  # its set, and its arm if others have the set in this case
    case: str
    values: list[float | None]
    alone: bool = True  # no other arm has this set in this case

    @property
    def load(self) -> str:
        """The case; if another arm has this set there, with this arm, as their machines differ."""
        return self.case if self.alone else f"{self.case}: {self.system.arm}"

    def trials(self, measure: Measure) -> significance.Values:
        """The measure of each trial, by seed."""
        alone = [(t, System(self.system.arm, self.system.setting, [t])) for t in self.system.trials]
        found = {t["variables"].get("seed"): measure.of(self.study, one) for t, one in alone}
        return {seed: value for seed, value in found.items() if value is not None}

    def spread(self, measure: Measure) -> Interval | None:
        """Of an extreme the range over the trials, of a mean its interval."""
        found = list(self.trials(measure).values())
        if measure.extreme:
            return Interval(min(found), max(found)) if len(found) > 1 else None
        return interval.of_mean(found)

    def no_more(self, measure: Measure, other: "Row") -> Claim:
        """Whether the measure is no larger than the other system's, as far as trials tell."""
        at = MEASURES.index(measure)
        pairs = significance.both(self.trials(measure), other.trials(measure))
        return significance.compared("<=", pairs, self.values[at] <= other.values[at])


def differing(studies: list[Study]) -> list[str]:
    """The kinds of policies in which some runs differ."""
    configs = [r["config"]["policies"] for study in studies for r in study.results]
    return [kind for kind in configs[0] if len({c[kind] for c in configs}) > 1]


def same(studies: list[Study]) -> dict[str, str]:
    """The policies of the other kinds, which all runs share."""
    kinds = studies[0].results[0]["config"]["policies"]
    return {kind: name for kind, name in kinds.items() if kind not in differing(studies)}


def own_tunables(study: Study, system: System) -> dict[str, object]:
    """The tunables of a system's policies that its arm sets, in all of its runs, to one
    value other than the default."""
    policies = system.trials[0]["config"]["policies"]
    own = study.values(lambda r: r["config"]["tunables"], system.arm)
    return {
        name: row[0]
        for name, row in own.items()
        if len(row) == 1
        and row not in ([None], [known().tunables[name].default])
        and name.split(".")[0] in policies.values()
    }


def policy_set(study: Study, system: System, kinds: list[str]) -> str:
    """The name of a system's set of policies."""
    policies = system.trials[0]["config"]["policies"]
    tunables = [f"{name}={value}" for name, value in own_tunables(study, system).items()]
    return " ".join([*(policies[kind] for kind in kinds), *tunables])


def rows_of(study: Study, kinds: list[str]) -> list[Row]:
    """The rows of one experiment."""
    sets = [policy_set(study, system, kinds) for system in study.systems]
    places = [words(system.setting) for system in study.systems]
    often = Counter(zip(sets, places, strict=True))
    found = []
    for system, policies, place in zip(study.systems, sets, places, strict=True):
        alone = often[policies, place] == 1
        case = ": ".join(filter(None, [study.experiment.name, place]))
        name = policies if alone else f"{policies} ({system.arm})"
        values = [measure.of(study, system) for measure in MEASURES]
        found.append(Row(study, system, name, case, values, alone))
    return found


def rows(studies: list[Study]) -> list[Row]:
    """All rows, experiment by experiment."""
    kinds = differing(studies)
    return [row for study in studies for row in rows_of(study, kinds)]


def sets(found: list[Row]) -> list[str]:
    """The sets of policies; those with the most cases come first."""
    often = Counter(row.policies for row in found)
    return sorted(often, key=lambda policies: -often[policies])


def common(found: list[Row]) -> list[str]:
    """The sets that are in at least FEW cases; if there are none, all."""
    often = Counter(row.policies for row in found)
    return [policies for policies in sets(found) if often[policies] >= FEW] or sets(found)


def cases(found: list[Row]) -> list[str]:
    """The cases in which there is something to compare."""
    often = Counter(row.case for row in found)
    return [case for case in in_order([row.case for row in found]) if often[case] > 1]
