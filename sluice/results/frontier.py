"""Draw the frontier: the age of what a power cut loses and the time of slow reads, for each policy.

A picture shows one load of the experiment crash-frontier, from its stored results. Each arm is a
mark. Both axes are logarithmic. The axis of ages has a break where no arm is, because a power cut
can lose milliseconds of writes that begin at once, but seconds of delayed writes. The area of a
mark is the number of writes to the disk. Arms whose marks would overlap share one mark. Labels are
placed by trying positions around their marks, the nearest first, until one is free (place_labels).

The line is the Pareto front. An arm is on it if no other arm is at least as safe and at least as
fast, and better in one of the two. The picture of README.md is stored in results/front; the book
draws the others.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path

from sluice.experiment.files import write_atomically
from sluice.experiment.result import BadResult
from sluice.results.frontpage import FAINT, FOLDER, INK, svg_text
from sluice.results.stored_records import StoredResults, StoredRow

EXPERIMENT = "crash-frontier"
AGE, READ, WRITES = "loss.data.oldest.mean_s", "read.p99_ms", "stat.disk.writes"
LOADS = {
    "steady": "a steady writer, no block twice in a minute",
    "hot": "a writer that comes back to some blocks again and again",
    "mail": "mail: four writers wait for fsync, a fifth does not wait",
}
SHOWN = "hot"  # the load of the picture in README.md
PICTURE = FOLDER / "frontier.svg"
FAMILIES = {"PU": "#e5642d", "AIPU": "#3f87d9"}  # drawn as lines, by age or interval
BEST = "#2da44e"
NAMES = {"through": "write-through (writers wait)", "async+PU": "async"}
FIRST = ("PU 30 s", "AIPU 15 s", "AIPU 30 s", "through", "HAC", "IPU", "Linux", "Sluice")
SAFE, SLOW = "AIPU 15 s", "PU 30 s"  # the arms that the picture compares in words

WIDTH, HEIGHT = 800, 540
LEFT, RIGHT, TOP, BOTTOM = 72, 784, 132, 480
BREAK_AT, BREAK_WIDTH = 150, 16
SOON_S, LATE_S = (0.001, 0.005), (0.3, 500.0)  # the ages to the left and to the right of the break
AGES_S = {0.002: "2 ms", 1: "1 s", 3: "3 s", 10: "10 s", 30: "30 s", 100: "100 s", 300: "300 s"}
READS_MS = {30: "30 ms", 100: "100 ms", 300: "300 ms", 1_000: "1 s", 3_000: "3 s", 10_000: "10 s"}
MOST_WRITES, MOST_RADIUS, LEAST_RADIUS = 16_000, 9.0, 3.0
SHARED_PX = 3.0  # marks that are nearer than this become one
LINE_PX, LETTER_PX, BOLD_PX = 15.0, 7.3, 8.2  # a line's height, and a letter's greatest width
FAR_PX = 12.0  # a label farther from its mark than this has a line to the mark

Point = tuple[float, float]  # in pixels, from the left and from the top
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Scale:
    """The vertical axis of a picture: response times in ms, from the bottom to the top."""

    least_ms: float
    most_ms: float

    def height(self, ms: float) -> float:
        """Return the vertical position of a response time, from the top."""
        return BOTTOM - (BOTTOM - TOP) * share(ms, self.least_ms, self.most_ms)


@dataclass(frozen=True)
class Mark:
    """The arms at one place of a picture: the place, and the radius of the mark."""

    arms: tuple[str, ...]
    x: float
    y: float
    radius: float
    colour: str

    def box(self, margin: float = 1.0) -> Box:
        """Return the square around the mark."""
        reach = self.radius + margin
        return self.x - reach, self.y - reach, self.x + reach, self.y + reach

    def label(self) -> str:
        """Return the names of the arms."""
        return ", ".join(NAMES.get(arm, arm) for arm in self.arms)


@dataclass(frozen=True)
class Label:
    """A line of text, its box, and the point that it belongs to."""

    words: str
    box: Box
    at: Point
    colour: str
    bold: bool = False


@dataclass
class Picture:
    """The contents of a picture: marks, the lines of the families, the front as points, and
    labels."""

    marks: list[Mark]
    lines: dict[str, list[Point]]
    front: list[Point]
    beside: list[Point] = field(default_factory=list)  # a line from SLOW to SAFE, or empty
    labels: list[Label] = field(default_factory=list)


# ---- places ----


def share(value: float, low: float, high: float) -> float:
    """Return the position of a value between `low` (0) and `high` (1) on a logarithmic axis."""
    return math.log(value / low) / math.log(high / low)


def age_position(seconds: float) -> float:
    """Return the horizontal position of an age. Raises BadResult for an age within the break."""
    if SOON_S[0] <= seconds <= SOON_S[1]:
        return LEFT + (BREAK_AT - LEFT) * share(seconds, *SOON_S)
    if LATE_S[0] <= seconds <= LATE_S[1]:
        start = BREAK_AT + BREAK_WIDTH
        return start + (RIGHT - start) * share(seconds, *LATE_S)
    raise BadResult(f"{EXPERIMENT}: an age of {seconds:g} s is not on the picture's axis")


def load_rows(kept: StoredResults, load: str) -> list[StoredRow]:
    """Return the stored rows of a load. Raises BadResult if there are none."""
    rows = [row for row in kept["rows"] if row["at"]["load"] == load]
    if not rows:
        raise BadResult(f"{EXPERIMENT}: no results of load={load} are stored")
    return rows


def find_front(rows: Iterable[StoredRow]) -> list[StoredRow]:
    """Return the rows of the Pareto front, the safest first.

    A row is on it if it is faster than all safer rows; of equally safe rows only the fastest is on
    it.
    """
    front: list[StoredRow] = []
    for row in sorted(rows, key=lambda row: (row["measured"][AGE], row["measured"][READ])):
        if not front or row["measured"][READ] < front[-1]["measured"][READ]:
            front.append(row)
    return front


def family_of(arm: str) -> str:
    """Return the family that an arm belongs to, or ""."""
    name = arm.split(" ")[0]
    return name if name in FAMILIES else ""


def make_marks(rows: list[StoredRow], scale: Scale) -> list[Mark]:
    """Return the marks of a load, the arms that matter most first."""
    best = {row["arm"] for row in find_front(rows)}
    order = {arm: i for i, arm in enumerate(FIRST)}
    marks: list[Mark] = []
    for row in sorted(rows, key=lambda row: order.get(row["arm"], len(order))):
        arm, measured = row["arm"], row["measured"]
        x, y = age_position(measured[AGE]), scale.height(measured[READ])
        radius = max(LEAST_RADIUS, MOST_RADIUS * math.sqrt(measured[WRITES] / MOST_WRITES))
        colour = BEST if arm in best else FAMILIES.get(family_of(arm), INK)
        near = (i for i, m in enumerate(marks) if math.hypot(m.x - x, m.y - y) < SHARED_PX)
        shared = next(near, None)  # the index of a mark at this place
        if shared is None:
            marks.append(Mark((arm,), x, y, radius, colour))
        else:
            old = marks[shared]
            either = BEST if BEST in (colour, old.colour) else old.colour
            marks[shared] = Mark((*old.arms, arm), old.x, old.y, old.radius, either)
    return marks


def family_line(rows: list[StoredRow], family: str, scale: Scale) -> list[Point]:
    """Return the line through the arms of a family, from the least age to the largest."""
    measured = [row["measured"] for row in rows if family_of(row["arm"]) == family]
    return [
        (age_position(one[AGE]), scale.height(one[READ]))
        for one in sorted(measured, key=lambda one: one[AGE])
    ]


def front_line(rows: list[StoredRow], scale: Scale) -> list[Point]:
    """Return the corners of the front: from the top down to the safest arm, in steps to the fastest
    arm, and on to the right edge."""
    corners: list[Point] = []
    above = float(TOP)
    for row in find_front(rows):
        x, y = age_position(row["measured"][AGE]), scale.height(row["measured"][READ])
        corners += [(x, above), (x, y)]
        above = y
    return [*corners, (RIGHT, above)]


# ---- labels ----


def overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes have a point in common."""
    left, top, right, bottom = one
    other_left, other_top, other_right, other_bottom = other
    across = left < other_right and other_left < right
    return across and top < other_bottom and other_top < bottom


