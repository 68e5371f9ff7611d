"""The pictures of a sweep: the objectives over the numbers that were swept, and against each other.

Every picture is a Vega-Lite specification, as those of a report are.
"""

from itertools import pairwise

import numpy as np

from sluice.experiment.summary import number
from sluice.report import theme, wording
from sluice.sweep import labels
from sluice.sweep.full_sweep import Measured, Objective, Sweep, front
from sluice.sweep.labels import Label, Places
from sluice.sweep.ranges import ARM, Axis, Value

SIDE = 300  # of a panel
PARETO_WIDTH, PARETO_HEIGHT = theme.WIDTH - 200, SIDE + 60
LINE_STEPS = 20  # of the front's line, from one point to the next: no label is to cover these
TICKS = 10  # of an axis, about
EDGE = 0.04  # of an axis is before its first point and behind its last
FRONT = theme.ARM_COLOURS[2]  # marks the Pareto front
WIDE = 20  # from here on, the greatest by the least, an axis is logarithmic
COLUMNS = 3
COLOURS = "viridis"  # can be told apart by the colour-blind
APART = {"labelOverlap": "greedy", "labelSeparation": 6}  # labels that would touch are left out
ABOUT_SURFACE = (
    "Each panel is an arm; the colour is the measure. The scale of colours is logarithmic if the "
    f"greatest value is more than {WIDE} times the least. Where several points fall on one place, "
    "because more was swept than two numbers, their mean is shown."
)
ABOUT_LINES = "Points are the points of the sweep; lines join the means at each value."
ABOUT_PARETO = (
    "Each point of the sweep by two objectives. Rings mark the Pareto front, and a line joins it: "
    "the points of which no other is at least as good in both and better in one. Labels for which "
    "there is no room are left out."
)


def numbers(sweep: Sweep, points: list[Measured]) -> list[Axis]:
    """The axes with numbers of which the points have more than one."""
    return [
        axis
        for axis in sweep.axes
        if axis.numeric and len({point.point[axis.name] for point in points}) > 1
    ]


def heading(objective: Objective) -> str:
    """The objective in words, with its unit."""
    better = ", more is better" if objective.more else ""
    return wording.words(objective.metric).heading + better


def arm_colours(sweep: Sweep) -> dict:
    """The channel that colours by arm."""
    names = list(next(axis for axis in sweep.axes if axis.name == ARM).grid())
    colours = [*theme.ARM_COLOURS, *[theme.GREY] * len(names)][: len(names)]
    scale = {"domain": names, "range": colours}
    return {"field": "arm", "type": "nominal", "title": None, "scale": scale}


def quantity(axis: Axis, field: str) -> dict:
    """The channel of a swept number."""
    kind = "log" if getattr(axis, "log", False) else "linear"
    scale = {"type": kind, "zero": False, "nice": False, "padding": 8}
    shown = {"title": axis.name, "scale": scale, "axis": {"labelFlush": False, **APART}}
    return {"field": field, "type": "quantitative", **shown}


def colours(values: list[float]) -> dict:
    """The scale and the legend of these values' colours, logarithmic where an axis would be."""
    scale: dict = {"scheme": COLOURS}
    legend = {"gradientLength": SIDE, "orient": "top", **APART}
    if wide(values):
        scale |= {"type": "log"}
        legend |= theme.log_axis(min(values), max(values))
    return {"scale": scale, "legend": legend}


def surface(sweep: Sweep, points: list[Measured], objective: Objective, two: list[Axis]) -> dict:
    """A measure over two numbers: fields of a grid, or points."""
    x, y = two
    rows = [
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
        **colours([row["value"] for row in rows]),
    }
    if sweep.how == "grid":
        mark: dict = {"type": "rect"}
        ordinal = {"type": "ordinal", "axis": {"labelAngle": 0, **APART}}
        places = {
            "x": {"field": "x", "title": x.name, **ordinal},
            "y": {"field": "y", "title": y.name, "sort": "descending", **ordinal},
        }
    else:
        mark = {"type": "circle", "size": 90, "opacity": 1}
        places = {"x": quantity(x, "x"), "y": quantity(y, "y")}
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


def lines(sweep: Sweep, points: list[Measured], objective: Objective, axis: Axis) -> dict:
    """A measure over one number."""
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
        "encoding": {"x": quantity(axis, "x"), "color": arm_colours(sweep)},
        "layer": [
            {"mark": {"type": "line"}, "encoding": {"y": {**value, "aggregate": "mean"}}},
            {"mark": {"type": "point", "filled": True, "size": 45}, "encoding": {"y": value}},
        ],
    }


def told(axis: Axis, value: Value) -> str:
    """A swept value, for a label."""
    return value if isinstance(value, str) else f"{axis.name}={number(value)}"


