"""Draws a sweep: the objectives over the swept numbers, and against each other.

Every picture is a Vega-Lite specification, as those of a report are.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sluice.experiment.summary import format_number
from sluice.report import theme, wording
from sluice.report.theme import Datum, Spec
from sluice.sweep import labels
from sluice.sweep.full_sweep import Measured, Objective, Sweep, pareto_front
from sluice.sweep.labels import Label, Places
from sluice.sweep.ranges import ARM, Axis, Value

SIDE = 300  # of a panel
PARETO_WIDTH, PARETO_HEIGHT = theme.WIDTH - 200, SIDE + 60
LINE_STEPS = 20  # positions on the front's line between two points that labels should not cover
TICKS = 10  # approximate number on an axis
EDGE = 0.04  # share of an axis before its first point and behind its last
FRONT = theme.ARM_COLOURS[2]  # marks the Pareto front
WIDE = 20  # least ratio of the largest to the smallest value for a logarithmic axis
COLUMNS = 3
COLOURS = "viridis"  # colour-blind readers can distinguish these colours
APART = {"labelOverlap": "greedy", "labelSeparation": 6}  # labels that would touch are left out
ABOUT_SURFACE = (
    "Each panel is an arm; the colour is the measure. The scale of colours is logarithmic if the "
    f"greatest value is more than {WIDE} times the least. If more than two numbers are swept, "
    "several points may have one place; then their mean is shown."
)
ABOUT_LINES = "Points are the points of the sweep; lines join the means at each value."
ABOUT_PARETO = (
    "Each point of the sweep by two objectives. Rings mark the Pareto front, and a line joins it: "
    "the points of which no other is at least as good in both and better in one. Labels for which "
    "there is no room are left out."
)


def numeric_axes(sweep: Sweep, points: list[Measured]) -> list[Axis]:
    """Return the numeric axes on which the points differ."""
    return [
        axis
        for axis in sweep.axes
        if axis.is_numeric and len({point.point[axis.name] for point in points}) > 1
    ]


def heading(objective: Objective) -> str:
    """Return the objective in words, with its unit."""
    better = ", more is better" if objective.more else ""
    return wording.metric_words(objective.metric).heading + better


def arm_colours(sweep: Sweep) -> Spec:
    """Return the channel that colours by arm."""
    names = list(next(axis for axis in sweep.axes if axis.name == ARM).grid())
    colours = [*theme.ARM_COLOURS, *[theme.GREY] * len(names)][: len(names)]
    scale = {"domain": names, "range": colours}
    return {"field": "arm", "type": "nominal", "title": None, "scale": scale}


def number_channel(axis: Axis, field: str) -> Spec:
    """Return the channel of a swept number."""
    kind = "log" if getattr(axis, "log", False) else "linear"
    scale = {"type": kind, "zero": False, "nice": False, "padding": 8}
    shown = {"title": axis.name, "scale": scale, "axis": {"labelFlush": False, **APART}}
    return {"field": field, "type": "quantitative", **shown}


def colour_scale(values: list[float]) -> Spec:
    """Return the scale and legend of the colours of these values; logarithmic where an axis would
    be."""
    scale: Spec = {"scheme": COLOURS}
    legend = {"gradientLength": SIDE, "orient": "top", **APART}
    if needs_log_axis(values):
        scale |= {"type": "log"}
        legend |= theme.log_axis(min(values), max(values))
    return {"scale": scale, "legend": legend}


def surface_spec(
    sweep: Sweep, points: list[Measured], objective: Objective, two: list[Axis]
) -> Spec:
    """Return the picture of a measure over two numbers: fields of a grid, or points."""
    x, y = two
    rows: list[Datum] = [
        {
            "arm": point.point[ARM],
            "x": point.point[x.name],
            "y": point.point[y.name],
            "value": point.figures[objective.metric],
        }
        for point in points
    ]
    colour = {
        "aggregate": "mean",
        "field": "value",
        "type": "quantitative",
        "title": heading(objective),
        **colour_scale([row["value"] for row in rows]),
    }
    if sweep.how == "grid":
        mark: Spec = {"type": "rect"}
        ordinal = {"type": "ordinal", "axis": {"labelAngle": 0, **APART}}
        places = {
            "x": {"field": "x", "title": x.name, **ordinal},
            "y": {"field": "y", "title": y.name, "sort": "descending", **ordinal},
        }
    else:
        mark = {"type": "circle", "size": 90, "opacity": 1}
        places = {"x": number_channel(x, "x"), "y": number_channel(y, "y")}
    return {
        "data": {"values": rows},
        "facet": {"field": "arm", "type": "nominal", "title": None},
        "columns": COLUMNS,
        "spec": {
            "width": SIDE,
            "height": SIDE,
            "mark": mark,
            "encoding": {**places, "color": colour},
        },
    }


def line_spec(sweep: Sweep, points: list[Measured], objective: Objective, axis: Axis) -> Spec:
    """Return the picture of a measure over one number."""
    rows = [
        {
            "arm": point.point[ARM],
            "x": point.point[axis.name],
            "value": point.figures[objective.metric],
        }
        for point in points
    ]
    value = {"field": "value", "type": "quantitative", "title": heading(objective)}
    return {
        "data": {"values": rows},
        "width": theme.WIDTH - 200,
        "height": SIDE,
        "encoding": {"x": number_channel(axis, "x"), "color": arm_colours(sweep)},
        "layer": [
            {"mark": {"type": "line"}, "encoding": {"y": {**value, "aggregate": "mean"}}},
            {"mark": {"type": "point", "filled": True, "size": 45}, "encoding": {"y": value}},
        ],
    }


def format_axis_value(axis: Axis, value: Value) -> str:
    """Return a swept value as text, for a label."""
    return value if isinstance(value, str) else f"{axis.name}={format_number(value)}"


def point_label(sweep: Sweep, points: list[Measured], point: Measured) -> str:
    """Return a point's label: its values on the axes on which the points differ."""
    differ = [axis for axis in sweep.axes if len({one.point[axis.name] for one in points}) > 1]
    words = " ".join(format_axis_value(axis, point.point[axis.name]) for axis in differ)
    return words or str(point.point[ARM])


