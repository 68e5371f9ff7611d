"""Pages about grades can be read in light and in dark colours.

Colours of text are variables of the style sheet (ink on paper, and so on), so the contrast of each
pair of them is computed from the style. The formula is that of the Web Content Accessibility
Guidelines (WCAG): https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio.
"""

import re

import pytest
from test_forms import GRADED

from grade.course import classpage
from grade.engine import drawing
from grade.engine.formats import page
from grade.engine.pictures import REFERENCE, YOURS, Curves, Picture
from sluice.report import theme

pytestmark = pytest.mark.native
ENOUGH = 4.5  # least contrast of text: WCAG 2.1, level AA
SEEN = 3  # least contrast of bars and marks
DARK = "@media (prefers-color-scheme: dark) {"
STYLES = {"grade": page.page_style(page.OWN_STYLE), "class": page.page_style(classpage.STYLE)}
ON_PAPER = ("ink", "soft", "good", "bad", "warn")
INK_ON = ("paper", "note", "code")


def variables(style: str) -> dict[str, str]:
    """Return the variables of all :root rules."""
    roots = re.findall(r":root \{(.*?)\}", style, re.S)
    return dict(re.findall(r"--(\w+): (#\w+);", " ".join(roots)))


def schemes(style: str) -> dict[str, dict[str, str]]:
    """Return the variables of a light and of a dark page."""
    light, *dark = re.split(re.escape(DARK), style)
    rules = [re.match(r"(?:[^{}]*\{[^{}]*\})*", part)[0] for part in dark]
    outside = light + "".join(part[len(rule) :] for part, rule in zip(dark, rules, strict=True))
    plain = variables(outside)
    return {"light": plain, "dark": plain | variables("".join(rules))}


def brightness(colour: str) -> float:
    """Return the relative luminance of a colour as #rgb or #rrggbb, by the formula of WCAG 2."""
    digits = colour.removeprefix("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    weights = (0.2126, 0.7152, 0.0722)  # of red, green and blue
    return sum(w * c for w, c in zip(weights, linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Return the ratio of two colours, from 1 to 21."""
    dark, light = sorted(map(brightness, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_contrast_is_that_of_the_standard() -> None:
    assert contrast("#fff", "#000000") == pytest.approx(21)
    assert contrast("#777", "#fff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", STYLES)
def test_all_text_can_be_read(kind: str, scheme: str) -> None:
    """A pair is a text's colour and that of its background, by their names."""
    colours = schemes(STYLES[kind])[scheme]
    pairs = [(name, "paper") for name in ON_PAPER] + [("ink", name) for name in INK_ON]
    contrasts = {pair: contrast(*(colours[name] for name in pair)) for pair in pairs}
    assert {pair: c for pair, c in contrasts.items() if c < ENOUGH} == {}
    assert contrast(colours["mine"], colours["paper"]) >= SEEN


@pytest.mark.parametrize("kind", STYLES)
def test_a_dark_page_has_other_colours_of_all(kind: str) -> None:
    light, dark = schemes(STYLES[kind]).values()
    assert [name for name in light if light[name] == dark[name]] == []


@pytest.mark.parametrize("kind", STYLES)
def test_no_rule_has_a_colour_that_a_dark_page_does_not_change(kind: str) -> None:
    """Outside the tables of variables (:root) no colour is written as a number or a name."""
    rules = re.sub(r":root \{.*?\}|\[\w+=\"#\w+\"\]", "", STYLES[kind], flags=re.S)
    assert re.findall(r"#[0-9a-fA-F]{3,6}\b|\b(?:white|black|gr[ae]y)\b(?!-)", rules) == []


def test_pages_draw_in_colours_of_the_style_alone() -> None:
    """In pictures, text and rules have colours that the dark style replaces. The curves of a figure
    have colours of their own, so that of a figure only the text is looked at."""
    pages = classpage.draw_histogram([0, 0.5, 1], "spread") + page.text(GRADED).split("<body>")[1]
    without_figures = re.sub(r"<figure>.*?</figure>", "", pages, flags=re.S)
    assert "svg" in without_figures
    assert re.findall(r"(?:fill|stroke)=\"(?!none)[^\"]*\"", without_figures) == []
    points = [(1.0, 2.0), (3.0, 40.0)]
    curves = [Curves(who, what, points, points, points)
              for who in (YOURS, REFERENCE) for what in ("reads", "writes")]  # fmt: skip
    drawn = drawing.render_svg(Picture("syncs", False, curves))
    texts = set(re.findall(r"<text[^>]*fill=\"([^\"]*)\"", drawn))
    assert texts == {theme.INK}
