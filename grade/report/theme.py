"""How all figures look, and the words at their heads.

An arm has one colour everywhere, from palettes made to be told apart by the
colour-blind (M. Okabe and K. Ito, 2002; then P. Tol's "muted", 2012). The font
comes with the renderer, so that a picture is the same on every machine.
"""

import math

from grade.measure.result import measured_drive
from grade.report.study import Study

ARM_COLOURS = (
    *("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000"),
    *("#332288", "#AA4499", "#999933", "#882255", "#117733", "#DDCC77", "#661100"),
)
GREY = "#777777"
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
WIDTH = 960  # of what is inside a figure's axes, all columns together
CACHE = ("block", "nbuf")  # what is told of the machine, beside its drive
CONFIG = {
    "font": FONT,
    "background": "white",
    "axis": {
        **{"labelFontSize": 13, "titleFontSize": 14, "titleFontWeight": "normal"},
        **{"labelColor": "#333", "titleColor": "#333", "titlePadding": 8},
        **{"gridColor": "#e8e8e8", "domainColor": "#999", "tickColor": "#999"},
    },
    "legend": {
        **{"labelFontSize": 14, "titleFontSize": 13, "titleFontWeight": "normal"},
        **{"orient": "top", "symbolStrokeWidth": 3, "labelLimit": 400, "columnPadding": 18},
    },
    "title": {
        **{"fontSize": 20, "subtitleFontSize": 13, "subtitleColor": "#555", "anchor": "start"},
        **{"offset": 16, "subtitlePadding": 6, "subtitleLineHeight": 17, "frame": "bounds"},
    },
    "header": {"labelFontSize": 14, "titleFontSize": 14, "labelFontWeight": "bold"},
    "view": {"stroke": "#ccc"},
    "concat": {"spacing": 12},
    "aria": False,  # would double the size of the pictures; the page says what they show
}
DASHES = ([1, 0], [10, 5], [4, 3], [14, 4, 3, 4])  # so that a line shows under another
ABOUT_WIDTH = 130  # characters of a line under a title


def colours(study: Study) -> dict[str, str]:
    """The colour of each arm; of those not run too, so that a colour never changes."""
    arms = study.experiment.arms
    return {arm: ARM_COLOURS[i % len(ARM_COLOURS)] for i, arm in enumerate(arms)}


def arm_colour(study: Study, **more: object) -> dict:
    """The channel that colours by the field `arm`."""
    of = colours(study)
    scale = {"domain": study.arms, "range": [of[arm] for arm in study.arms]}
    return {"field": "arm", "type": "nominal", "scale": scale, "title": None, **more}


def arm_dash(study: Study) -> dict:
    """The channel that tells lines apart by the field `arm`, beside the colour."""
    dashes = [DASHES[i % len(DASHES)] for i in range(len(study.arms))]
    scale = {"domain": study.arms, "range": dashes}
    return {"field": "arm", "type": "nominal", "scale": scale, "title": None}


def log_axis(low: float, high: float) -> dict:
    """An axis with a line at each power of ten; over few of them, at 2 and 5 times it too."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    values = [step * 10.0**n for n in range(first, last + 1) for step in steps]
    return {"values": [round(v, 9) for v in values if low <= v <= high], "format": ",~r"}


def setup(result: dict) -> dict[str, object]:
    """What makes a run what it is."""
    config = result["config"]
    machine = {"drive": measured_drive(config), **{name: config[name] for name in CACHE}}
    return machine | config["policies"] | config["tunables"]


def said(values: dict[str, list]) -> str:
    """`name value` of each that has any; "swept" if several."""
    return ", ".join(
        f"{name} {row[0] if len(row) == 1 else 'swept'}"
        for name, row in values.items()
        if row != [None]
    )


def folded(parts: list[str]) -> list[str]:
    """The parts in as few lines as they fit in."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) < ABOUT_WIDTH:
            lines[-1] += f";  {part}"
        else:
            lines.append(part)
    return lines


def in_all(study: Study) -> dict[str, list]:
    """The settings that all runs share."""
    return {name: row for name, row in study.values(setup).items() if len(row) == 1}


def shared(study: Study) -> str:
    """What all runs share, and the seeds."""
    seeds = f"; seeds {', '.join(map(str, study.seeds))}" if study.seeds else ""
    return said(in_all(study)) + seeds


def own(study: Study) -> dict[str, str]:
    """What each arm has that not all have."""
    common = in_all(study)
    return {
        arm: said({n: row for n, row in study.values(setup, arm).items() if n not in common})
        for arm in study.arms
    }


def about(study: Study) -> list[str]:
    """Drive, seeds and policies, in lines: first what all runs share, then each arm."""
    arms = [f"{arm}: {words}" for arm, words in own(study).items() if words]
    return [f"{study.experiment.name}: {shared(study)}", *folded(arms)]


def title(study: Study, text: str) -> dict:
    """The head of a figure."""
    return {"text": text, "subtitle": about(study)}


def panel_title(text: str, **more: object) -> dict:
    """The head of one of several panels."""
    return {"text": text, "fontSize": 15, "anchor": "middle", "offset": 6, "frame": "group", **more}


def finished(spec: dict) -> dict:
    """The specification with what all have."""
    return {"config": CONFIG, "padding": 16, **spec}
