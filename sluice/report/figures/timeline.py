"""Draw reads, writes and the queue over time: the arms side by side, with equal scales."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from sluice.experiment.records import RunResult, Variables
from sluice.experiment.result import disk_series
from sluice.experiment.series import bucket_high
from sluice.report import theme
from sluice.report.columns import pack_column
from sluice.report.study import Study, variable_words
from sluice.report.theme import Spec

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
LEAST_WIDE = 10  # the axis of response times spans this factor at least
GAP = 14  # between columns
ABREAST = 4  # columns in a row; further arms are drawn below
TIPS = {
    **{"s": "from s", "writes": "writes / s", "reads": "reads / s", "queue": "most in queue"},
    **{"low": "from ms", "high": "to ms", "cell": "reads"},
    **{"read": "last read, MiB", "write": "last write, MiB"},
}
READ_DOT, WRITE_DOT = "● last read", "● last write"  # of a bin
DOT_WIDTH = 90  # width of these words
BIN_TIPS = ("s", "writes", "reads", "queue", "read", "write")
POINTED = {"type": "point", "on": "pointerover", "clear": "pointerout", "fields": ["s"]}


class Tables:
    """The tables that the panels draw: columns of whole numbers, because these take few bytes in a
    page. What is drawn follows from the numbers, by the expressions of `fields`.

    names: the columns of each table. A row has the index of its arm in `a`. A bucket is its index
    among the buckets of response times that any run has. A place is its distance from the lowest
    place of any run, in the largest unit that divides all distances, plus 1; 0 stands for none.
    """

    names: ClassVar = {
        "bins": ("a", "ms", "width", "written", "done", "queue", "read_at", "write_at"),
        "heat": ("a", "ms", "width", "bucket", "cell"),
    }

    def __init__(self, study: Study) -> None:
        self.study = study
        disks = [disk_series(result) for result in study.results]
        sectors = {
            sector
            for disk in disks
            for sector in (*disk["read_sector"], *disk["write_sector"])
            if sector is not None
        }
        self.lowest = min(sectors, default=0)
        self.unit = math.gcd(*(sector - self.lowest for sector in sectors)) or 1  # in sectors
        # The buckets, each by its shortest response.
        self.lows_us = sorted({low_us for d in disks for _bin, low_us, _reads in d["read_heat"]})
        self.buckets = {low_us: i for i, low_us in enumerate(self.lows_us)}
        self.shown = ["bins"] if study.is_write_only else ["bins", "heat"]

    def fields(self, table: str) -> dict[str, str]:
        """Return the expressions of the drawn fields: start and end in s; of bins writes and reads
        per second, and the places of the last read and the last write in MiB; of cells the shortest
        and the longest response in ms."""
        times = {"s": "datum.ms / 1000", "e": "(datum.ms + datum.width) / 1000"}
        if table == "heat":
            lows = [max(low_us, 1) / 1000 for low_us in self.lows_us]
            highs = [bucket_high(low_us) / 1000 for low_us in self.lows_us]
            return times | {"low": f"{lows}[datum.bucket]", "high": f"{highs}[datum.bucket]"}
        rates = {
            "writes": "datum.written * 1000 / datum.width",
            "reads": "datum.done * 1000 / datum.width",
        }
        return times | rates | {"read": self.mib("read_at"), "write": self.mib("write_at")}

    def mib(self, column: str) -> str:
        """Return the expression of a place in MiB, to hundredths; null stands for none."""
        sector = f"({self.lowest} + (datum.{column} - 1) * {self.unit})"
        return f"datum.{column} ? round({sector} * {SECTOR * 100 / MIB}) / 100 : null"

    def rows(self, table: str, point: Variables) -> list[tuple[int, ...]]:
        """Return a table's rows at a point, one arm after the other."""
        make = {"bins": self.bin_rows, "heat": self.heat_rows}[table]
        return [
            (arm, *row)
            for arm, name in enumerate(self.study.arms)
            for result in self.study.arm_results(name)
            if result["variables"] == point
            for row in make(result)
        ]

    def bin_rows(self, result: RunResult) -> Iterator[tuple[int, ...]]:
        """Yield the rows of one run for the table "bins", each without its arm."""
        series, disk = result["series"], disk_series(result)
        width_ms = series["bin_ms"]
        for i in range(series["from_bin"], series["bins"]):
            counts = disk["writes"][i], disk["reads"][i], disk["queue_max"][i]
            read_at = self.place_number(disk["read_sector"][i])
            write_at = self.place_number(disk["write_sector"][i])
            yield (i * width_ms, width_ms, *counts, read_at, write_at)

    def place_number(self, sector: int | None) -> int:
        """Return the number that stands for a place in the tables; 0 for None."""
        return 0 if sector is None else (sector - self.lowest) // self.unit + 1

    def heat_rows(self, result: RunResult) -> Iterator[tuple[int, ...]]:
        """Yield the rows of one run for the table "heat", each without its arm."""
        series = result["series"]
        for i, low_us, reads in disk_series(result)["read_heat"]:
            if i >= series["from_bin"]:
                yield i * series["bin_ms"], series["bin_ms"], self.buckets[low_us], reads

    def csv(self, table: str, point: Variables) -> str:
        """Return a table at a point as CSV, with its head."""
        rows = [self.names[table], *self.rows(table, point)]
        return "\n".join(",".join(map(str, row)) for row in rows)

    def pack(self, table: str, point: Variables) -> dict[str, str]:
        """Return the packed columns of a table at a point."""
        rows = self.rows(table, point)
        columns = zip(*rows, strict=True) if rows else [()] * len(self.names[table])
        return dict(zip(self.names[table], map(pack_column, columns), strict=True))

    def data(self, table: str, arm: int | None) -> Spec:
        """Return the part of a specification that draws a table's rows, of one arm or (None) of all
        arms."""
        kinds = dict.fromkeys(self.names[table], "number")
        mine = [] if arm is None else [{"filter": f"datum.a == {arm}"}]
        made = [{"calculate": how, "as": field} for field, how in self.fields(table).items()]
        form = {"type": "csv", "parse": kinds}
        return {"data": {"name": table, "format": form}, "transform": [*mine, *made]}


