"""Draw the picture of a comparison: a row for each case, a column for each set of policies.

A cell is a measure divided by the reference's. The reference is the best in the row, or a set of
policies that the reader chooses. The top row is the geometric mean over the rows that have both.
"""

import json

from sluice.report import theme
from sluice.report.comparison.rows import MEASURES, Measure, Row, comparable_cases, set_names
from sluice.report.theme import Datum, Spec

BEST = "the best in each row"
ROW = 20  # height of a cell
COLUMN = 46
LEAST = 0.01  # smaller ratios have the colour of this ratio
COLOURS = {"domain": [-3, 0, 3], "range": ["#0072B2", "#f7f7f7", "#D55E00"], "clamp": True}
LABEL = {"labelFontSize": 11}
SUBTITLE = "each cell as a multiple of the best in its row"
SMALL = {"fontSize": 11}
ON_COLOUR = "#111111"  # colour of numbers on cells, whose colours are the same on a dark page
NOMINAL = {"type": "nominal"}


def cell_data(found: list[Row], shown: list[str]) -> list[Datum]:
    """Return a row of data for each system and measure, for the shown cases."""
    return [
        {"case": row.case, "set": row.policies, "arm": row.system.arm, "measure": m.name, "v": v}
        for row in found
        if row.case in shown
        for m, v in zip(MEASURES, row.values, strict=True)
        if v is not None
    ]


def ratio_transform() -> list[Spec]:
    """Return the transform from values to multiples of the reference's value."""
    own = f"reference == '{BEST}' || datum.set == reference ? datum.v : null"
    return [
        {"filter": "datum.measure == measure && indexof(chosen, datum.set) >= 0"},
        {"calculate": own, "as": "own"},
        {
            "joinaggregate": [{"op": "min", "field": "own", "as": "base"}],
            "groupby": ["case"],
        },
        {"filter": "isValid(datum.base) && datum.base > 0"},
        {"calculate": "datum.v / datum.base", "as": "ratio"},
        {"calculate": f"log(max(datum.ratio, {LEAST})) / LN2", "as": "log"},
    ]


def cell_layers(y: Spec, tips: list[str]) -> list[Spec]:
    """Return the layers of coloured cells with their numbers."""
    colour = {"field": "log", "type": "quantitative", "scale": COLOURS, "legend": None}
    shown = [{"field": name, **NOMINAL} for name in tips]
    text = {"calculate": "format(datum.ratio, datum.ratio < 9.95 ? '.2f' : ',.0f')", "as": "text"}
    return [
        {"mark": "rect", "encoding": {"y": y, "color": colour, "tooltip": shown}},
        {
            "transform": [text],
            "mark": {"type": "text", "color": ON_COLOUR, **SMALL},
            "encoding": {"y": y, "text": {"field": "text", **NOMINAL}},
        },
    ]


def geometric_means(x: Spec, width: Spec) -> Spec:
    """Return the row of geometric means."""
    together = [
        {"op": "mean", "field": "log", "as": "log"},
        {"op": "count", "as": "cases"},
    ]
    y = {
        "datum": "all (geometric mean)",
        **NOMINAL,
        "title": None,
        "axis": {"labelLimit": 500, **LABEL},
    }
    return {
        "transform": [
            *ratio_transform(),
            {"aggregate": together, "groupby": ["set"]},
            {"calculate": "pow(2, datum.log)", "as": "ratio"},
        ],
        **width,
        "height": {"step": ROW},
        "encoding": {"x": {**x, "axis": None}},
        "layer": cell_layers(y, ["set", "ratio", "cases"]),
    }


def choice_parameters(measure: Measure, names: list[str], chosen: list[str]) -> list[Spec]:
    """Return the parameters that the reader can change, with their first values."""
    measures = [m.name for m in MEASURES]
    labels = [f"{m.name}: {m.about}, {m.unit}" for m in MEASURES]
    first = {"input": "select", "name": "measure", "options": measures, "labels": labels}
    second = {"input": "select", "name": "as a multiple of", "options": [BEST, *names]}
    return [
        {"name": "measure", "value": measure.name, "bind": first},
        {"name": "reference", "value": BEST, "bind": second},
        {"name": "chosen", "value": chosen},  # as the page's boxes are ticked
    ]


def matrix_spec(found: list[Row], measure: Measure, chosen: list[str]) -> Spec:
    """Return the specification of the picture. measure, chosen: what it shows first."""
    names, shown = set_names(found), comparable_cases(found)
    names = [name for name in names if any(r.policies == name and r.case in shown for r in found)]
    axis = {"labelAngle": -60, "labelLimit": 400, "orient": "top", **LABEL}
    x = {"field": "set", **NOMINAL, "sort": names, "title": None}
    y: Spec = {"field": "case", **NOMINAL, "sort": shown, "title": None}
    y |= {"scale": {"domain": shown}, "axis": {"labelLimit": 500, **LABEL}}
    width = {"width": {"step": COLUMN}}
    grid = {
        "transform": ratio_transform(),
        **width,
        "height": {"step": ROW},
        "encoding": {"x": {**x, "axis": axis}},
        "layer": cell_layers(y, ["case", "set", "arm", "v", "ratio"]),
    }
    abouts = {m.name: f"{m.about}, {m.unit}" for m in MEASURES}
    about = {"expr": f"{json.dumps(abouts)}[measure] + '; as a multiple of ' + reference"}
    title = {"text": f"Sets of policies over all cases: {measure.about}", "subtitle": SUBTITLE}
    head = {"text": about, "anchor": "start", "fontSize": 13, "fontWeight": "normal"}
    return theme.finish_spec(
        {
            "title": title,
            "params": choice_parameters(measure, names, chosen),
            "data": {"values": cell_data(found, shown)},
            "vconcat": [{"title": head, **grid}, geometric_means(x, width)],
            "resolve": {"scale": {"x": "shared", "color": "shared", "y": "independent"}},
        }
    )
