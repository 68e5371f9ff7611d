"""Place the labels of a picture's points inside its frame, where they cover as little as
possible."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LETTER, LINE = 6, 12  # width of a letter and height of a line of a label; all sizes are in pixels
# The least distance of a label from the middle of its own point, and of other points.
BESIDE, NEAR = 9, 4
# Alignment of a label on each side of its point, in Vega-Lite's words.
SIDES = {
    "right": {"align": "left", "dx": 11, "dy": 0},
    "left": {"align": "right", "dx": -11, "dy": 0},
    "above": {"align": "left", "dx": 4, "dy": -LINE - 2},
    "below": {"align": "right", "dx": -4, "dy": LINE + 2},
    "above left": {"align": "right", "dx": -4, "dy": -LINE - 2},
    "below right": {"align": "left", "dx": 4, "dy": LINE + 2},
}
Places = NDArray[np.float64]  # shape (points, 2): distances from the left and from the top


@dataclass(frozen=True)
class Box:
    """The rectangle that a label covers."""

    left: float
    right: float
    top: float
    bottom: float

    def covers(self, other: "Box") -> bool:
        """Return whether two rectangles overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def count(self, points: Places, beside: float = NEAR) -> int:
        """Return how many of the points lie in the label or near it. beside: the pixels to the left
        and to the right that count as near."""
        x, y = points.T
        across = (x > self.left - beside) & (x < self.right + beside)
        down = (y > self.top - NEAR) & (y < self.bottom + NEAR)
        return int((across & down).sum())

    def lies_within(self, width: float, height: float) -> bool:
        """Return whether the rectangle lies in a frame of this size."""
        return self.left >= 0 and self.right <= width and self.top >= 0 and self.bottom <= height


def label_box(at: NDArray[np.float64], text: str, side: str) -> Box:
    """Return the rectangle that a text covers on a side of a point."""
    how, width = SIDES[side], LETTER * len(text)
    x, y = at[0] + how["dx"], at[1] + how["dy"]  # the end of the text that is aligned
    left = x - width if how["align"] == "right" else x
    return Box(left, left + width, y - LINE / 2, y + LINE / 2)


@dataclass(frozen=True)
class Label:
    """A text for the point at `at`. must: whether it is drawn even if it covers points."""

    text: str
    at: NDArray[np.float64]
    must: bool


def place_labels(labels: list[Label], line: Places, width: float, height: float) -> list[str]:
    """Return the side of its point for each label; "" for a label without a place.

    Labels are placed in their order. A place must be in the frame and apart from the labels placed
    before; the sides that cover the fewest points and parts of the line are preferred.
    """
    points = np.array([label.at for label in labels])
    taken: list[Box] = []
    found = []
    for label in labels:
        boxes = {side: label_box(label.at, label.text, side) for side in SIDES}
        covered = {  # by each side that is free: how much a label there would cover
            side: box.count(points, BESIDE) + box.count(line)
            for side, box in boxes.items()
            if box.lies_within(width, height) and not any(map(box.covers, taken))
        }
        best = min(covered, key=covered.__getitem__, default="")
        if best and covered[best] and not label.must:
            best = ""
        found.append(best)
        taken += [boxes[best]] if best else []
    return found
