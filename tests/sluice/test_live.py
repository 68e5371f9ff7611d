"""The page with the kernel in it does what the native twin does, to the last byte.

The kernel, compiled for WebAssembly, runs loads in the browser (`page`); the native twin is the
same kernel compiled for the host. `page.value(text)` evaluates JavaScript in the page: `shown` has
the runs on view, `chosenNow` the settings that are chosen, `loads` the loads, and at(id) is an
element.
"""

import base64
import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from browser import Page
from typed import enter

from sluice.debug.chain import Explainer
from sluice.debug.stored_run import Kept
from sluice.experiment import jobs
from sluice.experiment import run as runs
from sluice.experiment.catalogue import load_catalogue
from sluice.export import recording
from sluice.host import paths
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, ROOT
from sluice.system import devtext, trace
from sluice.theatre.scene import build_scene
from sluice.twin import engine
from sluice.wasm.assembled import WASM
from sluice.wasm.loads import LOADS

pytestmark = [
    pytest.mark.xdist_group("live"),  # they share the page
    pytest.mark.skipif(
        not (WASM / "complete").exists(),
        reason="the kernel is not compiled for WebAssembly: `sluice live` does it, and needs clang",
    ),
]

SHARED = ("base", "measure", "policy", "disk", "vlog", "cache", "ext2", "file")
TUNED = {"pu.interval_ms": 5000}
# A load's number, and the policies and tunables that differ from the load's own
RUNS = [
    (0, {}, {}),
    (0, {"update": "aipu"}, {}),
    (0, {"update": "pu", "sched": "clook", "write": "async"}, TUNED),
    (0, {"sched": "sluice"}, {}),  # this scheduler searches its queue in all ways that take time
    (1, {"sched": "wow"}, {}),
    (2, {"prefetch": "ondemand", "replace": "arc"}, {}),
    (3, {}, {}),
]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page, as the command writes it."""
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "BUILD", folder)
        assert enter("live") == 0
    return folder / "live" / "index.html"


def run_in(page: Page, load: int, policies: dict, tunables: dict) -> dict:
    """Return a run in the page: its boot arguments, console, trace and scene."""
    got = page.value(
        f"runOf((() => {{ const s = settingsOf(loads[{load}]);"
        f" Object.assign(s.policies, {json.dumps(policies)}); s.tunables = {json.dumps(tunables)};"
        " return s; })()).then(r => ({args: r.args, console: r.console, written: r.written,"
        " problem: at('problem').textContent,"
        " records: btoa(r.records.reduce((text, x) => text + String.fromCharCode(x), ''))}))"
    )
    assert not got["problem"], got["problem"]
    return got | {"records": base64.b64decode(got["records"])}


def run_natively(load: int, args: str, folder: Path) -> SimpleNamespace:
    """Return the console and the trace of the same run in the native twin."""
    run = LOADS[load].run()
    machine = runs.build_machine(run, folder)
    with machine.guest() as guest:
        line = engine.twin_command(machine, guest)
        line = [*line[: line.index("--") + 1], *args.split(), guest.argument()]
        done = subprocess.run(
            line, stdin=subprocess.DEVNULL, capture_output=True, timeout=HANG_S, check=True
        )
        said = done.stdout.decode()
        phys = devtext.parse_stat(runs.split_readings(said)["stat1"])["trace.phys"][0]
        lost, records = trace.read_ring(guest.path, phys)
    return SimpleNamespace(run=run, console=said, lost=lost, records=records)


@pytest.mark.parametrize(("load", "policies", "tunables"), RUNS)
def test_a_run_in_the_page_is_that_of_the_native_twin_to_the_last_byte(
    page: Page, tmp_path: Path, load: int, policies: dict, tunables: dict
) -> None:
    """Console and trace are compared."""
    here = run_in(page, load, policies, tunables)
    for name, value in (policies | tunables).items():
        assert f" {name}={value}" in here["args"]
    there = run_natively(load, here["args"], tmp_path)
    assert len(there.records) > 1000 * trace.RECORD.size
    assert here["console"] == there.console
    assert here["records"] == there.records
    assert here["written"] == there.lost + len(there.records) // trace.RECORD.size


def shown_by_python(load: int, here: dict, folder: Path) -> dict:
    """Return what sluice/theatre shows of the run, from the native twin's console and trace."""
    there = run_natively(load, here["args"], folder)
    words = dict(word.split("=") for word in here["args"].split())
    policies = {kind: words[kind] for kind in there.run.config["policies"]}
    there.run.config["policies"] = policies
    said = jobs.parse_job_lines(runs.split_readings(there.console)["said"])
    events = trace.Events(there.records)
    made = recording.recording_from_console(
        there.run, there.console, said, lambda _: (there.lost, events)
    )
    kept = Kept(there.run, made, Path(), there.lost, 0, 0)
    return build_scene(Explainer(kept), "", "")


COLUMNS = ("requests", "commands", "cache", "flushes", "writes")
ALIKE = ("origins", "processes", "platter", "drive", "disk", "start_ns", "length_ns", "lost")


