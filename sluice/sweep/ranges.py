"""Reads the axes of a sweep from --over, checked against the experiment and the kernel.

    --over="nbuf=256..4096:5:log, sluice.free=50..95, sched=fcfs|clook, seed=1..3"

An item is a name, and a range LOW..HIGH or values A|B|C. A range may be followed by the number of
values that a grid takes of it, and by `log`: then the logarithms of the values are evenly spaced. A
range between whole numbers has only whole numbers.

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
from sluice.host.nearest import suggest

ARM = "arm"
MOST_STEPS = 64  # values of a range in a grid if the item gives no number
MOST_POINTS = 100_000  # of a sweep; more would take days
NUMBER = r"-?\d+(?:\.\d+)?"
RANGE = re.compile(rf"({NUMBER})\.\.({NUMBER})(?::(\d+))?(:log)?")
ITEM = re.compile(r"([^=]+)=(.+)")

Value = int | float | str


class BadSweep(ValueError):
    """The error for a sweep that is refused; the text says what is wrong and where."""


@dataclass(frozen=True)
class Choice:
    """An axis with a list of values."""

    name: str
    kind: str  # variable, tunable, policy, machine or arm
    values: tuple[Value, ...]

    def value_at(self, share: float) -> Value:
        """Return the value at a share from 0 to below 1 of the list."""
        return self.values[int(share * len(self.values))]

    def grid(self) -> list[Value]:
        """Return all values."""
        return list(self.values)

    @property
    def is_numeric(self) -> bool:
        """True if all values are numbers."""
        return not any(isinstance(value, str) for value in self.values)


@dataclass(frozen=True)
class Range:
    """An axis with all numbers from `low` to `high`."""

    name: str
    kind: str
    low: int | float
    high: int | float
    steps: int | None
    log: bool

    is_numeric = True

    @property
    def is_whole(self) -> bool:
        """True if the range has whole numbers only."""
        return isinstance(self.low, int)

    def number_between(self, share: float, high: float) -> float:
        """Return the number at a share, 0 to 1, of the way from `low` to `high`."""
        if self.log:
            return float(self.low * (high / self.low) ** share)
        return self.low + share * (high - self.low)

    def value_at(self, share: float) -> Value:
        """Return the value at a share from 0 to below 1 of the range."""
        if self.is_whole:
            return min(int(self.number_between(share, self.high + 1)), self.high)
        return self.number_between(share, self.high)

    def grid(self) -> list[Value]:
        """Return evenly spaced values with both ends; whole numbers without repetition."""
        if self.steps is None:
            return [*range(int(self.low), int(self.high) + 1)]
        found = [self.number_between(i / (self.steps - 1), self.high) for i in range(self.steps)]
        if self.is_whole:
            return list(dict.fromkeys(round(value) for value in found))
        return [float(f"{value:.12g}") for value in found]


Axis = Choice | Range


def sweepable_names(opened: Opened, known: Known) -> dict[str, str]:
    """Return the kind of every name that may be swept.

    A variable hides a number of [machine] of the same name, because the file sets the number from
    the variable.
    """
    found = {name: "machine" for name, row in MACHINE.items() if row.kind == "number"}
    found |= dict.fromkeys(known.tunables, "tunable") | dict.fromkeys(known.policies, "policy")
    names = [*opened.sweep, *opened.constants, *(name for own in opened.own for name in own)]
    return found | dict.fromkeys(names, "variable") | {ARM: ARM}


def parse_number(text: str) -> int | float:
    """Return the number in a text, as an int unless it has a point."""
    return float(text) if "." in text else int(text)


def axis_limits(axis: Axis, known: Known) -> tuple[int, int] | None:
    """Return the smallest and the largest value that the kernel or the machine takes, or None if
    there are no limits."""
    if axis.kind == "tunable":
        return known.tunables[axis.name].low, known.tunables[axis.name].high
    if axis.kind == "machine":
        return MACHINE[axis.name].low, MACHINE[axis.name].high
    return None


def expect_within(axis: Axis, known: Known) -> None:
    """Raise BadSweep unless all values are within the limits."""
    bounds = axis_limits(axis, known)
    if not bounds:
        return
    ends = (axis.low, axis.high) if isinstance(axis, Range) else axis.values
    for value in ends:
        if not isinstance(value, int):
            raise BadSweep(f"{value}: must be a whole number")
        if not bounds[0] <= value <= bounds[1]:
            upto = f" to {bounds[1]}" if bounds[1] < Field.high else " or more"
            raise BadSweep(f"{value}: must be {bounds[0]}{upto}")


def parse_range(name: str, kind: str, match: re.Match[str]) -> Range:
    """Return the axis of an item that gives a range. Raises BadSweep."""
    low, high = parse_number(match[1]), parse_number(match[2])
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


def parse_choices(name: str, kind: str, text: str, opened: Opened, known: Known) -> Choice:
    """Return the axis of an item that lists its values, as A|B. Raises BadSweep."""
    words = [word.strip() for word in text.split("|")]
    if len(set(words)) < len(words) or "" in words:
        raise BadSweep(f"{text}: every value must be there, and only once")
    if kind in (ARM, "policy"):
        possible = opened.chosen_arms if kind == ARM else known.policies[name]
        for word in words:
            expect_known(kind if kind == ARM else f"{name} policy", word, possible)
        return Choice(name, kind, tuple(words))
    numbers = [parse_number(word) if re.fullmatch(NUMBER, word) else word for word in words]
    texts = [value for value in numbers if isinstance(value, str)]
    if texts and kind != "variable":
        raise BadSweep(f"{texts[0]}: must be a number, or a range as 1..9")
    return Choice(name, kind, tuple(numbers))


def expect_known(what: str, name: str, names: list[str]) -> None:
    """Raise BadSweep, with the most similar name, unless `names` has the name."""
    if name not in names:
        raise BadSweep(f'unknown {what} "{name}"; {suggest(name, names)}')


def parse_axis(item: str, opened: Opened, known: Known) -> Axis:
    """Return the axis that an item of --over describes. Raises BadSweep."""
    match = ITEM.fullmatch(item)
    if not match:
        raise BadSweep("must be NAME=LOW..HIGH or NAME=A|B")
    name, values, kinds = match[1].strip(), match[2].strip(), sweepable_names(opened, known)
    expect_known("variable, tunable, policy or number of the machine", name, list(kinds))
    found = RANGE.fullmatch(values)
    if ".." in values and not found:
        raise BadSweep(f"{values}: must be LOW..HIGH, LOW..HIGH:STEPS or LOW..HIGH:STEPS:log")
    if found:
        axis: Axis = parse_range(name, kinds[name], found)
    else:
        axis = parse_choices(name, kinds[name], values, opened, known)
    expect_within(axis, known)
    return axis


def parse_axes(text: str, opened: Opened, known: Known) -> list[Axis]:
    """Return the axes of a sweep. If `arm` is not among them, it becomes the first. Raises
    BadSweep."""
    found: list[Axis] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        try:
            axis = parse_axis(item, opened, known)
            if axis.name in [other.name for other in found]:
                raise BadSweep("stands there twice")
        except BadSweep as error:
            raise BadSweep(f"--over: {item}: {error}") from None
        found.append(axis)
    if not found:
        raise BadSweep('--over: say what the sweep goes over, as --over="nbuf=256..4096:5:log"')
    if ARM not in [axis.name for axis in found]:
        found.insert(0, Choice(ARM, ARM, tuple(opened.chosen_arms)))
    return found


def grid_size(axes: list[Axis]) -> int:
    """Return how many points a grid has.

    Raises BadSweep if an axis has too many values and its item gives no number.
    """
    for axis in axes:
        if isinstance(axis, Range) and axis.steps is None:
            told = f"--over: {axis.name}: say how many values a grid takes, as {axis.name}="
            told += f"{axis.low}..{axis.high}:5"
            if not axis.is_whole or axis.high - axis.low >= MOST_STEPS or axis.log:
                raise BadSweep(told)
    return math.prod(len(axis.grid()) for axis in axes)
