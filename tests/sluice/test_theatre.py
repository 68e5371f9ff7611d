"""The theatre's page: in a browser it shows what the trace says, and nothing else is loaded.

The page shows two runs of one load (tests/support/small_run.py): under PU, which writes all dirty
blocks in a burst every 10 s, and under AIPU, which writes each block when it is 8 s old. Fixtures:
`explainers` has the experiment's file and, for each run, an Explainer, which knows in Python what
each read waited for; `page` is the open page. `page.value(text)` evaluates JavaScript in the page,
in which `runs` holds the two runs' columns; `chosen` is the read whose explanation is shown, and
`now`, `from` and `to` are times in ns from the run's beginning.
"""

import json
import random
import re
from pathlib import Path

import psutil
import pytest
from browser import Page
from either import ENGINE
from small_run import NAME, explainers_of
from typed import enter
from whole import in_full

from sluice.debug.chain import Explainer
from sluice.debug.instant import reads
from sluice.host.limits import host_slowdown
from sluice.report.columns import pack_column, unpack_column
from sluice.theatre.packing import delta_decode, pack_run
from sluice.theatre.scene import build_scene
from sluice.theatre.staging import describe_runs, theatre_page

pytestmark = pytest.mark.xdist_group("theatre")  # they share machines


@pytest.fixture(scope="module")
def explainers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Explainer]]:
    """Return the experiment's file and the explainers of its two runs."""
    path = tmp_path_factory.mktemp("theatre") / NAME
    return path, explainers_of(path.parent)


@pytest.fixture(scope="module")
def html(explainers: tuple[Path, list[Explainer]]) -> Path:
    """Return the page of both runs, as the command writes it."""
    toml, _ = explainers
    out = toml.with_name("theatre.html")
    assert (
        enter("theatre", "--run", "1", "--second", "2", "--engine", ENGINE, "--out", out, toml) == 0
    )
    return out


@pytest.fixture
def page(browser: Page, html: Path) -> Page:
    """Return the page at the beginning of the runs, light, and on a wide window."""
    browser.errors.clear()
    browser.dark(False)
    browser.open(html, "#t=0")
    return browser


@pytest.mark.native
@pytest.mark.parametrize(
    "column", [[], [0], [5, 5, 4, -7], [2**53 - 1, -(2**53 - 1), 0], list(range(0, 9000, 7))]
)
def test_a_packed_column_comes_back(column: list[int]) -> None:
    """Numbers up to 2^53, the largest that JavaScript holds, survive packing."""
    assert unpack_column(pack_column(column)) == column


def test_the_page_loads_nothing_and_is_small(html: Path) -> None:
    text = html.read_text()
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:src|href)=|https?://|\burl\(", text)
    assert len(text) < 300_000


GROUPS = ("requests", "commands", "cache", "flushes", "writes")
# A run as a page unpacks it: its columns, by group and name, and its origins.
UNPACKED = """(async (run) => {
  await unpackedRun(run);
  const found = {origins: run.origins};
  for (const group of %s) found[group] = Object.fromEntries(
    Object.entries(run[group]).map(([name, column]) => [name, [...column]]));
  return found;
})(%s)"""


def unpack_scene(page: Page, shown: dict) -> dict:
    """Return a scene, packed by Python and unpacked by the page."""
    return page.value(UNPACKED % (json.dumps(GROUPS), json.dumps(pack_run(shown))))


def test_columns_come_back_in_the_browser_to_the_last_bit(page: Page, explainers) -> None:
    """The columns that the page unpacks are those that Python packed, and have the recorded
    times."""
    for explainer in explainers[1]:
        shown = build_scene(explainer, "small", "full")
        found = unpack_scene(page, shown)
        for group in GROUPS:
            assert found[group] == shown[group], group
        assert found["origins"] == shown["origins"]
        requests = [r for c in explainer.commands[1] for r in c.requests]
        mine = sorted(r.completed_ns - explainer.kept.recording.start_ns for r in requests)
        assert (
            sorted(delta_decode(found["requests"]["queued"], found["requests"]["completed"]))
            == mine
        )
    assert page.errors == []


