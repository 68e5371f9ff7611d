"""The Python package sluice (sluice/), and its notebook.

sluice.replay() replays requests on the twin and returns their start and response times, counters,
and the kernel's events if asked for. `table` has 40 requests far apart. FIXED are options for a
drive that takes 10 ms for each command.
"""

import inspect
import io
import json
import os
import platform
import pydoc
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from sluice.experiment import catalogue as kernel
from sluice.host.paths import ROOT
from sluice.sweep import trace_replay as replay
from sluice.system import trace
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    platform.machine() not in engine.HOSTS, reason=f"the twin runs on {engine.HOSTS} only"
)
sluice = pytest.importorskip("sluice")
api = pytest.importorskip("sluice.api")
NOTEBOOK = ROOT / "book" / "example.ipynb"
FIXED = {"drive": "fixed", "size_mb": 64, "buffers": 256}


@pytest.fixture(scope="module")
def table() -> np.ndarray:
    """Return requests far apart, each of one block that is not used again, so that all miss."""
    return sluice.requests(
        time_ns=np.arange(40) * 50_000_000,
        offset=np.arange(40) * 8192,
        write=np.arange(40) % 4 == 3,
    )


def test_a_python_without_numpy_is_told_which_one_to_use() -> None:
    """-S leaves out all packages that were installed."""
    words = [sys.executable, "-S", "-c", "import sluice; sluice.read"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "No module named 'numpy'" in done.stderr
    assert "in a clone use .venv/bin/python" in done.stderr


def test_the_package_is_found_from_anywhere(tmp_path: Path) -> None:
    """Python is started in another folder."""
    words = [sys.executable, "-c", "import sluice; print(sluice.__file__)"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == ROOT / "sluice" / "__init__.py"


@pytest.mark.parametrize("tool", ["drive_parts", "drive_replay", "drive_times", "places"])
def test_what_commands_start_runs_where_addresses_are_limited(tool: str) -> None:
    """Clusters limit addresses by `ulimit -v`. A program with a sanitizer would not start."""
    words = ["prlimit", f"--as={2 << 30}", api.NATIVE / f"{tool}_tool", "-l"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "anitizer" not in done.stderr + done.stdout
    assert done.returncode >= 0
    if tool == "drive_replay":
        assert "cheetah4lp:" in done.stdout


def test_a_replay_tells_of_each_request(table) -> None:
    """Each fourth request writes. A second replay gives the same times."""
    result = sluice.replay(table, policies={"write": "through"}, **FIXED)
    assert result.requests.tolist() == table.tolist()
    assert result.start_ns.tolist() == table["time_ns"].tolist()
    assert result.response_ns.shape == (40,)
    ms = result.response_ns / 1e6
    assert (ms > 10).all()
    assert np.median(ms) < 11  # one command of the drive that takes 10 ms for each
    assert result.summary["reads"] == 30
    assert result.counters["disk.writes"] >= 10
    assert result.events is None
    again = sluice.replay(table, policies={"write": "through"}, **FIXED)
    assert (again.response_ns == result.response_ns).all()


def test_policies_and_tunables_have_effect(table) -> None:
    """With an age of 0.1 s blocks are written during the trace, with 60 s few are. In a closed loop
    the trace's pauses do not count."""
    usual = {"write": "delayed", "update": "aipu"}
    writes = [
        sluice.replay(table, usual, {"aipu.age_ms": age}, **FIXED).counters["disk.writes"]
        for age in (100, 60_000)
    ]
    assert writes[0] > 5 > writes[1]
    closed = sluice.replay(table, usual, loop="closed", inflight=1, **FIXED)
    assert closed.start_ns[-1] < table["time_ns"][-1] / 2


def test_numbers_may_be_those_of_numpy(table) -> None:
    """Integers of NumPy give the same times as Python's."""
    given = {"tunables": {"aipu.age_ms": np.int64(100)}, "buffers": np.uint16(256)}
    found = [
        sluice.replay(table, {"update": "aipu"}, **FIXED | of)
        for of in (given | {"size_mb": np.int32(64)}, {"tunables": {"aipu.age_ms": 100}})
    ]
    assert (found[0].response_ns == found[1].response_ns).all()


def test_the_largest_cache_and_the_largest_disk_are_replayed(table) -> None:
    """The limits are those that the refusals name."""
    with pytest.raises(sluice.BadReplay) as refused:
        sluice.replay(table, buffers=0)
    most = int(str(refused.value).split()[-1])
    for given in ({"buffers": most}, {"size_mb": 6127}):
        assert (sluice.replay(table, **FIXED | given).response_ns >= 0).all()
    assert (sluice.replay(table, size_mb=4339, buffers=256).response_ns >= 0).all()


def test_results_are_compared_as_objects(table) -> None:
    """A comparison of their NumPy arrays would have no single truth value."""
    one, other = (sluice.replay(table, **FIXED) for _ in range(2))
    assert one == one
    assert one != other
    assert len({one, other}) == 2


def test_events_are_the_kernels_trace(table) -> None:
    """The table's 30 reads are queued and completed on disk 1. The argument of `completed` is the
    response time in ns."""
    result = sluice.replay(table, {"write": "delayed"}, events=True, **FIXED)
    assert result.lost == 0
    here = result.events[result.events["disk"] == 1]
    assert (np.diff(result.events["time_ns"]) >= 0).all()
    since = here[here["time_ns"] >= result.began_ns]
    queued = since[(since["event"] == "queued") & ~since["write"]]
    assert len(queued) >= 30
    taken = since[(since["event"] == "completed") & ~since["write"]]
    assert len(taken) >= 30
    assert taken["argument"].max() <= result.response_ns.max()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"policies": {"place": "eager"}}, 'place = "eager": does nothing, because'),
        ({"policies": {"replace": "lur"}}, 'unknown replace policy "lur"; did you mean "lru"'),
        ({"policies": {"replacer": "lru"}}, 'unknown kind of policy "replacer"'),
        ({"tunables": {"aipu.age": 1}}, 'unknown tunable "aipu.age"'),
        ({"tunables": {"aipu.age_ms": -1}}, "aipu.age_ms = -1: not in"),
        ({"drive": "cheeta"}, 'unknown drive "cheeta"'),
        ({"loop": "ajar"}, 'loop="ajar": must be'),
        ({"inflight": 0}, "inflight=0: must be a whole number, 1 to 256"),
        ({"inflight": 2.5}, r"inflight=2\.5: must be a whole number"),
        ({"inflight": "2"}, "inflight=2: must be a whole number"),
        ({"buffers": 3}, r"buffers=3: must be a whole number, 16 to \d{6}$"),
        ({"buffers": 10**6}, r"buffers=1000000: must be a whole number, 16 to \d{6}$"),
        ({"buffers": 300.5}, r"buffers=300\.5: must be a whole number, 16 to"),
        ({"size_mb": 64.5}, r"size_mb=64\.5: must be a whole number, 1 to 6127$"),
        ({"size_mb": 0}, "size_mb=0: must be a whole number, 1 to 6127$"),
        ({"size_mb": 6128}, "size_mb=6128: must be a whole number, 1 to 6127$"),
        ({"size_mb": 4340, "drive": "cheetah4lp"}, "size_mb=4340: must be .*, 1 to 4339$"),
        ({"policies": ["arc"]}, r"policies=\['arc'\]: must be a dict, as .*\{'replace': 'arc'\}"),
        ({"policies": "arc"}, "policies=arc: must be a dict"),
        ({"policies": {1: "arc"}}, r"policies=\{1: 'arc'\}: must be a dict"),
        ({"policies": {"replace": 1}}, "replace = 1: must be a policy's name"),
        ({"tunables": ["aipu.age_ms"]}, r"tunables=.*: must be a dict, as .*\{'aipu\.age_ms': 5"),
        ({"tunables": {"aipu.age_ms": [1]}}, r"aipu.age_ms = \[1\]: must be a whole number of ms"),
        ({"drive": 3}, "drive = 3: must be the name of a drive"),
        ({"way": "x"}, 'way="x": must be "refuse", "pack" or "fold"'),
        ({"size_mb": 1}, r"requests: reaches .* has room for 0\.0 MiB: take a larger size_mb$"),
        ({"size_mb": 2}, r"has room for 1\.0 MiB: take a larger size_mb, .* way=fold counts"),
    ],
)
def test_a_wrong_argument_is_refused(table, given: dict, why: str) -> None:
    """given: the wrong argument; the table's requests also end beyond the disk."""
    far = table.copy()
    far["offset"] *= 10
    with pytest.raises(sluice.BadReplay, match=why):
        sluice.replay(far, **FIXED | given)