def box_of(words: str, x: float, y: float, toward: float, bold: bool) -> Box:
    """Return the box of words beside the point (x, y). toward: -1 for a box to the left of the
    point, 0 for one in the middle over it, 1 for one to the right."""
    width = (BOLD_PX if bold else LETTER_PX) * len(words)
    left = x - width / 2 + toward * width / 2
    return left, y - LINE_PX / 2, left + width, y + LINE_PX / 2


def candidate_boxes(words: str, mark: Mark, bold: bool) -> Iterator[Box]:
    """Yield the boxes that a mark's label may have, the nearest first."""
    for far in (3, 8, 14, 22, 32, 44, 58, 74):
        reach = mark.radius + far
        for turn in (0, 4, 2, 6, 1, 7, 3, 5):  # eighths of a turn, from the right downwards
            across, down = math.cos(turn * math.pi / 4), math.sin(turn * math.pi / 4)
            toward = round(across)
            half_line = LINE_PX / 2 if toward == 0 else 0  # a label above or below goes further
            y = mark.y + down * (reach + half_line)
            yield box_of(words, mark.x + across * reach, y, toward, bold)


def line_boxes(points: list[Point]) -> Iterator[Box]:
    """Yield boxes of 4 by 4 along a line, which together cover it."""
    for (x, y), (to_x, to_y) in pairwise(points):
        steps = max(1, int(math.hypot(to_x - x, to_y - y) / 4))
        for i in range(steps + 1):
            at_x, at_y = x + (to_x - x) * i / steps, y + (to_y - y) * i / steps
            yield at_x - 2, at_y - 2, at_x + 2, at_y + 2


