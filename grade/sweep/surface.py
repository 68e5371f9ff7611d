"""The pictures of a sweep: the objectives over the numbers that were swept, and against each other.

Every picture is a Vega-Lite specification, as those of a report are.
"""

from grade.report import theme, wording
from grade.sweep.over import ARM, Axis
from grade.sweep.whole import Measured, Objective, Sweep, front

SIDE = 300  # of a panel
COLUMNS = 3
COLOURS = "viridis"  # can be told apart by the colour-blind
ABOUT_SURFACE = (
    "Each panel is an arm; the colour is the measure. Where several points fall on one place, "
    "because more was swept than two numbers, their mean is shown."
)
ABOUT_LINES = "Points are the points of the sweep; lines join the means at each value."
ABOUT_PARETO = (
    "Each point of the sweep by two objectives. The line joins the Pareto front: the points of "
    "which no other is at least as good in both and better in one."
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
        "scale": {"scheme": COLOURS},
        "legend": {"gradientLength": SIDE, "orient": "top"},
    }
    if sweep.how == "grid":
        mark: dict = {"type": "rect"}
        places = {
            "x": {"field": "x", "type": "ordinal", "title": x.name, "axis": {"labelAngle": 0}},
            "y": {"field": "y", "type": "ordinal", "title": y.name, "sort": "descending"},
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


def pareto(sweep: Sweep, points: list[Measured]) -> dict:
    """The first two objectives against each other."""
    first, second = sweep.objectives[:2]

    def rows(of: list[Measured]) -> list[dict]:
        return [
            {
                "arm": point.point[ARM],
                "x": point.figures[first.metric],
                "y": point.figures[second.metric],
            }
            for point in of
        ]

    def channels(colour: dict) -> dict:
        scale = {"zero": False, "padding": 10}
        x = {"field": "x", "type": "quantitative", "title": heading(first), "scale": scale}
        y = {"field": "y", "type": "quantitative", "title": heading(second), "scale": scale}
        return {"x": x, "y": y, **colour}

    return {
        "width": theme.WIDTH - 200,
        "height": SIDE + 60,
        "layer": [
            {
                "data": {"values": rows(front(sweep, points))},
                "mark": {"type": "line", "color": theme.GREY, "strokeWidth": 2},
                "encoding": channels({"order": {"field": "x"}}),
            },
            {
                "data": {"values": rows(points)},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
                "encoding": channels({"color": arm_colours(sweep)}),
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
