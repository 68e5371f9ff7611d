"""Draw the picture of README.md: read response over time, under periodic update and under AIPU.

It shows the first trial of two arms of one experiment, as SVG that can be read on a white and on a
dark page. The data are stored next to the picture, so that a test can draw it again.
"""

import itertools
import json
from collections.abc import Iterator
from math import log10
from pathlib import Path
from typing import TypedDict

from sluice.experiment import metrics
from sluice.experiment.files import write_atomically
from sluice.experiment.records import RunResult
from sluice.experiment.result import BadResult
from sluice.experiment.series import bucket_high
from sluice.host.paths import ROOT

EXPERIMENT = "mogul-4.1-fast"
PANELS = {
    "delayed+PU": "Periodic update (PU)",
    "delayed+AIPU": "Approximate interval periodic update (AIPU)",
}
FOLDER = ROOT / "results" / "front"
DATA = FOLDER / "response.json"
PICTURE = FOLDER / "response.svg"

WIDTH, HEIGHT = 960, 330
LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, BETWEEN = 64, 60, 420, 220, 34
LEAST_US, MOST_US = 1_000, 20_000_000
DECADES = {10_000: "10 ms", 100_000: "100 ms", 1_000_000: "1 s", 10_000_000: "10 s"}
LONG_US = 450_000  # from here on a read is long, as in the experiment's metrics
INK, FAINT, READ, LONG = "#7d8590", "#7d859055", "#3f87d9", "#e5642d"


class Panel(TypedDict):
    """The data of a panel: the longest read, and the reads by bin of time and response time, as in
    a result (series.py)."""

    longest_ms: float
    bin_ms: int
    bins: int
    read_heat: list[list[int]]  # [bin, low_us, reads]


PictureData = dict[str, Panel]  # by arm


def pick_data(results: list[RunResult]) -> PictureData:
    """Return the picture's data, from whole results: for each panel its reads and the longest.
    Raises BadResult."""
    shown: PictureData = {}
    for arm in PANELS:
        trials = [result for result in results if result["arm"] == arm]
        if not trials:
            raise BadResult(f"{EXPERIMENT}: no run of {arm} for the picture")
        series = trials[0]["series"]
        shown[arm] = {
            "longest_ms": metrics.evaluate(trials[0], "read.max_ms"),
            "bin_ms": series["bin_ms"],
            "bins": series["bins"],
            "read_heat": series["disks"]["disk1"]["read_heat"],
        }
    return shown


def pack(shown: PictureData) -> str:
    """Return the data of the picture as JSON.

    Each response time has a line of pairs: the distance from the bin before, and the number of
    reads in this bin.
    """
    parts = []
    for arm, panel in shown.items():
        about = {name: value for name, value in panel.items() if name != "read_heat"}
        rows = []
        for low_us in sorted({low for _, low, _ in panel["read_heat"]}):
            row, last = [low_us], 0
            for bin, low, n in panel["read_heat"]:
                if low == low_us:
                    row += [bin - last, n]
                    last = bin
            rows.append(json.dumps(row, separators=(",", ":")))
        heat = ",\n".join(rows)
        parts.append(f'{json.dumps(arm)}:{json.dumps(about)[:-1]}, "read_heat": [\n{heat}]}}')
    return "{" + ",\n".join(parts) + "}\n"


def unpack(text: str) -> PictureData:
    """Return the data of the picture from the text that `pack` returned."""
    shown: PictureData = json.loads(text)
    for panel in shown.values():
        heat: list[list[int]] = []
        for low_us, *pairs in panel["read_heat"]:
            bins = itertools.accumulate(pairs[::2])
            heat += [[bin, low_us, n] for bin, n in zip(bins, pairs[1::2], strict=True)]
        panel["read_heat"] = sorted(heat)
    return shown


def response_height(us: float) -> float:
    """Return the vertical position of a response time, from the top."""
    part = log10(max(us, LEAST_US) / LEAST_US) / log10(MOST_US / LEAST_US)
    return TOP + PANEL_HEIGHT * (1 - part)


def svg_text(x: float, y: float, words: str, style: str = "") -> str:
    """Return a line of text as SVG."""
    return f'<text x="{x:g}" y="{y:g}" fill="{INK}"{style}>{words}</text>'


def panel_frame(x: float, title: str, panel: Panel, seconds: float) -> Iterator[str]:
    """Yield the title, grid and axes of a panel that begins at x."""
    longest = panel["longest_ms"] / 1000
    yield svg_text(x, 22, title, ' font-weight="bold" font-size="15"')
    yield svg_text(x, 42, f"the longest read takes {longest:.2f} s")
    for us in DECADES:
        y = response_height(us)
        yield f'<path d="M{x:g} {y:.1f}h{PANEL_WIDTH}" stroke="{FAINT}"/>'
    bottom = TOP + PANEL_HEIGHT
    yield f'<path d="M{x:g} {bottom}h{PANEL_WIDTH}" stroke="{INK}"/>'
    for second in range(0, int(seconds) + 1, 30):
        at = x + PANEL_WIDTH * second / seconds
        yield svg_text(at, bottom + 18, f"{second} s", ' text-anchor="middle"')


def panel_reads(x: float, panel: Panel, seconds: float) -> Iterator[str]:
    """Yield a panel's reads: a cell for the reads of one bin and response time, a dot for a long
    read."""
    step = PANEL_WIDTH * panel["bin_ms"] / 1000 / seconds  # the width of a bin
    cells: dict[float, str] = {}  # outlines, by opacity
    for bin, low_us, reads in panel["read_heat"]:
        left = x + bin * step
        top, bottom = response_height(bucket_high(low_us)), response_height(low_us)
        if low_us >= LONG_US:
            yield f'<circle cx="{left + step / 2:.1f}" cy="{top:.1f}" r="5" fill="{LONG}"/>'
        elif bottom > top:
            opacity = round(min(1.0, 0.5 + 0.2 * log10(reads)), 1)
            cell = f"M{left:.1f} {top:.1f}h{step:.1f}v{bottom - top:.1f}h-{step:.1f}z"
            cells[opacity] = cells.get(opacity, "") + cell
    for opacity, outlines in cells.items():
        yield f'<path d="{outlines}" fill="{READ}" fill-opacity="{opacity}"/>'


def draw_front_page(shown: PictureData) -> str:
    """Return the picture as SVG."""
    seconds = max(panel["bins"] * panel["bin_ms"] for panel in shown.values()) / 1000
    parts = []
    for i, (arm, title) in enumerate(PANELS.items()):
        x = LEFT + i * (PANEL_WIDTH + BETWEEN)
        parts += [*panel_frame(x, title, shown[arm], seconds), *panel_reads(x, shown[arm], seconds)]
    marks = [
        svg_text(LEFT - 8, response_height(us) + 4, words, ' text-anchor="end"')
        for us, words in DECADES.items()
    ]
    about = "Response time of each read over the time at which it was done; orange: over 450 ms"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="system-ui, sans-serif" font-size="13" role="img">',
            f"<title>{about}</title>",
            *marks,
            *parts,
            svg_text(LEFT, HEIGHT - 10, about),
            "</svg>",
            "",
        ]
    )


def write_front_page(shown: PictureData) -> Path:
    """Write the picture's data and the picture. Returns the picture's path."""
    FOLDER.mkdir(exist_ok=True)
    write_atomically(DATA, pack(shown))
    write_atomically(PICTURE, draw_front_page(shown))
    return PICTURE