def is_free(box: Box, taken: list[Box]) -> bool:
    """Return whether a box lies within the frame and touches no taken box."""
    left, top, right, bottom = box
    inside = left > LEFT + 2 and right < RIGHT and top > TOP and bottom < BOTTOM - 2
    return inside and not any(overlap(box, other) for other in taken)


def taken_boxes(picture: Picture) -> list[Box]:
    """Return the boxes of everything that the picture shows so far."""
    taken = [mark.box() for mark in picture.marks]
    for points in (*picture.lines.values(), picture.front, picture.beside):
        taken += line_boxes(points)
    return taken + [label.box for label in picture.labels]


def place_labels(picture: Picture) -> None:
    """Give each mark a label that touches no other label, mark or line.

    Raises BadResult if a label has no free position.
    """
    taken = taken_boxes(picture)
    for mark in picture.marks:
        words = mark.label()
        bold = bool({SAFE, SLOW} & {*mark.arms}) or mark.colour == BEST
        free = (box for box in candidate_boxes(words, mark, bold) if is_free(box, taken))
        box = next(free, None)
        if box is None:
            raise BadResult(f"{EXPERIMENT}: the picture has no place for the label {words}")
        taken.append(box)
        picture.labels.append(Label(words, box, (mark.x, mark.y), mark.colour, bold))


def compare(picture: Picture, rows: list[StoredRow]) -> None:
    """If SAFE is as safe as SLOW, join their marks by a line and write beside it how much shorter
    slow reads are under SAFE. Raises BadResult if there is no free position for these words."""
    arms = {row["arm"]: row["measured"] for row in rows}
    if not {SAFE, SLOW} <= arms.keys() or arms[SAFE][AGE] > arms[SLOW][AGE]:
        return
    at = {arm: mark for mark in picture.marks for arm in mark.arms}
    slow, safe = at[SLOW], at[SAFE]
    picture.beside = [(slow.x, slow.y), (safe.x, safe.y)]
    times = arms[SLOW][READ] / arms[SAFE][READ]
    words = ("as safe, but slow reads", f"take 1/{times:.0f} of the time")
    taken = taken_boxes(picture)
    # Try along the line, from 15 to 85 % of its height, and on both sides of it.
    for percent, toward in product(range(15, 90, 5), (1, -1)):
        y = slow.y + (safe.y - slow.y) * percent / 100
        x = (slow.x + safe.x) / 2 + 8 * toward
        boxes = [box_of(line, x, y + LINE_PX * i, toward, False) for i, line in enumerate(words)]
        if all(is_free(box, taken) for box in boxes):
            pairs = zip(words, boxes, strict=True)
            picture.labels += [Label(line, box, (x, y), INK) for line, box in pairs]
            return
    raise BadResult(f"{EXPERIMENT}: the picture has no place to compare {SAFE} with {SLOW}")


# ---- drawing ----


def make_picture(rows: list[StoredRow], scale: Scale) -> Picture:
    """Return the contents of the picture of a load."""
    lines = {family: family_line(rows, family, scale) for family in FAMILIES}
    picture = Picture(make_marks(rows, scale), lines, front_line(rows, scale))
    compare(picture, rows)
    place_labels(picture)
    return picture


def make_scale(rows: list[StoredRow]) -> Scale:
    """Return the vertical axis for the rows of a load."""
    reads = [row["measured"][READ] for row in rows]
    return Scale(min(reads) / 1.35, max(reads) * 1.5)


def draw_path(points: list[Point], style: str) -> str:
    """Return a line through points as SVG."""
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{corners}" fill="none" {style}/>'


def draw_grid(scale: Scale) -> Iterator[str]:
    """Yield the ticks of both axes, with their words, and the lines of the grid."""
    for ms, words in READS_MS.items():
        if scale.least_ms < ms < scale.most_ms:
            y = scale.height(ms)
            yield f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{FAINT}"/>'
            yield svg_text(LEFT - 8, round(y + 4, 1), words, ' text-anchor="end"')
    for seconds, words in AGES_S.items():
        x = age_position(seconds)
        yield f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="{FAINT}"/>'
        yield svg_text(round(x, 1), BOTTOM + 18, words, ' text-anchor="middle"')