def needs_log_axis(values: list[float]) -> bool:
    """Return whether an axis of these values should be logarithmic."""
    return min(values) > 0 and max(values) > WIDE * min(values)


def axis_ends(values: list[float]) -> tuple[float, float]:
    """Return where an axis of these values begins and ends: a little beyond the first and the
    last."""
    if needs_log_axis(values):
        more = (max(values) / min(values)) ** EDGE
        return min(values) / more, max(values) * more
    more = EDGE * ((max(values) - min(values)) or abs(max(values)) or 1)
    return min(values) - more, max(values) + more


def axis_shares(values: list[float]) -> NDArray[np.float64]:
    """Return the position of each value on its axis, from 0 to 1."""
    scaled = np.log if needs_log_axis(values) else np.asarray
    low, high = scaled(axis_ends(values))
    shares: NDArray[np.float64] = (scaled(values) - low) / (high - low)
    return shares


def point_places(rows: list[Datum]) -> Places:
    """Return the positions of points in the frame of the Pareto picture, shape (points, 2): x, and
    y from the top."""
    x, y = (axis_shares([row[field] for row in rows]) for field in ("x", "y"))
    return np.stack([PARETO_WIDTH * x, PARETO_HEIGHT * (1 - y)], axis=1)


def places_along(line: Places) -> Places:
    """Return positions along a line through these corners."""
    steps = np.linspace(0, 1, LINE_STEPS)[:, None]
    return np.concatenate([line[:1], *(a + (b - a) * steps for a, b in pairwise(line))])


