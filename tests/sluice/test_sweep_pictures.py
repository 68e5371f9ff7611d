"""The pictures of a sweep (sluice/sweep/surface.py): labels to be read, and colours that tell.

A sweep has points with values of axes (NBUF: 12 numbers of buffers, K: 1 and 2) and two objectives
in ms (MEAN, MAX), which should be low. The Pareto picture shows the points by both objectives, and
marks the front: the points that no other beats. Labels of the horizontal axis are at y = 17.
"""

import re
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from sluice.report import picture, theme
from sluice.sweep import labels, surface
from sluice.sweep.full_sweep import Measured, Objective, Sweep
from sluice.sweep.ranges import Choice, Range

pytestmark = pytest.mark.native
# A visible text of an SVG: its anchor, place and words
TEXT = re.compile(
    r'<text text-anchor="(\w+)" transform="translate\(([-\d.]+),([-\d.]+)\)'
    r'(?![^>]*opacity="0")[^>]*>([^<]*)</text>'
)
DIGIT = 7  # pixels of a label's digit
MEAN, MAX = Objective("read.mean_ms", False), Objective("read.max_ms", False)
NBUF, K = Range("nbuf", "machine", 1000, 2400, 12, False), Choice("k", "variable", (1, 2))


def sweep_over(*axes: Choice | Range, arms: tuple[str, ...] = ("a",)) -> Sweep:
    """Return a grid with two objectives."""
    every = [Choice("arm", "arm", arms), *axes]
    maker = SimpleNamespace(axes=every)
    return Sweep("", Path(), "", "grid", 0, [MEAN, MAX], [], maker)


def point(number: int, mean_ms: float, max_ms: float, **of: object) -> Measured:
    """Return a measured point with these objectives. of: its values, if not those of the arm a."""
    figures = {MEAN.metric: mean_ms, MAX.metric: max_ms}
    return Measured(number, {"arm": "a"} | of, figures, [])


def texts(spec: dict) -> list[tuple[float, float, str, str]]:
    """Return the visible texts of a picture: x and y, the words, and the SVG anchor."""
    drawn = picture.draw_svg(theme.finish_spec(spec))
    return [(float(x), float(y), words, anchor) for anchor, x, y, words in TEXT.findall(drawn)]


def words_of(spec: dict) -> set[str]:
    """Return the words that a picture shows."""
    return {words for _, _, words, _ in texts(spec)}


def field_over_two(times: float) -> dict:
    """Return a picture of points over two numbers; `times`: the greatest by the least value."""
    points = [
        point(i, 1 + (times - 1) * (n - 1000) / 1400, 1, nbuf=n, k=k)
        for i, (n, k) in enumerate((n, k) for n in NBUF.grid() for k in K.values)
    ]
    return surface.surface_spec(sweep_over(NBUF, K), points, MEAN, [NBUF, K])


def test_the_labels_of_twelve_values_do_not_cover_each_other() -> None:
    """Each label has four digits."""
    places = sorted(x for x, y, words, _ in texts(field_over_two(2)) if y == 17 and words.isdigit())
    assert len(places) > 3
    assert all(b - a > DIGIT * 4 for a, b in pairwise(places))


def test_colours_are_logarithmic_where_the_greatest_is_far_above_the_least() -> None:
    """80 times as much is logarithmic, twice as much is linear."""
    colour = field_over_two(80)["spec"]["encoding"]["color"]
    assert colour["scale"]["type"] == "log"
    assert colour["legend"]["values"] == [1, 2, 5, 10, 20, 50]
    colour = field_over_two(2)["spec"]["encoding"]["color"]
    assert "type" not in colour["scale"]


# ---- two objectives against each other ----


def pareto(points: list[Measured], *axes: Choice | Range) -> dict:
    """Return the Pareto picture of these points."""
    arms = tuple(dict.fromkeys(one.point["arm"] for one in points))
    return surface.pareto_spec(sweep_over(*axes, arms=arms), points)


def rings(spec: dict) -> list[tuple[float, float]]:
    """Return the places at which the points of the front are marked."""
    (layer,) = (of for of in spec["layer"] if of["mark"].get("stroke") == surface.FRONT)
    return [(row["x"], row["y"]) for row in layer["data"]["values"]]


def test_points_are_named_by_the_values_that_were_swept() -> None:
    """The value of k is the same for both, so it is no part of a name."""
    points = [
        point(i, *ms, arm=arm, nbuf=nbuf, k=1)
        for i, (ms, arm, nbuf) in enumerate([((1, 9), "a", 1000), ((5, 2), "b", 2400)])
    ]
    assert {"a nbuf=1,000", "b nbuf=2,400"} <= words_of(pareto(points, NBUF, K))


def test_the_front_is_marked_even_if_it_is_one_point() -> None:
    """The point (1, 1) beats both others."""
    points = [point(0, 2, 2), point(1, 1, 1), point(2, 3, 3)]
    assert rings(pareto(points)) == [(1, 1)]


def test_of_equal_points_the_first_is_seen_and_says_how_many_there_are() -> None:
    """Twelve of thirteen points are equal."""
    arms = ["usual", *(f"other{i}" for i in range(11)), "worse"]
    points = [point(i, 2 if arm == "worse" else 1, 1, arm=arm) for i, arm in enumerate(arms)]
    spec = pareto(points)
    assert "usual and 11 more" in words_of(spec)
    (dots,) = (layer for layer in spec["layer"] if layer["mark"].get("filled"))
    assert dots["data"]["values"][-1]["arm"] == "usual"  # what is drawn last lies above
    colour = dots["encoding"]["color"]["scale"]
    assert colour["range"].count(colour["range"][0]) == 1


def test_labels_are_inside_the_frame_and_cover_neither_each_other_nor_points() -> None:
    """Of 121 points, more than 30 get a label. A point without one has no side."""
    grid = [(x, y) for x in range(1, 12) for y in range(1, 12)]
    same = {"front": False, "first": False}
    rows = surface.add_labels(
        [{"label": f"nbuf={1000 + i}", "x": x, "y": y, **same} for i, (x, y) in enumerate(grid)]
    )
    where = surface.point_places(rows)
    boxes = [
        labels.label_box(at, row["label"], row["side"])
        for row, at in zip(rows, where, strict=True)
        if row["side"]
    ]
    assert len(boxes) > 30
    assert all(one.lies_within(surface.PARETO_WIDTH, surface.PARETO_HEIGHT) for one in boxes)
    assert not any(a.covers(b) for a, b in combinations(boxes, 2))
    assert not any(one.count(where) for one in boxes)


def test_a_label_at_the_right_edge_is_to_the_left_of_its_point() -> None:
    """2,400 buffers are at the right edge of the picture, where a longer label has no room."""
    points = [point(0, 1, 9, nbuf=1000), point(1, 5, 2, nbuf=2400)]
    rows = [row for of in pareto(points, NBUF)["layer"] for row in of["data"]["values"]]
    side = {row["label"]: row["side"] for row in rows if "side" in row}
    assert side["nbuf=2,400"] in ("left", "above left", "below")


def test_all_labels_of_an_axis_are_in_the_middle_below_their_marks() -> None:
    """The labels at its ends are no exception."""
    points = [point(i, ms, ms) for i, ms in enumerate((0.2204, 0.3801))]
    seen = {words: anchor for x, y, words, anchor in texts(pareto(points)) if y == 17}
    assert len(seen) > 4
    assert set(seen.values()) == {"middle"}
