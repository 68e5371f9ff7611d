"""How a test of a lab reports: it returns if all is right, and otherwise raises Wrong.

Wrong says what the test expected and what it found. A test that measures returns a Slide: the
points fall evenly from all at `full` to none at `none`. Both come from the reference measured in
the same run, so that another compiler or QEMU changes nothing. Less is better. A test that looks at
very many decisions of one kind returns a Tally: the points fall evenly from all if each is right to
none if half of them are wrong.
"""

from dataclasses import dataclass

from grade.definition.lab import BadLab
from grade.engine.moments import Moment

BAR = 40  # characters
HALF = 0.5


def figure(number: float) -> str:
    """A number as text: four digits, or all digits of a larger whole number."""
    return f"{number:.4g}" if abs(number) < 9999.5 else f"{number:.0f}"


class Wrong(Exception):
    """The submission does not do what it should: what was expected, and what came instead.

    moment: the event of which this can be seen, if there is one; the message then tells it, and
    what the solution did (grading.ask).
    """

    def __init__(self, expected: str, came: str, moment: Moment | None = None) -> None:
        super().__init__(f"expected {expected}; found {came}")
        self.expected, self.came, self.moment = expected, came, moment


def expect(condition: bool, expected: str, came: str) -> None:
    """Raise Wrong unless the condition holds. Its text is "expected ...; found ..."."""
    if not condition:
        raise Wrong(expected, came)


@dataclass(frozen=True)
class Slide:
    """A figure measured of the submission, and the reference's thresholds.

    what: the figure's name, for people; unit: of all three numbers; value: the submission's; full:
    up to this it earns all points; none: from this on it earns none.
    """

    what: str
    unit: str
    value: float
    full: float
    none: float

    def __post_init__(self) -> None:
        if self.none <= self.full:
            raise BadLab(
                f"{self.what}: the reference is no better than the figure that gets no points"
            )

    @property
    def share(self) -> float:
        """The share of the points that it earns, from 0 to 1."""
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


@dataclass(frozen=True)
class Tally:
    """How many of a submission's decisions were wrong.

    wrong: how many; of: how many there were in all; first: what was expected of the first wrong
    one, and what came; none: the share of wrong ones from which on there are no points.
    """

    wrong: int
    of: int
    first: Wrong | None
    none: float = HALF

    @property
    def share(self) -> float:
        """The share of the points that they earn, from 0 to 1."""
        return max(0.0, 1 - self.wrong / self.of / self.none)

    def came(self) -> str:
        return (
            f"{self.wrong} of {self.of} are wrong, this one first; no points from "
            f"{'half' if self.none == HALF else f'{self.none:.0%}'} of them on"
        )
