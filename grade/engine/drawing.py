"""Draw the pictures of a grading, as SVG, in the style of the reports (sluice/report)."""

from typing import Any

import vl_convert

from grade.engine.pictures import REFERENCE, YOURS, Curves, Picture
from sluice.report import theme

COLOURS = {REFERENCE: theme.ARM_COLOURS[1], YOURS: theme.ARM_COLOURS[0]}
WIDTHS = {REFERENCE: 7, YOURS: 2}  # yours is narrower, so that both show where they are equal
SIZES = {REFERENCE: 90, YOURS: 20}
FAINT = {REFERENCE: 0.5, YOURS: 1}
DASHES = {"reads": theme.DASHES[0], "writes": theme.DASHES[2]}
Spec = dict[str, Any]  # a part of a Vega-Lite specification
WIDTH, HEIGHT = 300, 220
TICKS = 6  # approximate number on an axis
ABOUT = (
    "Left: the share of requests to the data disk that took at most this time. Middle: how many "
    "had arrived by this time. Right: where the first of them were, in the order of their "
    "dispatch. Lines and filled circles are reads; dashes and open squares, writes. The "
    "reference's marks are broad and faint, so that yours show on top of them."
)


def fixed_scale(values: Spec, present: list[str]) -> Spec:
    """Return a scale on which each name has the same value in all pictures."""
    return {"domain": present, "range": [values[name] for name in present]}


def present_names(curves: list[Curves], name: str, order: Spec) -> list[str]:
    """Return the names that occur in the curves, in this order."""
    return [word for word in order if word in {getattr(c, name) for c in curves}]


def kernel_channel(curves: list[Curves], values: Spec, **more: object) -> Spec:
    """Return the channel that distinguishes your kernel from the reference."""
    names = present_names(curves, "who", COLOURS)
    return {
        "field": "who",
        "type": "nominal",
        "title": None,
        "scale": fixed_scale(values, names),
        **more,
    }


def kernel_channels(curves: list[Curves], extent: str, extents: Spec) -> Spec:
    """Return the channels that distinguish yours from the reference: colour, size, opacity."""
    return {
        "color": kernel_channel(
            curves, COLOURS, legend={"symbolType": "circle", "symbolSize": 120}
        ),
        extent: kernel_channel(curves, extents, legend=None),
        "opacity": kernel_channel(curves, FAINT, legend=None),
    }


def direction_channel(curves: list[Curves]) -> Spec:
    """Return the channel that distinguishes reads from writes."""
    names = present_names(curves, "what", DASHES)
    legend = None if len(names) < 2 else {"symbolType": "stroke", "symbolSize": 400}
    scaled = {"title": None, "scale": fixed_scale(DASHES, names), "legend": legend}
    return {"field": "what", "type": "nominal", **scaled}


def axis(name: str, title: str, **more: object) -> Spec:
    """Return the axis of a quantity."""
    few = {"axis": {"tickCount": TICKS}}
    return {"field": name, "type": "quantitative", "title": title, **few, **more}


def point_rows(curves: list[Curves], name: str) -> list[Spec]:
    """Return the points of all curves as rows of data."""
    return [
        {"who": c.who, "what": c.what, "x": x, "y": y, "i": i}
        for c in curves
        for i, (x, y) in enumerate(getattr(c, name))
    ]


def line_panel(curves: list[Curves], name: str, x: Spec, y: Spec) -> Spec:
    """Return a panel with a line for each curve."""
    return {
        "data": {"values": point_rows(curves, name)},
        **{"width": WIDTH, "height": HEIGHT},
        "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {
            **{"x": x, "y": y, "order": {"field": "i", "type": "quantitative"}},
            **{
                **kernel_channels(curves, "strokeWidth", WIDTHS),
                "strokeDash": direction_channel(curves),
            },
        },
    }


def place_panel(curves: list[Curves]) -> Spec:
    """Return a panel with a point for each request."""
    values = point_rows(curves, "places")
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
        "encoding": {**shared, **kernel_channels(curves, "size", SIZES)},
        "layer": layers,
    }


def vega_spec(picture: Picture) -> Spec:
    """Return the Vega-Lite specification of a picture."""
    found = picture.curves
    waits = [ms for c in found for ms, _ in c.response]
    ends = {
        "scale": {"type": "log", "nice": False},
        "axis": theme.log_axis(min(waits), max(waits)),
    }
    share = axis("y", "share of the requests, %", scale={"domain": [0, 100]})
    panels = [
        line_panel(found, "response", axis("x", "response time, ms", **ends), share),
        line_panel(found, "progress", axis("x", "time, s"), axis("y", "requests so far")),
        place_panel(found),
    ]
    return theme.finish_spec({"hconcat": panels})


def render_svg(picture: Picture) -> str:
    """Return the picture as SVG, for use in a page."""
    return vl_convert.vegalite_to_svg(vega_spec(picture))
