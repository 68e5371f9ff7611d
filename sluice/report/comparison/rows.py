"""Collect the figures to compare: for each system of each experiment, its set of policies and some
measures.

- A *set of policies* is a system's policies of the kinds in which the compared systems differ. It
  includes those of their tunables that the arm sets in all of its runs to a value other than the
  default. (A tunable that is swept is part of the setting.)
- A *case* is an experiment in one setting, where different sets can be compared. If a case has
  several arms with one set, which then differ in their machines or loads, all are compared, and
  each name of the set has the arm's name in brackets.
- Smaller measures are better. A measure is None if a system does not have it, such as a response
  time where nothing was read.
- Systems differ in a measure only if the difference is significant over their trials
  (significance.py).
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from sluice.experiment import interval, metrics, significance
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.interval import Interval
from sluice.experiment.result import measured_disk
from sluice.experiment.significance import Claim
from sluice.report.study import Study, System, distinct, variable_words

FEW = 3  # a set in fewer cases is not shown at first, because it can be compared with few others


@dataclass(frozen=True)
class Measure:
    """A column: its name, its unit, and its value for a system of a study."""

    name: str
    unit: str
    about: str
    of: Callable[[Study, System], float | None]
    extreme: bool = False  # True: the largest of the trials counts, not their mean


def response_series(study: Study) -> str:
    """Return the name of the response times that a study is about: its job's, or those of all reads
    of its disk."""
    return study.job or f"hist.{measured_disk(study.results[0])}.read_response"


def response_measure(field: str) -> Callable[[Study, System], float | None]:
    """Return the function that computes a field of the response times."""

    def field_value(study: Study, system: System) -> float | None:
        """Return the field's value for a system; None if it had no responses."""
        counted = metrics.aggregate(system.trials, f"{response_series(study)}.count")
        return (
            metrics.aggregate(system.trials, f"{response_series(study)}.{field}")
            if counted
            else None
        )

    return field_value


def metric_measure(name: str) -> Callable[[Study, System], float | None]:
    """Return the function that computes a metric."""
    return lambda study, system: metrics.aggregate(system.trials, name)


def cpu_s(study: Study, system: System) -> float:
    """Return the seconds in which the CPU was busy."""
    took_s = sum(trial["virtual_ms"] for trial in system.trials) / len(system.trials) / 1000
    return took_s - metrics.aggregate(system.trials, "stat.cpu.idle_s")


# The page opens with the first measure. It is not the mean, in which systems hardly differ.
MEASURES = (
    Measure("worst", "ms", "response, the longest", response_measure("max_ms"), extreme=True),
    Measure("mean", "ms", "response, the mean", response_measure("mean_ms")),
    Measure("std", "ms", "response, the standard deviation", response_measure("std_ms")),
    Measure("p99", "ms", "response, the 99th percentile", response_measure("p99_ms")),
    Measure("p99.9", "ms", "response, the 99.9th percentile", response_measure("p99.9_ms")),
    Measure("writes", "blocks", "requests written, all disks", metric_measure("stat.disk.writes")),
    Measure(
        "oldest",
        "s",
        "age of the oldest dirty block that was written",
        metric_measure("hist.bio.age_written.max_s"),
        extreme=True,
    ),
    Measure("cpu", "s", "the CPU was not idle", cpu_s),
    Measure("daemon", "ms", "of that, the update daemon", metric_measure("stat.updated.cpu_ms")),
)


