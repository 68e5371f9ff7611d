"""The runs of a point of a sweep: the experiment's own, with some numbers changed."""

import itertools
from dataclasses import dataclass, replace

from sluice.experiment.load import Opened, config
from sluice.experiment.schema import TWIN, Run
from sluice.sweep.ranges import ARM, Axis, BadSweep
from sluice.sweep.sampling import Point


@dataclass(frozen=True)
class Maker:
    """Makes the runs of points. A point has a run for each combination of the values of the
    experiment's variables that the sweep does not go over, as the seed."""

    of: Opened
    name: str  # of the experiment
    axes: list[Axis]

    def values(self, kind: str, point: Point) -> Point:
        """The part of a point that is of this kind."""
        return {axis.name: point[axis.name] for axis in self.axes if axis.kind == kind}

    def raw(self, point: Point, arm: int) -> dict:
        """The file's values with those of the point. An arm's own stand above those of all."""
        arms = list(self.of.raw["arms"])
        own = {
            table: arms[arm].get(table, {}) | self.values(kind, point)
            for table, kind in (("policies", "policy"), ("tunables", "tunable"))
        }
        arms[arm] = arms[arm] | own
        machine = self.of.raw.get("machine", {}) | self.values("machine", point)
        return self.of.raw | {"arms": arms, "machine": machine}

    def rest(self, point: Point) -> list[dict]:
        """Each combination of the other variables."""
        others = {name: row for name, row in self.of.sweep.items() if name not in point}
        return [dict(zip(others, row, strict=True)) for row in itertools.product(*others.values())]

    def runs(self, point: Point, number: int) -> list[Run]:
        """The runs. Raises BadSweep if the file does not allow the point."""
        arm = self.of.names.index(point[ARM])
        raw, found = self.raw(point, arm), []
        c = replace(self.of.c, problems={})
        for rest in self.rest(point):
            swept = self.values("variable", point) | rest
            made = config(c, raw, arm, self.of.constants | self.of.own[arm] | swept)
            limit_s = made.pop("host_limit_s")
            told = {name: value for name, value in point.items() if name != ARM} | rest
            made["engine"] = TWIN
            found.append(Run(number, self.name, point[ARM], told, made, limit_s))
        if c.problems:
            said = ", ".join(f"{name}={value}" for name, value in point.items())
            raise BadSweep(f"OVER: at {said}:\n" + "\n".join(c.problems))
        return found
