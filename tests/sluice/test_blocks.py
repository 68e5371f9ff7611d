"""Tests of the replayer, which has no file system (sluice/blocks/).

It decides as the kernel does: on small traces all events of cache and queue, and the start and end
of each request, equal those of a twin with real processes, the real driver and the file system's
own reading and writing of data (tests/support/present_replay.c).
"""

import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sluice.experiment.catalogue import load_catalogue
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, ROOT
from sluice.system.guest import MEMORY_START, Guest
from sluice.trace.common import REQUEST
from sluice.trace.packed import pack_requests

REPLAYER = BUILT / "blocks" / "replayer"
SUPPORT = ROOT / "tests" / "support"
# Functions of the twin that the reference replaces (present_replay.c)
WRAPPED = ("map", "map_alloc", "inode_write", "fs_writable", "fs_allow_size")
VOLUME = 64 << 20  # bytes of the disk
COUNT = 1500  # requests
FAILED = 100  # STATUS_BOOT_FAIL, with which a twin and the replayer refuse
# The head of a trace ring, and a record in it
RING = np.dtype([("magic", "<u8"), ("records", "<u8"), ("written", "<u8"), ("astray", "<u8")])
RECORD = np.dtype(
    [
        ("time_ns", "<u8"), ("block", "<u8"), ("argument", "<u8"),
        ("pid", "<u4"), ("event", "<u2"), ("disk", "<u2"),
    ]
)  # fmt: skip
DIRTIED, ABSORBED = 7, 8  # events whose argument is the owner, which each side names as it likes
NAMED = 13  # a process has got its name
USUAL = {"write": "delayed", "update": "aipu", "nbuf": "300", "drive": "cheetah4lp"}
KINDS = ("update", "write", "sched", "replace", "prefetch")


def small_trace() -> np.ndarray:
    """Return requests with reuse, sequential runs, bursts at one instant, writes of parts of
    blocks, and pauses in which an update policy works."""
    rng = np.random.default_rng(50)
    requests = np.zeros(COUNT, REQUEST)
    gaps_ns = rng.exponential(3e6, COUNT) * rng.choice([0, 1, 1, 4], COUNT)
    gaps_ns[::300] += 8e9
    requests["time_ns"] = np.cumsum(gaps_ns)
    # Of 4000 numbers small ones are drawn more often; these are spread. Block 0 would be a hole.
    blocks = 1 + (4000 ** rng.random(COUNT) * 7919 % 16000).astype(int)
    for first in range(0, COUNT - 20, 60):  # two streams, one after the other
        blocks[first : first + 20] = np.arange(20) * 2 + blocks[first]
    requests["offset"] = blocks * 4096 + rng.choice([0, 0, 0, 512, 1536], COUNT)
    requests["bytes"] = rng.choice([512, 4096, 4096, 8192, 8192, 70000], COUNT)
    requests["write"] = rng.random(COUNT) < 0.35
    return requests


def build_reference(folder: Path, requests: np.ndarray) -> Path:
    """Link a twin that replays these requests through the file system, and return its path."""
    rows = (
        f"{{{r['time_ns']}, {r['offset']}, {r['bytes']}, {int(r['write'])}}},\n" for r in requests
    )
    (folder / "present_requests.h").write_text("".join(rows))
    compiler = (BUILT / "twin" / "kernel.command").read_text().split()
    made = folder / "present.o"
    source = SUPPORT / "present_replay.c"
    subprocess.run([*compiler, "-w", f"-I{folder}", "-c", source, "-o", made], cwd=ROOT, check=True)
    line = (BUILT / "twin" / "link.command").read_text().split()
    line[line.index("build/twin/kernel/main.o")] = str(made)
    wraps = [f"-Wl,--wrap={name}" for name in WRAPPED]
    subprocess.run([*line, *wraps, "-o", folder / "twin"], cwd=ROOT, check=True)
    return folder / "twin"


@pytest.fixture(scope="module")
def requests() -> np.ndarray:
    """Return the trace."""
    return small_trace()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, requests: np.ndarray) -> Iterator[Path]:
    """Yield the reference's twin."""
    yield build_reference(tmp_path_factory.mktemp("present"), requests)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory, requests: np.ndarray) -> Iterator[Path]:
    """Yield the file with the requests."""
    path = tmp_path_factory.mktemp("packed") / "requests"
    path.write_bytes(pack_requests(requests))
    yield path


def decode_ring(data: bytes) -> np.ndarray:
    """Return the events of a trace ring, which has room for all of them."""
    head = np.frombuffer(data, RING, 1)[0]
    assert head["written"] <= head["records"]
    events = np.frombuffer(data, RECORD, int(head["written"]), RING.itemsize).copy()
    events = events[events["event"] != NAMED]
    owned = np.isin(events["event"], (DIRTIED, ABSORBED))
    events["argument"][owned] = 0
    shown: np.ndarray = events[["time_ns", "event", "block", "argument"]]
    return shown


