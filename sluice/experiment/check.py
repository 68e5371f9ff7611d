"""Checks the tables of an experiment's file against the schema and the kernel."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from sluice.experiment import arithmetic
from sluice.experiment.catalogue import Known
from sluice.experiment.locate import Lines
from sluice.experiment.locate import Path as Keys
from sluice.experiment.schema import Field
from sluice.host.nearest import meant
from sluice.host.paths import ROOT

EXPRESSION = re.compile(r"\{([\w .+*/()-]*[A-Za-z_][\w .+*/()-]*)\}")
REAL = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")  # as Python shows numbers, also small ones
SIZE = re.compile(r"(\d+)([KMG]?)")
QUANTITY = re.compile(r"(\d+(?:\.\d+)?) *([A-Za-z]+)")
UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

EMPTY = {"table": dict, "tables": list, "list": list}  # stands for one that is not there


def size_bytes(text: str) -> int:
    """The bytes of "34M"."""
    number, letter = SIZE.fullmatch(text).groups()
    return int(number) * SCALE[letter]


def show(value: object) -> str:
    """A value nearly as TOML writes it."""
    return json.dumps(value, default=str)


def is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


KINDS = {
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


@dataclass
class Checker:
    """Collects the problems of a file."""

    path: Path
    lines: Lines
    known: Known
    drive_times: bool = False  # what the drive did with its time is found out
    problems: dict[str, None] = field(default_factory=dict)  # in order, each once

    def problem(self, keys: Keys, text: str, words: str = "") -> None:
        """Note a problem, at the line of a key (or of these words after it)."""
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        self.problems[f"{path}:{self.lines.line(keys, words)}: {text}"] = None

    def one_of(self, keys: Keys, what: str, name: str, names: list[str]) -> bool:
        """True if the name is one of these; otherwise a problem that suggests the closest one."""
        if name in names:
            return True
        known = f"; {meant(name, names)}" if names else ""
        self.problem(keys, f'unknown {what} "{name}"{known}', name)
        return False

    def table(self, keys: Keys, raw: dict, fields: dict[str, Field]) -> dict:
        """The table with its keys and values checked, and the defaults filled in."""
        for name in raw:
            self.one_of((*keys, name), "key", name, list(fields))
        good = {}
        for name, row in fields.items():
            if name not in raw:
                if row.required:
                    self.problem(keys, f'the key "{name}" is missing ({row.about})')
                good[name] = row.default if row.kind not in EMPTY else EMPTY[row.kind]()
            else:
                good[name] = self.value((*keys, name), raw[name], row)
        return good

    def value(self, keys: Keys, raw: object, row: Field) -> object:
        """The value, if it is of the right kind. A wrong one is noted as a problem and returned as
        it is."""
        want, fits = KINDS[row.kind]
        name = keys[-1]
        if row.kind == "number" and isinstance(raw, str) and raw.isdigit():
            raw = int(raw)  # a variable was put in
        if row.kind == "real" and isinstance(raw, str) and REAL.fullmatch(raw):
            raw = float(raw)
        if not fits(raw):
            self.problem(keys, f"{name} = {show(raw)}: must be {want}")
            return EMPTY[row.kind]() if row.kind in EMPTY else raw
        if row.choices:
            self.one_of(keys, str(name), raw, list(row.choices))
        elif row.kind == "drive":
            self.one_of(keys, "drive", raw, self.known.drives)
        elif row.kind == "size" and not row.low <= size_bytes(raw) <= row.high:
            self.problem(keys, f"{name} = {show(raw)}: not in {row.low} to {row.high} bytes")
        elif row.kind == "number" and not row.low <= raw <= row.high:
            self.problem(keys, f"{name} = {raw}: not in {row.low} to {row.high}")
        return raw

    def policies(self, keys: Keys, raw: dict) -> dict[str, str]:
        """The kinds and names of policies, each checked to exist."""
        kinds = self.known.policies
        for kind, name in raw.items():
            if not self.one_of((*keys, kind), "kind of policy", kind, list(kinds)):
                continue
            if not isinstance(name, str):
                self.problem((*keys, kind), f"{kind} = {show(name)}: must be a policy's name")
            else:
                self.one_of((*keys, kind), f"{kind} policy", name, kinds[kind])
        return raw

    def tunables(self, keys: Keys, raw: dict) -> dict[str, int]:
        """The tunables, each checked to exist, with values in their units and ranges."""
        good = {}
        for name, value in raw.items():
            at = (*keys, name)
            if self.one_of(at, "tunable", name, list(self.known.tunables)):
                good[name] = self.quantity(at, name, value)
        return good

    def quantity(self, keys: Keys, name: str, raw: object) -> int:
        """A tunable's value: a number, or a number with a unit of time."""
        row = self.known.tunables[name]
        value, match = raw, QUANTITY.fullmatch(raw) if isinstance(raw, str) else None
        if isinstance(raw, str) and raw.isdigit():
            value = int(raw)
        elif match and row.unit not in UNITS_NS:
            self.problem(keys, f'{name} = "{raw}": is in {row.unit}; give a bare number')
            return row.default
        elif match:
            if not self.one_of(keys, "unit", match[2], list(UNITS_NS)):
                return row.default
            value = float(match[1]) * UNITS_NS[match[2]] / UNITS_NS[row.unit]
            value = int(value) if value == int(value) else value
        if not KINDS["number"][1](value):
            self.problem(keys, f"{name} = {show(raw)}: must be a whole number of {row.unit}")
        elif not row.low <= value <= row.high:
            said = f"not in {row.low} to {row.high} {row.unit}"
            self.problem(keys, f"{name} = {show(raw)}: {said} ({row.about})")
        return value

    def fill_in(self, keys: Keys, raw: object, variables: dict[str, object]) -> object:
        """The value with every {variable} and {2 * variable} in its texts replaced."""
        if isinstance(raw, dict):
            return {k: self.fill_in((*keys, k), v, variables) for k, v in raw.items()}
        if not isinstance(raw, str):
            return raw

        def value(match: re.Match[str]) -> str:
            try:
                names = arithmetic.variables_in(match[1])
                if all(self.one_of(keys, "variable", name, list(variables)) for name in names):
                    return arithmetic.shown(match[1], variables)
            except arithmetic.BadExpression as error:
                self.problem(keys, f"{match[0]}: {error}", match[0])
            return match[0]

        return EXPRESSION.sub(value, raw)