@pytest.mark.parametrize(("load", "policies", "tunables"), [RUNS[0], RUNS[2], RUNS[5]])
def test_the_page_shows_what_the_theatre_shows_of_the_same_run(
    page: Page, tmp_path: Path, load: int, policies: dict, tunables: dict
) -> None:
    """The scene that the page makes from its trace is the one that Python makes from the native
    twin's."""
    here = run_in(page, load, policies, tunables)
    there = shown_by_python(load, here, tmp_path)
    shown = page.value(
        "(() => { const s = structuredClone(shown[0].scene), r = s.requests;"
        " r.queued.forEach((t, i) => { r.issued[i] -= t; r.completed[i] -= t; });"
        f" const found = Object.fromEntries({json.dumps(ALIKE)}.map((k) => [k, s[k]]));"
        f" for (const name of {json.dumps(COLUMNS)}) found[name] = Object.fromEntries("
        " Object.entries(s[name]).map(([k, column]) => [k, [...column]]));"
        " return found; })()"
    )
    for group in COLUMNS:
        for name, column in there[group].items():
            assert shown[group][name] == column, f"{group}.{name}"
    assert len(shown["requests"]["queued"]) > 100
    assert {name: shown[name] for name in ALIKE} == {name: there[name] for name in ALIKE}


def test_the_page_loads_nothing_and_is_small(html: Path) -> None:
    text = html.read_text()
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:src|href)=|https?://|\burl\(", text)
    assert len(text) < 3_000_000


def test_the_kernel_in_the_page_is_made_of_the_kernels_own_sources() -> None:
    """The page's kernel has each source of the rooms SHARED, each policy and each drive, and its
    own sources define no function of theirs."""
    sources = [path for room in SHARED for path in (ROOT / "kernel" / room).glob("*.c")]
    sources += [*(ROOT / "policies").glob("*/*.c"), *(ROOT / "drives").rglob("*.c")]
    linked = (BUILT / "live" / "kernel.command").read_text()
    missing = [p for p in sources if f"{p.relative_to(ROOT).with_suffix('.o')}" not in linked]
    assert len(sources) > 80
    assert not missing
    # the name of a function that is defined and not static
    function = re.compile(r"^(?!static)[a-z].*?\b\*?(\w+)\([^;]*?\)\n\{", re.M)
    ours = {n for p in (ROOT / "sluice/wasm").glob("*.c") for n in function.findall(p.read_text())}
    theirs = {name for path in sources for name in function.findall(path.read_text())}
    assert {"space_get", "switch_to", "host_move"} <= ours
    assert not ours & theirs


def options(page: Page, name: str) -> list[str]:
    """Return the values that can be chosen for a policy's kind or the drive."""
    return page.value(f"[...document.querySelectorAll('#choose-{name} option')].map(o => o.value)")


def test_what_can_be_chosen_is_what_the_kernel_has(page: Page) -> None:
    """Policies, drives, and the tunable of the chosen update policy, with its range and default."""
    for kind, names in load_catalogue().policies.items():
        assert options(page, kind) == names
    assert {"rz58", "fixed"} <= set(options(page, "drive")) < set(load_catalogue().drives)
    (name,) = page.value(
        "[...document.querySelectorAll('.tunable legend')].map(e => e.textContent)"
    )
    assert name.startswith("pu.interval_ms, ")
    row = load_catalogue().tunables["pu.interval_ms"]
    number = "document.getElementById('set-pu.interval_ms')"
    values = page.value(f"[{number}.min, {number}.max, {number}.value].map(Number)")
    assert values == [row.low, row.high, row.default]


