"""What a sweep goes over: the text of OVER=, checked against the experiment and the kernel.

    OVER="nbuf=256..4096:5:log, sluice.free=50..95, sched=fcfs|clook, seed=1..3"

An item is a name, and a range LOW..HIGH or values A|B|C. Behind a range may stand how many values a
grid takes of it, and `log`: then the values are evenly spaced in their logarithms. A range between
whole numbers has whole numbers only.

A name is `arm`; a variable of the experiment; a kind of policy, as `sched`; a policy's tunable, as
`sluice.free`; or a number of [machine], as `nbuf`. If it is not among them, or a value is not
possible, BadSweep says which item, and why.
"""

import math
import re
from dataclasses import dataclass

from sluice.experiment.catalogue import Known
from sluice.experiment.load import Opened
from sluice.experiment.schema import MACHINE, Field
from sluice.host.nearest import meant

ARM = "arm"
MOST_STEPS = 64  # of a range in a grid, unless the item says how many
MOST_POINTS = 100_000  # of a sweep: days of work
NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(?::(\d+))?(:log)?")
ITEM = re.compile(r"([^=]+)=(.+)")

Value = int | float | str


class BadSweep(ValueError):
    """A sweep that is refused; the text says what and where."""


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    name: str
    kind: str  # what the name is the name of
    values: tuple[Value, ...]

    def at(self, share: float) -> Value:
        """The value at a share from 0 to below 1 of all."""
        return self.values[int(share * len(self.values))]

    def grid(self) -> list[Value]:
        return list(self.values)

    @property
    def numeric(self) -> bool:
        return not any(isinstance(value, str) for value in self.values)


@dataclass(frozen=True)
class Range:
    """All numbers between two, both included."""

    name: str
    kind: str
    low: int | float
    high: int | float
    steps: int | None
    log: bool

    numeric = True

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int)

    def between(self, share: float, high: float) -> float:
        """The number at a share of what lies between the first and `high`."""
        if self.log:
            return self.low * (high / self.low) ** share
        return self.low + share * (high - self.low)

    def at(self, share: float) -> Value:
        """The value at a share from 0 to below 1 of the range."""
        if self.whole:
            return min(int(self.between(share, self.high + 1)), self.high)
        return self.between(share, self.high)

    def grid(self) -> list[Value]:
        """Evenly spaced values with both ends; of whole numbers none twice."""
        if self.steps is None:
            return list(range(self.low, self.high + 1))
        found = [self.between(i / (self.steps - 1), self.high) for i in range(self.steps)]
        if self.whole:
            return list(dict.fromkeys(round(value) for value in found))
        return [float(f"{value:.12g}") for value in found]


Axis = Choice | Range


def kinds_of(of: Opened, known: Known) -> dict[str, str]:
    """Every name that may be swept, and what it is the name of. A variable comes before a number of
    the machine of the same name, because the file puts the variable into that."""
    found = {name: "machine" for name, row in MACHINE.items() if row.kind == "number"}
    found |= dict.fromkeys(known.tunables, "tunable") | dict.fromkeys(known.policies, "policy")
    names = [*of.sweep, *of.constants, *(name for own in of.own for name in own)]
    return found | dict.fromkeys(names, "variable") | {ARM: ARM}


def number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def limits(axis: Axis, known: Known) -> tuple[int, int] | None:
    """The least and the largest value that the kernel or the machine takes, if there are such."""
    if axis.kind == "tunable":
        return known.tunables[axis.name].low, known.tunables[axis.name].high
    if axis.kind == "machine":
        return MACHINE[axis.name].low, MACHINE[axis.name].high
    return None


def expect_within(axis: Axis, known: Known) -> None:
    """Raise BadSweep unless all values are possible ones."""
    bounds = limits(axis, known)
    if not bounds:
        return
    ends = (axis.low, axis.high) if isinstance(axis, Range) else axis.values
    for value in ends:
        if not isinstance(value, int):
            raise BadSweep(f"{value}: must be a whole number")
        if not bounds[0] <= value <= bounds[1]:
            upto = f" to {bounds[1]}" if bounds[1] < Field.high else " or more"
            raise BadSweep(f"{value}: must be {bounds[0]}{upto}")


