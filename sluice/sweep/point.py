"""Builds the runs of a point of a sweep: the experiment's runs with some numbers changed."""

import itertools
from dataclasses import dataclass, replace

from sluice.experiment.load import Opened, build_config
from sluice.experiment.records import Unchecked, Variables
from sluice.experiment.schema import CHARGED, TWIN, Run
from sluice.sweep.ranges import ARM, Axis, BadSweep
from sluice.sweep.sampling import Point


@dataclass(frozen=True)
class Maker:
    """Makes the runs of points.

    A point has a run for each combination of the experiment's variables that are no axes of the
    sweep, such as the seed.
    """

    opened: Opened
    name: str  # of the experiment
    axes: list[Axis]

    def values(self, kind: str, point: Point) -> Point:
        """Return the part of a point that is of this kind."""
        return {axis.name: point[axis.name] for axis in self.axes if axis.kind == kind}

    def raw(self, point: Point, arm: int) -> Unchecked:
        """Return the file's values with those of the point put in.

        An arm's own values override values for all arms.
        """
        arms = list(self.opened.raw["arms"])
        own = {
            table: arms[arm].get(table, {}) | self.values(kind, point)
            for table, kind in (("policies", "policy"), ("tunables", "tunable"))
        }
        arms[arm] = arms[arm] | own
        machine = self.opened.raw.get("machine", {}) | self.values("machine", point)
        return self.opened.raw | {"arms": arms, "machine": machine}

    def other_variables(self, point: Point) -> list[Variables]:
        """Return each combination of the other variables."""
        others = {name: row for name, row in self.opened.sweep.items() if name not in point}
        return [dict(zip(others, row, strict=True)) for row in itertools.product(*others.values())]

    def runs(self, point: Point, number: int) -> list[Run]:
        """Return the runs of a point. Raises BadSweep if the file does not allow the point."""
        name = str(point[ARM])
        arm = self.opened.names.index(name)
        raw = self.raw(point, arm)
        found: list[Run] = []
        c = replace(self.opened.c, problems={})
        for rest in self.other_variables(point):
            swept = self.values("variable", point) | rest
            made = build_config(c, raw, arm, self.opened.constants | self.opened.own[arm] | swept)
            limit_s = made.pop("host_limit_s")
            told = {axis: value for axis, value in point.items() if axis != ARM} | rest
            made |= {"engine": TWIN, "clock": CHARGED}
            found.append(Run(number, self.name, name, told, made, limit_s))
        if c.problems:
            said = ", ".join(f"{name}={value}" for name, value in point.items())
            raise BadSweep(f"--over: at {said}:\n" + "\n".join(c.problems))
        return found
