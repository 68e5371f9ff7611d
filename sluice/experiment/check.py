"""Checks the tables of an experiment's file against the schema and the kernel."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from sluice.experiment import arithmetic
from sluice.experiment.catalogue import Known
from sluice.experiment.locate import Lines
from sluice.experiment.locate import Path as Keys
from sluice.experiment.records import Unchecked, Variables
from sluice.experiment.schema import Field
from sluice.host.matching import match_whole
from sluice.host.nearest import suggest
from sluice.host.paths import ROOT

EXPRESSION = re.compile(r"\{([\w .+*/()-]*[A-Za-z_][\w .+*/()-]*)\}")
REAL = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")  # as Python shows numbers, also small ones
SIZE = re.compile(r"(\d+)([KMG]?)")
QUANTITY = re.compile(r"(\d+(?:\.\d+)?) *([A-Za-z]+)")
UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

# What stands for a value of this kind if the file does not have the value.
EMPTY: dict[str, Callable[[], object]] = {
    "table": dict,
    "tables": list,
    "list": list,
}


def size_bytes(text: str) -> int:
    """Return the bytes of a size like "34M"."""
    number, letter = match_whole(SIZE, text).groups()
    return int(number) * SCALE[letter]


def format_toml(value: object) -> str:
    """Return a value nearly as TOML writes it."""
    return json.dumps(value, default=str)


def is_number(value: object) -> bool:
    """Return whether a value is a whole number. A bool is not."""
    return isinstance(value, int) and not isinstance(value, bool)


KINDS: dict[str, tuple[str, Callable[[object], object]]] = {
    "text": ("text", lambda v: isinstance(v, str)),
    "drive": ("the name of a drive", lambda v: isinstance(v, str)),
    "number": ("a whole number", is_number),
    "real": ("a number", lambda v: is_number(v) or isinstance(v, float)),
    "size": ('a size as "34M"', lambda v: isinstance(v, str) and SIZE.fullmatch(v)),
    "list": (
        "a list of texts",
        lambda v: isinstance(v, list) and all(isinstance(t, str) for t in v),
    ),
    "table": ("a table", lambda v: isinstance(v, dict)),
    "tables": ("[[tables]]", lambda v: isinstance(v, list) and all(isinstance(t, dict) for t in v)),
}
Table = TypeVar("Table", bound=Mapping[str, object])


@dataclass
class Checker:
    """Collects the problems of a file."""

    path: Path
    lines: Lines
    known: Known
    drive_times: bool = False  # what the drive did with its time is found out
    loss_ages: bool = False  # what a power cut would lose is found out
    problems: dict[str, None] = field(default_factory=dict)  # in order, each once

    def add_problem(self, keys: Keys, text: str, words: str = "") -> None:
        """Add a problem, with the line of a key, or of these words after the key."""
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        self.problems[f"{path}:{self.lines.line(keys, words)}: {text}"] = None

    def check_choice(self, keys: Keys, what: str, name: str, names: list[str]) -> bool:
        """Return whether `names` has the name. If not, add a problem that suggests the most
        similar name."""
        if name in names:
            return True
        known = f"; {suggest(name, names)}" if names else ""
        self.add_problem(keys, f'unknown {what} "{name}"{known}', name)
        return False

    def check_table(
        self, keys: Keys, raw: Mapping[str, Any], fields: dict[str, Field], record: type[Table]
    ) -> Table:
        """Return the table with its values checked and its defaults filled in. record: the
        table's type in records.py."""
        assert fields.keys() <= record.__annotations__.keys()
        for name in raw:
            self.check_choice((*keys, name), "key", name, list(fields))
        good: Unchecked = {}
        for name, row in fields.items():
            if name not in raw:
                if row.required:
                    self.add_problem(keys, f'the key "{name}" is missing ({row.about})')
                good[name] = row.default if row.kind not in EMPTY else EMPTY[row.kind]()
            else:
                good[name] = self.value((*keys, name), raw[name], row)
        # A value of a wrong type has added a problem, so nobody goes on with the table. A test
        # compares the types of each record with the kinds of its fields.
        return cast(Table, good)

    def value(self, keys: Keys, raw: Any, row: Field) -> Any:
        """Return the value, checked against its row of the schema. A wrong value adds a problem and
        is returned as it is."""
        want, fits = KINDS[row.kind]
        name = keys[-1]
        if row.kind == "number" and isinstance(raw, str) and raw.isdigit():
            raw = int(raw)  # a variable was put in
        if row.kind == "real" and isinstance(raw, str) and REAL.fullmatch(raw):
            raw = float(raw)
        if not fits(raw):
            self.add_problem(keys, f"{name} = {format_toml(raw)}: must be {want}")
            return EMPTY[row.kind]() if row.kind in EMPTY else raw
        if row.choices:
            self.check_choice(keys, str(name), raw, list(row.choices))
        elif row.kind == "drive":
            self.check_choice(keys, "drive", raw, self.known.drives)
        elif row.kind == "size" and not row.low <= size_bytes(raw) <= row.high:
            self.add_problem(
                keys, f"{name} = {format_toml(raw)}: not in {row.low} to {row.high} bytes"
            )
        elif row.kind == "number" and not row.low <= raw <= row.high:
            self.add_problem(keys, f"{name} = {raw}: not in {row.low} to {row.high}")
        return raw

    def check_policies(self, keys: Keys, raw: Unchecked) -> dict[str, str]:
        """Return the kinds and names of policies, each checked to exist."""
        kinds = self.known.policies
        for kind, name in raw.items():
            if not self.check_choice((*keys, kind), "kind of policy", kind, list(kinds)):
                continue
            if not isinstance(name, str):
                self.add_problem(
                    (*keys, kind), f"{kind} = {format_toml(name)}: must be a policy's name"
                )
            else:
                self.check_choice((*keys, kind), f"{kind} policy", name, kinds[kind])
        return raw

    def check_tunables(self, keys: Keys, raw: Unchecked) -> dict[str, int]:
        """Return the tunables with their values in the tunables' units, each checked for its
        range."""
        good: dict[str, int] = {}
        for name, value in raw.items():
            at = (*keys, name)
            if self.check_choice(at, "tunable", name, list(self.known.tunables)):
                good[name] = self.parse_quantity(at, name, value)
        return good

    def parse_quantity(self, keys: Keys, name: str, raw: Any) -> Any:
        """Return a tunable's value, from a number or from a text that has a unit of time."""
        row = self.known.tunables[name]
        value, match = raw, QUANTITY.fullmatch(raw) if isinstance(raw, str) else None
        if isinstance(raw, str) and raw.isdigit():
            value = int(raw)
        elif match and row.unit not in UNITS_NS:
            self.add_problem(keys, f'{name} = "{raw}": is in {row.unit}; give a bare number')
            return row.default
        elif match:
            if not self.check_choice(keys, "unit", match[2], list(UNITS_NS)):
                return row.default
            value = float(match[1]) * UNITS_NS[match[2]] / UNITS_NS[row.unit]
            value = int(value) if value == int(value) else value
        if not KINDS["number"][1](value):
            self.add_problem(
                keys, f"{name} = {format_toml(raw)}: must be a whole number of {row.unit}"
            )
        elif not row.low <= value <= row.high:
            said = f"not in {row.low} to {row.high} {row.unit}"
            self.add_problem(keys, f"{name} = {format_toml(raw)}: {said} ({row.about})")
        return value

    def substitute_variables(self, keys: Keys, raw: Any, variables: Variables) -> Any:
        """Return the value with every {variable} and {2 * variable} in its texts replaced."""
        if isinstance(raw, dict):
            return {k: self.substitute_variables((*keys, k), v, variables) for k, v in raw.items()}
        if not isinstance(raw, str):
            return raw

        def replacement(match: re.Match[str]) -> str:
            """Return the value of an expression in braces. A wrong one adds a problem and stays as
            it is."""
            try:
                names = arithmetic.variables_in(match[1])
                if all(
                    self.check_choice(keys, "variable", name, list(variables)) for name in names
                ):
                    return arithmetic.substitute(match[1], variables)
            except arithmetic.BadExpression as error:
                self.add_problem(keys, f"{match[0]}: {error}", match[0])
            return match[0]

        return EXPRESSION.sub(replacement, raw)
