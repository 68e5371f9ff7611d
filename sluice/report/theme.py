"""Define the common style of all figures, and their titles.

If there are at most as many arms as colours, an arm has one colour everywhere. The palette is one
that colour-blind readers can distinguish (M. Okabe and K. Ito, 2002). If there are more arms, only
those that the page's first sentence names have a colour, and all arms are labelled where they are
drawn: no colour stands for two arms. The font comes with the renderer, so that a picture is the
same on every machine. A dark page replaces INK, RULE and PAPER.
"""

import math
from typing import Any

from sluice.experiment.records import RunResult
from sluice.experiment.result import measured_drive
from sluice.report import lead
from sluice.report.study import Study

Spec = dict[str, Any]  # a part of a Vega-Lite specification (https://vega.github.io/vega-lite)
Datum = dict[str, Any]  # what a picture draws: a row of its data, by field
ARM_COLOURS = (
    *("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#8467B5", "#9A6A1E"),
)
GREY = "#8C8C8C"
INK = "#222222"
RULE = "#E3E3E3"
PAPER = "#FFFFFF"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
WIDTH = 880  # width inside a figure's axes, all columns together
WHOLE = 1040  # width of a figure with its labels
NARROW = 360  # width with labels of a figure for a telephone
CONFIG = {
    "font": FONT,
    "background": PAPER,
    "axis": {
        **{"labelFontSize": 13, "titleFontSize": 14, "titleFontWeight": "normal"},
        **{"labelColor": INK, "titleColor": INK, "titlePadding": 8},
        **{"gridColor": RULE, "domainColor": GREY, "tickColor": GREY},
    },
    "legend": {
        **{"labelFontSize": 14, "titleFontSize": 13, "titleFontWeight": "normal"},
        **{"orient": "top", "symbolStrokeWidth": 3, "labelLimit": 400, "columnPadding": 18},
        **{"labelColor": INK, "titleColor": INK},
    },
    "title": {
        **{"fontSize": 20, "subtitleFontSize": 13, "subtitleColor": INK, "anchor": "start"},
        **{"offset": 16, "subtitlePadding": 6, "frame": "bounds", "color": INK},
    },
    "header": {
        **{"labelFontSize": 14, "titleFontSize": 14, "labelFontWeight": "bold"},
        **{"labelColor": INK, "titleColor": INK},
    },
    "text": {"color": INK, "fontSize": 13},
    "rule": {"color": INK},
    "view": {"stroke": RULE},
    "concat": {"spacing": 12},
    "aria": False,  # would double the size of the pictures; the page says what they show
}
DASHES = ([1, 0], [10, 5], [4, 3], [14, 4, 3, 4])  # so that a line is visible under another


def is_crowded(study: Study) -> bool:
    """Return whether there are more arms than colours."""
    return len(study.experiment.arms) > len(ARM_COLOURS)


def colours_by_arm(study: Study) -> dict[str, str]:
    """Return the colour of each arm. Arms that were not run count too, so that a colour never
    changes."""
    arms = study.experiment.arms
    if not is_crowded(study):
        return dict(zip(arms, ARM_COLOURS, strict=False))
    own = dict(zip(lead.sentence_arms(study), (ARM_COLOURS[0], *ARM_COLOURS[2:]), strict=False))
    return {arm: own.get(arm, GREY) for arm in arms}


def arm_colour(study: Study, **more: object) -> Spec:
    """Return the channel that colours by the field `arm`. It has a legend only if colours
    distinguish the arms."""
    of = colours_by_arm(study)
    scale = {"domain": study.arms, "range": [of[arm] for arm in study.arms]}
    crowd = {"legend": None} if is_crowded(study) else {}
    return {"field": "arm", "type": "nominal", "scale": scale, "title": None, **more, **crowd}


def arm_dash(study: Study) -> Spec:
    """Return the channel that gives each arm's line its own dashes, in addition to the colour."""
    dashes = [DASHES[i % len(DASHES)] for i in range(len(study.arms))]
    scale = {"domain": study.arms, "range": dashes}
    crowd = {"legend": None} if is_crowded(study) else {}
    return {"field": "arm", "type": "nominal", "scale": scale, "title": None, **crowd}


def log_axis(low: float, high: float) -> Spec:
    """Return a logarithmic axis with a line at each power of ten; over few powers, at 2 and 5 times
    each as well."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    values = [step * 10.0**n for n in range(first, last + 1) for step in steps]
    return {"values": [round(v, 9) for v in values if low <= v <= high], "format": ",~r"}


def run_settings(result: RunResult) -> dict[str, object]:
    """Return the settings that define a run."""
    config = result["config"]
    machine = {"drive": measured_drive(config), "block": config["block"], "nbuf": config["nbuf"]}
    return {**machine, **config["policies"], **config["tunables"]}


def settings_text(values: dict[str, list[Any]]) -> str:
    """Return `name value` of each setting that has a value; the value is "swept" if there are
    several."""
    return ", ".join(
        f"{name} {row[0] if len(row) == 1 else 'swept'}"
        for name, row in values.items()
        if row != [None]
    )


def shared_settings(study: Study) -> dict[str, list[Any]]:
    """Return the settings that all runs share."""
    return {name: row for name, row in study.values(run_settings).items() if len(row) == 1}


def shared_text(study: Study) -> str:
    """Return the settings that all runs share, and the seeds, as text."""
    seeds = f"; seeds {', '.join(map(str, study.seeds))}" if study.seeds else ""
    return settings_text(shared_settings(study)) + seeds


def arm_settings_text(study: Study) -> dict[str, str]:
    """Return the settings that an arm does not share with all others, as text by arm."""
    common = shared_settings(study)
    return {
        arm: settings_text(
            {n: row for n, row in study.values(run_settings, arm).items() if n not in common}
        )
        for arm in study.arms
    }


def origin_line(study: Study) -> str:
    """Return the line about a picture's origin, for a picture outside its page: experiment, drive,
    seeds."""
    seeds = f"; seeds {', '.join(map(str, study.seeds))}" if study.seeds else ""
    return f"{study.experiment.name}; drive {study.experiment.drive}{seeds}"


def figure_title(study: Study, text: str) -> Spec:
    """Return the title of a figure. A page writes this text itself."""
    return {"text": text, "subtitle": origin_line(study)}


def panel_title(text: str, **more: object) -> Spec:
    """Return the title of one of several panels."""
    return {"text": text, "fontSize": 15, "anchor": "middle", "offset": 6, "frame": "group", **more}


def finish_spec(spec: Spec, padding: int = 16) -> Spec:
    """Return the specification with the parts that all figures have."""
    return {"config": CONFIG, "padding": padding, **spec}
