"""Draw the picture with which a page begins: the metric of its first sentence, for each arm.

- One setting: a bar for each arm, sorted, with its value; the source's figure beside it.
- A number swept over few settings: a line for each arm.
- Other settings: a row for each, with a point for each arm. If there are more arms than colours, a
  group of bars for each setting.
"""

from sluice.experiment.summary import published_figure as published
from sluice.report import lead, theme
from sluice.report.figures.sweep import variable_axis
from sluice.report.study import Study, System, distinct
from sluice.report.study import variable_words as in_words
from sluice.report.theme import Datum, Spec
from sluice.report.wording import Words, metric_words

ORDER = 0
ABOUT = (
    "All trials together, as in the table. If there are several trials, each has a short stroke."
)
WIDE = 20  # least ratio of the largest to the smallest value for points on a logarithmic axis
BAR = 30  # height of a row
BAR_OF_CROWD = 23
ROW = 24
MARGIN = 24  # of a figure, left and right
LETTER = 7.4  # approximate width of a letter
GAP = 6  # space before and behind the text at a bar


def rows(study: Study, name: str, words: Words, wide: bool) -> list[Datum]:
    """Return the value of each arm in each setting, with the text at it. wide: whether there is
    room for the source's figure."""
    found = []
    for system in study.systems:
        value = lead.system_value(system, name)
        source = published(study.experiment, system.trials[0], name)
        text = words.value(value) + (f"  (the source: {source})" if source and wide else "")
        at = in_words(system.setting)
        found.append({"arm": system.arm, "at": at, "v": round(value, 6), "text": text})
    return found


def trial_rows(study: Study, name: str) -> list[Datum]:
    """Return the value of each trial, for systems that have several."""
    return [
        {"arm": s.arm, "at": in_words(s.setting), "v": round(lead.system_value(alone, name), 6)}
        for s in study.systems
        if len(s.trials) > 1
        for trial in s.trials
        for alone in [System(s.arm, s.setting, [trial])]
    ]


def value_axis(words: Words, values: list[Datum], labelled: bool) -> Spec:
    """Return the axis of the values. labelled: whether values stand at the bars, so that the axis
    must begin at 0."""
    most, least = max(row["v"] for row in values), min(row["v"] for row in values)
    log = not labelled and least > 0 and most >= WIDE * least
    scale = {"type": "log", "nice": False, "padding": 8} if log else {"zero": True}
    axis = theme.log_axis(least, most) if log else {"tickCount": 5}
    encoding = {"field": "v", "type": "quantitative", "title": words.heading}
    return {**encoding, "scale": scale, "axis": axis}


def setting_bars(
    study: Study, values: list[Datum], trials: list[Datum], words: Words, width: int
) -> Spec:
    """Return the bars of one setting, the longest first, with their values."""
    order = [row["arm"] for row in sorted(values, key=lambda row: -row["v"])]
    names = max(len(arm) for arm in order) * LETTER
    texts = max(len(row["text"]) for row in values) * LETTER + 2 * GAP
    most = max(row["v"] for row in values) or 1
    inner = width - 2 * MARGIN - names
    x = value_axis(words, values, labelled=True)
    x["axis"] = {"tickCount": 5 if width > theme.NARROW else 2}
    # The longest bar leaves room for its text, but has at least a third of the width.
    longest_bar = max(inner - texts, inner / 3)
    x["scale"] = {"domain": [0, most * inner / longest_bar], "nice": False}
    y: Spec = {"field": "arm", "type": "nominal", "sort": order, "title": None}
    y["axis"] = {"labelLimit": names + 20, "domain": False, "ticks": False, "labelPadding": 8}
    bar = {"type": "bar", "height": {"band": 0.72}}
    text = {"type": "text", "align": "left", "dx": GAP}
    stroke: Spec = {"type": "tick", "thickness": 1.5, "color": theme.INK, "opacity": 0.55}
    layers: list[Spec] = [
        {"mark": bar, "encoding": {"color": theme.arm_colour(study, legend=None)}},
        {"mark": text, "encoding": {"text": {"field": "text"}}},
    ]
    if trials:
        stroke["bandSize"] = 8
        layers.insert(1, {"data": {"values": trials}, "mark": stroke})
    step = BAR_OF_CROWD if len(order) > len(theme.ARM_COLOURS) else BAR
    return {
        "data": {"values": values},
        "width": inner,
        "height": {"step": step},
        "encoding": {"x": x, "y": y},
        "layer": layers,
    }


