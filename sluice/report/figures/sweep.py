"""Draws the table's metrics over each swept variable, with a line for each arm."""

import textwrap
from collections.abc import Sequence
from statistics import mean

from sluice.experiment import metrics
from sluice.experiment.records import Value
from sluice.experiment.result import drop_seed
from sluice.report import theme, wording
from sluice.report.study import Study, variable_words
from sluice.report.theme import Datum, Spec

ORDER = 4
ABOUT = (
    "Lines join the values over all trials, as the table has them; points are the trials. "
    "Crosses, if there are any, are what the analytic model says."
)
MODEL = "model"
WIDE = 20  # least ratio of the largest to the smallest value for a logarithmic axis
COLUMNS = 3
HEAD = 40  # letters in a line of a panel's title


def rows(study: Study, variable: str, metric: str) -> list[Datum]:
    """Return the values of each trial, of all trials together and of the model, by the variable's
    value."""
    found = []
    for system in study.systems:
        others = {n: v for n, v in system.setting.items() if n != variable}
        row = {"arm": system.arm, "x": system.setting[variable], "others": variable_words(others)}
        for trial in system.trials:
            value = round(metrics.evaluate(trial, metric), 4)
            found.append({**row, "trial": variable_words(trial["variables"]), "value": value})
        together = round(metrics.aggregate(system.trials, metric), 4)
        found.append({**row, "trial": "all trials", "value": together})
        said = [study.experiment.find_prediction(trial) for trial in system.trials]
        if all(metric in predicted for predicted in said):
            model = mean(predicted[metric] for predicted in said)
            found.append({**row, "trial": MODEL, "value": round(model, 4)})
    return found


def variable_axis(values: Sequence[Value], name: str) -> Spec:
    """Return the axis of the variable."""
    encoding = {"field": "x", "title": name}
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        return {**encoding, "type": "ordinal", "sort": values, "axis": {"labelAngle": 0}}
    wide = min(numbers) > 0 and max(numbers) >= WIDE * min(numbers)
    scale: Spec = {"type": "log", "nice": False} if wide else {"zero": False, "padding": 8}
    axis = {
        "values": values,
        "labelExpr": "format(datum.value, '~r')",  # "format" rounds to the ticks' step
        "labelOverlap": "greedy",
    }
    return {**encoding, "type": "quantitative", "scale": scale, "axis": axis}


def fold_title(text: str) -> list[str]:
    """Return the title of a panel in lines that fit its width."""
    return textwrap.wrap(text, HEAD)


def panel(study: Study, variable: str, metric: str) -> Spec:
    """Return the panel of one metric."""
    values = [at[variable] for at in study.settings]
    numbers = [value for value in values if isinstance(value, int | float)]
    values = [*sorted(set(numbers))] if len(numbers) == len(values) else values
    several = len({variable_words(drop_seed(r["variables"])) for r in study.results}) > len(
        set(values)
    )
    encoding: Spec = {
        "x": variable_axis(values, variable),
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
    head = {
        "text": fold_title(wording.metric_words(metric).heading),
        "fontSize": 13,
        "anchor": "start",
    }
    return {
        "title": {**head, "frame": "group", "offset": 6, "fontWeight": "normal"},
        "data": {"values": rows(study, variable, metric)},
        "width": theme.WIDTH // COLUMNS - 60,
        "height": 220,
        "encoding": encoding,
        "layer": [line, points, model],
    }


def specs(study: Study) -> dict[str, Spec]:
    """Return a picture for each variable that was swept, except the seed."""
    columns = study.experiment.plot["columns"]
    swept = [
        name for name, row in study.values(lambda r: drop_seed(r["variables"])).items() if row[1:]
    ]
    return {
        f"sweep-{variable}": {
            "title": theme.figure_title(study, f"All measures against {variable}"),
            "concat": [panel(study, variable, metric) for metric in columns],
            "columns": COLUMNS,
        }
        for variable in swept
        if columns
    }
