"""The pictures of a sweep: the objectives over the numbers that were swept, and against each other.

Every picture is a Vega-Lite specification, as those of a report are.
"""

import math

from grade.report import theme, wording
from grade.sweep.over import ARM, Axis
from grade.sweep.whole import Measured, Objective, Sweep, front

SIDE = 300  # of a panel
PARETO_WIDTH, PARETO_HEIGHT = theme.WIDTH - 200, SIDE + 60
LETTER, LINE = 6, 12  # of a label
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
    "Each point of the sweep by two objectives. The line joins the Pareto front: the points of "
    "which no other is at least as good in both and better in one. Labels that would cover another "
    "are left out."
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
    return {"field": field, "type": "quantitative", "title": axis.name, "scale": scale}


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


def called(sweep: Sweep, points: list[Measured], point: Measured) -> str:
    """A point's arm and policies, as far as the points differ in them."""
    choices = [axis.name for axis in sweep.axes if not axis.numeric]
    differ = [name for name in choices if len({other.point[name] for other in points}) > 1]
    return " ".join(str(point.point[name]) for name in differ)


def wide(values: list[float]) -> bool:
    """Whether an axis of these is better logarithmic."""
    return min(values) > 0 and max(values) > WIDE * min(values)


def shares(values: list[float]) -> list[float]:
    """Where each value is on its axis, from 0 to 1."""
    at = [math.log(value) for value in values] if wide(values) else values
    spread = (max(at) - min(at)) or 1
    return [(value - min(at)) / spread for value in at]


def with_labels(sweep: Sweep, points: list[Measured], rows: list[dict]) -> list[dict]:
    """The rows of the points that get a label: those of the front first, then others, where no
    label would cover another."""
    ends = {point.number for point in front(sweep, points)}
    order = sorted(range(len(points)), key=lambda i: points[i].number not in ends)
    x, y = (shares([row[field] for row in rows]) for field in ("x", "y"))
    taken: list[tuple[float, float, float]] = []  # left and right ends, and height
    found = []
    for i in order:
        left, height = x[i] * PARETO_WIDTH, y[i] * PARETO_HEIGHT
        right = left + LETTER * (len(rows[i]["label"]) + 2)
        if all(
            right < other[0] or left > other[1] or abs(height - other[2]) > LINE for other in taken
        ):
            taken.append((left, right, height))
            found.append(rows[i])
    return found


def pareto(sweep: Sweep, points: list[Measured]) -> dict:
    """The first two objectives against each other."""
    first, second = sweep.objectives[:2]

    def rows(of: list[Measured]) -> list[dict]:
        return [
            {
                "arm": point.point[ARM],
                "label": called(sweep, points, point),
                "x": point.figures[first.metric],
                "y": point.figures[second.metric],
            }
            for point in of
        ]

    every = rows(points)

    def channel(field: str, objective: Objective) -> dict:
        values = [row[field] for row in every]
        scale: dict = {"zero": False, "padding": 10}
        if wide(values):
            scale |= {"type": "log", "nice": False}
        axis = theme.log_axis(min(values), max(values)) if wide(values) else {}
        title = heading(objective)
        return {
            "field": field,
            "type": "quantitative",
            "title": title,
            "scale": scale,
            "axis": axis,
        }

    def channels(more: dict) -> dict:
        return {"x": channel("x", first), "y": channel("y", second), **more}

    colour = arm_colours(sweep)
    names = colour["scale"]["domain"]
    if len(names) > len(theme.ARM_COLOURS):  # labels tell which is which
        greys = [theme.ARM_COLOURS[0], *[theme.GREY] * (len(names) - 1)]
        colour |= {"legend": None, "scale": {"domain": names, "range": greys}}
    text = {"type": "text", "align": "left", "dx": 7, "fontSize": LINE - 2, "color": theme.INK}
    return {
        "width": PARETO_WIDTH,
        "height": PARETO_HEIGHT,
        "layer": [
            {
                "data": {"values": rows(front(sweep, points))},
                "mark": {"type": "line", "color": theme.GREY, "strokeWidth": 2},
                "encoding": channels({"order": {"field": "x"}}),
            },
            {
                "data": {"values": every},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
                "encoding": channels({"color": colour}),
            },
            {
                "data": {"values": with_labels(sweep, points, every)},
                "mark": text,
                "encoding": channels({"text": {"field": "label", "type": "nominal"}}),
            },
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