def packed_tables(study: Study) -> dict[str, list[dict[str, str]]]:
    """Return the packed columns of each table, for each point."""
    tables = Tables(study)
    return {name: [tables.pack(name, point) for point in study.points] for name in tables.shown}


def scale_domains(study: Study) -> dict[str, list[float]]:
    """Return the two ends of each scale, which is the same for all runs: time in s, writes per
    second, queue in requests, low (response times) in ms, place in MiB, reads of a cell."""
    ends_ms, writes_per_s, queues, places = [0], [0.0], [0], []
    lows_us, reads_of_cells = [], [2]  # of the cells (bin, shortest response, reads)
    for result in study.results:
        series, disk = result["series"], disk_series(result)
        ends_ms.append(series["bins"] * series["bin_ms"])
        writes_per_s.append(max(disk["writes"]) * 1000 / series["bin_ms"])
        queues.append(max(disk["queue_max"]))
        lows_us += [low_us for _bin, low_us, _reads in disk["read_heat"]]
        reads_of_cells += [reads for _bin, _low_us, reads in disk["read_heat"]]
        places += [sector or 0 for sector in (*disk["read_sector"], *disk["write_sector"])]
    lows_us = lows_us or [1000]
    shortest_ms, longest_ms = max(min(lows_us), 1) / 1000, bucket_high(max(lows_us)) / 1000
    return {
        "time": [0, max(ends_ms) / 1000],
        "writes": [0, max(writes_per_s) or 1],
        "queue": [0, max(queues) or 1],
        "low": widen_domain(shortest_ms, longest_ms),
        "place": [min(places) * SECTOR / MIB, max(places) * SECTOR / MIB],
        "reads": [1, max(reads_of_cells)],
    }


def widen_domain(low: float, high: float) -> list[float]:
    """Return the ends of a logarithmic scale, at least LEAST_WIDE apart, so that its axis has
    values."""
    more = max(1, LEAST_WIDE * low / high) ** 0.5
    return [low / more, high * more]