def draw_axes() -> Iterator[str]:
    """Yield the axes, the break, the titles of the axes, and the arrow that shows where it is
    better."""
    after = BREAK_AT + BREAK_WIDTH
    axes = f"M{LEFT} {TOP}V{BOTTOM}H{BREAK_AT}M{after} {BOTTOM}H{RIGHT}"
    slashes = "".join(f"M{x - 4} {BOTTOM + 6}l8 -12" for x in (BREAK_AT, after))
    yield f'<path d="{axes}{slashes}" fill="none" stroke="{INK}"/>'
    yield svg_text(LEFT, TOP - 10, "Slow reads: 99 of 100 take at most this time")
    ages = "The oldest write that a power cut loses: its age in the mean"
    yield svg_text(RIGHT, BOTTOM + 44, ages, ' text-anchor="end"')
    arrow = f"M60 {BOTTOM + 18}l-24 24m0 -12v12h12"
    yield f'<path d="{arrow}" fill="none" stroke="{BEST}" stroke-width="3"/>'
    style = f' style="fill:{BEST}" font-weight="bold"'
    yield svg_text(LEFT, BOTTOM + 44, "better: safer and faster", style)


def draw_legend() -> Iterator[str]:
    """Yield the legend of colours and areas."""
    words = (
        (LEFT, 68, FAMILIES["PU"], "PU: all dirty blocks at once, every so many seconds"),
        (LEFT, 88, FAMILIES["AIPU"], "AIPU: each block when it is so many seconds old"),
        (440, 68, BEST, "the front: nothing is safer and faster"),
        (440, 88, INK, "other policies; area: writes to the disk"),
    )
    for x, y, colour, said in words:
        yield f'<circle cx="{x + 5}" cy="{y - 4}" r="5" fill="{colour}"/>'
        yield svg_text(x + 16, y, said)


def draw_label(label: Label) -> Iterator[str]:
    """Yield a label, and a line to its mark if the mark is far."""
    left, top, right, bottom = label.box
    x, y = label.at
    near = min(max(x, left), right), min(max(y, top), bottom)
    if math.hypot(near[0] - x, near[1] - y) > FAR_PX + MOST_RADIUS:
        yield draw_path([(x, y), near], f'stroke="{INK}" stroke-opacity="0.6"')
    weight = ' font-weight="bold"' if label.bold else ""
    anchor, at = "middle", (left + right) / 2
    if left >= x:
        anchor, at = "start", left
    elif right <= x:
        anchor, at = "end", right
    style = f' text-anchor="{anchor}"{weight} style="fill:{label.colour}"'
    yield svg_text(round(at, 1), round(bottom - 4, 1), label.words, style)


def draw_marks(picture: Picture) -> Iterator[str]:
    """Yield the lines, the marks and their labels."""
    yield draw_path(picture.front, f'stroke="{BEST}" stroke-width="2" stroke-dasharray="6 4"')
    for family, points in picture.lines.items():
        yield draw_path(points, f'stroke="{FAMILIES[family]}" stroke-width="2.5"')
    if picture.beside:
        yield draw_path(picture.beside, f'stroke="{INK}" stroke-dasharray="2 3"')
    for mark in picture.marks:
        where = f'cx="{mark.x:.1f}" cy="{mark.y:.1f}" r="{mark.radius:.1f}"'
        yield f'<circle {where} fill="{mark.colour}" fill-opacity="0.85"/>'
    for label in picture.labels:
        yield from draw_label(label)


def draw_frontier(kept: StoredResults, load: str) -> str:
    """Return the picture of a load as SVG. Raises BadResult for results that it cannot show."""
    rows = load_rows(kept, load)
    scale = make_scale(rows)
    title = "What a power cut loses, and how long slow reads take"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="system-ui, sans-serif" font-size="13" role="img">',
            f"<title>{title}: {LOADS[load]}</title>",
            svg_text(LEFT, 22, title, ' font-weight="bold" font-size="15"'),
            svg_text(LEFT, 42, LOADS[load]),
            *draw_grid(scale),
            *draw_axes(),
            *draw_legend(),
            *draw_marks(make_picture(rows, scale)),
            "</svg>",
            "",
        ]
    )


def update_frontier(kept: StoredResults, path: Path) -> bool:
    """Write README's picture, unless the file is the same already.

    Returns whether it was written.
    """
    drawn = draw_frontier(kept, SHOWN)
    if path.exists() and path.read_text(encoding="utf-8") == drawn:
        return False
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, drawn)
    return True