def random_scene(seed: int, turn: int, requests: int = 300, commands: int = 200) -> dict:
    """Return a scene in which nothing follows from anything, so each guess of packing.py is wrong.
    turn: a rotation of the platter in ns, 0 for a drive without one."""
    chance = random.Random(seed)

    def some(n: int, below: int, least: int = 0) -> list[int]:
        """Return n random numbers from `least` to below `below`."""
        return [chance.randrange(least, below) for _ in range(n)]

    late = 10**12
    groups = {
        "requests": {
            **{name: some(requests, late) for name in ("issued", "completed", "event")},
            **{name: some(requests, 100) for name in ("sector", "sectors", "number", "origin")},
            "queued": sorted(some(requests, late, -late)),
            "write": some(requests, 2),
            "command": some(requests, commands) if commands else [],
            "process": some(requests, 3),
        },
        "commands": {
            **{name: some(commands, 10**7) for name in ("done", "free", "seek", "rotation")},
            **{name: some(commands, 10**7) for name in ("command", "busy", "transfer")},
            **{name: some(commands, 9) for name in ("from", "to", "kind")},
            "begin": sorted(some(commands, late, -late)),
            "own": some(commands, 2),
        },
        "flushes": {"time": sorted(some(20, late)), "blocks": some(20, 700)},
        "writes": {"time": sorted(some(50, late)), "process": some(50, 3, 1)},
    }
    groups["requests"]["completed"] = [
        n + more for n, more in zip(groups["requests"]["issued"], some(requests, late), strict=True)
    ]
    # A place that was not used before is the next free one.
    places, count = [], 0
    for n in some(400, 30):
        places.append(min(n, count))
        count += places[-1] == count
    groups["cache"] = {"time": sorted(some(400, late)), "place": places, "state": some(400, 6)}
    return groups | {
        "start_ns": 12345,
        "platter": {"rotation_ns": turn, "cylinders": 9},
        "origins": [["\N{NOT EQUAL TO} </script>", -1, 0]],
    }


@pytest.mark.parametrize(
    "shown",
    [
        random_scene(1, 11_111_111),
        random_scene(2, 0),
        random_scene(3, 7, 0, 0),
        random_scene(4, 7, 0, 5),
    ],
    ids=["platter", "none", "empty", "own commands"],
)
def test_columns_that_cannot_be_guessed_come_back_too(page: Page, shown: dict) -> None:
    """Packing guesses a column from others and stores the differences. Wrong guesses may cost
    space, but no number."""
    found = unpack_scene(page, shown)
    for group in GROUPS:
        assert found[group] == shown[group], group
    assert found["origins"] == shown["origins"]
    assert page.errors == []