@dataclass(frozen=True)
class Place:
    """A panel's position among the others, its size, and what all panels share."""

    arm: int
    first: bool  # the panel is the first of its row
    last: bool  # the panel is the last of its column
    width: int
    height: int
    ends: dict[str, list[float]]
    colour: str
    tables: Tables

    def time(self) -> Spec:
        """Return the time axis, which follows the strip's selection."""
        axis = {"labels": self.last, "title": "time, s" if self.last else None, "tickCount": 5}
        scale = {"domain": {"param": "zoom", "encoding": "x"}, "nice": False}
        return {"field": "s", "type": "quantitative", "scale": scale, "axis": axis}

    def value_axis(self, field: str, title: str, **scale: object) -> Spec:
        """Return the vertical axis, which has labels in the first column only."""
        axis = {"labels": self.first, "title": title if self.first else None, "tickCount": 4}
        axis |= {"format": "~r", "titleX": -62} if self.first else {"ticks": False}
        scale = {"domain": self.ends[field], "nice": False, **scale}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}

    def log_value_axis(self, field: str, title: str) -> Spec:
        """Return the vertical axis, logarithmic."""
        up = self.value_axis(field, title, type="log")
        return {**up, "axis": up["axis"] | theme.log_axis(*self.ends[field])}

    def panel(self, name: str, *layers: Spec) -> Spec:
        """Return a panel. Under its layers is an invisible one that reacts to the pointer; above
        them is a line at the time that the pointer selects."""
        bins = self.tables.data("bins", self.arm)
        felt = {
            **bins,
            "name": f"{name}-{self.arm}",
            "mark": {"type": "rect", "opacity": 0, "clip": True},
            "encoding": {
                "x": self.time(),
                "x2": {"field": "e"},
                "tooltip": tooltip_channels(*BIN_TIPS),
            },
        }
        pointed = {"filter": {"param": "pointed", "empty": False}}
        line = {
            **bins,
            "transform": [*bins["transform"], pointed],
            "mark": {"type": "rule", "color": theme.INK, "opacity": 0.5, "clip": True},
            "encoding": {"x": self.time()},
        }
        return {"width": self.width, "height": self.height, "layer": [felt, *layers, line]}


def tooltip_channels(*fields: str) -> list[Spec]:
    """Return the fields that are shown when the pointer is on a mark."""
    return [{"field": field, "type": "nominal", "title": TIPS[field]} for field in fields]


def bin_bars(place: Place, field: str, title: str) -> Spec:
    """Return a layer with a bar for each bin."""
    mark = {"type": "rect", "clip": True, "color": place.colour, "stroke": place.colour}
    return {
        **place.tables.data("bins", place.arm),
        "mark": {**mark, "strokeWidth": 0.6},
        "encoding": {
            "x": place.time(),
            "x2": {"field": "e"},
            "y": place.value_axis(field, title),
            "y2": {"datum": 0},
            "tooltip": tooltip_channels(*BIN_TIPS),
        },
    }


def writes(place: Place) -> Spec:
    """Return the panel of writes over time."""
    return place.panel("writes", bin_bars(place, "writes", "writes / s"))


def queue(place: Place) -> Spec:
    """Return the panel of the queue's length over time."""
    return place.panel("queue", bin_bars(place, "queue", "queue, requests"))


def heat(place: Place) -> Spec:
    """Return the panel of reads by response time, over time."""
    colour = {"type": "log", "scheme": "viridis", "domain": place.ends["reads"]}
    legend = {"orient": "right", "gradientLength": 140, "tickCount": 3, "format": "~r"}
    cells = {
        **place.tables.data("heat", place.arm),
        "mark": {"type": "rect", "clip": True},
        "encoding": {
            "x": place.time(),
            "x2": {"field": "e"},
            "y": place.log_value_axis("low", "read response, ms"),
            "y2": {"field": "high"},
            "color": {
                **{"field": "cell", "type": "quantitative", "scale": colour},
                **{"legend": legend, "title": "reads"},
            },
            "tooltip": tooltip_channels("s", "low", "high", "cell"),
        },
    }
    return place.panel("heat", cells)


def dots(place: Place) -> Spec:
    """Return the panel with the places of each bin's last read and write, and a legend above it."""

    def dot_layer(field: str, colour: str) -> Spec:
        """Return the layer of dots for reads or writes."""
        up = {**place.value_axis("place", "place, MiB"), "field": field}
        mark = {"type": "circle", "clip": True, "size": 9, "opacity": 1, "color": colour}
        about = {"x": place.time(), "y": up, "tooltip": tooltip_channels(*BIN_TIPS)}
        return {**place.tables.data("bins", place.arm), "mark": mark, "encoding": about}

    def legend_text(words: str, colour: str, x: int) -> Spec:
        """Return a text of the legend."""
        mark = {"type": "text", "align": "right", "fontSize": 12, "text": words, "color": colour}
        return {"data": {"values": [{}]}, "mark": {**mark, "x": x, "y": -9, "clip": False}}

    return place.panel(
        "dots",
        dot_layer("read", READ_COLOUR),
        dot_layer("write", place.colour),
        legend_text(READ_DOT, READ_COLOUR, place.width - DOT_WIDTH),
        legend_text(WRITE_DOT, place.colour, place.width),
    )


PANELS = ((writes, 100), (queue, 100), (heat, 190), (dots, 130))