def a_range(name: str, kind: str, match: re.Match[str]) -> Range:
    """The range of an item. Raises BadSweep."""
    low, high = number(match[1]), number(match[2])
    if isinstance(low, float) or isinstance(high, float):
        low, high = float(low), float(high)
    steps = int(match[3]) if match[3] else None
    if low >= high:
        raise BadSweep(f"{match[1]}..{match[2]}: the first must be less than the second")
    if match[4] and low <= 0:
        raise BadSweep(f"{match[1]}..{match[2]}: a logarithmic range begins above 0")
    if steps is not None and steps < 2:
        raise BadSweep(f":{steps}: a range has at least 2 values")
    if steps is not None and steps > MOST_POINTS:
        raise BadSweep(f":{steps}: a range has at most {MOST_POINTS} values")
    if kind in (ARM, "policy"):
        raise BadSweep(f"is a name: give values as {name}=A|B")
    return Range(name, kind, low, high, steps, bool(match[4]))


def choices(name: str, kind: str, text: str, of: Opened, known: Known) -> Choice:
    """The values of an item. Raises BadSweep."""
    words = [word.strip() for word in text.split("|")]
    if len(set(words)) < len(words) or "" in words:
        raise BadSweep(f"{text}: every value must be there, and only once")
    if kind in (ARM, "policy"):
        there = of.here if kind == ARM else known.policies[name]
        for word in words:
            expect_one_of(kind if kind == ARM else f"{name} policy", word, there)
        return Choice(name, kind, tuple(words))
    numbers = [number(word) if re.fullmatch(NUMBER, word) else word for word in words]
    texts = [value for value in numbers if isinstance(value, str)]
    if texts and kind != "variable":
        raise BadSweep(f"{texts[0]}: must be a number, or a range as 1..9")
    return Choice(name, kind, tuple(numbers))


def expect_one_of(what: str, name: str, names: list[str]) -> None:
    """Raise BadSweep, with the closest name, unless the name is one of these."""
    if name not in names:
        raise BadSweep(f'unknown {what} "{name}"; {meant(name, names)}')


def axis_of(item: str, of: Opened, known: Known) -> Axis:
    """What an item says. Raises BadSweep."""
    match = ITEM.fullmatch(item)
    if not match:
        raise BadSweep("must be NAME=LOW..HIGH or NAME=A|B")
    name, values, kinds = match[1].strip(), match[2].strip(), kinds_of(of, known)
    expect_one_of("variable, tunable, policy or number of the machine", name, list(kinds))
    found = RANGE.fullmatch(values)
    if ".." in values and not found:
        raise BadSweep(f"{values}: must be LOW..HIGH, LOW..HIGH:STEPS or LOW..HIGH:STEPS:log")
    if found:
        axis: Axis = a_range(name, kinds[name], found)
    else:
        axis = choices(name, kinds[name], values, of, known)
    expect_within(axis, known)
    return axis


def axes(text: str, of: Opened, known: Known) -> list[Axis]:
    """The axes of a sweep. If `arm` is none of them and several arms run, it becomes the first."""
    found: list[Axis] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        try:
            axis = axis_of(item, of, known)
            if axis.name in [other.name for other in found]:
                raise BadSweep("stands there twice")
        except BadSweep as error:
            raise BadSweep(f"OVER: {item}: {error}") from None
        found.append(axis)
    if not found:
        raise BadSweep('OVER: say what the sweep goes over, as OVER="nbuf=256..4096:5:log"')
    if ARM not in [axis.name for axis in found]:
        found.insert(0, Choice(ARM, ARM, tuple(of.here)))
    return found


def grid_fits(axes: list[Axis]) -> int:
    """How many points a grid has. Raises BadSweep if an axis does not say how many values."""
    for axis in axes:
        if isinstance(axis, Range) and axis.steps is None:
            told = f"OVER: {axis.name}: say how many values a grid takes, as {axis.name}="
            told += f"{axis.low}..{axis.high}:5"
            if not axis.whole or axis.high - axis.low >= MOST_STEPS or axis.log:
                raise BadSweep(told)
    return math.prod(len(axis.grid()) for axis in axes)