def sweep_lines(study: Study, variable: str, values: list[Datum], words: Words, width: int) -> Spec:
    """Return a line for each arm along the one swept variable."""
    by_words = {in_words(at): at[variable] for at in study.settings}
    for row in values:
        row["x"] = by_words[row["at"]]
    y = value_axis(words, values, labelled=False)
    legend = {"symbolType": "stroke", "columns": 2 if width == theme.NARROW else 0}
    line = {"mark": {"type": "line", "strokeWidth": 2.5, "point": {"size": 60, "filled": True}}}
    return {
        "data": {"values": values},
        "width": width - 4 * MARGIN,
        "height": 320,
        "encoding": {
            "x": {**variable_axis(sorted(set(by_words.values())), variable)},
            "y": y,
            "color": theme.arm_colour(study, legend=legend),
        },
        "layer": [line],
    }


def setting_points(study: Study, values: list[Datum], words: Words, width: int) -> Spec:
    """Return a row for each setting, with a point for each arm."""
    order = [in_words(at) for at in study.settings]
    names = min(max(map(len, order)) * LETTER, width * 0.4)
    y: Spec = {"field": "at", "type": "nominal", "sort": order, "title": None}
    y["axis"] = {"labelLimit": names + 10, "grid": True, "ticks": False, "labelPadding": 8}
    legend = {"symbolType": "circle", "columns": 2 if width == theme.NARROW else 0}
    return {
        "data": {"values": values},
        "width": width - 2 * MARGIN - names,
        "height": {"step": ROW},
        "encoding": {
            "x": value_axis(words, values, labelled=False),
            "y": y,
            "color": theme.arm_colour(study, legend=legend),
        },
        "mark": {"type": "point", "filled": True, "size": 110, "opacity": 0.9},
    }


def bar_groups(study: Study, values: list[Datum], words: Words, width: int) -> Spec:
    """Return a group of bars for each setting."""
    panels = []
    for at in distinct([row["at"] for row in values]):
        here = [row for row in values if row["at"] == at]
        panels.append(
            {"title": theme.panel_title(at), **setting_bars(study, here, [], words, width)}
        )
    return {"vconcat": panels}


def swept_variables(study: Study) -> list[str]:
    """Return the variables that have several values, except the seed."""
    return [name for name in study.settings[0] if len({str(at[name]) for at in study.settings}) > 1]


def picture(study: Study, name: str, width: int) -> Spec:
    """Return the picture, in the form that suits the number of settings and arms."""
    words = metric_words(name)
    values = rows(study, name, words, width > theme.NARROW)
    along = swept_variables(study)
    if len(study.settings) == 1:
        return setting_bars(study, values, trial_rows(study, name), words, width)
    if theme.is_crowded(study):
        return bar_groups(study, values, words, width)
    numbers = all(isinstance(at[along[0]], int | float) for at in study.settings)
    if len(along) == 1 and numbers:
        return sweep_lines(study, along[0], values, words, width)
    return setting_points(study, values, words, width)


def specs(study: Study, width: int = theme.WHOLE) -> dict[str, Spec]:
    """Return the picture, if the experiment names any metric."""
    name = lead.lead_metric(study)
    if name is None:
        return {}
    head = theme.figure_title(study, metric_words(name).capital)
    return {"lead": {"title": head, **picture(study, name, width)}}
