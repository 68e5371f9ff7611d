"""The table's metrics against what was swept, a line an arm."""

import textwrap
from statistics import mean

from sluice.experiment import metrics
from sluice.experiment.result import setting
from sluice.report import theme, wording
from sluice.report.study import Study, words

ORDER = 4
ABOUT = (
    "Lines join the values over all trials, as the table has them; points are the trials. "
    "Crosses, if there are any, are what the analytic model says."
)
MODEL = "model"
WIDE = 20  # the largest value so many times the least: a logarithmic axis
COLUMNS = 3
HEAD = 40  # letters in a line of the head of a panel


def rows(study: Study, variable: str, metric: str) -> list[dict]:
    """What the trials and all of them together came to, by the variable's value."""
    found = []
    for system in study.systems:
        others = {n: v for n, v in system.setting.items() if n != variable}
        row = {"arm": system.arm, "x": system.setting[variable], "others": words(others)}
        for trial in system.trials:
            value = round(metrics.of(trial, metric), 4)
            found.append({**row, "trial": words(trial["variables"]), "value": value})
        together = round(metrics.together(system.trials, metric), 4)
        found.append({**row, "trial": "all trials", "value": together})
        said = [study.experiment.predicted(trial).get(metric) for trial in system.trials]
        if None not in said:
            found.append({**row, "trial": MODEL, "value": round(mean(said), 4)})
    return found


def across(values: list, name: str) -> dict:
    """The axis of the variable."""
    encoding = {"field": "x", "title": name}
    if not all(isinstance(value, int | float) for value in values):
        return {**encoding, "type": "ordinal", "sort": values, "axis": {"labelAngle": 0}}
    wide = min(values) > 0 and max(values) >= WIDE * min(values)
    scale = {"type": "log", "nice": False} if wide else {"zero": False, "padding": 8}
    axis = {
        "values": values,
        "labelExpr": "format(datum.value, '~r')",  # "format" rounds to the ticks' step
        "labelOverlap": "greedy",
    }
    return {**encoding, "type": "quantitative", "scale": scale, "axis": axis}


def folded(text: str) -> list[str]:
    """The head of a panel in lines no wider than it."""
    return textwrap.wrap(text, HEAD)


def panel(study: Study, variable: str, metric: str) -> dict:
    """One metric."""
    values = [at[variable] for at in study.settings]
    values = sorted(set(values)) if all(isinstance(v, int | float) for v in values) else values
    several = len({words(setting(r["variables"])) for r in study.results}) > len(set(values))
    encoding = {
        "x": across(values, variable),
        "y": {"field": "value", "type": "quantitative", "title": None, "scale": {"zero": True}},
        "color": theme.arm_colour(study),
    }
    if several:
        encoding["strokeDash"] = {"field": "others", "type": "nominal", "title": None}
    tips = [{"field": n, "type": "nominal"} for n in ("arm", "x", "others", "trial", "value")]
    together = "datum.trial == 'all trials'"
    line = {"mark": {"type": "line", "strokeWidth": 2.5}, "transform": [{"filter": together}]}
    points = {
        "mark": {"type": "point", "size": 45, "filled": True, "opacity": 0.6},
        "transform": [{"filter": f"!({together}) && datum.trial != '{MODEL}'"}],
        "encoding": {"tooltip": tips},
    }
    model = {
        "mark": {"type": "point", "shape": "cross", "size": 90, "strokeWidth": 1.5},
        "transform": [{"filter": f"datum.trial == '{MODEL}'"}],
        "encoding": {"tooltip": tips},
    }
    head = {"text": folded(wording.words(metric).heading), "fontSize": 13, "anchor": "start"}
    return {
        "title": {**head, "frame": "group", "offset": 6, "fontWeight": "normal"},
        "data": {"values": rows(study, variable, metric)},
        "width": theme.WIDTH // COLUMNS - 60,
        "height": 220,
        "encoding": encoding,
        "layer": [line, points, model],
    }


def specs(study: Study) -> dict[str, dict]:
    """A picture for each variable that was swept, the seed aside."""
    columns = study.experiment.plot["columns"]
    swept = [
        name for name, row in study.values(lambda r: setting(r["variables"])).items() if row[1:]
    ]
    return {
        f"sweep-{variable}": {
            "title": theme.title(study, f"All measures against {variable}"),
            "concat": [panel(study, variable, metric) for metric in columns],
            "columns": COLUMNS,
        }
        for variable in swept
        if columns
    }
