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
    waits_s, waiting, begun = [], [], 0  # begun: how many reads are queued by now
    for t in times:
        while begun < len(asked) and asked[begun][0] <= t:
            waiting.append(asked[begun])
            begun += 1
        waiting = [(queued, completed) for queued, completed in waiting if completed > t]
        waits_s.append((t - waiting[0][0]) / 1e9 if waiting else 0.0)
    return waits_s


def lane_curves(scene: Scene, times: list[int]) -> list[Sequence[float]]:
    """Return a run's values at these times, a list for each of LANES."""
    requests, cache = scene["requests"], scene["cache"]
    queued = requests["queued"]
    issued = [a + b for a, b in zip(queued, requests["issued"], strict=True)]
    completed = [a + b for a, b in zip(queued, requests["completed"], strict=True)]
    rows = zip(queued, completed, requests["process"], strict=True)
    waited_for = sorted((begin, end) for begin, end, process in rows if process)
    states: dict[int, int] = {}  # by place in the cache
    dirtied: list[int] = []  # when a place became dirty
    cleaned: list[int] = []  # when a dirty place got another state
    for t, place, state in zip(cache["time"], cache["place"], cache["state"], strict=True):
        was_dirty, is_dirty = states.get(place) == DIRTY, state == DIRTY
        if is_dirty and not was_dirty:
            dirtied.append(t)
        if was_dirty and not is_dirty:
            cleaned.append(t)
        states[place] = state
    return [
        longest_waits_s(waited_for, times),
        count_between(queued, issued, times),
        count_between(dirtied, cleaned, times),
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
    scenes: list[Scene], curves: list[list[Sequence[float]]], times: list[int], n: int
) -> Spec:
    """Return the specification of a frame, which shows the first n times. curves: of each run the
    values of each lane."""
    tops = [max(max(run[k]) for run in curves) or 1 for k in range(len(LANES))]
    columns = []
    for scene, run, colour in zip(scenes, curves, LIGHT, strict=False):
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
    length_ns = max(scene["length_ns"] for scene in scenes)
    times = [length_ns * i // (POINTS - 1) for i in range(POINTS)]
    curves = [lane_curves(scene, times) for scene in scenes]
    frames = []
    for i in range(FRAMES):
        tell(f"picture {i + 1} of {FRAMES}")
        shown = 1 + (POINTS - 1) * i // (FRAMES - 1)  # from one point to all
        spec = frame_spec(scenes, curves, times, shown)
        frames.append(vl_convert.vegalite_to_png(spec, scale=1))
    return join_frames(frames, [FRAME_MS] * (FRAMES - 1) + [LAST_MS])
