"""What a test of a lab says: nothing if all is right, else what it expected and what came.

A test that measures returns a Slide: points fall evenly from all at `full` to none at
`none`. Both come from the reference measured in the same run, so that another compiler
or QEMU changes nothing. Less is better.
"""

from dataclasses import dataclass

from grade.scoring.lab import BadLab

BAR = 40  # characters


def figure(number: float) -> str:
    """With four digits, or all those of a whole."""
    return f"{number:.4g}" if abs(number) < 9999.5 else f"{number:.0f}"


class Wrong(Exception):
    """The submission does not do what it should."""

    def __init__(self, expected: str, came: str) -> None:
        super().__init__(f"expected {expected}; came {came}")
        self.expected, self.came = expected, came


def expect(condition: bool, expected: str, came: str) -> None:
    """Go on if the condition holds."""
    if not condition:
        raise Wrong(expected, came)


@dataclass(frozen=True)
class Slide:
    """A figure measured of the submission, and the reference's thresholds."""

    what: str
    unit: str
    value: float
    full: float
    none: float

    def __post_init__(self) -> None:
        if self.none <= self.full:
            raise BadLab(f"{self.what}: the reference is no better than what it is held against")

    @property
    def share(self) -> float:
        """Of the points: from 0 to 1."""
        return min(1.0, max(0.0, (self.none - self.value) / (self.none - self.full)))

    def expected(self) -> str:
        return f"{self.what} of at most {figure(self.full)} {self.unit}"

    def came(self) -> str:
        value, none = figure(self.value), figure(self.none)
        return f"{value} {self.unit}; no points from {none} {self.unit} on"

    def picture(self) -> str:
        """Where the figure lies: all points to the left of [, none to the right of ]."""
        left, right = BAR // 8, BAR - BAR // 8
        scale = (right - left) / (self.none - self.full)
        at = round(left + (self.value - self.full) * scale)
        line = ["-"] * BAR
        line[left], line[right] = "[", "]"
        line[min(BAR - 1, max(0, at))] = "*"
        return "".join(line)
