"""Find the core sets in each load; the page's questions compare them.

- A *core set* is a named set of experiments/sets/core.toml. A system belongs to a core set if it
  has the policies of the set, and if its arm changes the same tunables of these policies to the
  same values.
- A *load* is a case in which LEAST core sets ran at least.
"""

from dataclasses import dataclass
from functools import cache

from sluice.experiment import interval, sets
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.sets import NamedSet
from sluice.experiment.summary import format_number
from sluice.report.comparison.rows import MEASURES, Row, arm_tunables
from sluice.report.study import distinct

LEAST = 3
NAMES = [measure.name for measure in MEASURES]


@cache
def core_sets() -> list[NamedSet]:
    """Return the core sets."""
    return sets.read_sets("core")


def changed_tunables(tunables: dict[str, object]) -> dict[str, object]:
    """Return the tunables whose values are not the default."""
    return {n: v for n, v in tunables.items() if v != load_catalogue().tunables[n].default}


def core_set_of(row: Row) -> NamedSet | None:
    """Return the core set to which a system belongs, or None."""
    policies = row.system.trials[0]["config"]["policies"]
    own = arm_tunables(row.study, row.system)
    for of in core_sets():
        if of.policies.items() <= policies.items() and own == changed_tunables(of.tunables):
            return of
    return None


@dataclass(frozen=True)
class Load:
    """A case, and the systems of the core sets in it, by set."""

    name: str
    rows: dict[str, Row]

    @property
    def values(self) -> dict[str, list[float | None]]:
        """The values of each set, in the order of MEASURES."""
        return {name: row.values for name, row in self.rows.items()}

    def known_values(self, measure: str) -> dict[str, float]:
        """Return the values of a measure by set, the smallest first. Sets without a value are left
        out."""
        at = NAMES.index(measure)
        rows = ((name, row[at]) for name, row in self.values.items())
        found = {name: value for name, value in rows if value is not None}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def best_sets(self, measure: str) -> list[str]:
        """Return the set with the smallest value, and the sets that are not significantly different
        from it. With too few trials for an interval: the sets with the smallest value."""
        of, measured = self.known_values(measure), MEASURES[NAMES.index(measure)]
        best = self.rows[next(iter(of))]
        claims = {name: self.rows[name].compare_no_more(measured, best) for name in of}
        return [
            name
            for name, claim in claims.items()
            if (claim.met if claim.interval else claim.leaning) is not False
        ]

    def has_intervals(self) -> bool:
        """Return whether there are enough trials for intervals."""
        return all(len(row.system.trials) >= interval.LEAST for row in self.rows.values())

    def format_value(self, name: str, measure: str) -> str:
        """Return a set's value as text: of an extreme the range over the trials."""
        measured = MEASURES[NAMES.index(measure)]
        found = self.rows[name].spread(measured) if measured.extreme else None
        if found and found.low < found.high:
            return f"{format_number(found.low)} to {format_number(found.high)}"
        return format_number(self.known_values(measure)[name])


def build_loads(found: list[Row]) -> list[Load]:
    """Return the loads, in the order of the experiments."""
    by_case: dict[str, dict[str, Row]] = {}
    for row in found:
        of = core_set_of(row)
        if of:
            by_case.setdefault(row.load, {})[of.name] = row
    return [Load(case, rows) for case, rows in by_case.items() if len(rows) >= LEAST]


def core_policy_sets(found: list[Row]) -> list[str]:
    """Return the sets of policies, as rows.py names them, that are core sets in some load."""
    ran = {id(row) for load in build_loads(found) for row in load.rows.values()}
    return distinct([row.policies for row in found if id(row) in ran])
