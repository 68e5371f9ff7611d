"""The core sets over the loads in which they ran: what the page's questions are about.

- A *core set* is a named set of grade/experiments/sets/core.toml; a system is of it if its
  policies are those that the set names, and the tunables of these that its arm sets to
  other values than the default are the set's.
- A *load* is a case in which LEAST core sets ran at least.
"""

from dataclasses import dataclass
from functools import cache

from grade.measure import sets
from grade.measure.known import known
from grade.measure.sets import NamedSet
from grade.report.comparison.rows import MEASURES, Row, own_tunables
from grade.report.study import in_order

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
    """A case, and the values of the core sets in it: by set, in the order of MEASURES."""

    name: str
    values: dict[str, list[float | None]]

    def of(self, measure: str) -> dict[str, float]:
        """The values of a measure that exist, the smallest first."""
        at = NAMES.index(measure)
        found = {name: row[at] for name, row in self.values.items() if row[at] is not None}
        return dict(sorted(found.items(), key=lambda item: item[1]))


def loads(found: list[Row]) -> list[Load]:
    """The loads, in the order of the experiments."""
    by_case: dict[str, dict[str, list]] = {}
    for row in found:
        of = named(row)
        if of:
            by_case.setdefault(row.case, {})[of.name] = row.values
    return [Load(case, values) for case, values in by_case.items() if len(values) >= LEAST]


def policies_of(found: list[Row]) -> list[str]:
    """The sets of policies, as rows.py names them, that are core sets."""
    return in_order([row.policies for row in found if named(row)])
