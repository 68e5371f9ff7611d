"""Draws a histogram of the kernel as a cumulative distribution, with a line for each arm."""

from itertools import accumulate

from sluice.experiment import metrics
from sluice.experiment.metrics import SCALE_NS
from sluice.report import theme, wording
from sluice.report.study import Study, System, variable_words
from sluice.report.theme import Datum, Spec

ORDER = 3.5
ABOUT = (
    "Left: what share of the values was no larger than this. Right: what share of their sum such "
    "values make up, so that few large ones are seen. All trials together."
)
PANELS = {"number": "share of their number", "total": "share of their sum"}
TIME = ("ns", "ms", SCALE_NS["_ms"])  # the kernel's unit, the shown unit, and their ratio
LEAST = 0.5  # the value at which 0 is drawn on a logarithmic axis


def display_unit(study: Study, name: str) -> tuple[str, int]:
    """Return the unit in which a histogram's values are shown, and the divisor from the kernel's
    unit to it."""
    kernels = metrics.series(study.results[0], name).unit
    return (TIME[1], TIME[2]) if kernels == TIME[0] else (kernels, 1)


def counts_by_bucket(system: System, name: str) -> dict[int, int]:
    """Return the number of values in each bucket, by the bucket's largest value, over all
    trials."""
    found: dict[int, int] = {}
    for trial in system.trials:
        for _, high, n in metrics.series(trial, name).buckets:
            found[high - 1] = found.get(high - 1, 0) + n
    return dict(sorted(found.items()))


def cumulative_percent(weights: list[float]) -> list[float]:
    """Return the cumulative sums of the weights, in percent of their sum."""
    total = sum(weights)
    return [round(100 * part / total, 4) if total else 0 for part in accumulate(weights)]


def rows(study: Study, name: str, divisor: int) -> list[Datum]:
    """Return the steps of every system's distribution; each begins at 0 %."""
    found: list[Datum] = []
    for system in study.systems:
        counts = counts_by_bucket(system, name)
        # Up to each value: the share of the number of all values, and of their sum.
        numbers = cumulative_percent(list(counts.values()))
        totals = cumulative_percent([value * n for value, n in counts.items()])
        steps = [(min(counts, default=0), 0.0, 0.0), *zip(counts, numbers, totals, strict=True)]
        found += [
            {
                "arm": system.arm,
                "setting": variable_words(system.setting),
                "value": max(value / divisor, LEAST / divisor),
                "number": part,
                "total": whole,
            }
            for value, part, whole in steps
        ]
    return found


def panel(study: Study, at: str, values: list[Datum], field: str, name: str) -> Spec:
    """Return the panel of one setting, with a line for each arm."""
    ends = [f(row["value"] for row in values) for f in (min, max)]
    x = {"scale": {"type": "log", "domain": ends, "nice": False}, "axis": theme.log_axis(*ends)}
    y = {"scale": {"domain": [0, 100]}, "axis": {"title": f"{PANELS[field]}, %"}}
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 2.5}
    tips = [{"field": f, "type": "nominal"} for f in ("arm", "value", "number", "total")]
    legend = {"symbolType": "stroke", "symbolSize": 500}
    return {
        **({"title": theme.panel_title(at)} if at else {}),
        "data": {"values": [row for row in values if row["setting"] == at]},
        "width": theme.WIDTH // 2 - 60,
        "height": 320 if len(study.settings) == 1 else 200,
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": name, **x},
            "y": {"field": field, "type": "quantitative", **y},
            "color": theme.arm_colour(study, legend=legend),
        },
        "layer": [
            {"mark": line, "encoding": {"strokeDash": theme.arm_dash(study)}},
            {"mark": {"type": "point", "opacity": 0, "clip": True}, "encoding": {"tooltip": tips}},
        ],
    }


def specs(study: Study) -> dict[str, Spec]:
    """Return the picture, if the experiment asks for one."""
    name = study.experiment.plot.get("distribution")
    if not name:
        return {}
    shown_in, divisor = display_unit(study, name)
    said = wording.series_noun(name)[0]
    values = rows(study, name, divisor)
    panels = [
        panel(study, variable_words(at), values, field, f"{said}, {shown_in}")
        for at in study.settings
        for field in PANELS
    ]
    head = theme.figure_title(study, f"Of each {said}: how large, and how much of the whole")
    return {"distribution": {"title": head, "concat": panels, "columns": len(PANELS)}}
