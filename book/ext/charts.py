"""Draw charts of stored results, as SVG in the colours of the page that they stand in.

A thin line through a value is its 95 % interval, or, of an extreme, the range over the trials.

They are drawn as those of the reports are: Vega-Lite, rendered by vl-convert, with the reports'
colours of arms (sluice/report/theme.py).
"""

import vl_convert

from sluice.experiment.result import BadResult
from sluice.report import theme

INK = "#123456"  # stands for the colour of the page's text; no arm has it
FAINT = "#654321"  # of axes and grid lines, which are paler than text
WIDTH, HEIGHT = 600, 260
BAR = 22  # the height of a bar, and what is between them
INTERVAL = {"type": "rule", "strokeWidth": 1.5}
WIDE = 20  # if the largest value is more than 20 times the least one, the axis is logarithmic


def chart_rows(kept: dict, body: dict, arms: list[str], metric: str) -> list[dict]:
    """Return arm, x, value, and the ends of its interval (low, high) of each row of the chart.

    Without an interval the ends are the value. Raises BadResult.
    """
    at = {name: str(said) for name, said in body.get("at", {}).items()}
    along = body.get("along")
    found = []
    for row in kept["rows"]:
        here = all(str(row["at"].get(name)) == said for name, said in at.items())
        if row["arm"] in arms and here:
            if metric not in row["measured"]:
                name = kept["experiment"]
                raise BadResult(
                    f"{name} has no metric {metric} stored: sluice results store {name}"
                )
            x = row["at"].get(along) if along else row["arm"]
            value = row["measured"][metric]
            low, high = row.get("interval", {}).get(metric, (value, value))
            found.append({"arm": row["arm"], "x": x, "value": value, "low": low, "high": high})
    if not found:
        raise BadResult(f"{kept['experiment']} has no rows for this chart")
    return found


def choose_axis(values: list[float]) -> dict:
    """Return an axis from 0, or a logarithmic one if a linear axis would hide small values."""
    low, high = min(values), max(values)
    if low <= 0 or high <= WIDE * low:
        return {"scale": {"zero": True}, "axis": {"tickCount": 6}}
    scale = {"type": "log", "nice": False, "padding": 8}
    return {"scale": scale, "axis": theme.log_axis(low, high)}


def clip_intervals(values: list[dict], axis: dict) -> list[dict]:
    """Return the rows with intervals that fit on the axis: a logarithmic one has no 0."""
    if "type" not in axis["scale"]:
        return values
    least = min(row["value"] for row in values) / 2
    return [row | {"low": max(row["low"], least)} for row in values]


def colour_channel(arms: list[str]) -> dict:
    """Return the channel with an arm's colour, as in the reports."""
    chosen = [theme.ARM_COLOURS[i % len(theme.ARM_COLOURS)] for i in range(len(arms))]
    return {
        "field": "arm",
        "type": "nominal",
        "title": None,
        "scale": {"domain": arms, "range": chosen},
    }


def line_panel(values: list[dict], title: str, along: str, arms: list[str]) -> dict:
    """Return a panel with a line for each arm."""
    xs = sorted({row["x"] for row in values}) if along else []
    numbers = all(isinstance(x, int | float) for x in xs)
    x = {"field": "x", "title": along}
    if numbers:
        x |= {"type": "quantitative", "scale": choose_axis(xs)["scale"], "axis": {"values": xs}}
    else:
        x |= {"type": "ordinal", "axis": {"labelAngle": 0}}
    axis = choose_axis([row["value"] for row in values])
    y = {"type": "quantitative", "title": title, **axis}
    shared = {"x": x, "color": colour_channel(arms)}
    line = {"type": "line", "point": True, "strokeWidth": 2.5}
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": clip_intervals(values, axis)},
        "layer": [
            {"mark": line, "encoding": shared | {"y": y | {"field": "value"}}},
            {
                "mark": INTERVAL,
                "encoding": shared | {"y": y | {"field": "low"}, "y2": {"field": "high"}},
            },
        ],
    }


def bar_panel(values: list[dict], title: str, arms: list[str]) -> dict:
    """Return a panel with a bar for each arm; for values far apart, marks on a logarithmic axis."""
    axis = choose_axis([row["value"] for row in values])
    x = {"type": "quantitative", "title": title, **axis}
    y = {"field": "arm", "type": "nominal", "sort": arms, "title": None}
    mark = {"type": "point", "filled": True, "size": 110, "opacity": 1}
    bar = mark if "type" in axis["scale"] else {"type": "bar", "height": 0.7 * BAR}
    in_colour = {
        "x": x | {"field": "value"},
        "y": y,
        "color": colour_channel(arms) | {"legend": None},
    }
    between = {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": y}
    return {
        "width": WIDTH,
        "height": BAR * len(arms),
        "data": {"values": clip_intervals(values, axis)},
        "layer": [
            {"mark": bar, "encoding": in_colour},
            {"mark": INTERVAL | {"color": INK}, "encoding": between},
        ],
    }


def chart_config() -> dict:
    """Return the reports' style without their colours."""
    ink = {"labelColor": INK, "titleColor": INK}
    lines_of_axis = {
        "gridColor": FAINT,
        "gridOpacity": 0.25,
        "domainColor": FAINT,
        "tickColor": FAINT,
    }
    return theme.CONFIG | {
        "background": None,
        "axis": theme.CONFIG["axis"] | ink | lines_of_axis,
        "legend": theme.CONFIG["legend"] | ink,
        "view": {"stroke": None},
    }


def render_svg(kept: dict, body: dict, arms: list[str]) -> str:
    """Return the chart as SVG, with a panel for each metric, one above the other."""
    along = body.get("along")
    panels = []
    for title, metric in body["metrics"].items():
        values = chart_rows(kept, body, arms, metric)
        panels.append(
            line_panel(values, title, along, arms) if along else bar_panel(values, title, arms)
        )
    drawn = vl_convert.vegalite_to_svg({"vconcat": panels, "config": chart_config(), "padding": 8})
    return drawn.replace(INK, "currentColor").replace(FAINT, "currentColor")
