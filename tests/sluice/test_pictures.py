"""The theatre and a report's figure are drawn as before: they are compared with stored pictures.

The run is made up, so no change of the kernel moves it. Pictures are compared coarsely: the numbers
are means of squares of CELL pixels, and of the theatre only the canvases, without letters. So
another Chromium, which draws an edge half a pixel beside, changes a number by at most
255 * CELL / 2 / CELL ** 2 = 16, which is below MOST; a head on another track, a disc of 80 pixels,
changes one by 40 and more.
"""

from pathlib import Path

import numpy as np
import pytest
from browser import Page
from pixels import compare, decoded, encoded

from sluice.report import picture
from sluice.theatre import motion
from sluice.theatre.scene import AHEAD, CLEAN, DIRTY, EMPTY, KINDS, READING, WRITING
from sluice.theatre.staging import theatre_page

PICTURES = Path(__file__).parent / "pictures"
CELL = 8  # pixels
MOST = 24  # the largest difference of a colour, of 255, that is allowed
# The renderer has a font of its own, and takes the system's one of that name where there is one.
OWN_LETTERS = not any(Path("/usr/share/fonts").rglob("LiberationSans-Regular*"))
LETTERS = MOST if OWN_LETTERS else 40  # Debian 12 has version 1.07 of the font, which differs by 28
MS = 10**6
TURN, CYLINDERS = 20 * MS, 100  # a rotation, and the arm's places
SHOWN_NS = 2_307 * MS  # in the middle of the burst, a third of a turn after its begin
# Draw the canvases without letters, and give the means of their cells, on the page's own paper.
DRAWN = """(() => {
  CanvasRenderingContext2D.prototype.fillText = () => {};
  pictures = {};
  drawAll();
  return [...document.querySelectorAll("canvas")].map((canvas) => {
    const {width, height} = canvas, paper = document.createElement("canvas");
    const columns = Math.ceil(width / CELL), rows = Math.ceil(height / CELL);
    const sums = new Array(columns * rows * 3).fill(0), counts = sums.slice();
    Object.assign(paper, {width, height});
    const g = paper.getContext("2d");
    g.fillStyle = getComputedStyle(document.body).backgroundColor;
    g.fillRect(0, 0, width, height);
    g.drawImage(canvas, 0, 0);
    const {data} = g.getImageData(0, 0, width, height);
    for (let i = 0; i < width * height; i++) {
      const cell = Math.floor(i / width / CELL) * columns + Math.floor(i % width / CELL);
      for (let k = 0; k < 3; k++) {
        sums[cell * 3 + k] += data[i * 4 + k];
        counts[cell * 3 + k]++;
      }
    }
    return {rows, columns, means: sums.map((sum, i) => sum / counts[i])};
  });
})()""".replace("CELL", str(CELL))


def make_scene(name: str, number: int, bursts: dict[int, int]) -> dict:
    """Return the scene of a made-up run of 4 s: a read each 90 ms, and writes in bursts. bursts:
    how many writes at which ms. The drive serves the requests one after another, in order. All
    times are in ns."""
    # A request: when it is queued, 1 for a write, and the cylinder.
    asked = [(i * 90 * MS, 0, i * 37 % CYLINDERS) for i in range(44)]
    asked += [
        (at * MS + k, 1, (at + k * 7) % CYLINDERS) for at, n in bursts.items() for k in range(n)
    ]
    asked.sort()
    names = ("begin", "done", "free", "from", "to", "kind", "own", *("command", "busy", "seek"))
    commands = {name: [] for name in (*names, "rotation", "transfer")}
    requests = {name: [] for name in ("queued", "issued", "completed", "write", "sector")}
    # A change of the cache: when, which buffer, and its new state. Nine blocks are read ahead, and
    # four of them are dropped unused.
    changes = [(20 * MS * k, 60 + k, AHEAD) for k in range(9)]
    changes += [(1900 * MS + k, 60 + k, EMPTY) for k in range(4)]
    # The arm's cylinder, when the drive is free, and the number of writes so far.
    arm = ready = wrote = 0
    for i, (queued, write, to) in enumerate(asked):
        begin = max(queued, ready)
        parts = {"command": MS, "busy": 0, "seek": abs(to - arm) * 100_000, "transfer": 2 * MS}
        parts["rotation"] = 3 * MS + i % 5 * MS
        ready = begin + sum(parts.values())
        row = {"begin": begin, "done": ready - begin, "free": ready - begin, "from": arm, "to": to}
        row |= {"kind": KINDS.index("write" if write else "miss"), "own": 0} | parts
        for part, value in row.items():
            commands[part].append(value)
        of_request = (queued, begin - queued, ready - queued, write, to * 1000 + i)
        for part, value in zip(requests, of_request, strict=True):
            requests[part].append(value)
        place = 200 + wrote if write else i % 60
        wrote += write
        if write:
            changes.append((max(0, queued - 1500 * MS + wrote * 20 * MS), place, DIRTY))
        changes.append((queued, place, WRITING if write else READING))
        changes.append((ready, place, CLEAN))
        arm = to
    changes.sort()
    order = list(dict.fromkeys(place for _, place, _ in changes))  # a new place is the next one
    n, dirtied = len(asked), [t for t, _, state in changes if state == DIRTY]
    reads = iter(range(1, n + 1))
    requests |= {
        **{"sectors": [16] * n, "command": list(range(n)), "event": list(range(n))},
        "origin": requests["write"],
        "number": [0 if write else next(reads) for write in requests["write"]],
        "process": [1 - write for write in requests["write"]],
    }
    return {
        **{"experiment": "", "size": "full", "run": number, "name": name, "arm": name},
        "policies": {"update": name, "write": "delayed", "sched": "fcfs", "prefetch": "none"},
        **{"drive": "made up", "disk": 1, "start_ns": 0, "length_ns": 4000 * MS, "lost": 0},
        **{"places": len(order), "daemon": "updated", "processes": ["reader", "writer"]},
        "platter": {"rotation_ns": TURN, "cylinders": CYLINDERS},
        "own": [""],
        "origins": [["reader", -1, 0], ["updated", 1, 40]],
        "requests": requests,
        "commands": commands,
        "cache": {
            "time": [t for t, _, _ in changes],
            "place": [order.index(place) for _, place, _ in changes],
            "state": [state for _, _, state in changes],
        },
        "flushes": {"time": [at * MS for at in bursts], "blocks": list(bursts.values())},
        "writes": {"time": dirtied, "process": [2] * len(dirtied)},
    }


