"""The picture that a page begins with: the metric of its first sentence, arm by arm.

- One setting: a bar for each arm, sorted, with its value; the source's figure beside it.
- A number swept over few settings: a line for each arm.
- Other settings: a row for each, with a point for each arm; in a crowd of arms, whose
  colours do not tell them apart, a group of bars for each setting.
"""

from sluice.experiment.summary import said as published
from sluice.report import lead, theme
from sluice.report.figures.sweep import across
from sluice.report.study import Study, System, in_order
from sluice.report.study import words as in_words
from sluice.report.wording import Words, words

ORDER = 0
ABOUT = "All trials together, as in the table. Of several trials, a short stroke is each one."
WIDE = 20  # the largest value so many times the least: points on a logarithmic axis
BAR = 30  # height of a row
BAR_OF_CROWD = 23
ROW = 24
MARGIN = 24  # of a figure, left and right
LETTER = 7.4  # width of one, about
GAP = 6  # before and behind what is written at a bar


def rows(study: Study, name: str, said: Words, wide: bool) -> list[dict]:
    """The value of each arm in each setting, and what is written at it, if there is room."""
    found = []
    for system in study.systems:
        value = lead.value(system, name)
        source = published(study.experiment, system.trials[0], name)
        text = said.value(value) + (f"  (the source: {source})" if source and wide else "")
        at = in_words(system.setting)
        found.append({"arm": system.arm, "at": at, "v": round(value, 6), "text": text})
    return found


def trial_rows(study: Study, name: str) -> list[dict]:
    """The value of each trial, if systems have several."""
    return [
        {"arm": s.arm, "at": in_words(s.setting), "v": round(lead.value(alone, name), 6)}
        for s in study.systems
        if len(s.trials) > 1
        for trial in s.trials
        for alone in [System(s.arm, s.setting, [trial])]
    ]


def across_values(said: Words, found: list[dict], labelled: bool) -> dict:
    """The axis of the values; room for a label at the longest bar."""
    most, least = max(row["v"] for row in found), min(row["v"] for row in found)
    log = not labelled and least > 0 and most >= WIDE * least
    scale = {"type": "log", "nice": False, "padding": 8} if log else {"zero": True}
    axis = theme.log_axis(least, most) if log else {"tickCount": 5}
    encoding = {"field": "v", "type": "quantitative", "title": said.heading}
    return {**encoding, "scale": scale, "axis": axis}


def bars(study: Study, found: list[dict], trials: list[dict], said: Words, width: int) -> dict:
    """Bars of one setting, the longest first, with their values."""
    order = [row["arm"] for row in sorted(found, key=lambda row: -row["v"])]
    names = max(len(arm) for arm in order) * LETTER
    texts = max(len(row["text"]) for row in found) * LETTER + 2 * GAP
    most = max(row["v"] for row in found) or 1
    inner = width - 2 * MARGIN - names
    x = across_values(said, found, labelled=True)
    x["axis"] = {"tickCount": 5 if width > theme.NARROW else 2}
    x["scale"] = {"domain": [0, most * inner / max(inner - texts, inner / 3)], "nice": False}
    y = {"field": "arm", "type": "nominal", "sort": order, "title": None}
    y["axis"] = {"labelLimit": names + 20, "domain": False, "ticks": False, "labelPadding": 8}
    bar = {"type": "bar", "height": {"band": 0.72}}
    text = {"type": "text", "align": "left", "dx": GAP}
    stroke = {"type": "tick", "thickness": 1.5, "color": theme.INK, "opacity": 0.55}
    layers = [
        {"mark": bar, "encoding": {"color": theme.arm_colour(study, legend=None)}},
        {"mark": text, "encoding": {"text": {"field": "text"}}},
    ]
    if trials:
        stroke["bandSize"] = 8
        layers.insert(1, {"data": {"values": trials}, "mark": stroke})
    step = BAR_OF_CROWD if len(order) > len(theme.ARM_COLOURS) else BAR
    return {
        "data": {"values": found},
        "width": inner,
        "height": {"step": step},
        "encoding": {"x": x, "y": y},
        "layer": layers,
    }


def lines(study: Study, variable: str, found: list[dict], said: Words, width: int) -> dict:
    """A line for each arm along the one variable that is swept."""
    by_words = {in_words(at): at[variable] for at in study.settings}
    for row in found:
        row["x"] = by_words[row["at"]]
    y = across_values(said, found, labelled=False)
    legend = {"symbolType": "stroke", "columns": 2 if width == theme.NARROW else 0}
    line = {"mark": {"type": "line", "strokeWidth": 2.5, "point": {"size": 60, "filled": True}}}
    return {
        "data": {"values": found},
        "width": width - 4 * MARGIN,
        "height": 320,
        "encoding": {
            "x": {**across(sorted(set(by_words.values())), variable)},
            "y": y,
            "color": theme.arm_colour(study, legend=legend),
        },
        "layer": [line],
    }


def points(study: Study, found: list[dict], said: Words, width: int) -> dict:
    """A row for each setting, a point for each arm."""
    order = [in_words(at) for at in study.settings]
    names = min(max(map(len, order)) * LETTER, width * 0.4)
    y = {"field": "at", "type": "nominal", "sort": order, "title": None}
    y["axis"] = {"labelLimit": names + 10, "grid": True, "ticks": False, "labelPadding": 8}
    legend = {"symbolType": "circle", "columns": 2 if width == theme.NARROW else 0}
    return {
        "data": {"values": found},
        "width": width - 2 * MARGIN - names,
        "height": {"step": ROW},
        "encoding": {
            "x": across_values(said, found, labelled=False),
            "y": y,
            "color": theme.arm_colour(study, legend=legend),
        },
        "mark": {"type": "point", "filled": True, "size": 110, "opacity": 0.9},
    }


def groups(study: Study, found: list[dict], said: Words, width: int) -> dict:
    """A group of bars for each setting."""
    panels = []
    for at in in_order([row["at"] for row in found]):
        here = [row for row in found if row["at"] == at]
        panels.append({"title": theme.panel_title(at), **bars(study, here, [], said, width)})
    return {"vconcat": panels}


def swept(study: Study) -> list[str]:
    """The variables that have several values, the seed aside."""
    return [name for name in study.settings[0] if len({str(at[name]) for at in study.settings}) > 1]


def picture(study: Study, name: str, width: int) -> dict:
    """The form that suits the settings."""
    said = words(name)
    found = rows(study, name, said, width > theme.NARROW)
    along = swept(study)
    if len(study.settings) == 1:
        return bars(study, found, trial_rows(study, name), said, width)
    if theme.crowded(study):
        return groups(study, found, said, width)
    numbers = all(isinstance(at[along[0]], int | float) for at in study.settings)
    if len(along) == 1 and numbers:
        return lines(study, along[0], found, said, width)
    return points(study, found, said, width)


def specs(study: Study, width: int = theme.WHOLE) -> dict[str, dict]:
    """The picture, if the experiment names any metric."""
    name = lead.metric(study)
    if name is None:
        return {}
    head = theme.title(study, words(name).capital)
    return {"lead": {"title": head, **picture(study, name, width)}}
