"""Draws response times from the median to the longest, a row for each arm."""

from sluice.experiment import metrics
from sluice.report import theme
from sluice.report.study import Study, distinct
from sluice.report.study import variable_words as in_words
from sluice.report.theme import Datum, Spec
from sluice.report.wording import metric_words

ORDER = 1
ABOUT = (
    "The broad bar goes from the median to the 99th percentile, the thin line on to the longest "
    "response, whose value is at its end; the ring is the mean. The axis is logarithmic: "
    "the ratio between neighbouring lines of the grid is always the same. All trials together."
)
FIELDS = {"mean_ms": "mean", "p50_ms": "median", "p99_ms": "99 %", "max_ms": "longest"}
ROOM = 2.2  # factor of the axis beyond the longest response, for its value
STEP = 26
LETTER = 7.4
LEAST_MS = 0.001  # the value at which 0 is drawn on the logarithmic axis
MARGIN = 24


def rows(study: Study) -> list[Datum]:
    """Return the figures of each system."""
    found = []
    for system in study.systems:
        of = {f: metrics.aggregate(system.trials, f"{study.job}.{f}") for f in FIELDS}
        row = {field: max(round(value, 3), LEAST_MS) for field, value in of.items()}
        longest = metric_words(f"{study.job}.max_ms").value(of["max_ms"])
        found.append({"arm": system.arm, "at": in_words(system.setting), "text": longest, **row})
    return found


def panel(study: Study, values: list[Datum], ends_ms: tuple[float, float], width: float) -> Spec:
    """Return the panel of one setting: a row for each arm, the arm with the longest response
    first."""
    order = [row["arm"] for row in sorted(values, key=lambda row: -row["max_ms"])]
    y: Spec = {"field": "arm", "type": "nominal", "sort": order, "title": None}
    y["axis"] = {"domain": False, "ticks": False, "labelPadding": 8, "labelLimit": 200}
    scale = {"type": "log", "domain": ends_ms, "nice": False}
    colour = theme.arm_colour(study, legend=None)
    tips = [{"field": f, "type": "quantitative", "title": t} for f, t in FIELDS.items()]

    def response_channel(field: str, **more: object) -> Spec:
        """Return the channel of a field on the axis of response times."""
        title = f"response of {study.job}, ms"
        return {"field": field, "type": "quantitative", "title": title, "scale": scale, **more}

    axis = {"axis": theme.log_axis(*ends_ms)}
    thin = {"type": "rule", "strokeWidth": 2}
    ring = {"type": "point", "size": 70, "filled": True, "fill": theme.PAPER, "strokeWidth": 2}
    end = {"type": "tick", "thickness": 3, "bandSize": 14}
    text = {"type": "text", "align": "left", "dx": 8}
    return {
        "data": {"values": values},
        "width": width,
        "height": {"step": STEP},
        "encoding": {"y": y, "color": colour, "tooltip": tips},
        "layer": [
            {
                "mark": thin,
                "encoding": {"x": response_channel("p50_ms", **axis), "x2": {"field": "max_ms"}},
            },
            {
                "mark": {"type": "bar", "height": 10},
                "encoding": {"x": response_channel("p50_ms"), "x2": {"field": "p99_ms"}},
            },
            {"mark": end, "encoding": {"x": response_channel("max_ms")}},
            {"mark": ring, "encoding": {"x": response_channel("mean_ms"), "stroke": colour}},
            {
                "mark": {**text, "color": theme.INK},
                "encoding": {
                    "x": response_channel("max_ms"),
                    "text": {"field": "text"},
                    "color": None,
                },
            },
        ],
    }


def specs(study: Study, width: int = theme.WHOLE) -> dict[str, Spec]:
    """Return the picture, if there is a job to show; it has a panel for each setting."""
    if not study.job:
        return {}
    values = rows(study)
    least, most = min(row["p50_ms"] for row in values), max(row["max_ms"] for row in values)
    ends_ms = (0.8 * min(least, min(row["mean_ms"] for row in values)), ROOM * most)
    names = max(map(len, study.arms)) * LETTER
    places = distinct([row["at"] for row in values])
    columns = 2 if len(places) > 1 and width > theme.NARROW else 1
    inner = width / columns - 2 * MARGIN - names
    panels = []
    for at in places:
        here = [row for row in values if row["at"] == at]
        head = {"title": theme.panel_title(at)} if at else {}
        panels.append({**head, **panel(study, here, ends_ms, inner)})
    head = theme.figure_title(
        study, f"Responses of {study.job}: the median, 99 of 100, and the longest"
    )
    return {"tails": {"title": head, "concat": panels, "columns": columns}}