def test_a_choice_runs_at_once_and_the_run_before_stands_beside_it(page: Page) -> None:
    """Under PU the longest read takes more than 5 s, under AIPU less than 0.5 s."""
    longest = "shown.map(r => r.scene.longest / 1e9)"
    assert page.value(f"{longest}")[0] > 5
    page.value(
        "new Promise(done => { whenRun = () => done(true);"
        " const s = at('choose-update'); s.value = 'aipu'; s.onchange(); })"
    )
    aipu, pu = page.value(longest)
    assert pu > 5 > 0.5 > aipu
    rows = page.value(
        "[...at('figures').rows].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert rows[0] == ["", "update pu", "update aipu"]
    table = {name: cells for name, *cells in rows}
    longest_ms = [float(cell.removesuffix(" ms").replace(",", "")) for cell in table["longest"]]
    assert longest_ms == pytest.approx([pu * 1000, aipu * 1000], rel=1e-3)
    writes = [int(cell.replace(",", "")) for cell in table["disk writes"]]
    assert writes[0] > writes[1]
    assert page.value("runs.length") == 2
    # The run before keeps its colour.
    assert page.value("runs.map(r => [r.policies.update, r.colour])") == [["pu", 0], ["aipu", 1]]
    assert page.errors == []


def test_what_a_policy_does_stands_below_its_name(page: Page) -> None:
    """The line is the policy's own `about`."""
    chosen = page.value("chosenNow.policies")
    for kind, name in chosen.items():
        below = page.value(f"at('choose-{kind}').nextSibling.textContent")
        assert below == load_catalogue().abouts[f"{kind}/{name}"]


def test_the_address_holds_what_is_chosen(page: Page, html: Path) -> None:
    """Opening the address again gives the same settings and run."""
    choice = {"update": "aipu", "sched": "sstf"}
    run_in(page, 0, choice, {"aipu.age_ms": 7000})
    page.value("(remember(), new Promise(r => setTimeout(r, 400)))")  # longer than it waits itself
    words = page.value("location.hash")
    settings = page.value("chosenNow")
    page.open(html, words)
    assert page.value("chosenNow") == settings
    assert page.value("[at('choose-update').value, shown[0].settings]") == ["aipu", settings]
    assert "aipu.age_ms=7000" in page.value("shown[0].args")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("update=nothing", "update=nothing: want one of "),
        ("load=none", "load=none: want one of mogul-4.1-fast, "),
        ("drive=rz57", "drive=rz57: want one of "),  # which is smaller than the load's disk
        ("pu.interval_ms=0", "pu.interval_ms=0: want a whole number from 1 to 3600000"),
        ("pu.interval_ms=1e3", "pu.interval_ms=1e3: want a whole number"),
        ("<b>=1", "<b>: there is no such policy's kind or tunable"),
    ],
)
def test_a_wrong_address_is_told_and_left_out(
    page: Page, html: Path, words: str, said: str
) -> None:
    """The right part of the address, sched=scan, is used."""
    page.open(html, f"#{words}&sched=scan")
    assert page.value("at('problem').hidden") is False
    assert f"The address has {said}" in page.value("at('problem').textContent")
    expected = page.value("settingsOf(loads[0])")
    expected["policies"]["sched"] = "scan"
    assert page.value("shown[0].settings") == expected


def test_a_wrong_number_is_told_and_moves_nothing(page: Page) -> None:
    """0 is typed for a tunable of pu. The chosen settings, the slider and the runs stay as they
    are."""
    number, slide = (f"at('{kind}-pu.interval_ms')" for kind in ("set", "slide"))
    before = page.value(f"[chosenNow, {slide}.value, runs.length]")
    page.value(f"({number}.value = '0', {number}.onchange())")
    assert page.value("at('problem').textContent").startswith("pu.interval_ms=0: want a whole")
    assert page.value(f"[chosenNow, {slide}.value, runs.length]") == before


def test_a_run_that_cannot_be_made_says_why(page: Page) -> None:
    """A policy that the kernel lacks is put into the page's list. The next run works again."""
    page.value(
        "new Promise(done => { whenRun = () => done(true);"
        " LIVE.policies.update.push('no_such'); const s = settingsOf(loads[0]);"
        " s.policies.update = 'no_such'; chosenNow = s; want(); })"
    )
    said = page.value("at('problem').textContent")
    assert said.startswith("This run was not made: the machine ended with status ")
    assert "no_such" in said
    assert page.value("shown.length") == 1
    run_in(page, 0, {"update": "ipu"}, {})  # run_in also checks that the page reports no problem


def test_keys_move_a_slider_and_leave_the_time(page: Page) -> None:
    """The left arrow would go back in time if the slider did not have the focus."""
    page.value("at('slide-pu.interval_ms').focus()")
    before = page.value("[now, Number(at('set-pu.interval_ms').value)]")
    page.value("(window.ran = new Promise(done => { whenRun = () => done(true); }), true)")
    for kind in ("keyDown", "keyUp"):
        word = {"key": "ArrowLeft", "code": "ArrowLeft", "windowsVirtualKeyCode": 37}
        page.do("Input.dispatchKeyEvent", type=kind, **word)
    page.value("window.ran")
    after = page.value("[now, shown[0].settings.tunables['pu.interval_ms']]")
    assert after[0] == before[0]
    assert after[1] < before[1]


@pytest.mark.parametrize("width", [400, 1600])
def test_it_fits_the_window_and_is_dark_on_a_dark_screen(
    browser: Page, html: Path, width: int
) -> None:
    """The window is as wide as a telephone or a screen."""
    colours = []
    browser.errors.clear()
    for dark in (False, True):
        browser.dark(dark)
        browser.open(html, "#update=aipu", width)
        assert browser.value("document.documentElement.scrollWidth") == width
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(23, 25, 28)"]
    browser.dark(False)
    assert browser.errors == []


def test_everything_to_be_chosen_has_a_name_for_those_who_do_not_see_it(page: Page) -> None:
    """A screen reader gets a name for each control."""
    tree = page.do("Accessibility.getFullAXTree")["nodes"]
    roles = ("combobox", "slider", "spinbutton", "button", "image", "form", "table")
    found = [n for n in tree if n.get("role", {}).get("value") in roles and not n["ignored"]]
    assert len(found) > 15
    nameless = [n["role"]["value"] for n in found if not n.get("name", {}).get("value")]
    assert nameless == []