def replay_by_twin(
    twin: Path, folder: Path, settings: dict[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the twin's events, and start and response of each request."""
    disk = folder / "disk"
    with disk.open("wb") as file:
        file.truncate(VOLUME)
    with Guest("256M", (disk,), kept=folder / "memory") as guest:
        words = [f"{name}={value}" for name, value in settings.items()]
        line: list[str | Path] = [
            twin,
            "-p",
            folder,
            "-m",
            guest.path,
            "--",
            "charged_ns=0",
            *words,
            guest.argument(),
        ]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    times = re.findall(r"^done \d+ (\d+) (\d+)$", done.stdout, re.M)
    with (folder / "memory").open("rb") as memory:
        memory.seek(int.from_bytes(memory.read(8), "little") - MEMORY_START)
        return decode_ring(memory.read(40 << 20)), np.array(times, "<u8")


def replay_blocks(
    packed: Path, folder: Path, settings: dict[str, str], *options: str, volume: int = VOLUME
) -> tuple[np.ndarray, np.ndarray]:
    """Return the replayer's events, and start and response of each request."""
    words = [f"{name}={value}" for name, value in settings.items()]
    line: list[str | Path] = [REPLAYER, *options, "-l", folder / "log", "-t", folder / "events"]
    line += ["-v", str(volume), packed, "--", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    log = np.fromfile(folder / "log", "<u8").reshape(-1, 3)
    return decode_ring((folder / "events").read_bytes()), log[np.argsort(log[:, 0]), 1:]


def expect_equal(
    twin: Path, packed: Path, folder: Path, settings: dict[str, str], loop: str
) -> None:
    """Compare the replayer with the twin, event by event. loop: "open" or "closed"."""
    settings = USUAL | settings | {"trace_k": "512"}
    present = settings | ({"closed": "1"} if loop == "closed" else {})
    theirs, their_times = replay_by_twin(twin, folder, present)
    ours, our_times = replay_blocks(packed, folder, settings, *(["-c"] if loop == "closed" else []))
    n = min(len(ours), len(theirs))
    different = np.flatnonzero(ours[:n] != theirs[:n])
    if different.size:
        at = int(different[0])
        around = slice(max(at - 3, 0), at + 3)
        raise AssertionError(f"event {at} of {n}: {ours[around]} != {theirs[around]}")
    assert len(ours) == len(theirs)
    assert (our_times == their_times).all()


def policies_to_compare() -> list[tuple[str, str]]:
    """Return each policy of each kind that a replay uses."""
    names = load_catalogue().policies
    return [(kind, name) for kind in KINDS for name in names[kind]]


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("kind", "name"), policies_to_compare())
def test_each_decision_equals_that_of_the_file_systems_way(
    kind: str, name: str, reference: Path, packed: Path, tmp_path: Path
) -> None:
    """With this policy, the replayer's events and times are those of the twin."""
    expect_equal(reference, packed, tmp_path, {kind: name}, "open")


@pytest.mark.parametrize("drive", ["none", "hp97560"])
def test_each_decision_is_equal_in_a_closed_loop(
    drive: str, reference: Path, packed: Path, tmp_path: Path
) -> None:
    expect_equal(reference, packed, tmp_path, {"drive": drive}, "closed")


def test_a_month_on_sixteen_terabytes_takes_the_memory_of_the_cache(tmp_path: Path) -> None:
    """20,000 reads over 31 days, of blocks far from each other and at last of the volume's last
    one, take less than 64 MiB."""
    volume, count = 16 * 10**12, 20000
    requests = np.zeros(count, REQUEST)
    requests["time_ns"] = np.linspace(0, 31 * 86400 * 10**9, count)
    requests["offset"] = np.arange(count) * 999_983 % (volume // 4096) * 4096
    requests["offset"][-1] = volume // 4096 * 4096 - 4096
    requests["bytes"] = 4096
    (tmp_path / "requests").write_bytes(pack_requests(requests))
    words = ["nbuf=1000", "drive=cheetah4lp"]
    line: list[str | Path] = [REPLAYER, "-v", str(volume), tmp_path / "requests", "--", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=HANG_S)
    said = json.loads(done.stdout)
    assert said["all"]["count"] == count
    assert said["elapsed_ns"] > 31 * 86400 * 10**9
    assert 2 * 10**6 < said["all"]["p50"] < 20 * 10**6  # a seek and half a rotation
    assert said["memory_kb"] < 64 << 10


@pytest.mark.parametrize("seed", range(12))
def test_each_decision_at_the_far_end_of_a_large_disk_is_that_of_a_small_one(
    seed: int, tmp_path: Path
) -> None:
    """The requests to a small disk are moved to the last 64 MB of a disk of 16 TB.

    The seed draws the policies and the drive. Only drives whose times do not depend on the place
    are drawn. Two policies are not: wtinylfu counts uses by a hash of the place, and freeblock
    wants platters.
    """
    draw = random.Random(seed)
    names = load_catalogue().policies
    drawn = {
        kind: draw.choice(sorted({*names[kind]} - {"wtinylfu", "freeblock"})) for kind in KINDS
    }
    settings = USUAL | drawn | {"drive": draw.choice(["fixed", "exponential", "none"])}
    settings |= {"nbuf": str(draw.randrange(200, 2000)), "trace_k": "512"}
    requests = small_trace()
    requests["offset"] += 4096 * draw.randrange(100)
    shift = 16 * 10**12 // VOLUME * VOLUME - VOLUME  # bytes
    found = []
    for name, start in (("near", 0), ("far", shift)):
        folder = tmp_path / name
        folder.mkdir()
        requests["offset"] += start
        (folder / "requests").write_bytes(pack_requests(requests))
        found.append(replay_blocks(folder / "requests", folder, settings, volume=start + VOLUME))
    (near, near_times), (far, far_times) = found
    assert (near_times == far_times).all(), settings
    assert (near["event"] == far["event"]).all(), settings
    assert (near["time_ns"] == far["time_ns"]).all(), settings
    moved = far["block"] - near["block"]  # an event has a block, a sector, or neither
    assert set(np.unique(moved)) <= {0, shift // 4096, shift // 512}, settings


def test_a_flash_drive_takes_memory_for_the_blocks_that_are_written(tmp_path: Path) -> None:
    """4 KiB of tables for each block that is written far from all others, and of the rest nothing.

    The limit was set before anything was measured: 4,000 writes take 16 MiB, the rest 80 MiB.
    """
    volume, count = 16 * 10**12, 20000
    requests = np.zeros(count, REQUEST)
    requests["time_ns"] = np.linspace(0, 31 * 86400 * 10**9, count)
    requests["offset"] = np.arange(count) * 999_983 * 199 % (volume // 4096) * 4096
    requests["offset"][-1] = volume // 4096 * 4096 - 4096
    requests["bytes"] = 4096
    requests["write"] = np.arange(count) % 5 == 4
    (tmp_path / "requests").write_bytes(pack_requests(requests))
    words = ["nbuf=1000", "drive=flash", "write=through"]
    line: list[str | Path] = [REPLAYER, "-v", str(volume), tmp_path / "requests", "--", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=HANG_S)
    said = json.loads(done.stdout)
    assert said["all"]["count"] == count
    assert said["counters"]["flash.written"] == count // 5
    # ns: a command's overhead, reading a page, crossing the channel, and 8 sectors to the host
    assert said["reads"]["p50"] // 1000 == (20_000 + 25_000 + 100_000 + 8 * 1707) // 1000
    assert said["memory_kb"] < 96 << 10


def test_a_disk_too_large_for_the_tables_of_a_flash_drive_is_refused(tmp_path: Path) -> None:
    """32 TB; the limit is between 16 TB, which the test above uses, and 32 TB."""
    requests = np.array([(0, 0, 4096, 0)], REQUEST)
    (tmp_path / "requests").write_bytes(pack_requests(requests))
    line: list[str | Path] = [REPLAYER, "-v", str(32 * 10**12), tmp_path / "requests"]
    line += ["--", "drive=flash", "nbuf=100"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == FAILED
    assert "disk0: the tables of its flash do not fit: shrink it" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ((0, VOLUME, 4096, 0), "request 1: ends at 67112960, beyond the volume's 67108864 bytes"),
        ((0, 3 * VOLUME, 4096, 0), "request 1: ends at 201330688, beyond the volume's"),
        ((0, 0, 0, 0), "request 1: 0 bytes, direction 0"),
        ((0, 0, 4096, 2), "request 1: 4096 bytes, direction 2"),
        ((5, 0, 4096, 0), "request 1: is due before the one before it"),
    ],
)
def test_a_wrong_request_is_named(tmp_path: Path, row: tuple[int, ...], says: str) -> None:
    """The second request (number 1) is wrong: `row`. Time 0 there means that of the first one."""
    requests = np.array([(7, 0, 4096, 0), row], REQUEST)
    requests["time_ns"][1] += 0 if row[0] else 7
    (tmp_path / "requests").write_bytes(pack_requests(requests))
    line: list[str | Path] = [REPLAYER, "-v", str(VOLUME), tmp_path / "requests", "--", "nbuf=100"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == FAILED
    assert says in done.stderr
    assert done.stdout == "", "nothing is told of a trace that was not replayed to its end"
