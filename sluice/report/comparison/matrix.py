"""The picture of a comparison: a row for each case, a column for each set of policies.

A cell tells a measure as a multiple of the reference's: the best in the row, or a
set of policies that is chosen. Above, the geometric mean over the rows that have both.
"""

import json

from sluice.report import theme
from sluice.report.comparison.rows import MEASURES, Measure, Row, cases, sets

BEST = "the best in each row"
ROW = 20  # of a cell, high
COLUMN = 46
LEAST = 0.01  # the least ratio that is told apart
COLOURS = {"domain": [-3, 0, 3], "range": ["#0072B2", "#f7f7f7", "#D55E00"], "clamp": True}
LABEL = {"labelFontSize": 11}
SUBTITLE = "each cell as a multiple of the best in its row"
SMALL = {"fontSize": 11}
ON_COLOUR = "#111111"  # of a number on a cell, whose colour is the same on a dark page
NOMINAL = {"type": "nominal"}


def data(found: list[Row], shown: list[str]) -> list[dict]:
    """A value for each row and measure, for the cases that are shown."""
    return [
        {"case": row.case, "set": row.policies, "arm": row.system.arm, "measure": m.name, "v": v}
        for row in found
        if row.case in shown
        for m, v in zip(MEASURES, row.values, strict=True)
        if v is not None
    ]


def ratios() -> list[dict]:
    """The transform from values to multiples of the reference's."""
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


def cells(y: dict, tips: list[str]) -> list[dict]:
    """Coloured cells with their numbers."""
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


def overall(x: dict, width: dict) -> dict:
    """The geometric means."""
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
            *ratios(),
            {"aggregate": together, "groupby": ["set"]},
            {"calculate": "pow(2, datum.log)", "as": "ratio"},
        ],
        **width,
        "height": {"step": ROW},
        "encoding": {"x": {**x, "axis": None}},
        "layer": cells(y, ["set", "ratio", "cases"]),
    }


def parameters(measure: Measure, names: list[str], chosen: list[str]) -> list[dict]:
    """The reader's choices among these sets, with those that are shown at first."""
    measures = [m.name for m in MEASURES]
    labels = [f"{m.name}: {m.about}, {m.unit}" for m in MEASURES]
    first = {"input": "select", "name": "measure", "options": measures, "labels": labels}
    second = {"input": "select", "name": "as a multiple of", "options": [BEST, *names]}
    return [
        {"name": "measure", "value": measure.name, "bind": first},
        {"name": "reference", "value": BEST, "bind": second},
        {"name": "chosen", "value": chosen},  # as the page's boxes are ticked
    ]


def spec(found: list[Row], measure: Measure, chosen: list[str]) -> dict:
    """The picture, with this measure and these sets chosen at first."""
    names, shown = sets(found), cases(found)
    names = [name for name in names if any(r.policies == name and r.case in shown for r in found)]
    axis = {"labelAngle": -60, "labelLimit": 400, "orient": "top", **LABEL}
    x = {"field": "set", **NOMINAL, "sort": names, "title": None}
    y = {"field": "case", **NOMINAL, "sort": shown, "title": None}
    y |= {"scale": {"domain": shown}, "axis": {"labelLimit": 500, **LABEL}}
    width = {"width": {"step": COLUMN}}
    grid = {
        "transform": ratios(),
        **width,
        "height": {"step": ROW},
        "encoding": {"x": {**x, "axis": axis}},
        "layer": cells(y, ["case", "set", "arm", "v", "ratio"]),
    }
    abouts = {m.name: f"{m.about}, {m.unit}" for m in MEASURES}
    about = {"expr": f"{json.dumps(abouts)}[measure] + '; as a multiple of ' + reference"}
    title = {"text": f"Sets of policies over all cases: {measure.about}", "subtitle": SUBTITLE}
    head = {"text": about, "anchor": "start", "fontSize": 13, "fontWeight": "normal"}
    return theme.finished(
        {
            "title": title,
            "params": parameters(measure, names, chosen),
            "data": {"values": data(found, shown)},
            "vconcat": [{"title": head, **grid}, overall(x, width)],
            "resolve": {"scale": {"x": "shared", "color": "shared", "y": "independent"}},
        }
    )
