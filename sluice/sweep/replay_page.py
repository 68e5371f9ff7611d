"""Writes the page of a replay: one file with its pictures and tables, which opens offline.

The pictures show the figures of the table: times with their intervals, hits against times, and the
hours of the trace.
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from sluice.blocks.offline import NAME as OPTIMUM
from sluice.blocks.replayer import replayer_hash
from sluice.blocks.slices import HOUR_NS, Interval, Slices, hours_of
from sluice.experiment.files import write_atomically
from sluice.report import page, theme
from sluice.report.head import PICTURES, page_head
from sluice.report.theme import Datum, Spec
from sluice.sweep.presentation import figure_html, html_table, paragraphs_html

TEMPLATE = Path(__file__).with_name("replay.html")
STEP = 22  # height of a policy's row in pixels
HEIGHT = 300
FEW = 6  # policies in the picture of hours
LEAST_HOURS = 2


@dataclass(frozen=True)
class Shown:
    """A row of the page: the policy, the cache in percent, and what was measured of it. mean_ms:
    None without a drive; slice_ns: the length of its slices, 0 in a closed loop."""

    policy: str
    percent: float
    hit_percent: float
    mean_ms: float | None
    p99_ms: float | None
    intervals: dict[str, Interval]
    slices: Slices | None
    slice_ns: int


def interval_rows(rows: list[Shown]) -> list[Datum]:
    """Return the data of the picture of times: for each row and measure, the figure and the ends of
    its interval."""
    found: list[Datum] = []
    for row in rows:
        measures: list[tuple[str, str, float | None, float]] = [
            ("mean, ms", "mean_ns", row.mean_ms, 1e-6),
            ("99 %, ms", "p99_ns", row.p99_ms, 1e-6),
            ("hits, %", "hit_ratio", row.hit_percent, 100),
        ]
        for head, name, value, scale in measures:
            if value is None:
                continue
            low, high = row.intervals.get(name, (value / scale, value / scale))
            found.append(
                {
                    "policy": row.policy, "cache": f"{row.percent:g} %", "measure": head,
                    "value": value, "low": low * scale, "high": high * scale,
                }
            )  # fmt: skip
    return found


def interval_spec(rows: list[Shown], measure: str) -> Spec:
    """Return the picture of one measure: a point for each policy, with its interval, and a panel
    for each size of the cache."""
    data = [one for one in interval_rows(rows) if one["measure"] == measure]
    sizes = list(dict.fromkeys(one["cache"] for one in data))
    order = [one["policy"] for one in data if one["cache"] == sizes[-1]]
    y = {"field": "policy", "type": "nominal", "title": None, "sort": order}
    x = {"type": "quantitative", "scale": {"zero": False}}
    width = theme.WIDTH // max(len(sizes), 1) - 40
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45},
            "encoding": {"x": {"field": "low", **x, "title": measure}, "x2": {"field": "high"}},
        },
        {"mark": {"type": "point", "filled": True, "size": 70}, "encoding": {
            "x": {"field": "value", **x, "title": measure}}},
    ]  # fmt: skip
    return {
        "data": {"values": data},
        "config": theme.CONFIG,
        "facet": {"field": "cache", "type": "nominal", "title": "cache", "sort": sizes},
        "resolve": {"scale": {"x": "independent"}},
        "spec": {
            "width": width,
            "height": STEP * len(set(order)),
            "encoding": {"y": y, "color": {"value": theme.ARM_COLOURS[0]}},
            "layer": layers,
        },
    }


def hits_spec(rows: list[Shown]) -> Spec:
    """Return the picture of hits beside mean times: a point for each row. The row with the most
    hits and the fastest one of each size have labels."""
    data: list[Datum] = []
    for size in dict.fromkeys(row.percent for row in rows):
        own = [row for row in rows if row.percent == size]
        tried = [row for row in own if row.policy != OPTIMUM]
        named = {OPTIMUM, max(tried, key=lambda r: r.hit_percent).policy}
        named.add(min(tried, key=lambda r: r.mean_ms or 0).policy)
        data += [
            {
                "cache": f"{size:g} %", "hits": row.hit_percent, "mean": row.mean_ms,
                "label": row.policy if row.policy in named else "",
            }
            for row in own
        ]  # fmt: skip
    plain = {"type": "quantitative", "scale": {"zero": False, "padding": 30}}
    colours = {"domain": list(dict.fromkeys(one["cache"] for one in data))}
    return {
        "data": {"values": data},
        "config": theme.CONFIG,
        "width": theme.WIDTH,
        "height": HEIGHT,
        "encoding": {
            "x": {"field": "hits", "title": "hits, % of requests", **plain},
            "y": {"field": "mean", "title": "mean response, ms", **plain},
            "color": {
                "field": "cache",
                "type": "nominal",
                "title": "cache",
                "scale": colours | {"range": list(theme.ARM_COLOURS[: len(colours["domain"])])},
            },
        },
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 70}},
            {
                "mark": {"type": "text", "dy": -10, "fontSize": 12},
                "encoding": {"text": {"field": "label"}},
            },
        ],
    }


def hours_spec(rows: list[Shown]) -> Spec:
    """Return the picture of the mean response in each hour, of rows of one size."""
    data = [
        {"policy": row.policy, "hour": hour, "mean": found.mean_ns() / 1e6}
        for row in rows
        if row.slices
        for hour, found in hours_of(row.slices.requests, row.slice_ns)
    ]
    names = [row.policy for row in rows]
    return {
        "data": {"values": data},
        "config": theme.CONFIG,
        "width": theme.WIDTH,
        "height": HEIGHT,
        "mark": {"type": "line", "strokeWidth": 1.5},
        "encoding": {
            "x": {"field": "hour", "type": "quantitative", "title": "hour of the trace"},
            "y": {"field": "mean", "type": "quantitative", "title": "mean response, ms"},
            "color": {
                "field": "policy",
                "type": "nominal",
                "title": None,
                "scale": {"domain": names, "range": list(theme.ARM_COLOURS[: len(names)])},
            },
        },
    }


def hour_rows(rows: list[Shown]) -> list[Shown]:
    """Return the rows for the picture of hours: the FEW fastest with the largest cache; none if the
    trace has fewer than LEAST_HOURS hours, or no times."""
    largest = max(row.percent for row in rows)
    timed = [
        row
        for row in rows
        if row.percent == largest
        and row.slices
        and row.slice_ns
        and len(row.slices.reads.count) * row.slice_ns >= LEAST_HOURS * HOUR_NS
    ]
    return sorted(timed, key=lambda row: row.mean_ms or 0)[:FEW]


def page_figures(rows: list[Shown]) -> list[tuple[str, str, Spec]]:
    """Return the pictures of a replay: the title, the explanation, and the specification."""
    bars = "Points are the figures of the whole trace, bars their 95 % intervals. "
    axes = "Each panel has an axis of its own."
    if rows[0].mean_ms is None:
        return [("Hits", bars + axes, interval_spec(rows, "hits, %"))]
    found: list[tuple[str, str, Spec]] = [
        ("Mean response times", bars + axes, interval_spec(rows, "mean, ms")),
        ("The slowest hundredth", bars + axes, interval_spec(rows, "99 %, ms")),
        (
            "Hits and response times",
            "A point for each policy. Those with the most hits, and the fastest ones, have names.",
            hits_spec(rows),
        ),
    ]
    by_hour = hour_rows(rows)
    if by_hour:
        about = f"The cache of {by_hour[0].percent:g} %; the policies with the least mean."
        found.append(("By the hour of the trace", about, hours_spec(by_hour)))
    return found


def write_page(
    path: Path,
    name: str,
    rows: list[Shown],
    tables: tuple[list[list[str]], list[list[str]]],
    about: list[str],
    notes: list[str],
) -> None:
    """Write the page. tables: the cells of the table and of the intervals, with their heads; about,
    notes: lines before the pictures and behind the tables."""
    figures = [figure_html(i, *found) for i, found in enumerate(page_figures(rows), 1)]
    parts: dict[str, Any] = {
        "head": page_head(name, page.page_style(), PICTURES),
        "name": escape(name),
        "about": paragraphs_html("about", about),
        "figures": "\n".join(figures),
        "table": html_table(tables[0]),
        "intervals": html_table(tables[1]),
        "notes": paragraphs_html("about", notes),
        "replayer": replayer_hash()[:16],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, Template(TEMPLATE.read_text(encoding="utf-8")).substitute(parts))
