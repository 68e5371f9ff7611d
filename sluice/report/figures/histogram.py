"""Draws the number of responses by response time, in logarithmic buckets."""

from sluice.experiment.series import bucket_high, bucket_low
from sluice.experiment.summary import format_number
from sluice.report import theme
from sluice.report.study import Study, System, variable_words
from sluice.report.theme import Datum, Spec

ORDER = 2
ABOUT = (
    "All trials together, in buckets a quarter of a power of two wide. The counts are "
    "logarithmic too, so that one late response among thousands is seen; the longest is marked."
)
US = 1000
MS = 10**6
HEADROOM = 4  # factor of the axis above the highest bar, for the mark's text
LETTER = 7.4  # approximate width of a letter of an arm's name
AXIS = 70  # width of the axis and its title
GAP = 10  # between panels
LEAST_COUNT = 0.25  # the count at which bars begin, so that a count of 1 is visible


def response_counts(system: System, job: str) -> dict[int, int]:
    """Return the number of responses in each bucket, by the bucket's start in us."""
    found: dict[int, int] = {}
    for low_ns, _, n in system.response_series(job).buckets:
        low_us = bucket_low(low_ns // US) or 1  # 0 has no place on a logarithmic axis
        found[low_us] = found.get(low_us, 0) + n
    return found


def rows(study: Study, job: str) -> list[Datum]:
    """Return a row for each bar."""
    return [
        {
            "arm": system.arm,
            "setting": variable_words(system.setting),
            "from_ms": low_us / 1000,
            "to_ms": bucket_high(low_us) / 1000,
            "count": n,
        }
        for system in study.systems
        for low_us, n in sorted(response_counts(system, job).items())
    ]


def longest_marks(study: Study, job: str) -> list[Datum]:
    """Return the longest response of each system, with its label."""
    found = []
    for system in study.systems:
        series = system.response_series(job)
        if series.count:
            most_ms = series.value("max") / MS
            text = f"longest {format_number(most_ms)} ms, of {series.count:,}"
            row = {"arm": system.arm, "setting": variable_words(system.setting), "text": text}
            found.append({**row, "from_ms": round(most_ms, 3)})
    return found


def longest_layers(least_ms: float, most_ms: float, height: int) -> list[Spec]:
    """Return the layers that mark the longest response: a line down to its bar, and a label at the
    line's upper end."""
    rule = {"type": "rule", "y": 16, "y2": height - 1, "strokeDash": [2, 3], "opacity": 0.7}
    text = {"type": "text", "y": 9, "fontSize": 12, "baseline": "middle"}
    middle = (least_ms * most_ms) ** 0.5
    sides = {"right": f"datum.from_ms >= {middle}", "left": f"datum.from_ms < {middle}"}
    texts: list[Spec] = [
        {
            "transform": [{"filter": f"datum.text && {there}"}],
            "mark": {**text, "align": side},
            "encoding": {"text": {"field": "text"}},
        }
        for side, there in sides.items()
    ]
    return [{"transform": [{"filter": "datum.text"}], "mark": rule}, *texts]


def panel(study: Study, values: list[Datum], columns: int, height: int) -> Spec:
    """Return the bars of one system."""
    least_ms, most_ms = (f(row[k] for row in values) for f, k in ((min, "from_ms"), (max, "to_ms")))
    most = max(row["count"] for row in values)
    x = {"scale": {"type": "log", "nice": False}, "axis": theme.log_axis(least_ms, most_ms)}
    y: Spec = {"scale": {"type": "log", "domain": [LEAST_COUNT, HEADROOM * most], "nice": False}}
    y["axis"] = theme.log_axis(LEAST_COUNT, HEADROOM * most)
    tips = [{"field": f, "type": "nominal"} for f in ("arm", "from_ms", "to_ms", "count")]
    names = max(map(len, study.arms)) * LETTER
    bars = {
        "transform": [{"filter": "datum.count"}],
        "mark": {"type": "rect", "strokeWidth": 0.5},
        "encoding": {
            "x2": {"field": "to_ms"},
            "y": {"field": "count", "type": "quantitative", "title": "responses", **y},
            "y2": {"datum": LEAST_COUNT},
            "color": theme.arm_colour(study, legend=None),
            "tooltip": tips,
        },
    }
    across = {"field": "from_ms", "type": "quantitative", "title": "response, ms", **x}
    return {
        "width": (theme.WHOLE - AXIS - names) // columns - GAP,
        "height": height,
        "encoding": {"x": across},
        "layer": [bars, *longest_layers(least_ms, most_ms, height)],
    }


def specs(study: Study) -> dict[str, Spec]:
    """Return the picture, if there is a job to show: a row of panels for each arm, a column for
    each setting."""
    job = study.job
    if not job:
        return {}
    values = rows(study, job)
    columns = len(study.settings)
    head = {"title": None, "labelOrient": "left", "labelAngle": 0, "labelAlign": "left"}
    facet: Spec = {"row": {"field": "arm", "sort": study.arms, "header": head}}
    if columns > 1:
        order = [variable_words(at) for at in study.settings]
        facet["column"] = {"field": "setting", "sort": order, "header": {"title": None}}
    spec = {
        "title": theme.figure_title(study, f"How many responses of {job} took how long"),
        "data": {"values": [*values, *longest_marks(study, job)]},
        "facet": facet,
        "spec": panel(study, values, columns, 90 if len(study.arms) > 2 else 140),
        "spacing": GAP,
    }
    return {"histogram": spec}
