"""When what happened: the arms side by side on one axis of time, with equal scales."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from sluice.experiment.result import disk_series
from sluice.experiment.series import bucket_high
from sluice.report import theme
from sluice.report.study import Study, words

ORDER = 5
ABOUT = (
    "Drag in the strip at the top to choose a time for all panels, double-click there for the "
    "whole; hover for numbers; choose the trial above. Pictures show the first trial. In the "
    "lowest panels a dot is where on the disk the last read, or the last write, of a moment was."
)
SECTOR = 512
MIB = 1 << 20
STRIP = {"name": "zoom", "select": {"type": "interval", "encodings": ["x"]}}
TIME = {"title": "time, s"}
READ_COLOUR = theme.GREY
LEAST_WIDE = 10  # times the least response: the largest on the axis
GAP = 14  # between columns
ABREAST = 4  # columns; further arms stand below
TIPS = {
    **{"s": "from s", "writes": "writes / s", "reads": "reads / s", "queue": "most in queue"},
    **{"low": "from ms", "high": "to ms", "cell": "reads"},
    **{"read": "last read, MiB", "write": "last write, MiB"},
}
READ_DOT, WRITE_DOT = "● last read", "● last write"  # of a bin
DOT_WIDTH = 90  # of these words
BIN_TIPS = ("s", "writes", "reads", "queue", "read", "write")
POINTED = {"type": "point", "on": "pointerover", "clear": "pointerout", "fields": ["s"]}


def bin_rows(study: Study) -> list[str]:
    """Of each run and bin: arm, point, from, to in s, writes a second, queue, and where the last
    read and the last write were, in MiB."""
    rows = ["a,p,s,e,writes,reads,queue,read,write"]
    for result in study.results:
        where = place(study, result)
        series, disk = result["series"], disk_series(result)
        width_s = series["bin_ms"] / 1000
        for i in range(series["from_bin"], series["bins"]):
            heads = [mib(disk[f"{kind}_sector"][i]) for kind in ("read", "write")]
            rates = [f"{disk[kind][i] / width_s:g}" for kind in ("writes", "reads")]
            cells = [f"{i * width_s:g}", f"{(i + 1) * width_s:g}", *rates, disk["queue_max"][i]]
            rows.append(",".join(map(str, [*where, *cells, *heads])))
    return rows


def mib(sector: int | None) -> str:
    """Where a sector lies."""
    return "" if sector is None else f"{sector * SECTOR / MIB:.2f}"


def heat_rows(study: Study) -> list[str]:
    """The cells of the heat maps: arm, point, from, to in s, from, to in ms, reads."""
    rows = ["a,p,s,e,low,high,cell"]
    for result in study.results:
        where = place(study, result)
        width_s = result["series"]["bin_ms"] / 1000
        for i, low_us, n in disk_series(result)["read_heat"]:
            if i >= result["series"]["from_bin"]:
                times = (f"{i * width_s:g}", f"{(i + 1) * width_s:g}")
                cells = [*times, max(low_us, 1) / 1000, bucket_high(low_us) / 1000, n]
                rows.append(",".join(map(str, [*where, *cells])))
    return rows


def place(study: Study, result: dict) -> tuple[int, int]:
    """The numbers of a result's arm and point."""
    return study.arms.index(result["arm"]), study.points.index(result["variables"])


def domains(study: Study) -> dict[str, list[float]]:
    """The ends of the scales, the same for all runs."""
    runs = [(result["series"], disk_series(result)) for result in study.results]
    lows = [low for _, disk in runs for _, low, _ in disk["read_heat"]] or [1000]
    sectors = [s for _, disk in runs for k in ("read", "write") for s in disk[f"{k}_sector"]]
    return {
        "time": [0, max(s["bins"] * s["bin_ms"] for s, _ in runs) / 1000],
        "writes": [0, max(max(d["writes"]) * 1000 / s["bin_ms"] for s, d in runs) or 1],
        "queue": [0, max(max(d["queue_max"]) for _, d in runs) or 1],
        "low": wide(max(min(lows), 1) / 1000, bucket_high(max(lows)) / 1000),
        "place": [
            min(s or 0 for s in sectors) * SECTOR / MIB,
            max(s or 0 for s in sectors) * SECTOR / MIB,
        ],
        "reads": [1, max([2, *(n for _, d in runs for *_, n in d["read_heat"])])],
    }


def wide(low: float, high: float) -> list[float]:
    """The ends of a logarithmic scale, at least LEAST_WIDE apart, so that the axis has values."""
    more = max(1, LEAST_WIDE * low / high) ** 0.5
    return [low / more, high * more]


