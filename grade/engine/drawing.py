"""Draws the pictures of a grading, as SVG, with the look of the reports (sluice/report)."""

import vl_convert

from grade.engine.pictures import REFERENCE, YOURS, Curves, Picture
from sluice.report import theme

COLOURS = {REFERENCE: theme.ARM_COLOURS[1], YOURS: theme.ARM_COLOURS[0]}
WIDTHS = {REFERENCE: 7, YOURS: 2}  # so that yours shows on top of the same
SIZES = {REFERENCE: 90, YOURS: 20}
FAINT = {REFERENCE: 0.5, YOURS: 1}
DASHES = {"reads": theme.DASHES[0], "writes": theme.DASHES[2]}
WIDTH, HEIGHT = 300, 220
TICKS = 6  # of an axis, about
ABOUT = (
    "Left: what share of the requests to the data disk took no longer than this. Middle: how many "
    "had come by then. Right: where the first of them lay, in the order in which they were "
    "dispatched. Lines and filled circles are reads; dashes and open squares, writes. The "
    "reference's are broad and faint, so that yours show on top of them."
)


def scale(of: dict, present: list[str]) -> dict:
    """A scale on which each name has the same value in all pictures."""
    return {"domain": present, "range": [of[name] for name in present]}


def present(curves: list[Curves], name: str, order: dict) -> list[str]:
    """The names that the curves have, in order."""
    return [word for word in order if word in {getattr(c, name) for c in curves}]


def who(curves: list[Curves], of: dict, **more: object) -> dict:
    """The channel that tells yours from the reference's."""
    names = present(curves, "who", COLOURS)
    return {"field": "who", "type": "nominal", "title": None, "scale": scale(of, names), **more}


def whose(curves: list[Curves], extent: str, of: dict) -> dict:
    """The channels that tell yours from the reference's: colour, size, opacity."""
    return {
        "color": who(curves, COLOURS, legend={"symbolType": "circle", "symbolSize": 120}),
        extent: who(curves, of, legend=None),
        "opacity": who(curves, FAINT, legend=None),
    }


def dash(curves: list[Curves]) -> dict:
    """The channel that tells reads from writes."""
    names = present(curves, "what", DASHES)
    legend = None if len(names) < 2 else {"symbolType": "stroke", "symbolSize": 400}
    scaled = {"title": None, "scale": scale(DASHES, names), "legend": legend}
    return {"field": "what", "type": "nominal", **scaled}


def axis(name: str, title: str, **more: object) -> dict:
    """The axis of a quantity."""
    few = {"axis": {"tickCount": TICKS}}
    return {"field": name, "type": "quantitative", "title": title, **few, **more}


def rows(curves: list[Curves], name: str) -> list[dict]:
    """The points of all curves."""
    return [
        {"who": c.who, "what": c.what, "x": x, "y": y, "i": i}
        for c in curves
        for i, (x, y) in enumerate(getattr(c, name))
    ]


def lines(curves: list[Curves], name: str, x: dict, y: dict) -> dict:
    """A panel with a line for each curve."""
    return {
        "data": {"values": rows(curves, name)},
        **{"width": WIDTH, "height": HEIGHT},
        "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {
            **{"x": x, "y": y, "order": {"field": "i", "type": "quantitative"}},
            **{**whose(curves, "strokeWidth", WIDTHS), "strokeDash": dash(curves)},
        },
    }


def places(curves: list[Curves]) -> dict:
    """A panel with a point for each request."""
    values = rows(curves, "places")
    layers = [
        {
            "transform": [{"filter": f"datum.what == '{what}'"}],
            "mark": {"type": "point", "shape": shape, "filled": filled},
        }
        for what, shape, filled in (("reads", "circle", True), ("writes", "square", False))
    ]
    y = axis("y", "place on the disk, MB", scale={"zero": False})
    shared = {"x": axis("x", "dispatched, s", scale={"zero": False}), "y": y}
    return {
        "data": {"values": values},
        **{"width": WIDTH, "height": HEIGHT},
        "encoding": {**shared, **whose(curves, "size", SIZES)},
        "layer": layers,
    }


def spec(picture: Picture) -> dict:
    """The Vega-Lite specification."""
    found = picture.curves
    waits = [ms for c in found for ms, _ in c.response]
    ends = {
        "scale": {"type": "log", "nice": False},
        "axis": theme.log_axis(min(waits), max(waits)),
    }
    share = axis("y", "share of the requests, %", scale={"domain": [0, 100]})
    panels = [
        lines(found, "response", axis("x", "response time, ms", **ends), share),
        lines(found, "progress", axis("x", "time, s"), axis("y", "requests so far")),
        places(found),
    ]
    return theme.finished({"hconcat": panels})


def svg(picture: Picture) -> str:
    """The picture, to be put into a page."""
    return vl_convert.vegalite_to_svg(spec(picture))