@pytest.fixture(scope="module")
def scenes() -> list[dict]:
    """Return two runs: one with a burst of 48 writes, and one with ripples of 8."""
    ripples = dict.fromkeys(range(1000, 4000, 500), 8)
    return [make_scene("PU", 1, {2000: 48}), make_scene("AIPU", 2, ripples)]


def stack_pictures(parts: list[np.ndarray]) -> np.ndarray:
    """Return these pictures below one another, as wide as the widest."""
    widest = max(part.shape[1] for part in parts)
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, widest - part.shape[1]), (0, 0))) for part in parts]
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [400, 1600])
def test_the_theatre_is_drawn_as_it_was(
    browser: Page, scenes: list[dict], width: int, dark: bool, tmp_path: Path
) -> None:
    """Both runs are drawn at SHOWN_NS with a read chosen, in windows of two widths."""
    html = tmp_path / "theatre.html"
    html.write_text(theatre_page(scenes))
    browser.dark(dark)
    browser.open(html, f"#t={SHOWN_NS}&read=0:26", width)
    parts = [
        np.array(part["means"]).reshape(part["rows"], part["columns"], 3)
        for part in browser.value(DRAWN)
    ]
    browser.dark(False)
    assert browser.errors == []
    stored = PICTURES / f"theatre-{width}-{'dark' if dark else 'light'}.png"
    compare(stack_pictures(parts), stored, MOST, tmp_path)


def test_a_figure_is_drawn_as_it_was(
    scenes: list[dict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The letters are compared, too. The picture is drawn at a quarter of its size, and each pixel
    is a cell."""
    monkeypatch.setattr(picture, "SCALE", 1 / 4)
    times = [4000 * MS * i // 200 for i in range(201)]
    curves = [motion.lane_curves(scene, times) for scene in scenes]
    spec = motion.frame_spec(scenes, curves, times, len(times))
    svg = picture.add_titles(picture.draw_svg(spec), {"text": "A burst", "subtitle": "and ripples"})
    compare(decoded(picture.render_png(svg)), PICTURES / "figure.png", LETTERS, tmp_path)


@pytest.mark.native
def test_a_picture_comes_back_from_its_file_and_another_is_told_apart(tmp_path: Path) -> None:
    """A difference of MOST is allowed, one more is not."""
    one = np.arange(5 * 7 * 3, dtype=float).reshape(5, 7, 3)
    assert (decoded(encoded(one)) == one).all()
    path = tmp_path / "stored" / "one.png"
    path.parent.mkdir()
    with pytest.raises(AssertionError, match="there is no picture"):
        compare(one, path, MOST, tmp_path)
    path.write_bytes((tmp_path / "one.png").read_bytes())
    compare(one + MOST, path, MOST, tmp_path)
    one[3, 4, 1] += MOST + 1
    with pytest.raises(AssertionError, match=f"differs by {MOST + 1} at row 3, column 4"):
        compare(one, path, MOST, tmp_path)