def data(name: str, arm: int | None) -> dict:
    """The rows of the chosen trial, of an arm or of all."""
    wanted = "datum.p == trial" if arm is None else f"datum.p == trial && datum.a == {arm}"
    return {"data": {"name": name, "format": {"type": "csv"}}, "transform": [{"filter": wanted}]}


@dataclass(frozen=True)
class Place:
    """Where a panel is among the others, its size, and what it shares with them."""

    arm: int
    first: bool  # of its row
    last: bool  # of its column
    width: int
    height: int
    ends: dict[str, list[float]]
    colour: str

    def time(self) -> dict:
        """The axis of time, which the strip rules."""
        axis = {"labels": self.last, "title": "time, s" if self.last else None, "tickCount": 5}
        scale = {"domain": {"param": "zoom", "encoding": "x"}, "nice": False}
        return {"field": "s", "type": "quantitative", "scale": scale, "axis": axis}

    def up(self, field: str, title: str, **scale: object) -> dict:
        """The other axis, labelled in the first column."""
        axis = {"labels": self.first, "title": title if self.first else None, "tickCount": 4}
        axis |= {"format": "~r", "titleX": -62} if self.first else {"ticks": False}
        scale = {"domain": self.ends[field], "nice": False, **scale}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}

    def up_log(self, field: str, title: str) -> dict:
        """The same, logarithmic."""
        up = self.up(field, title, type="log")
        return {**up, "axis": up["axis"] | theme.log_axis(*self.ends[field])}

    def panel(self, name: str, *layers: dict) -> dict:
        """A panel: under its layers one that is felt, not seen; over them the time pointed at."""
        bins = data("bins", self.arm)
        felt = {
            **bins,
            "name": f"{name}-{self.arm}",
            "mark": {"type": "rect", "opacity": 0, "clip": True},
            "encoding": {"x": self.time(), "x2": {"field": "e"}, "tooltip": tips(*BIN_TIPS)},
        }
        pointed = {"filter": {"param": "pointed", "empty": False}}
        line = {
            **bins,
            "transform": [*bins["transform"], pointed],
            "mark": {"type": "rule", "color": theme.INK, "opacity": 0.5, "clip": True},
            "encoding": {"x": self.time()},
        }
        return {"width": self.width, "height": self.height, "layer": [felt, *layers, line]}


def tips(*fields: str) -> list[dict]:
    """What is said of a mark that is pointed at."""
    return [{"field": field, "type": "nominal", "title": TIPS[field]} for field in fields]


def bars(place: Place, field: str, title: str) -> dict:
    """One bar a bin."""
    mark = {"type": "rect", "clip": True, "color": place.colour, "stroke": place.colour}
    return {
        **data("bins", place.arm),
        "mark": {**mark, "strokeWidth": 0.6},
        "encoding": {
            "x": place.time(),
            "x2": {"field": "e"},
            "y": place.up(field, title),
            "y2": {"datum": 0},
            "tooltip": tips(*BIN_TIPS),
        },
    }


def writes(place: Place) -> dict:
    return place.panel("writes", bars(place, "writes", "writes / s"))


def queue(place: Place) -> dict:
    return place.panel("queue", bars(place, "queue", "queue, requests"))


def heat(place: Place) -> dict:
    """Reads by response time, over time."""
    colour = {"type": "log", "scheme": "viridis", "domain": place.ends["reads"]}
    legend = {"orient": "right", "gradientLength": 140, "tickCount": 3, "format": "~r"}
    cells = {
        **data("heat", place.arm),
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": place.time(),
            "x2": {"field": "e"},
            "y": place.up_log("low", "read response, ms"),
            "y2": {"field": "high"},
            "color": {
                **{"field": "cell", "type": "quantitative", "scale": colour},
                **{"legend": legend, "title": "reads"},
            },
            "tooltip": tips("s", "low", "high", "cell"),
        },
    }
    return place.panel("heat", cells)


def dots(place: Place) -> dict:
    """Where each bin's last read and write were, and above them which dots are reads."""

    def points(field: str, colour: str) -> dict:
        up = {**place.up("place", "place, MiB"), "field": field}
        mark = {"type": "circle", "clip": True, "size": 9, "opacity": 1, "color": colour}
        about = {"x": place.time(), "y": up, "tooltip": tips(*BIN_TIPS)}
        return {**data("bins", place.arm), "mark": mark, "encoding": about}

    def said(words: str, colour: str, x: int) -> dict:
        mark = {"type": "text", "align": "right", "fontSize": 12, "text": words, "color": colour}
        return {"data": {"values": [{}]}, "mark": {**mark, "x": x, "y": -9, "clip": False}}

    return place.panel(
        "dots",
        points("read", READ_COLOUR),
        points("write", place.colour),
        said(READ_DOT, READ_COLOUR, place.width - DOT_WIDTH),
        said(WRITE_DOT, place.colour, place.width),
    )