def test_a_trace_that_fits_is_replayed_and_one_that_is_just_too_large_is_refused() -> None:
    """room: the MiB of the disk that files of whole MiB may use. One byte more is refused, or
    folded."""
    for size_mb, room in ((1024, 987), (2, 1)):
        given = FIXED | {"size_mb": size_mb}
        fits, large = (sluice.requests([0, 1], [0, (room << 20) + i]) for i in (-4096, -4095))
        assert (sluice.replay(fits, **given).response_ns > 0).all()
        with pytest.raises(sluice.BadReplay, match=rf"reaches to {room}\.1 .* for {room}\.0 MiB"):
            sluice.replay(large, **given)
        folded = sluice.replay(large, way="fold", **given)
        assert folded.requests["offset"].max() < room << 20
        assert (folded.response_ns > 0).all()


@pytest.mark.native
@pytest.mark.parametrize(
    ("given", "why"),
    [
        (([0, 1], [0, 1, 2]), r"lengths differ: time_ns \(2,\), offset \(3,\)"),
        (([0.5], [0]), r"time_ns: 0\.5: must be whole numbers, 0 to 2\^62"),
        (([0], [-1]), r"offset: -1: must be whole numbers, 0 to 2\^62"),
        (([0, 1], [0, 1 << 62]), "offset: 4611686018427387904: must be whole numbers"),
        (([0], [1 << 64]), r"offset: object: must be whole numbers, 0 to 2\^62"),
        (([0], ["a"]), "offset: <U1: must be whole numbers"),
        (([float("nan")], [0]), "time_ns: nan: must be whole numbers"),
        (([0], [0], [0]), r"bytes: 0: must be whole numbers, 1 to 2\^32 - 1"),
        (([0], [0], 1 << 32), "bytes: 4294967296: must be"),
        (([0], [0], 1, 2), "write: 2: must be whole numbers, 0 to 1"),
        (([], []), "there are no requests"),
        (([[0], [1, 2]], [0]), r"time_ns: its parts have different lengths: must be \(requests,\)"),
        (([[0]], [0]), r"time_ns: shape \(1, 1\): must be \(requests,\)"),
        ((np.array([-1], "f2"), [0]), r"time_ns: -1\.0: must be whole numbers, 0 to 2\^62"),
        ((np.array([np.inf], "f2"), [0]), "time_ns: inf: must be whole numbers"),
        (([0], [2.0**62]), "offset: 4.6.*: must be whole numbers"),
        (([0], np.array([1 << 63], "u8")), "offset: 9223372036854775808: must be whole numbers"),
        (([True], [0]), "time_ns: bool: must be whole numbers"),
        (([0], [0], True), "bytes: bool: must be whole numbers"),
        (([0], [1j]), "offset: complex128: must be whole numbers"),
        (([0], [None]), "offset: object: must be whole numbers"),
        ((np.array(["2020"], "M8[ns]"), [0]), r"time_ns: datetime64\[ns\]: must be whole"),
        ((np.array([5], "m8[ns]"), [0]), r"time_ns: timedelta64\[ns\]: must be whole"),
        ((np.ma.array([0], mask=[1]), [0]), "time_ns: values are masked: leave these rows away"),
        (([0], [np.ma.masked]), "offset: values are masked: leave these rows away"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_wrong_requests_are_refused(given: tuple, why: str) -> None:
    """given: the arguments time_ns, offset, bytes and write."""
    with pytest.raises(sluice.BadReplay, match=why):
        sluice.requests(*given)


@pytest.mark.native
def test_what_is_missing_is_built_by_a_command_that_help_lists(monkeypatch) -> None:
    """Each missing part gives the same command, which `make help` lists and which builds all
    parts."""
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    words = ["make", "-C", str(ROOT), "-n", "-B", "SETUP=no", "twin"]
    inner = os.environ | {"LOCK": "held", "MAKELEVEL": "1"}  # as the first make starts the second
    made = subprocess.run(words, capture_output=True, text=True, check=True, env=inner).stdout
    for module, name in ((engine, "TWIN"), (api, "PROGRAMS"), (api, "NATIVE")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, Path("/nowhere"))
            with pytest.raises(sluice.BadReplay) as refused:
                sluice.drives()
        assert "/nowhere" in str(refused.value)
        (command,) = re.findall(r"type `(make \w+)` in Sluice's folder", str(refused.value))
        assert re.search(rf"^{command} ", listed.stdout, re.M)
    for file in ("twin/twin", "native/drive_replay_tool", "mkfs/mkfs", "programs/bin/ioplay"):
        assert f"LD build/{file}'" in made
    said = sluice.__doc__ + NOTEBOOK.read_text()
    assert set(re.findall(r"`(make [\w ]+)`", said)) == {command}


@pytest.mark.native
def test_the_docstring_says_what_each_column_of_events_is() -> None:
    """Each name of a column or event is in pydoc's text, with its meaning."""
    shown = pydoc.plain(pydoc.render_doc(sluice))
    for name in sluice.EVENT.names:
        assert re.search(rf"^ *{name} +\S+ ", shown, re.M), name
    for event in trace.event_names():
        assert re.search(rf"^ *(\w+, )*{event}(, \w+)* {{2,}}\S.*; ", shown, re.M), event


def test_what_is_not_given_is_what_the_docstring_says(table) -> None:
    """The docstring names the kernel's defaults, and those of `sluice replay`."""
    said = " ".join(sluice.replay.__doc__.split())
    own, _, ours = said.partition("`sluice replay` has")
    usual = kernel.load_catalogue().defaults
    assert dict(re.findall(r"(\w+)=(\w+)", own.partition("the kernel's own:")[2])) == usual
    assert dict(re.findall(r"(\w+)=(\w+)", ours)) == replay.BASE
    found = [sluice.replay(table, given).response_ns for given in ({}, usual)]
    assert (found[0] == found[1]).all()
    given = inspect.signature(sluice.replay).parameters
    disk = f"first {given['size_mb'].default} MiB of a {given['drive'].default}"
    assert disk in own
    assert given["drive"].default == replay.DRIVE


@pytest.mark.native
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"scale": 0}, "scale=0: must be a number above 0"),
        ({"scale": float("nan")}, "scale=nan: must be a number above 0"),
        ({"scale": float("inf")}, "scale=inf: must be a number above 0"),
        ({"scale": "2"}, "scale=2: must be a number above 0"),
        ({"split_kb": 0}, "split_kb=0: must be a whole number, 1 to 1024"),
        ({"split_kb": 2048}, "split_kb=2048: must be a whole number, 1 to 1024"),
        ({"join_kb": -1}, "join_kb=-1: must be a whole number, 0 to 1024"),
        ({"join_ms": 0.5}, r"join_ms=0\.5: must be a whole number, 0 to 10000"),
        ({"room": 0}, "room=0: must be a whole number from 1"),
        ({"room": 1e9}, r"room=1000000000\.0: must be a whole number from 1"),
        ({"way": "x"}, 'way="x": must be "refuse", "pack" or "fold"'),
        ({"way": None}, 'way="None": must be "refuse", "pack" or "fold"'),
        ({"requests": np.arange(3)}, r"requests: must be a table as sluice\.requests\(\) makes"),
        ({"requests": [(0, 0, 1, 0)]}, r"requests: must be a table as sluice\.requests\(\) makes"),
        ({"requests": np.zeros(0, sluice.REQUEST)}, r"requests: shape \(0,\): there are no req"),
        ({"requests": np.zeros((1, 2), sluice.REQUEST)}, r"requests: shape \(1, 2\): must be \("),
    ],
)
def test_a_wrong_argument_of_fit_is_refused(table, given: dict, why: str) -> None:
    with pytest.raises(sluice.BadReplay, match=why):
        sluice.fit(**{"requests": table, "room": 1 << 30} | given)


