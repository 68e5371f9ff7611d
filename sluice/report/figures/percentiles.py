"""Draws response times by percentile, on an axis that stretches the highest percentiles.

The axis is that of HdrHistogram's plots (G. Tene).
"""

from sluice.experiment.metrics import Series
from sluice.report import theme
from sluice.report.study import Study, variable_words
from sluice.report.theme import Datum, Spec

ORDER = 3
ABOUT = (
    "The share of responses that took at most this time. Each further nine (90 %, 99 %, 99.9 %) "
    "has the same width, so rare long responses are visible. All trials together."
)
STEPS = 40  # points of a curve from one nine to the next
NINES = 4  # up to 99.99 %
MS = 10**6
ROOM = 1.2  # factor of the axis above the longest response
SHARED = "points"  # the name of the rows that panels share
CROWD_COLUMNS = 4  # of panels, where each arm has its own
MEASURE = {"type": "quantitative"}
LABELS = "datum.value == 1 ? '0 %' : format(100 - 100 / datum.value, '~r') + ' %'"


def percentile_curve(series: Series) -> list[tuple[float, float]]:
    """Return points (x, response in ms) of a distribution: of x responses, one is longer. x goes up
    to the number of responses."""
    evenly = [10 ** (i / STEPS) for i in range(NINES * STEPS + 1)]  # on a logarithmic axis
    known = [x for x in evenly if x <= series.count]
    return [(x, series.percentile(100 - 100 / x) / MS) for x in known]


def rows(study: Study, job: str) -> list[Datum]:
    """Return the points of every system."""
    return [
        {
            "arm": system.arm,
            "setting": variable_words(system.setting),
            "inverse": round(x, 4),
            "percentile": f"{100 - 100 / x:.5g} %",
            "ms": round(ms, 4),
        }
        for system in study.systems
        for x, ms in percentile_curve(system.response_series(job))
    ]


def panel(study: Study, values: list[Datum], ends_ms: tuple[float, float]) -> Spec:
    """Return a panel with a line for each arm."""
    ticks = [10**n for n in range(NINES + 1)]
    x_scale = {"type": "log", "domain": [1, ticks[-1]], "nice": False}
    y_scale = {"type": "log", "domain": ends_ms, "nice": False}
    x_axis = {"values": ticks, "labelExpr": LABELS, "labelBound": True}
    y_axis = theme.log_axis(*ends_ms)
    legend = {"symbolType": "stroke", "symbolSize": 500}
    tips = [{"field": name, "type": "nominal"} for name in ("arm", "percentile", "ms")]
    line = {
        "mark": {"type": "line", "strokeWidth": 2.5},
        "encoding": {"strokeDash": theme.arm_dash(study)},
    }
    points = {
        "mark": {"type": "point", "opacity": 0, "clip": True, "size": 120},
        "encoding": {"tooltip": tips},
    }
    return {
        "data": {"values": values},
        "encoding": {
            "x": {
                "field": "inverse",
                **MEASURE,
                "title": "percentile",
                "scale": x_scale,
                "axis": x_axis,
            },
            "y": {
                "field": "ms",
                **MEASURE,
                "title": "response, ms",
                "scale": y_scale,
                "axis": y_axis,
            },
            "color": theme.arm_colour(study, legend=legend),
        },
        "layer": [line, points],
    }


def highlighted_panel(
    study: Study, arm: str, values: list[Datum], ends_ms: tuple[float, float]
) -> Spec:
    """Return the panel of one arm among many: the other arms' lines are grey and have no names. All
    panels share the rows, which the page then has once."""
    whole = panel(study, values, ends_ms)
    del whole["encoding"]["color"], whole["layer"][0]["encoding"]
    whole["data"] = {"name": SHARED}
    own = {"filter": {"field": "arm", "equal": arm}}
    for layer in whole["layer"]:
        layer["transform"] = [own]
    crowd = {
        "transform": [{"filter": {"not": own["filter"]}}],
        "mark": {"type": "line", "strokeWidth": 1, "color": theme.GREY, "opacity": 0.35},
        "encoding": {"detail": {"field": "arm"}},
    }
    colour = theme.ARM_COLOURS[0]
    whole["layer"][0]["mark"] |= {"color": colour}
    whole["layer"].insert(0, crowd)
    whole["encoding"]["x"]["axis"] |= {"values": [1, 100, 10**NINES]}
    return {"title": theme.panel_title(arm, color=colour), **whole}


def specs(study: Study) -> dict[str, Spec]:
    """Return the picture, if there is a job to show; it has a panel for each setting."""
    job = study.job
    if not job:
        return {}
    head = theme.figure_title(study, f"Responses of {job} by percentile")
    values = rows(study, job)
    times_ms = [row["ms"] for row in values]
    ends_ms = (min(times_ms), ROOM * max(times_ms))
    if theme.is_crowded(study):
        size = {"width": theme.WIDTH // CROWD_COLUMNS - 70, "height": 130}
        panels = [{**highlighted_panel(study, arm, values, ends_ms), **size} for arm in study.arms]
        shared = {"datasets": {SHARED: values}, "concat": panels, "columns": CROWD_COLUMNS}
        return {"percentiles": {"title": head, **shared}}
    if len(study.settings) == 1:
        size = {"width": theme.WIDTH, "height": 420}
        return {"percentiles": {"title": head, **size, **panel(study, values, ends_ms)}}
    columns = 2 if len(study.settings) in (2, 4) else 3
    size = {"width": theme.WIDTH // columns - 70, "height": 240}
    panels = []
    for at in map(variable_words, study.settings):
        of_it = [row for row in values if row["setting"] == at]
        panels.append({"title": theme.panel_title(at), **size, **panel(study, of_it, ends_ms)})
    return {"percentiles": {"title": head, "concat": panels, "columns": columns}}
