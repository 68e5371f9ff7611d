"""Named sets of policies, which experiments share as arms: files in experiments/sets.

    [[sets]]
    name = "PU"                    of the set, and of the arm that it becomes
    about = "periodic update"      in one sentence
    policies = {update = "pu"}     and tunables = {...}, as those of an arm

An experiment with `sets = "core"` has the sets of core.toml as arms, after its own.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment.check import Checker
from sluice.experiment.locate import Lines
from sluice.experiment.schema import BadExperiment
from sluice.host.paths import ROOT

SETS = ROOT / "experiments" / "sets"


@dataclass(frozen=True)
class NamedSet:
    """A set of policies and their tunables, with a name and a description."""

    name: str
    about: str
    policies: dict[str, str]
    tunables: dict[str, object]

    @property
    def arm(self) -> dict:
        """The set as an arm of an experiment's file."""
        return {"name": self.name, "policies": self.policies, "tunables": self.tunables}


def files() -> dict[str, Path]:
    """The files of named sets, by name."""
    return {path.stem: path for path in sorted(SETS.glob("*.toml"))}


def place(name: str) -> Path:
    """The file of this name, as messages have it."""
    path = files()[name]
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def expect_names_differ() -> None:
    """Raise BadExperiment if two sets have one name, in one file or in two."""
    first: dict[str, str] = {}
    for name, path in files().items():
        text = path.read_text(encoding="utf-8")
        lines = Lines(text)
        for i, row in enumerate(tomllib.loads(text)["sets"]):
            here = f"{place(name)}:{lines.line(('sets', i, 'name'))}"
            if row["name"] in first:
                both = f"{first[row['name']]} and {here}"
                raise BadExperiment(f'two sets are called "{row["name"]}", {both}: rename one')
            first[row["name"]] = here


def read(name: str) -> list[NamedSet]:
    """The sets of a file, in order. Raises BadExperiment if two have one name, in whatever file."""
    expect_names_differ()
    rows = tomllib.loads(files()[name].read_text(encoding="utf-8"))["sets"]
    return [NamedSet(**{"tunables": {}, **row}) for row in rows]


def arms_of(raw: dict) -> list[dict]:
    """The arms of an experiment's file that is right: its own, then those of its sets."""
    shared = read(raw["sets"]) if "sets" in raw else []
    return [*raw.get("arms", []), *(row.arm for row in shared)]


def with_arms(c: Checker, raw: dict) -> dict:
    """The experiment's values, with the arms of the sets that it names."""
    name = raw.get("sets")
    if not isinstance(name, str) or not c.one_of(("sets",), "file of sets", name, list(files())):
        return raw
    return raw | {"arms": arms_of(raw)} if isinstance(raw.get("arms", []), list) else raw