PANELS = ((writes, 100), (queue, 100), (heat, 190), (dots, 130))


def panels_of(study: Study) -> list[tuple[Callable[[Place], dict], int]]:
    """The panels that there is something for, with their heights. The few reads of a load that only
    writes are of the file system's own blocks, and left out."""
    return [row for row in PANELS if not (study.only_writes and row[0] is heat)]


def abreast(study: Study) -> list[list[str]]:
    """The arms, as many together as have room beside one another."""
    return [study.arms[i : i + ABREAST] for i in range(0, len(study.arms), ABREAST)]


def panels(study: Study, arms: list[str]) -> list[dict]:
    """Row by row: a row for each quantity, a column for each of these arms."""
    ends, colours = domains(study), theme.colours(study)
    width = theme.WIDTH // min(len(study.arms), ABREAST) - GAP
    found, rows = [], panels_of(study)
    for row, (make, height) in enumerate(rows):
        for arm in arms:
            first, last = arm == arms[0], row == len(rows) - 1
            place = Place(study.arms.index(arm), first, last, width, height, ends, colours[arm])
            panel = make(place)
            if row == 0:
                panel["title"] = theme.panel_title(arm, color=colours[arm])
            found.append(panel)
    return found


def pointed(study: Study) -> dict:
    """The parameter that holds the time pointed at, in whichever panel."""
    arms = range(len(study.arms))
    views = [f"{make.__name__}-{arm}" for make, _ in panels_of(study) for arm in arms]
    return {"name": "pointed", "select": POINTED, "views": views}


def arm_names(study: Study) -> dict:
    """The transform that gives rows their arm's name."""
    names = [f"datum.a == {i} ? {json.dumps(arm)}" for i, arm in enumerate(study.arms)]
    return {"calculate": " : ".join([*names, "''"]), "as": "arm"}


def strip(study: Study) -> dict:
    """All arms' queues over the whole time, where a part of it is chosen."""
    rows = data("bins", None)
    scale = {"domain": domains(study)["time"], "nice": False}
    x_axis = {"tickCount": 10, "labelBound": True}
    y_axis = {"tickCount": 3, "titleX": -62}
    lines = {
        **rows,
        "transform": [*rows["transform"], arm_names(study)],
        "params": [STRIP],
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "s", "type": "quantitative", "scale": scale, "axis": x_axis, **TIME},
            "y": {"field": "queue", "type": "quantitative", "axis": y_axis},
            "color": theme.arm_colour(study),
        },
    }
    return {"width": theme.WIDTH, "height": 70, "layer": [lines, shown_point(study)]}


def trial(study: Study) -> dict:
    """The parameter that says which point is shown, and lets it be chosen."""
    labels = [words(point) for point in study.points]
    if len(labels) == 1:
        return {"name": "trial", "value": 0}
    numbers = list(range(len(labels)))
    bind = {"input": "select", "name": "trial", "options": numbers, "labels": labels}
    return {"name": "trial", "value": 0, "bind": bind}


def shown_point(study: Study) -> dict:
    """The point that is shown, in words that follow the choice."""
    labels = json.dumps([words(point) for point in study.points])
    mark = {"type": "text", "align": "right", "fontSize": 15, "fontWeight": "bold", "y": -12}
    return {
        "data": {"values": [{}]},
        "mark": {**mark, "x": theme.WIDTH, "text": {"expr": f"{labels}[trial]"}},
    }


def specs(study: Study) -> dict[str, dict]:
    """The picture, if the disk that is measured had requests in any run."""
    if not any(study.disk in result["series"]["disks"] for result in study.results):
        return {}
    shared = {"scale": {"x": "shared", "color": "shared"}, "legend": {"color": "shared"}}
    grids = [
        {
            **{"concat": panels(study, arms), "columns": len(arms), "resolve": shared},
            **{"align": "each", "spacing": {"row": 8, "column": GAP}},
        }
        for arms in abreast(study)
    ]
    return {
        "timeline": {
            "title": theme.title(study, f"What {study.disk} did over time"),
            "params": [trial(study), pointed(study)],
            "datasets": {"bins": "\n".join(bin_rows(study)), "heat": "\n".join(heat_rows(study))},
            "vconcat": [strip(study), *grids],
            "resolve": {"scale": {"x": "independent", "color": "independent"}},
        }
    }