def panels_of(study: Study) -> list[tuple[Callable[[Place], Spec], int]]:
    """Return the panels for which there is data, with their heights.

    A load that only writes has no panel of reads: the few reads are the file system's own.
    """
    return [row for row in PANELS if not (study.is_write_only and row[0] is heat)]


def arms_per_row(study: Study) -> list[list[str]]:
    """Return the arms in groups of as many as fit side by side."""
    return [study.arms[i : i + ABREAST] for i in range(0, len(study.arms), ABREAST)]


def panels(study: Study, tables: Tables, arms: list[str]) -> list[Spec]:
    """Return the panels row by row: a row for each quantity, a column for each of these arms."""
    ends, colours = scale_domains(study), theme.colours_by_arm(study)
    width = theme.WIDTH // min(len(study.arms), ABREAST) - GAP
    found, rows = [], panels_of(study)
    for row, (make, height) in enumerate(rows):
        for arm in arms:
            first, last = arm == arms[0], row == len(rows) - 1
            size = (first, last, width, height)
            place = Place(study.arms.index(arm), *size, ends, colours[arm], tables)
            panel = make(place)
            if row == 0:
                panel["title"] = theme.panel_title(arm, color=colours[arm])
            found.append(panel)
    return found


def pointer_parameter(study: Study) -> Spec:
    """Return the parameter that holds the time under the pointer, in any panel."""
    arms = range(len(study.arms))
    views = [f"{make.__name__}-{arm}" for make, _ in panels_of(study) for arm in arms]
    return {"name": "pointed", "select": POINTED, "views": views}


def arm_name_transform(study: Study) -> Spec:
    """Return the transform that gives rows their arm's name."""
    names = [f"datum.a == {i} ? {json.dumps(arm)}" for i, arm in enumerate(study.arms)]
    return {"calculate": " : ".join([*names, "''"]), "as": "arm"}


def overview_strip(study: Study, tables: Tables) -> Spec:
    """Return the strip with all arms' queues over the whole time, in which the reader selects a
    part."""
    rows = tables.data("bins", None)
    scale = {"domain": scale_domains(study)["time"], "nice": False}
    x_axis = {"tickCount": 10, "labelBound": True}
    y_axis = {"tickCount": 3, "titleX": -62}
    lines = {
        **rows,
        "transform": [*rows["transform"], arm_name_transform(study)],
        "params": [STRIP],
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "s", "type": "quantitative", "scale": scale, "axis": x_axis, **TIME},
            "y": {"field": "queue", "type": "quantitative", "axis": y_axis},
            "color": theme.arm_colour(study),
        },
    }
    return {"width": theme.WIDTH, "height": 70, "layer": [lines, point_label(study)]}


def trial_parameter(study: Study) -> Spec:
    """Return the parameter `trial`, the number of the point that is shown. If there are several
    points, the reader chooses one in a menu."""
    labels = [variable_words(point) for point in study.points]
    if len(labels) == 1:
        return {"name": "trial", "value": 0}
    numbers = list(range(len(labels)))
    bind = {"input": "select", "name": "trial", "options": numbers, "labels": labels}
    return {"name": "trial", "value": 0, "bind": bind}


def point_label(study: Study) -> Spec:
    """Return the text that names the shown point."""
    labels = json.dumps([variable_words(point) for point in study.points])
    mark = {"type": "text", "align": "right", "fontSize": 15, "fontWeight": "bold", "y": -12}
    return {
        "data": {"values": [{}]},
        "mark": {**mark, "x": theme.WIDTH, "text": {"expr": f"{labels}[trial]"}},
    }


def specs(study: Study) -> dict[str, Spec]:
    """Return the picture, if the measured disk had requests in any run."""
    if not any(study.disk in result["series"]["disks"] for result in study.results):
        return {}
    tables = Tables(study)
    shared = {"scale": {"x": "shared", "color": "shared"}, "legend": {"color": "shared"}}
    grids = [
        {
            **{"concat": panels(study, tables, arms), "columns": len(arms), "resolve": shared},
            **{"align": "each", "spacing": {"row": 8, "column": GAP}},
        }
        for arms in arms_per_row(study)
    ]
    return {
        "timeline": {
            "title": theme.figure_title(study, f"What {study.disk} did over time"),
            "params": [trial_parameter(study), pointer_parameter(study)],
            "datasets": {table: tables.csv(table, study.points[0]) for table in tables.shown},
            "vconcat": [overview_strip(study, tables), *grids],
            "resolve": {"scale": {"x": "independent", "color": "independent"}},
        }
    }
