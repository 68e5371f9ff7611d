"""Response times from the median to the longest, a row for each arm: where the tails end."""

from sluice.experiment import metrics
from sluice.report import theme
from sluice.report.study import Study, in_order
from sluice.report.study import words as in_words
from sluice.report.wording import words

ORDER = 1
ABOUT = (
    "The broad bar goes from the median to the 99th percentile, the thin line on to the longest "
    "response, whose value stands at its end; the ring is the mean. The axis is logarithmic: "
    "each line is as many times the last. All trials together."
)
FIELDS = {"mean_ms": "mean", "p50_ms": "median", "p99_ms": "99 %", "max_ms": "longest"}
ROOM = 2.2  # right of the longest, for its value
STEP = 26
LETTER = 7.4
LEAST_MS = 0.001  # where 0 stands on the logarithmic axis
MARGIN = 24


def rows(study: Study) -> list[dict]:
    """The figures of each system."""
    found = []
    for system in study.systems:
        of = {f: metrics.together(system.trials, f"{study.job}.{f}") for f in FIELDS}
        row = {field: max(round(value, 3), LEAST_MS) for field, value in of.items()}
        longest = words(f"{study.job}.max_ms").value(of["max_ms"])
        found.append({"arm": system.arm, "at": in_words(system.setting), "text": longest, **row})
    return found


def panel(study: Study, values: list[dict], ends_ms: tuple[float, float], width: float) -> dict:
    """A row for each arm, that with the longest response first."""
    order = [row["arm"] for row in sorted(values, key=lambda row: -row["max_ms"])]
    y = {"field": "arm", "type": "nominal", "sort": order, "title": None}
    y["axis"] = {"domain": False, "ticks": False, "labelPadding": 8, "labelLimit": 200}
    scale = {"type": "log", "domain": ends_ms, "nice": False}
    colour = theme.arm_colour(study, legend=None)
    tips = [{"field": f, "type": "quantitative", "title": t} for f, t in FIELDS.items()]

    def x(field: str, **more: object) -> dict:
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
            {"mark": thin, "encoding": {"x": x("p50_ms", **axis), "x2": {"field": "max_ms"}}},
            {
                "mark": {"type": "bar", "height": 10},
                "encoding": {"x": x("p50_ms"), "x2": {"field": "p99_ms"}},
            },
            {"mark": end, "encoding": {"x": x("max_ms")}},
            {"mark": ring, "encoding": {"x": x("mean_ms"), "stroke": colour}},
            {
                "mark": {**text, "color": theme.INK},
                "encoding": {"x": x("max_ms"), "text": {"field": "text"}, "color": None},
            },
        ],
    }


def specs(study: Study, width: int = theme.WHOLE) -> dict[str, dict]:
    """The picture, if there is a job to show; a panel for each setting."""
    if not study.job:
        return {}
    values = rows(study)
    least, most = min(row["p50_ms"] for row in values), max(row["max_ms"] for row in values)
    ends_ms = (0.8 * min(least, min(row["mean_ms"] for row in values)), ROOM * most)
    names = max(map(len, study.arms)) * LETTER
    places = in_order([row["at"] for row in values])
    columns = 2 if len(places) > 1 and width > theme.NARROW else 1
    inner = width / columns - 2 * MARGIN - names
    panels = []
    for at in places:
        here = [row for row in values if row["at"] == at]
        head = {"title": theme.panel_title(at)} if at else {}
        panels.append({**head, **panel(study, here, ends_ms, inner)})
    head = theme.title(study, f"Responses of {study.job}: the median, 99 of 100, and the longest")
    return {"tails": {"title": head, "concat": panels, "columns": columns}}