@pytest.mark.native
def test_what_follows_from_other_columns_takes_hardly_a_byte() -> None:
    """A drive serves one read after the other, each of a sector that it had before. So times and
    places of its commands can be computed from the requests."""
    n, turn, service = 3000, 10_000_000, 9_000_000
    chance = random.Random(5)
    sectors = [chance.randrange(50) * 1600 for _ in range(n)]
    cylinders = [sector // 1600 for sector in sectors]
    starts = [0, *cylinders[:-1]]
    seeks = [abs(a - b) * 10_000 for a, b in zip(starts, cylinders, strict=True)]
    begins, rotations, t = [], [], 0
    for sector, seek in zip(sectors, seeks, strict=True):
        begins.append(t)
        rotations.append((sector * 5000 - t - seek) % turn)
        t += seek + rotations[-1] + service
    dones = [a + b + service for a, b in zip(seeks, rotations, strict=True)]
    nothing, alike = [0] * n, [7] * n
    shown = random_scene(1, turn, 0, 0) | {
        "start_ns": 0,
        "requests": {
            **dict.fromkeys(("issued", "write", "origin"), nothing),
            **{"queued": begins, "completed": dones, "sector": sectors, "sectors": alike},
            **{"command": list(range(n)), "process": alike, "event": list(range(n))},
            "number": list(range(1, n + 1)),
        },
        "commands": {
            **{"begin": begins, "done": dones, "free": dones, "from": starts, "to": cylinders},
            **{"kind": [1] * n, "own": nothing, "command": nothing, "busy": nothing},
            **{"seek": seeks, "rotation": rotations, "transfer": [service] * n},
        },
    }
    columns = pack_run(shown)["columns"]
    for name in ("begin", "done", "free", "from", "to", "seek", "rotation"):
        assert len(columns[f"commands.{name}"]) < 700, name  # 3,000 random numbers take 15,000


def test_every_read_is_explained_as_make_why_explains_it(page: Page, explainers) -> None:
    """The page's explanation of each read has the words and times of the Explainer's (`sluice
    why`)."""
    for n, explainer in enumerate(explainers[1]):
        here = page.value(
            f"runs[{n}].byDone.map(i => [runs[{n}].requests.number[i],"
            f" explain(runs[{n}], i).map(link => [link.words, link.ns])])"
        )
        there = []
        for number, read in enumerate(reads(explainer.kept), start=1):
            if read.disk == 1:
                links = explainer.explain(read).links
                there.append([number, [[link.words, link.ns] for link in links]])
        assert len(there) > 600
        assert sorted(here) == there


def test_what_waits_and_what_is_dirty_is_what_the_trace_says(page: Page, explainers) -> None:
    """Moments all over both runs are compared, and one 5 ms after the longest read was queued: how
    many requests wait, how many the drive has, and how many blocks are dirty. The page's script is
    asked, and the trace."""
    for n, explainer in enumerate(explainers[1]):
        made = explainer.kept.recording
        requests = [r for c in explainer.commands[1] for r in c.requests]
        longest = max(reads(explainer.kept), key=lambda r: r.response_ns)
        moments = [made.start_ns + k * (made.end_ns - made.start_ns) // 23 for k in range(1, 23)]
        for at_ns in [*moments, longest.queued_ns + 5_000_000]:
            waiting = sum(r.queued_ns <= at_ns < r.issued_ns for r in requests)
            at_drive = sum(r.issued_ns <= at_ns < r.completed_ns for r in requests)
            dirty = {}
            for e in made.events:
                if e.time_ns > at_ns:
                    break
                if e.name == "dirtied":
                    dirty[e.disk, e.block] = e.time_ns
                elif e.name in ("writing", "cancelled", "evicted"):
                    dirty.pop((e.disk, e.block), None)
            t = at_ns - made.start_ns
            shown = page.value(
                f"[waitingAt(runs[{n}], {t}).length, withDriveAt(runs[{n}], {t}),"
                f" cacheAt(runs[{n}], {t}).was.reduce((sum, s) => sum + (s === DIRTY), 0)]"
            )
            assert shown == [waiting, at_drive, len(dirty)], at_ns


def difference_text(page: Page) -> str:
    """Return the page's sentence about how the two runs differ now."""
    return page.value("document.getElementById('told').textContent")


def test_the_burst_is_a_catastrophe_under_pu_and_a_ripple_under_aipu(page: Page) -> None:
    """15 blocks become dirty in a second. A burst of PU has the blocks of at least 5 s, so 75. A
    burst of AIPU, which checks each second, has the blocks of at most 2 s, so 30. The drive writes
    a block in a rotation of 11 ms or more. One block of a burst is with the drive, and does not
    wait."""
    waiting, longest = page.value("[runs.map(r => r.waiting.most), runs.map(r => r.longest / 1e9)]")
    assert waiting[0] >= 75 - 1 > 30 > waiting[1] > 0, waiting
    assert longest[0] > 75 * 0.011 > 0.5 > longest[1]
    page.key("n")  # the next slow read
    page.key("ArrowRight")
    said = difference_text(page)
    of_pu = said.split("AIPU at ")[0]
    assert re.search(r"; iogen read waits for a read, for [\d.]+ s so far", of_pu), said
    assert re.search(r"; The queue: \d\d+ requests queued \(1 read\), the oldest for", of_pu), said


def test_the_slowest_reads_come_first_and_those_of_both_runs(page: Page) -> None:
    """The key N goes from one slow read to the next and begins again; the key P goes back."""
    ns = "(r => chosen && r.completed[chosen.i] - r.queued[chosen.i])(chosen.run.requests)"
    shown = "document.querySelector('#chain h2').textContent"
    page.key("n")
    assert page.value(f"{ns} === Math.max(...runs.map(r => r.longest))")
    count = page.value("slowReads.length")
    assert page.value(shown).endswith(f"(slow read 1 of {count})")
    seen = [(page.value(ns), page.value("runs.indexOf(chosen.run)"))]
    for _ in range(count - 1):
        page.key("n")
        seen.append((page.value(ns), page.value("runs.indexOf(chosen.run)")))
    assert seen == sorted(seen, reverse=True) and {run for _, run in seen} == {0, 1}
    longest = page.value("runs.map(r => r.longest)")
    assert all(ns >= longest[run] / 2 for ns, run in seen)
    page.key("n")
    assert page.value(ns) == seen[0][0]
    page.key("p")
    assert page.value(ns) == seen[-1][0]
    # So it is in whichever order the runs stand.
    slow = page.value("(runs.reverse(), slowest().map(one => one.ns))")
    page.value("runs.reverse().length")
    assert slow == [ns for ns, _ in seen]


def test_a_click_into_a_wait_chooses_its_read_and_its_commands_name_it(page: Page) -> None:
    """The click is in the middle of the slowest read's wait, as it is drawn."""
    page.key("n")
    number = page.value("chosen.run.requests.number[chosen.i]")
    x, y = page.value(
        "(({run, i}) => { const canvas = at('lanes'), box = canvas.getBoundingClientRect(),"
        " r = run.requests, [, low] = lanesOf(0, box.height).responses;"
        " return [box.left + (xOf(r.queued[i], box.width) + xOf(r.completed[i], box.width)) / 2,"
        " box.top + low - 3]; })(chosen)"
    )
    page.value("document.querySelector('#chain button').click()")
    assert page.value("chosen") is None
    page.click(x, y)
    assert page.value("chosen.run.requests.number[chosen.i]") == number
    said = page.value("at('chain').textContent")
    assert re.search(
        rf"sluice why \S+ (--size=\w+ )?--run=\d+ --read={number} tells the same", said
    ), said


def test_without_a_moment_in_its_address_it_opens_on_the_slowest_read(
    page: Page, html: Path
) -> None:
    """The moment shown is when the slowest read was queued."""
    page.open(html, "")
    assert page.value("slowReads[0].run === chosen.run && slowReads[0].i === chosen.i")
    assert page.value("now === chosen.run.requests.queued[chosen.i] && now > 0")
    assert page.value("!at('chain').hidden")


@pytest.mark.native
def test_a_sentence_says_what_runs_and_how_two_runs_differ() -> None:
    """Only the policies that differ are named for two runs."""
    one = {"experiment": "reads", "drive": "rz58", "name": "PU", "run": 1}
    one["policies"] = {"update": "pu", "sched": "clook"}
    other = one | {"name": "AIPU", "policies": {"update": "aipu", "sched": "clook"}}
    where = "of reads on a model of the drive rz58, in virtual time"
    assert describe_runs([one]) == f"A run {where}, with update=pu, sched=clook."
    differ = "PU has update=pu and AIPU has update=aipu"
    assert describe_runs([one, other]) == f"Two runs {where}, drawn on one clock: {differ}."
    assert describe_runs([one, one]).endswith(": their policies are the same.")


def test_one_clock_is_shown_and_that_of_the_terminal_where_the_pointer_rests(
    page: Page, explainers
) -> None:
    """The page's clock begins with the run; the machine's clock (in the tooltip) begins with its
    boot."""
    start_ns = explainers[1][0].kept.recording.start_ns
    page.key("n")
    own = float(re.fullmatch(r"([\d.]+) s of \d+ s", page.value("at('now').textContent"))[1])
    title = page.value("at('now').title")
    machine = float(re.fullmatch(r"the machine's clock, .*: ([\d.]+) s", title)[1])
    assert machine - own == pytest.approx(start_ns / 1e9, abs=2e-6)


def test_it_marks_where_the_two_runs_begin_to_differ(page: Page, explainers) -> None:
    """The first requests that differ in place, size or direction; the key D goes there."""
    one, other = (
        sorted(
            (r.queued_ns - x.kept.recording.start_ns, r.sector, r.sectors, r.write)
            for c in x.commands[1]
            for r in c.requests
        )
        for x in explainers[1]
    )
    pairs = enumerate(zip(one, other, strict=False))
    same = next(i for i, (a, b) in pairs if a[1:] != b[1:])  # all except the time
    assert same > 100  # the policies have nothing to do at first
    assert page.value("differ") == min(one[same][0], other[same][0])
    page.key("d")
    assert page.value("now === differ")
    assert f"The runs differ from {one[same][0] / 1e9:.1f}"[:-1] in difference_text(page)


def test_keys_zoom_play_and_step(page: Page) -> None:
    """The keys + and 0 zoom, E goes to the next event, and the space bar plays and stops."""
    span = page.value("to - from")
    page.key("+")
    assert page.value("to - from") == pytest.approx(span / 2)
    for _ in range(40):
        page.key("+")
    assert page.value("to - from") == 2000  # 2 us
    page.key("0")
    assert page.value("[from, to]") == [0, span]
    page.key("e")
    first = page.value("now")
    assert first == page.value(
        "Math.min(...runs.flatMap(r => [...r.requests.queued, ...r.requests.issued,"
        " ...r.requests.completed]).filter(t => t > 0))"
    )
    page.key(" ")
    page.value(
        "new Promise(r => { const look = () => now > 0.2e9 ? r() : setTimeout(look, 9); look(); })"
    )
    page.key(" ")
    assert page.value("playing") is False
    stopped = page.value("now")
    page.painted()
    assert page.value("now") == stopped > first
    assert page.errors == []


def test_a_click_on_a_response_shows_what_it_waited_for(page: Page) -> None:
    """The dot of PU's longest read is clicked. The parts of its time sum to the total. `box` has
    where the dot is on the screen, and the read's number."""
    box = page.value(
        "(() => { const run = runs[0], r = run.requests, c = document.getElementById('lanes'),"
        " i = run.byDone.find(i => r.completed[i] - r.queued[i] === run.longest),"
        " b = c.getBoundingClientRect(), [top, bottom] = lanesOf(0, c.clientHeight).responses;"
        " return [b.left + xOf(r.completed[i], c.clientWidth),"
        " b.top + bottom - heightOf(run.longest / MS) * (bottom - top), r.number[i]]; })()"
    )
    page.click(*box[:2])
    said = page.value("document.getElementById('chain').innerText")
    assert f"Read {box[2]} of PU: " in said
    who = r"the update daemon \(update policy pu\)"
    assert re.search(rf"behind \d+ writes of {who}, in a burst of \d+", said)
    assert re.search(r"sluice debug small --run=1 --at=event:\d+ stops", said)
    times = re.findall(r"^([\d,.]+) ms\s", said, re.M)
    *parts, total = (float(ms.replace(",", "")) for ms in times)
    assert sum(parts) == pytest.approx(total, abs=1e-6)
    assert page.value("document.querySelectorAll('#chain .bar span').length") == len(parts)


def test_the_address_holds_the_moment_and_the_read(page: Page, html: Path) -> None:
    """The arrow key moves by a hundredth of the 3 s that are shown, so from 5 s to 5.03 s."""
    page.open(html, "#t=5000000000&from=4000000000&to=7000000000&read=0:50")
    assert page.value("[now, from, to]") == [5e9, 4e9, 7e9]
    assert page.value("document.querySelector('#chain h2').textContent").startswith("Read 50 of PU")
    page.key("ArrowRight")
    page.value("new Promise(r => setTimeout(r, 400))")  # longer than the page waits itself
    words = page.value("location.hash")
    page.open(html, words)
    assert page.value("[now, chosen.run.requests.number[chosen.i]]") == [5.03e9, 50]


@pytest.mark.parametrize("width", [400, 1600])
def test_it_fits_the_window_and_is_dark_on_a_dark_screen(
    browser: Page, html: Path, width: int, tmp_path: Path
) -> None:
    """The window is as wide as a telephone or a screen; nothing must be scrolled sideways."""
    colours = []
    for dark in (False, True):
        browser.dark(dark)
        browser.open(html, "#t=5000000000&read=0:50", width)
        assert browser.value("document.documentElement.scrollWidth") == width
        small = browser.value("[...document.querySelectorAll('canvas')].map(c => c.clientWidth)")
        assert min(small) > 100
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(23, 25, 28)"]
    browser.dark(False)
    assert browser.errors == []


# Count a canvas's pixels by the names of the page's colours.
COUNT = """(canvas) => {
  const context = canvas.getContext("2d"), found = {}, names = {};
  const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
  for (const name of ["dirty", "write", "run0", "run1", "writing", "bad"]) {
    const dot = document.createElement("canvas").getContext("2d");
    dot.fillStyle = css("--" + name);
    dot.fillRect(0, 0, 1, 1);
    names[dot.getImageData(0, 0, 1, 1).data.slice(0, 3).join()] = name;
    found[name] = 0;
  }
  for (let i = 0; i < data.length; i += 4) {
    const name = data[i + 3] === 255 && names[[data[i], data[i + 1], data[i + 2]].join()];
    if (name) found[name]++;
  }
  return found;
}"""


def pixels(page: Page, canvas: str) -> dict[str, int]:
    """Return how many pixels of a drawn canvas have each of these colours of the page."""
    return page.value(f"({COUNT})({canvas})")


@pytest.mark.parametrize("dark", [False, True])
def test_the_pictures_show_the_burst_and_the_ripple(
    browser: Page, html: Path, explainers, dark: bool
) -> None:
    """The pixels of each colour are counted; no letter has one of these colours. In the middle of
    PU's longest read its queue is full of writes and its cache of blocks that are being written.
    AIPU's are not."""
    first = explainers[1][0]
    read = max(reads(first.kept), key=lambda r: r.response_ns)
    t = read.queued_ns + read.response_ns // 4 - first.kept.recording.start_ns
    browser.dark(dark)
    browser.open(html, f"#t={t}")
    queues = [pixels(browser, f"stages[{n}].queue") for n in (0, 1)]
    caches = [pixels(browser, f"stages[{n}].cache") for n in (0, 1)]
    assert queues[0]["write"] > 20 * queues[1]["write"]
    assert caches[0]["writing"] > 5 * caches[1]["writing"]
    assert caches[0]["writing"] > 1000
    lanes = pixels(browser, "document.getElementById('lanes')")
    assert lanes["dirty"] > 3000
    for n in (0, 1):
        assert lanes[f"run{n}"] > 700 / 4  # a dot for each read, and more
    assert lanes["run0"] > 2 * lanes["run1"]  # PU's requests that wait
    assert lanes["bad"] > 10  # where the runs differ
    browser.dark(False)


def test_what_differs_is_marked(page: Page) -> None:
    """The policies that differ are marked always; captions are marked where the runs differ at this
    moment."""
    marked = "[...document.querySelectorAll('.stage mark')].map(e => e.textContent)"
    assert page.value(marked) == ["update pu", "update aipu"]
    differs = "stages.map(s => Object.values(s.captions).filter(c => c.matches('.differs')).length)"
    page.key("Home")
    assert page.value(differs) == [0, 0]
    page.key("n")
    page.key("ArrowRight")
    first, second = page.value(differs)
    assert first == second >= 3


def test_each_moment_has_its_replay_command(page: Page, html: Path, explainers) -> None:
    """The command has the machine's clock, in s and with all nine digits."""
    page.open(html, "#t=5000000123")
    said = page.value("[...document.querySelectorAll('.replay code')].map(e => e.textContent)")
    at_ns = [x.kept.recording.start_ns + 5_000_000_123 for x in explainers[1]]
    assert said == [
        f"sluice debug small --run={n} --at={ns // 10**9}.{ns % 10**9:09}s"
        for n, ns in enumerate(at_ns, start=1)
    ]


def test_two_fingers_zoom_around_their_middle(page: Page) -> None:
    """The fingers move to twice their distance, so half as much time is shown. 58 pixels at the
    left are labels."""
    left, top, width = page.value(
        "(() => { const b = document.getElementById('lanes').getBoundingClientRect();"
        " return [b.left, b.top + 60, b.width]; })()"
    )
    middle = left + 58 + (width - 58) / 2
    before = page.value("[from, to]")

    def touch(kind: str, *xs: float) -> None:
        """Send the page a touch event with a finger at each x."""
        points = [{"x": x, "y": top, "id": i} for i, x in enumerate(xs)]
        page.do("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    touch("touchStart", middle - 100)
    touch("touchStart", middle - 100, middle + 100)
    touch("touchMove", middle - 200, middle + 200)
    touch("touchEnd")
    page.painted()
    after = page.value("[from, to]")
    assert after[1] - after[0] == pytest.approx((before[1] - before[0]) / 2, rel=0.01)
    assert sum(after) == pytest.approx(sum(before), rel=0.05)
    assert page.errors == []


def processor_s(page: Page) -> float:
    """Return the time that all processes of the browser have worked, drawing and decompression
    included: other work on the host does not count."""
    root = psutil.Process(page.process.pid)
    times = [each.cpu_times() for each in (root, *root.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@in_full
def test_a_million_events_open_in_two_seconds_and_play_at_60_frames(
    browser: Page, explainers, tmp_path: Path
) -> None:
    """This is the time on a processor as fast as ours. The small run is repeated until it has a
    million events."""
    shown = build_scene(explainers[1][0], "small", "full")
    events = len(explainers[1][0].kept.recording.events)
    again, length = -(-1_000_000 // events), shown["length_ns"]
    for group, first in (("requests", "queued"), ("commands", "begin"), ("cache", "time")):
        for name, column in shown[group].items():
            each = 0
            if name == first:
                each = length
            elif name == "command":
                each = len(shown["commands"]["done"])
            shown[group][name] = [n + k * each for k in range(again) for n in column]
    shown["length_ns"] = length * again
    path = tmp_path / "million.html"
    path.write_text(theatre_page([shown]))
    before = processor_s(browser)
    browser.open(path)
    took = processor_s(browser) - before
    print(f"opened in {took:.2f} s")
    assert took < 2 * host_slowdown()
    before = processor_s(browser)
    browser.value(
        "new Promise((done) => { let k = 0; const next = () => { goTo(length * ++k / 61);"
        " k < 60 ? requestAnimationFrame(next) : done(); }; next(); })"
    )
    played = processor_s(browser) - before
    print(f"60 frames in {played:.2f} s")
    assert played < 1 * host_slowdown()


def test_pictures_are_described_for_those_who_do_not_see_them(page: Page) -> None:
    """Each of the page's ten canvases has a label, which a screen reader reads aloud."""
    labels = page.value(
        "[...document.querySelectorAll('canvas')].map(c => c.getAttribute('aria-label'))"
    )
    assert len(labels) == 10
    assert all(labels), json.dumps(labels)
    time = page.value("document.getElementById('lanes').getAttribute('aria-valuetext')")
    assert time == "0.000 s"