@pytest.mark.native
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "u1", "i1", "u8", "i8", ">i8", ">f8"])
def test_a_column_may_be_of_any_type_of_number(dtype: str) -> None:
    """A column may also be strided, read-only, or masked without a masked value."""
    plain = np.repeat(np.array([3, 5], dtype), 2)
    plain.flags.writeable = False
    for column in (plain[::2], plain[::-2], np.ma.array(plain[::2], mask=[0, 0])):
        found = sluice.requests(column, [1, 2])
        assert sorted(found["time_ns"].tolist()) == [3, 5]
        assert found.dtype == sluice.REQUEST


@pytest.mark.native
def test_a_masked_table_is_refused(table) -> None:
    """A table of NumPy with a hidden row."""
    masked = np.ma.array(table)
    masked[3] = np.ma.masked
    with pytest.raises(sluice.BadReplay, match="requests: a masked array: must be a table"):
        sluice.fit(masked, 1 << 30)


WRONG_ROWS = [
    ("bytes", 0, "requests: row 7: bytes is 0: must be 1 to"),
    ("write", 2, "requests: row 7: write is 2: must be 0 to 1"),
    ("offset", 1 << 63, r"requests: row 7: offset is 9223372036854775808: must be 0 to 2\^62"),
    ("time_ns", 1 << 63, r"requests: row 7: time_ns is 9223372036854775808: must be 0 to 2\^62"),
    ("time_ns", 1, "requests: row 7: time_ns is 1: before that of the row above: must be"),
]


