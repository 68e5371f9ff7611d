"""The core sets over the loads in which they ran: what the page's questions are about.

- A *core set* is a named set of experiments/sets/core.toml; a system is of it if its
  policies are those that the set names, and the tunables of these that its arm sets to
  other values than the default are the set's.
- A *load* is a case in which LEAST core sets ran at least.
"""

from dataclasses import dataclass
from functools import cache

from sluice.experiment import interval, sets
from sluice.experiment.catalogue import known
from sluice.experiment.sets import NamedSet
from sluice.experiment.summary import number
from sluice.report.comparison.rows import MEASURES, Row, own_tunables
from sluice.report.study import in_order

LEAST = 3
NAMES = [measure.name for measure in MEASURES]


@cache
def core() -> list[NamedSet]:
    return sets.read("core")


def unusual(tunables: dict[str, object]) -> dict[str, object]:
    """The tunables with other values than the default."""
    return {n: v for n, v in tunables.items() if v != known().tunables[n].default}


def named(row: Row) -> NamedSet | None:
    """The core set to which a system belongs."""
    policies = row.system.trials[0]["config"]["policies"]
    own = own_tunables(row.study, row.system)
    for of in core():
        if of.policies.items() <= policies.items() and own == unusual(of.tunables):
            return of
    return None


@dataclass(frozen=True)
class Load:
    """A case, and the systems of the core sets in it, by set."""

    name: str
    rows: dict[str, Row]

    @property
    def values(self) -> dict[str, list[float | None]]:
        """By set, in the order of MEASURES."""
        return {name: row.values for name, row in self.rows.items()}

    def of(self, measure: str) -> dict[str, float]:
        """The values of a measure that exist, the smallest first."""
        at = NAMES.index(measure)
        found = {name: row[at] for name, row in self.values.items() if row[at] is not None}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def least(self, measure: str) -> list[str]:
        """The set with the smallest value, and those that are not told apart from it. With too few
        trials for an interval, those with the smallest value."""
        of, measured = self.of(measure), MEASURES[NAMES.index(measure)]
        best = self.rows[next(iter(of))]
        claims = {name: self.rows[name].no_more(measured, best) for name in of}
        return [name for name, claim in claims.items() if claim.met is not False]

    def sure(self) -> bool:
        """The trials suffice for intervals."""
        return all(len(row.system.trials) >= interval.LEAST for row in self.rows.values())

    def shown(self, name: str, measure: str) -> str:
        """A set's value, of an extreme as the range over the trials."""
        measured = MEASURES[NAMES.index(measure)]
        found = self.rows[name].spread(measured) if measured.extreme else None
        if found and found.low < found.high:
            return f"{number(found.low)} to {number(found.high)}"
        return number(self.of(measure)[name])


def loads(found: list[Row]) -> list[Load]:
    """The loads, in the order of the experiments."""
    by_case: dict[str, dict[str, Row]] = {}
    for row in found:
        of = named(row)
        if of:
            by_case.setdefault(row.load, {})[of.name] = row
    return [Load(case, rows) for case, rows in by_case.items() if len(rows) >= LEAST]


def policies_of(found: list[Row]) -> list[str]:
    """The sets of policies, as rows.py names them, that are core sets in a load."""
    ran = {id(row) for load in loads(found) for row in load.rows.values()}
    return in_order([row.policies for row in found if id(row) in ran])