def add_labels(rows: list[Datum]) -> list[Datum]:
    """Return one row for each position that has points, with a label for all of them and the
    label's `side`; "" if there is no room. The points of the front come first, by x."""
    in_order = sorted(rows, key=lambda row: (not row["front"], row["front"] and row["x"]))
    at: dict[tuple[float, float], list[Datum]] = {}
    for row in in_order:
        at.setdefault((row["x"], row["y"]), []).append(row)
    found = []
    for first, *more in at.values():
        text = first["label"] + (f" and {len(more)} more" if more else "")
        found.append(first | {"label": text})
    places = point_places(found)
    corners = places[[row["front"] for row in found]]
    wanted = [
        Label(row["label"], place, row["front"] or row["first"])
        for row, place in zip(found, places, strict=True)
    ]
    line = places_along(corners)
    sides = labels.place_labels(wanted, line, PARETO_WIDTH, PARETO_HEIGHT)
    return [row | {"side": side} for row, side in zip(found, sides, strict=True)]


def objective_channel(field: str, objective: Objective, values: list[float]) -> Spec:
    """Return the channel of an objective."""
    log = needs_log_axis(values)
    scale = {"type": "log" if log else "linear", "domain": axis_ends(values), "nice": False}
    axis = {"tickCount": TICKS, "labelFlush": False, **APART} | (
        theme.log_axis(min(values), max(values)) if log else {}
    )
    title = heading(objective)
    quantitative = {"type": "quantitative", "scale": scale | {"zero": False}, "axis": axis}
    return {"field": field, "title": title, **quantitative}


def pareto_spec(sweep: Sweep, points: list[Measured]) -> Spec:
    """Return the picture of the first two objectives against each other."""
    first, second = sweep.objectives[:2]
    best = {point.number for point in pareto_front(sweep, points)}
    rows: list[Datum] = [
        {
            "arm": point.point[ARM],
            "label": point_label(sweep, points, point),
            "front": point.number in best,
            "first": point is points[0],
            "x": point.figures[first.metric],
            "y": point.figures[second.metric],
        }
        for point in points
    ]
    fields = (("x", first), ("y", second))
    both = {name: objective_channel(name, of, [row[name] for row in rows]) for name, of in fields}
    of_front = [row for row in rows if row["front"]]
    colour = arm_colours(sweep)
    names = colour["scale"]["domain"]
    if len(names) > len(theme.ARM_COLOURS):  # labels distinguish the arms
        greys = [theme.ARM_COLOURS[0], *[theme.GREY] * (len(names) - 1)]
        colour |= {"legend": None, "scale": {"domain": names, "range": greys}}
    text = {"type": "text", "fontSize": labels.LINE - 2, "color": theme.INK}
    labelled = add_labels(rows)
    words = {"text": {"field": "label", "type": "nominal"}}
    return {
        "width": PARETO_WIDTH,
        "height": PARETO_HEIGHT,
        "layer": [
            {
                "data": {"values": of_front},
                "mark": {"type": "line", "color": FRONT, "strokeWidth": 2, "opacity": 0.6},
                "encoding": both | {"order": {"field": "x"}},
            },
            {
                "data": {"values": rows[::-1]},  # the first arm lies above the others
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
                "encoding": both | {"color": colour},
            },
            {
                "data": {"values": of_front},
                "mark": {
                    "type": "point",
                    "size": 150,
                    "stroke": FRONT,
                    "strokeWidth": 2.5,
                    "opacity": 1,
                },
                "encoding": both,
            },
            *(
                {
                    "data": {"values": [row for row in labelled if row["side"] == side]},
                    "mark": text | how,
                    "encoding": both | words,
                }
                for side, how in labels.SIDES.items()
            ),
        ],
    }


def sweep_pictures(sweep: Sweep, points: list[Measured]) -> list[tuple[str, str, Spec]]:
    """Return the title, the explanation and the specification of each picture."""
    axes, found = numeric_axes(sweep, points), []
    for objective in sweep.objectives if axes else ():
        title = f"{wording.metric_words(objective.metric).capital} over {axes[0].name}"
        if len(axes) > 1:
            spec = surface_spec(sweep, points, objective, axes[:2])
            found.append((f"{title} and {axes[1].name}", ABOUT_SURFACE, spec))
        else:
            found.append((title, ABOUT_LINES, line_spec(sweep, points, objective, axes[0])))
    if len(sweep.objectives) > 1:
        found.append(("What can be had together", ABOUT_PARETO, pareto_spec(sweep, points)))
    return [(title, about, theme.finish_spec(spec)) for title, about, spec in found]
