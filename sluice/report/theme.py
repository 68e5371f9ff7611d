"""How all figures look, and the words at their heads.

Up to as many arms as there are colours, an arm has one colour everywhere, from a palette
made to be told apart by the colour-blind (M. Okabe and K. Ito, 2002). With more arms than
colours, the few that the page's first sentence names keep a colour, and all are labelled
where they are drawn: no colour stands for two. The font comes with the renderer, so that a
picture is the same on every machine. INK, RULE and PAPER are what a dark page replaces.
"""

import math

from sluice.experiment.result import measured_drive
from sluice.report import lead
from sluice.report.study import Study

ARM_COLOURS = (
    *("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#8467B5", "#9A6A1E"),
)
GREY = "#8C8C8C"
INK = "#222222"
RULE = "#E3E3E3"
PAPER = "#FFFFFF"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
WIDTH = 880  # of what is inside a figure's axes, all columns together
WHOLE = 1040  # of a figure with its labels
NARROW = 360  # of the whole of a figure for a telephone
CACHE = ("block", "nbuf")  # what is told of the machine, beside its drive
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
DASHES = ([1, 0], [10, 5], [4, 3], [14, 4, 3, 4])  # so that a line shows under another


def crowded(study: Study) -> bool:
    """True if there are more arms than colours."""
    return len(study.experiment.arms) > len(ARM_COLOURS)


def colours(study: Study) -> dict[str, str]:
    """The colour of each arm. Arms that were not run count too, so that a colour never changes."""
    arms = study.experiment.arms
    if not crowded(study):
        return dict(zip(arms, ARM_COLOURS, strict=False))
    own = dict(zip(lead.named(study), (ARM_COLOURS[0], *ARM_COLOURS[2:]), strict=False))
    return {arm: own.get(arm, GREY) for arm in arms}


def arm_colour(study: Study, **more: object) -> dict:
    """The channel that colours by the field `arm`. It has a legend only if colours tell arms
    apart."""
    of = colours(study)
    scale = {"domain": study.arms, "range": [of[arm] for arm in study.arms]}
    crowd = {"legend": None} if crowded(study) else {}
    return {"field": "arm", "type": "nominal", "scale": scale, "title": None, **more, **crowd}


def arm_dash(study: Study) -> dict:
    """The channel that tells lines apart by the field `arm`, beside the colour."""
    dashes = [DASHES[i % len(DASHES)] for i in range(len(study.arms))]
    scale = {"domain": study.arms, "range": dashes}
    crowd = {"legend": None} if crowded(study) else {}
    return {"field": "arm", "type": "nominal", "scale": scale, "title": None, **crowd}


def log_axis(low: float, high: float) -> dict:
    """An axis with a line at each power of ten; over few of them, at 2 and 5 times it too."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    values = [step * 10.0**n for n in range(first, last + 1) for step in steps]
    return {"values": [round(v, 9) for v in values if low <= v <= high], "format": ",~r"}


def setup(result: dict) -> dict[str, object]:
    """The settings that define a run."""
    config = result["config"]
    machine = {"drive": measured_drive(config), **{name: config[name] for name in CACHE}}
    return machine | config["policies"] | config["tunables"]


def said(values: dict[str, list]) -> str:
    """`name value` of each setting that has a value; "swept" if it has several."""
    return ", ".join(
        f"{name} {row[0] if len(row) == 1 else 'swept'}"
        for name, row in values.items()
        if row != [None]
    )


def in_all(study: Study) -> dict[str, list]:
    """The settings that all runs share."""
    return {name: row for name, row in study.values(setup).items() if len(row) == 1}


def shared(study: Study) -> str:
    """What all runs share, and the seeds."""
    seeds = f"; seeds {', '.join(map(str, study.seeds))}" if study.seeds else ""
    return said(in_all(study)) + seeds


def own(study: Study) -> dict[str, str]:
    """The settings that an arm does not share with all others."""
    common = in_all(study)
    return {
        arm: said({n: row for n, row in study.values(setup, arm).items() if n not in common})
        for arm in study.arms
    }


def about(study: Study) -> str:
    """The line about a picture's origin, for where it stands without its page: experiment, drive,
    seeds."""
    seeds = f"; seeds {', '.join(map(str, study.seeds))}" if study.seeds else ""
    return f"{study.experiment.name}; drive {study.experiment.drive}{seeds}"


def title(study: Study, text: str) -> dict:
    """The head of a figure. A page writes this text itself."""
    return {"text": text, "subtitle": about(study)}


def panel_title(text: str, **more: object) -> dict:
    """The head of one of several panels."""
    return {"text": text, "fontSize": 15, "anchor": "middle", "offset": 6, "frame": "group", **more}


def finished(spec: dict, padding: int = 16) -> dict:
    """The specification with the parts that all figures have."""
    return {"config": CONFIG, "padding": padding, **spec}