@dataclass(frozen=True)
class Row:
    """A system in a case, with its values in the order of MEASURES."""

    study: Study
    system: System
    policies: str  # its set, with the arm in brackets if other arms have the set in this case
    case: str
    values: list[float | None]
    alone: bool = True  # no other arm has this set in this case

    @property
    def load(self) -> str:
        """The case, with the arm if another arm has the same set in it."""
        return self.case if self.alone else f"{self.case}: {self.system.arm}"

    def trials(self, measure: Measure) -> significance.Values:
        """Return the measure of each trial, by seed."""
        alone = [(t, System(self.system.arm, self.system.setting, [t])) for t in self.system.trials]
        found = {t["variables"].get("seed"): measure.of(self.study, one) for t, one in alone}
        return {seed: value for seed, value in found.items() if value is not None}

    def spread(self, measure: Measure) -> Interval | None:
        """Return the spread of the trials: of an extreme the range, of a mean the interval. None
        with too few trials."""
        found = list(self.trials(measure).values())
        if measure.extreme:
            return Interval(min(found), max(found)) if len(found) > 1 else None
        return interval.mean_interval(found)

    def compare_no_more(self, measure: Measure, other: "Row") -> Claim:
        """Return the claim that the measure is at most the other system's."""
        at = MEASURES.index(measure)
        own, others = self.values[at], other.values[at]
        assert own is not None and others is not None
        pairs = significance.paired_values(self.trials(measure), other.trials(measure))
        return significance.compare_pairs("<=", pairs, own <= others)


def differing_kinds(studies: list[Study]) -> list[str]:
    """Return the kinds of policies in which some runs differ."""
    configs = [r["config"]["policies"] for study in studies for r in study.results]
    return [kind for kind in configs[0] if len({c[kind] for c in configs}) > 1]


def common_policies(studies: list[Study]) -> dict[str, str]:
    """Return the policies of the other kinds, which all runs share."""
    kinds = studies[0].results[0]["config"]["policies"]
    return {kind: name for kind, name in kinds.items() if kind not in differing_kinds(studies)}


def arm_tunables(study: Study, system: System) -> dict[str, object]:
    """Return the tunables of a system's policies that its arm sets, in all of its runs, to one
    value other than the default."""
    policies = system.trials[0]["config"]["policies"]
    own = study.values(lambda r: r["config"]["tunables"], system.arm)
    return {
        name: row[0]
        for name, row in own.items()
        if len(row) == 1
        and row not in ([None], [load_catalogue().tunables[name].default])
        and name.split(".")[0] in policies.values()
    }


def policy_set(study: Study, system: System, kinds: list[str]) -> str:
    """Return the name of a system's set of policies."""
    policies = system.trials[0]["config"]["policies"]
    tunables = [f"{name}={value}" for name, value in arm_tunables(study, system).items()]
    return " ".join([*(policies[kind] for kind in kinds), *tunables])


def rows_of(study: Study, kinds: list[str]) -> list[Row]:
    """Return the rows of one experiment."""
    sets = [policy_set(study, system, kinds) for system in study.systems]
    places = [variable_words(system.setting) for system in study.systems]
    often = Counter(zip(sets, places, strict=True))
    found = []
    for system, policies, place in zip(study.systems, sets, places, strict=True):
        alone = often[policies, place] == 1
        case = ": ".join(filter(None, [study.experiment.name, place]))
        name = policies if alone else f"{policies} ({system.arm})"
        values = [measure.of(study, system) for measure in MEASURES]
        found.append(Row(study, system, name, case, values, alone))
    return found


def all_rows(studies: list[Study]) -> list[Row]:
    """Return the rows of all experiments."""
    kinds = differing_kinds(studies)
    return [row for study in studies for row in rows_of(study, kinds)]


def set_names(found: list[Row]) -> list[str]:
    """Return the sets of policies, those with the most cases first."""
    often = Counter(row.policies for row in found)
    return sorted(often, key=lambda policies: -often[policies])


def common_sets(found: list[Row]) -> list[str]:
    """Return the sets that are in at least FEW cases; if there are none, all sets."""
    often = Counter(row.policies for row in found)
    return [policies for policies in set_names(found) if often[policies] >= FEW] or set_names(found)


def comparable_cases(found: list[Row]) -> list[str]:
    """Return the cases in which there are several systems to compare."""
    often = Counter(row.case for row in found)
    return [case for case in distinct([row.case for row in found]) if often[case] > 1]
