"""The picture of README.md: read response over time, under periodic update and under AIPU.

It is drawn from the first trial of two sets of policies of one experiment, as SVG that can be read
on a white and on a dark page. Its data are kept beside it, so that a test can draw it again.
"""

import json
from collections.abc import Iterator
from math import log10
from pathlib import Path

from sluice.experiment import metrics
from sluice.experiment.files import write_whole
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
LONG_US = 450_000  # as the experiment counts them
INK, FAINT, READ, LONG = "#7d8590", "#7d859055", "#3f87d9", "#e5642d"


def pick(results: list[dict]) -> dict:
    """The data of the picture, from whole results: for each panel its reads and the longest."""
    shown = {}
    for arm in PANELS:
        trials = [result for result in results if result["arm"] == arm]
        if not trials:
            raise BadResult(f"{EXPERIMENT}: no run of {arm} for the picture")
        series = trials[0]["series"]
        shown[arm] = {
            "longest_ms": metrics.of(trials[0], "read.max_ms"),
            "bin_ms": series["bin_ms"],
            "bins": series["bins"],
            "read_heat": series["disks"]["disk1"]["read_heat"],
        }
    return shown


def height(us: float) -> float:
    """The height of a response time, from the top."""
    part = log10(max(us, LEAST_US) / LEAST_US) / log10(MOST_US / LEAST_US)
    return TOP + PANEL_HEIGHT * (1 - part)


def text(x: float, y: float, words: str, style: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{INK}"{style}>{words}</text>'


def frame(x: float, title: str, panel: dict, seconds: float) -> Iterator[str]:
    """Title, grid and axes of a panel that begins at x."""
    longest = panel["longest_ms"] / 1000
    yield text(x, 22, title, ' font-weight="bold" font-size="15"')
    yield text(x, 42, f"the longest read takes {longest:.2f} s")
    for us in DECADES:
        y = height(us)
        yield f'<path d="M{x:g} {y:.1f}h{PANEL_WIDTH}" stroke="{FAINT}"/>'
    bottom = TOP + PANEL_HEIGHT
    yield f'<path d="M{x:g} {bottom}h{PANEL_WIDTH}" stroke="{INK}"/>'
    for second in range(0, int(seconds) + 1, 30):
        at = x + PANEL_WIDTH * second / seconds
        yield text(at, bottom + 18, f"{second} s", ' text-anchor="middle"')


def reads(x: float, panel: dict, seconds: float) -> Iterator[str]:
    """A panel's reads: a cell for those of a second that took as long, a dot for a long one."""
    step = PANEL_WIDTH * panel["bin_ms"] / 1000 / seconds
    cells: dict[float, str] = {}  # outlines, by how dark they are
    for bin, low_us, n in panel["read_heat"]:
        left, top, end = x + bin * step, height(bucket_high(low_us)), height(low_us)
        if low_us >= LONG_US:
            yield f'<circle cx="{left + step / 2:.1f}" cy="{top:.1f}" r="5" fill="{LONG}"/>'
        elif end > top:
            seen = round(min(1.0, 0.5 + 0.2 * log10(n)), 1)
            cell = f"M{left:.1f} {top:.1f}h{step:.1f}v{end - top:.1f}h-{step:.1f}z"
            cells[seen] = cells.get(seen, "") + cell
    for seen, outlines in cells.items():
        yield f'<path d="{outlines}" fill="{READ}" fill-opacity="{seen}"/>'


def drawn(shown: dict) -> str:
    """The picture, as SVG."""
    seconds = max(panel["bins"] * panel["bin_ms"] for panel in shown.values()) / 1000
    parts = []
    for i, (arm, title) in enumerate(PANELS.items()):
        x = LEFT + i * (PANEL_WIDTH + BETWEEN)
        parts += [*frame(x, title, shown[arm], seconds), *reads(x, shown[arm], seconds)]
    marks = [
        text(LEFT - 8, height(us) + 4, words, ' text-anchor="end"') for us, words in DECADES.items()
    ]
    about = "Response time of each read over the time at which it was done; orange: over 450 ms"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="system-ui, sans-serif" font-size="13" role="img">',
            f"<title>{about}</title>",
            *marks,
            *parts,
            text(LEFT, HEIGHT - 10, about),
            "</svg>",
            "",
        ]
    )


def write(shown: dict) -> Path:
    """Keep the data of the picture, and draw it. Returns the picture's path."""
    FOLDER.mkdir(exist_ok=True)
    write_whole(DATA, json.dumps(shown, separators=(",", ":")) + "\n")
    write_whole(PICTURE, drawn(shown))
    return PICTURE
