"""The theatre's page of a client and its server: what it has, and what its script draws of that.

The page's data (`shown`) are bars and frames of the run `lossy` (test_remote_why.py): `reads` of
programs, `carried` by the client's nfsiod processes, `served` by the server's nfsd processes,
frames `to_server` and `to_client`, commands of the server's `drive`, and numbers over time. A bar
is process, begin, end and more; times are in ns on one axis.

The twins make the runs, except a short one in which their page is compared with the machines'.
"""

import base64
import json
import re
import shutil
import subprocess
import zlib
from itertools import groupby, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browser import Page
from either import ENGINE, load_experiment
from test_remote_why import LOAD
from typed import enter

from sluice.debug.remote import RemoteExplainer
from sluice.debug.stored_run import find_or_record
from sluice.experiment.files import FOLDER
from sluice.experiment.load import load
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import twin_variant
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.theatre.machine_lanes import Machines, build_machines, count_steps, machines_page
from sluice.twin import engine

pytestmark = pytest.mark.xdist_group("remote why")  # they share machines

SCRIPT = ROOT / "sluice" / "theatre" / "machines.js"
SVG = "{http://www.w3.org/2000/svg}"


LOSSY = LOAD.format(more="loss_percent = 2\nlate_percent = 2\nlink_seed = 1")


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """Return the experiment with a link that loses frames."""
    path = tmp_path_factory.mktemp("page") / "lossy.toml"
    path.write_text(LOSSY)
    return load_experiment(path)


def explain_first(experiment: Experiment) -> RemoteExplainer:
    """Return the explainer of the experiment's first run."""
    return RemoteExplainer(find_or_record(experiment.runs[0], FOLDER))


@pytest.fixture(scope="module")
def explained(lossy: Experiment) -> RemoteExplainer:
    """Return the explainer of the run."""
    return explain_first(lossy)


@pytest.fixture(scope="module")
def shown(explained: RemoteExplainer) -> Machines:
    """Return the page's data of the run."""
    return build_machines(explained)


def test_the_page_of_two_twins_is_that_of_two_machines(tmp_path: Path) -> None:
    """A short run with lost frames is made by machines under QEMU and by twins."""
    if why := engine.host_refusal_reason():
        pytest.skip(why)
    path = tmp_path / "short.toml"
    path.write_text(LOSSY.replace("nr=100 ", "nr=15 "))
    machines = build_machines(explain_first(load(path)))
    assert build_machines(explain_first(twin_variant(load(path)))) == machines
    assert any(lost for *_, lost in machines["to_server"] + machines["to_client"])


def test_a_number_over_time_is_the_sum_of_its_changes() -> None:
    """Changes of one time are added up."""
    assert count_steps([(5, 1), (2, 1), (5, 1), (9, -2)]) == [(2, 1), (5, 3), (9, 1)]


@pytest.mark.parametrize("bars", ["reads", "carried", "served"])
def test_a_process_is_at_one_thing_at_a_time(shown: Machines, bars: str) -> None:
    """The bars of a process do not overlap. A bar begins with its process, begin and end."""
    found = sorted(shown[bars])
    assert len(found) > (150 if bars == "reads" else 200)
    for _, own in groupby(found, key=lambda bar: bar[0]):
        for (_, _, end, *_), (_, begin, *_) in pairwise(own):
            assert end <= begin


@pytest.mark.parametrize("direction", ["to_server", "to_client"])
def test_a_direction_of_the_wire_has_one_frame_at_a_time(shown: Machines, direction: str) -> None:
    frames = shown[direction]
    for (_, end, *_), (begin, *_) in pairwise(frames):
        assert end < begin
    assert any(lost for *_, lost in frames)


def test_what_belongs_to_a_read_lies_within_it_on_the_one_axis(shown: Machines) -> None:
    """Bars of nfsiod, calls on the wire, and commands of the drive have the number of their read,
    or 0 if they serve none."""
    whole = {number: (begin, end) for _, begin, end, _, number in shown["reads"]}
    # (read, begin, end) of each part; in the page's rows these columns have other places
    parts = [(read, begin, end) for _, begin, end, _, read in shown["carried"]]
    parts += [(read, begin, end) for begin, end, _, read, _ in shown["to_server"]]
    parts += [(row[-1], row[0], row[6]) for row in shown["drive"]]
    of_reads = [part for part in parts if part[0]]
    assert {read for read, *_ in of_reads} == set(whole)
    for read, begin, end in of_reads:
        assert whole[read][0] <= begin <= end <= whole[read][1]


def test_numbers_over_time_are_what_the_load_makes(shown: Machines) -> None:
    """Dirty blocks of the client, its queue, and the calls in the server's queue."""
    assert all(n >= 0 for name in ("dirty", "queue", "server_queue") for _, n in shown[name])
    dirty = [n for _, n in shown["dirty"]]
    assert max(dirty) > 20  # the writer's blocks of a second,
    assert min(dirty[dirty.index(max(dirty)) :]) < 3  # a burst writes the dirty blocks
    assert max(n for _, n in shown["queue"]) > 10  # a burst
    assert max(n for _, n in shown["server_queue"]) <= 8  # no more calls than that come at a time