def called(sweep: Sweep, points: list[Measured], point: Measured) -> str:
    """A point's values, as far as the points differ in them."""
    differ = [axis for axis in sweep.axes if len({one.point[axis.name] for one in points}) > 1]
    return " ".join(told(axis, point.point[axis.name]) for axis in differ) or point.point[ARM]


def wide(values: list[float]) -> bool:
    """Whether an axis of these is better logarithmic."""
    return min(values) > 0 and max(values) > WIDE * min(values)


def ends(values: list[float]) -> tuple[float, float]:
    """Where an axis of these begins and ends: a little before the first and behind the last."""
    if wide(values):
        more = (max(values) / min(values)) ** EDGE
        return min(values) / more, max(values) * more
    more = EDGE * ((max(values) - min(values)) or abs(max(values)) or 1)
    return min(values) - more, max(values) + more


def shares(values: list[float]) -> np.ndarray:
    """Where each value is on its axis, from 0 to 1."""
    scaled = np.log if wide(values) else np.asarray
    low, high = scaled(ends(values))
    return (scaled(values) - low) / (high - low)


def places(rows: list[dict]) -> Places:
    """Where the points of the Pareto picture are in its frame."""
    x, y = (shares([row[field] for row in rows]) for field in ("x", "y"))
    return np.stack([PARETO_WIDTH * x, PARETO_HEIGHT * (1 - y)], axis=1)


def along(line: Places) -> Places:
    """Places on a line between its corners."""
    steps = np.linspace(0, 1, LINE_STEPS)[:, None]
    return np.concatenate([line[:1], *(a + (b - a) * steps for a, b in pairwise(line))])


def with_labels(rows: list[dict]) -> list[dict]:
    """One row for each place where there are points, with a label for all of them, and on which
    side it goes: `side` is "" if there is no room for it."""
    at: dict[tuple[float, float], list[dict]] = {}
    for row in sorted(rows, key=lambda row: (not row["front"], row["front"] and row["x"])):
        at.setdefault((row["x"], row["y"]), []).append(row)
    found = [
        first | {"label": first["label"] + (f" and {len(more)} more" if more else "")}
        for first, *more in at.values()
    ]
    where = places(found)
    line = along(where[[row["front"] for row in found]])
    of = [
        Label(row["label"], place, row["front"] or row["first"])
        for row, place in zip(found, where, strict=True)
    ]
    chosen = labels.sides(of, line, PARETO_WIDTH, PARETO_HEIGHT)
    return [row | {"side": side} for row, side in zip(found, chosen, strict=True)]


def channel(field: str, objective: Objective, values: list[float]) -> dict:
    """The channel of an objective."""
    log = wide(values)
    scale = {"type": "log" if log else "linear", "domain": ends(values), "nice": False}
    axis = {"tickCount": TICKS, "labelFlush": False, **APART} | (
        theme.log_axis(min(values), max(values)) if log else {}
    )
    title = heading(objective)
    quantitative = {"type": "quantitative", "scale": scale | {"zero": False}, "axis": axis}
    return {"field": field, "title": title, **quantitative}


def pareto(sweep: Sweep, points: list[Measured]) -> dict:
    """The first two objectives against each other."""
    first, second = sweep.objectives[:2]
    best = {point.number for point in front(sweep, points)}
    rows = [
        {
            "arm": point.point[ARM],
            "label": called(sweep, points, point),
            "front": point.number in best,
            "first": point is points[0],
            "x": point.figures[first.metric],
            "y": point.figures[second.metric],
        }
        for point in points
    ]
    fields = (("x", first), ("y", second))
    both = {name: channel(name, of, [row[name] for row in rows]) for name, of in fields}
    of_front = [row for row in rows if row["front"]]
    colour = arm_colours(sweep)
    names = colour["scale"]["domain"]
    if len(names) > len(theme.ARM_COLOURS):  # labels tell which is which
        greys = [theme.ARM_COLOURS[0], *[theme.GREY] * (len(names) - 1)]
        colour |= {"legend": None, "scale": {"domain": names, "range": greys}}
    text = {"type": "text", "fontSize": labels.LINE - 2, "color": theme.INK}
    labelled = with_labels(rows)
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


def pictures(sweep: Sweep, points: list[Measured]) -> list[tuple[str, str, dict]]:
    """Of each picture its title, what it shows, and its specification."""
    axes, found = numbers(sweep, points), []
    for objective in sweep.objectives if axes else ():
        title = f"{wording.words(objective.metric).capital} over {axes[0].name}"
        if len(axes) > 1:
            spec = surface(sweep, points, objective, axes[:2])
            found.append((f"{title} and {axes[1].name}", ABOUT_SURFACE, spec))
        else:
            found.append((title, ABOUT_LINES, lines(sweep, points, objective, axes[0])))
    if len(sweep.objectives) > 1:
        found.append(("What can be had together", ABOUT_PARETO, pareto(sweep, points)))
    return [(title, about, theme.finished(spec)) for title, about, spec in found]
