"""Define what a lab's test reports: it returns if all is right, and otherwise raises Wrong.

Wrong says what the test expected and what it found. A test that measures returns a Slide: the
points fall evenly from all at `full` to none at `none`. Smaller figures are better. Both thresholds
come from the reference, measured in the same run, so that another compiler or QEMU changes nothing.
A test of very many decisions of one kind returns a Tally: a submission has all points if every
decision is right, none if half of them are wrong, and evenly falling points in between.
"""

from dataclasses import dataclass

from grade.definition.lab import BadLab
from grade.engine.moments import Moment

BAR = 40  # characters
HALF = 0.5


def format_figure(number: float) -> str:
    """Return a number as text: four digits, or all digits of a larger whole number."""
    return f"{number:.4g}" if abs(number) < 9999.5 else f"{number:.0f}"


class Wrong(Exception):
    """The submission does not do what it should: what was expected, and what was found.

    moment: the event that shows it, if there is one. The message then describes this event, and the
    same event of the solution (grading.ask).
    """

    def __init__(self, expected: str, came: str, moment: Moment | None = None) -> None:
        super().__init__(f"expected {expected}; found {came}")
        self.expected, self.came, self.moment = expected, came, moment


def expect(condition: bool, expected: str, came: str) -> None:
    """Raise Wrong unless the condition holds. Its message is "expected ...; found ..."."""
    if not condition:
        raise Wrong(expected, came)


@dataclass(frozen=True)
class Slide:
    """A figure measured of the submission, and the reference's thresholds.

    what: the figure's name, for people. unit: of all three numbers. value: the submission's figure.
    full: up to this it earns all points. none: from this on it earns none.
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
        """The share of the points that the figure earns, from 0 to 1."""
        return min(1.0, max(0.0, (self.none - self.value) / (self.none - self.full)))

    def describe_expected(self) -> str:
        """Return what is expected of the figure, in words."""
        return f"{self.what} of at most {format_figure(self.full)} {self.unit}"

    def describe_found(self) -> str:
        """Return the figure and its threshold, in words."""
        value, none = format_figure(self.value), format_figure(self.none)
        return f"{value} {self.unit}; no points from {none} {self.unit} on"

    def draw_scale(self) -> str:
        """Return a line that shows where the figure lies.

        Left of [ all points are earned, right of ] none.
        """
        left, right = BAR // 8, BAR - BAR // 8
        scale = (right - left) / (self.none - self.full)
        at = round(left + (self.value - self.full) * scale)
        line = ["-"] * BAR
        line[left], line[right] = "[", "]"
        line[min(BAR - 1, max(0, at))] = "*"
        return "".join(line)


@dataclass(frozen=True)
class Tally:
    """The number of a submission's wrong decisions.

    wrong: how many are wrong. of: how many there are in all. first: what was expected and found at
    the first wrong decision. none: the share of wrong decisions from which on there are no points.
    """

    wrong: int
    of: int
    first: Wrong | None
    none: float = HALF

    @property
    def share(self) -> float:
        """The share of the points that the decisions earn, from 0 to 1."""
        return max(0.0, 1 - self.wrong / self.of / self.none)

    def describe_found(self) -> str:
        """Return how many decisions are wrong, in words."""
        return (
            f"{self.wrong} of {self.of} are wrong, this one first; no points from "
            f"{'half' if self.none == HALF else f'{self.none:.0%}'} of them on"
        )
