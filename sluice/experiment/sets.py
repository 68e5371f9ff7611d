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
from sluice.experiment.records import Arm, Unchecked
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
    def arm(self) -> Arm:
        """The set as an arm of an experiment's file."""
        return {"name": self.name, "policies": self.policies, "tunables": self.tunables}


def set_files() -> dict[str, Path]:
    """Return the files of named sets, by name."""
    return {path.stem: path for path in sorted(SETS.glob("*.toml"))}


def display_path(name: str) -> Path:
    """Return the path of a file of sets, as messages print it."""
    path = set_files()[name]
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def expect_unique_names() -> None:
    """Raise BadExperiment if two sets have one name, in one file or in two."""
    first: dict[str, str] = {}
    for name, path in set_files().items():
        text = path.read_text(encoding="utf-8")
        lines = Lines(text)
        for i, row in enumerate(tomllib.loads(text)["sets"]):
            here = f"{display_path(name)}:{lines.line(('sets', i, 'name'))}"
            if row["name"] in first:
                both = f"{first[row['name']]} and {here}"
                raise BadExperiment(f'two sets are called "{row["name"]}", {both}: rename one')
            first[row["name"]] = here


def read_sets(name: str) -> list[NamedSet]:
    """Return the sets of a file, in order. Raises BadExperiment if two sets have one name, in any
    file."""
    expect_unique_names()
    rows = tomllib.loads(set_files()[name].read_text(encoding="utf-8"))["sets"]
    return [NamedSet(**{"tunables": {}, **row}) for row in rows]


def all_arms(raw: Unchecked) -> list[Arm]:
    """Return the arms of a correct experiment's file: its own, then those of its sets."""
    shared = read_sets(raw["sets"]) if "sets" in raw else []
    return [*raw.get("arms", []), *(row.arm for row in shared)]


def expand_sets(c: Checker, raw: Unchecked) -> Unchecked:
    """Return the experiment's values, with the arms of the sets that it names."""
    name = raw.get("sets")
    if not isinstance(name, str) or not c.check_choice(
        ("sets",), "file of sets", name, list(set_files())
    ):
        return raw
    return raw | {"arms": all_arms(raw)} if isinstance(raw.get("arms", []), list) else raw