def test_the_parts_of_the_slowest_reads_add_up(shown: Machines) -> None:
    """The eight slowest reads; the slowest waited for a lost frame."""
    assert len(shown["slow"]) == 8
    for read in shown["slow"]:
        *parts, (total, words) = read["rows"]
        assert words == "in all"
        assert sum(ns for ns, _ in parts) == total == read["end"] - read["begin"]
    assert any("lost on the wire" in words for _, words in shown["slow"][0]["rows"])


def draw(shown: Machines, call: str, folder: Path) -> ElementTree.Element:
    """Return the SVG that a call of the page's script returns."""
    node = shutil.which("node")
    if not node:
        pytest.skip("there is no node, which runs the page's script")
    data, program = folder / "data.json", folder / "draw.js"
    data.write_text(json.dumps(shown))
    program.write_text(
        f"{SCRIPT.read_text()}\nconst data = JSON.parse(require('fs').readFileSync('{data}'));"
        f"console.log({call});"
    )
    made = subprocess.run(
        [node, program], capture_output=True, text=True, check=True, timeout=HANG_S
    )
    return ElementTree.fromstring(made.stdout)


def test_the_script_draws_a_slow_reads_parts_below_each_other(shown, tmp_path) -> None:
    """The slowest read's bars lie within its whole bar, in at least five lines: read, nfsiod, both
    directions of the wire, nfsd."""
    call = "machinesPicture(data, ...aroundRead(data, data.slow[0]), 1000, data.slow[0])"
    svg = draw(shown, call, tmp_path)
    own = [e for e in svg.iter(f"{SVG}rect") if "own" in (e.get("class") or "")]
    bars = [(float(e.get("x")), float(e.get("x")) + float(e.get("width"))) for e in own]
    whole = max(bars, key=lambda bar: bar[1] - bar[0])
    # The read fills the window, with a margin of a quarter of the read's length on either side.
    assert whole[1] - whole[0] == pytest.approx((1000 - 170) / 1.5, rel=0.05)
    assert all(whole[0] - 1 <= begin and end <= whole[1] + 1 for begin, end in bars)
    assert len({e.get("y") for e in own}) >= 5  # read, nfsiod, wire there and back, nfsd
    names = [e.text for e in svg.iter(f"{SVG}text")]
    lanes = [names.index(name) for name in ("client", "wire", "server")]
    assert lanes == sorted(lanes)
    assert any(e.get("class") in ("lost", "lost own") for e in svg.iter())


def test_the_script_draws_the_whole_run(shown, tmp_path) -> None:
    """The picture is 1000 pixels wide, of which 170 at the left are names."""
    svg = draw(shown, "machinesPicture(data, 0, data.length_ns, 1000, null)", tmp_path)
    rects = [*svg.iter(f"{SVG}rect")]
    assert all(170 <= float(e.get("x")) <= 1000 for e in rects)
    assert len(rects) > 100
    # The dirty blocks, and two queues.
    assert len([*svg.iter(f"{SVG}path")]) == 3


def test_the_command_writes_the_page(capsys, tmp_path) -> None:
    """The page has its data packed. There is no animation of two machines."""
    path, out = tmp_path / "remote.toml", tmp_path / "page.html"
    path.write_text(LOAD.format(more=""))
    assert enter("theatre", "--run", "1", "--engine", ENGINE, "--out", out, path) == 0
    text = out.read_text()
    packed = re.search(r'begin\("([^"]+)"\);', text)[1]
    data = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert data["slow"][0]["rows"][-1][1] == "in all"
    assert "<h1>remote run 1, delayed" in text
    capsys.readouterr()
    assert enter("theatre", "--run", "1", "--animation", path) == 2
    assert "a run with a server is shown alone" in capsys.readouterr().err


def test_a_browser_shows_the_next_slow_read_and_names_each_colour(
    browser: Page, explained: RemoteExplainer, tmp_path: Path
) -> None:
    """Each press of the button shows another read. The key has each colour that is drawn."""
    html = tmp_path / "machines.html"
    html.write_text(machines_page(explained))
    browser.errors.clear()
    browser.visit(html)
    browser.value(  # the page unpacks its data first
        """new Promise(done => {
          const look = () => document.querySelector("#parts h2") ? done() : setTimeout(look, 20);
          look();
        })"""
    )
    headings = []
    for _ in range(2):
        headings.append(browser.value("document.querySelector('#parts h2').textContent"))
        browser.value("document.getElementById('worst').click()")
        browser.painted()
    headings.append(browser.value("document.querySelector('#parts h2').textContent"))
    assert len(set(headings)) == len(headings)
    colours = browser.value(
        """JSON.stringify(["read", "write", "part0", "part2", "part3", "part4"].map(kind => {
          const drawn = getComputedStyle(document.querySelector(`#machines .${kind}`)).fill;
          const named = document.querySelector(`.key .${kind}`);
          return drawn === getComputedStyle(named).backgroundColor;
        }))"""
    )
    assert json.loads(str(colours)) == [True] * 6
    assert not browser.errors
