"""The pictures of a sweep (grade/sweep/surface.py): labels to be read, and colours that tell."""

import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from grade.report import picture, theme
from grade.sweep import surface
from grade.sweep.over import Choice, Range
from grade.sweep.whole import Measured, Objective, Sweep

pytestmark = pytest.mark.native
TEXT = re.compile(r'<text [^>]*translate\(([-\d.]+),([-\d.]+)\)[^>]*opacity="1">([^<]*)</text>')
DIGIT = 7  # pixels of a label's digit
MEAN, MAX = Objective("read.mean_ms", False), Objective("read.max_ms", False)
NBUF, K = Range("nbuf", "machine", 1000, 2400, 12, False), Choice("k", "variable", (1, 2))


def sweep_over(*axes: Choice | Range, arms: tuple[str, ...] = ("a",)) -> Sweep:
    """A grid with two objectives."""
    every = [Choice("arm", "arm", arms), *axes]
    maker = SimpleNamespace(axes=every)
    return Sweep("", Path(), "", "grid", 0, [MEAN, MAX], [], maker)


def point(number: int, mean_ms: float, max_ms: float, **of: object) -> Measured:
    figures = {MEAN.metric: mean_ms, MAX.metric: max_ms}
    return Measured(number, {"arm": "a"} | of, figures, [])


def texts(spec: dict) -> list[tuple[float, float, str]]:
    """The texts of a picture that are seen: x and y, in what they are in, and the words."""
    drawn = picture.drawn(theme.finished(spec))
    return [(float(x), float(y), words) for x, y, words in TEXT.findall(drawn)]


def field_over_two(times: float) -> dict:
    """A picture of points over two numbers; `times`: the greatest by the least value."""
    points = [
        point(i, 1 + (times - 1) * (n - 1000) / 1400, 1, nbuf=n, k=k)
        for i, (n, k) in enumerate((n, k) for n in NBUF.grid() for k in K.values)
    ]
    return surface.surface(sweep_over(NBUF, K), points, MEAN, [NBUF, K])


def test_the_labels_of_twelve_values_do_not_cover_each_other() -> None:
    places = sorted(x for x, y, words in texts(field_over_two(2)) if y == 17 and words.isdigit())
    assert len(places) > 3
    assert all(b - a > DIGIT * 4 for a, b in pairwise(places))


def test_colours_are_logarithmic_where_the_greatest_is_far_above_the_least() -> None:
    colour = field_over_two(80)["spec"]["encoding"]["color"]
    assert colour["scale"]["type"] == "log"
    assert colour["legend"]["values"] == [1, 2, 5, 10, 20, 50]
    colour = field_over_two(2)["spec"]["encoding"]["color"]
    assert "type" not in colour["scale"]
