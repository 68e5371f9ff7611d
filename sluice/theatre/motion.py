"""A short animation of a run, or of two side by side, for a slide: how long a read has waited, how
many requests wait and how many blocks are dirty, as the time of the run goes on.

It is drawn as the pictures of reports are (sluice/report/theme.py), without a browser.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence

import vl_convert

from sluice.report import theme
from sluice.report.theme import Spec
from sluice.theatre.apng import join_frames
from sluice.theatre.scene import DIRTY, Scene
from sluice.theatre.staging import LIGHT

FRAMES = 60
FRAME_MS, LAST_MS = 100, 2500
POINTS = 400  # of a curve
WIDTH, HEIGHTS, LABELS = 520, (190, 110, 110), 44
LANES = ("A read has waited, s", "Requests that wait", "Blocks that are dirty")


def count_between(up: list[int], down: list[int], times: list[int]) -> list[int]:
    """Return, for each time, how many of `up` have happened minus how many of `down`."""
    up, down = sorted(up), sorted(down)
    return [bisect_right(up, t) - bisect_right(down, t) for t in times]


def longest_waits_s(asked: list[tuple[int, int]], times: list[int]) -> list[float]:
    """Return, for each time, how long the longest-waiting read has waited, in s. asked: the times
    when each read was queued and completed, sorted."""
    found, here, i = [], [], 0
    for t in times:
        while i < len(asked) and asked[i][0] <= t:
            here.append(asked[i])
            i += 1
        here = [read for read in here if read[1] > t]
        found.append((t - here[0][0]) / 1e9 if here else 0.0)
    return found


def lane_curves(scene: Scene, times: list[int]) -> list[Sequence[float]]:
    """Return a run's values at these times, a list for each of LANES."""
    requests, cache = scene["requests"], scene["cache"]
    queued = requests["queued"]
    issued = [a + b for a, b in zip(queued, requests["issued"], strict=True)]
    completed = [a + b for a, b in zip(queued, requests["completed"], strict=True)]
    rows = zip(queued, completed, requests["process"], strict=True)
    asked = sorted((begin, end) for begin, end, process in rows if process)
    was: dict[int, int] = {}
    up: list[int] = []
    down: list[int] = []
    for t, place, state in zip(cache["time"], cache["place"], cache["state"], strict=True):
        if (was.get(place) == DIRTY) != (state == DIRTY):
            (up if state == DIRTY else down).append(t)
        was[place] = state
    return [
        longest_waits_s(asked, times),
        count_between(queued, issued, times),
        count_between(up, down, times),
    ]


def lane_spec(
    number: int, end_s: float, top: float, colour: str, rows: list[dict[str, float]]
) -> dict[str, object]:
    """Return the specification of a curve. Its axes are the same for all frames."""
    last = number == len(LANES) - 1
    across = {"title": "Time, s"} if last else {"labels": False, "title": None}
    line = {"color": colour}
    up = {"title": None, "tickCount": 4, "minExtent": LABELS, "maxExtent": LABELS}
    return {
        "width": WIDTH,
        "height": HEIGHTS[number],
        "title": {"text": LANES[number], "fontSize": 14, "offset": 4, "fontWeight": "normal"},
        "data": {"values": rows},
        "mark": {"type": "area", "opacity": 0.85, "clip": True} | {"color": colour, "line": line},
        "encoding": {
            "x": measured_channel("t", end_s) | {"axis": across},
            "y": measured_channel("v", top) | {"axis": up},
        },
    }


def measured_channel(field: str, top: float) -> dict[str, object]:
    """Return the channel of a number from 0 on, on an axis up to `top`."""
    scale = {"domain": [0, top], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale}


def frame_spec(
    scenes: list[Scene], told: list[list[Sequence[float]]], times: list[int], n: int
) -> Spec:
    """Return the specification of a frame, which shows the first n times."""
    tops = [max(max(run[k]) for run in told) or 1 for k in range(len(LANES))]
    columns = []
    for scene, run, colour in zip(scenes, told, LIGHT, strict=False):
        lanes = []
        for k, values in enumerate(run):
            shown = zip(times[:n], values[:n], strict=True)
            rows = [{"t": t / 1e9, "v": v} for t, v in shown if t <= scene["length_ns"]]
            lanes.append(lane_spec(k, times[-1] / 1e9, tops[k], colour, rows))
        name = {"text": scene["name"], "color": colour, "fontSize": 22}
        columns.append({"title": name, "vconcat": lanes})
    return {"config": theme.CONFIG, "hconcat": columns, "padding": 16}


def build_animation(scenes: list[Scene], tell: Callable[[str], None] = lambda _: None) -> bytes:
    """Return the animation as PNG. tell: called with words about the progress."""
    length = max(scene["length_ns"] for scene in scenes)
    times = [length * i // (POINTS - 1) for i in range(POINTS)]
    told = [lane_curves(scene, times) for scene in scenes]
    frames = []
    for i in range(FRAMES):
        tell(f"picture {i + 1} of {FRAMES}")
        spec = frame_spec(scenes, told, times, 1 + (POINTS - 1) * i // (FRAMES - 1))
        frames.append(vl_convert.vegalite_to_png(spec, scale=1))
    return join_frames(frames, [FRAME_MS] * (FRAMES - 1) + [LAST_MS])