@pytest.mark.native
@pytest.mark.parametrize(("field", "value", "why"), WRONG_ROWS)
def test_a_wrong_row_is_refused_with_its_place(table, field: str, value: int, why: str) -> None:
    """Row 7 is changed."""
    wrong = table.copy()
    wrong[field][7] = value
    for take in (lambda: sluice.fit(wrong, room=1 << 30), lambda: sluice.replay(wrong, **FIXED)):
        with pytest.raises(sluice.BadReplay, match=why):
            take()


@pytest.mark.native
@pytest.mark.parametrize("count", [-1, 0, 2.5, True, "3"])
def test_a_wrong_count_of_requests_is_refused(tmp_path: Path, count: object) -> None:
    path = tmp_path / "w.spc"
    path.write_text("0,1,4096,R,0.25\n0,2,4096,R,0.5\n")
    with pytest.raises(sluice.BadReplay, match=f"count={count}: must be a whole number from 1"):
        sluice.read(path, count=count)
    assert len(sluice.read(path, count=np.int64(1))) == 1


@pytest.mark.native
def test_whole_floats_are_whole_numbers() -> None:
    """3.0 is 3."""
    found = sluice.requests(np.array([3.0, 1e9]), offset=[4096.0, 0], bytes=512.0, write=[1.0, 0])
    assert found.tolist() == [(3, 4096, 512, 1), (10**9, 0, 512, 0)]


def test_the_notebook_executes_from_beginning_to_end() -> None:
    """The cells run one after another in one namespace, as in a kernel of Jupyter. The longer
    blocks may stay dirty, the fewer writes there are."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    names, shown = {}, io.StringIO()
    with redirect_stdout(shown):
        for cell in cells:
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
    assert {"2q", "arc", "lru"} <= names["means"].keys()
    assert len(set(names["means"].values())) > 2
    ages = re.findall(r"^ *(\d+) ms +(\d+) writes", shown.getvalue(), re.M)
    writes = [int(n) for _, n in ages]
    assert len(writes) == 3
    assert writes == sorted(writes, reverse=True)
    assert writes[0] > writes[-1]
