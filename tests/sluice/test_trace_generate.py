"""The trace of a week that a seed makes: its figures are those of the real volume.

The generated trace imitates the volume prn_1 of the traces from MSR Cambridge, from figures that
sluice/trace/generate.py names. A run is a sequence of requests that follow one another. `week` is a
small generated week.
"""

import hashlib
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.trace import generate, look, reader
from sluice.trace.errors import BadTraceFile

pytestmark = pytest.mark.native

COUNT = 150_000
WEEK_NS = 7 * 24 * 3600 * 10**9
HOUR_NS = 3600 * 10**9


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """Return the requests of a small week, read back from the file that was made."""
    path = tmp_path_factory.mktemp("week") / "prn_1.csv.zst"
    generate.write_trace(path, COUNT, 1)
    assert reader.find_format(path, "").__name__.endswith(".msr")
    return reader.read_requests(path)


def lru_hits(requests: np.ndarray, most: int) -> float:
    """Return the share of requests that hit in an LRU cache of `most` bytes. All requests that
    begin at the same place are for one object."""
    kept: OrderedDict[int, int] = OrderedDict()
    used = hits = 0
    for place, size in zip(requests["offset"].tolist(), requests["bytes"].tolist(), strict=True):
        if place in kept:
            hits += 1
            kept.move_to_end(place)
            continue
        kept[place] = size
        used += size
        while used > most:
            used -= kept.popitem(last=False)[1]
    return hits / len(requests)


def test_sizes_and_directions_are_those_of_the_volume(week: np.ndarray) -> None:
    """75.3 % reads, of 22.5 KiB on average, and writes of 11.7 KiB."""
    reads, writes = week[week["write"] == 0], week[week["write"] == 1]
    assert len(week) == COUNT
    assert len(reads) / COUNT == pytest.approx(0.753, abs=0.01)
    assert reads["bytes"].mean() / 1024 == pytest.approx(22.5, rel=0.03)
    assert writes["bytes"].mean() / 1024 == pytest.approx(11.7, rel=0.05)
    for table, shares in ((reads, generate.READ_SIZES), (writes, generate.WRITE_SIZES)):
        for size, share in shares.items():
            assert (table["bytes"] == size).mean() == pytest.approx(share, abs=0.015)


def test_a_volume_of_hundreds_of_gb_is_used_all_over(week: np.ndarray) -> None:
    """Each tenth of the volume gets at least 5 % of the requests."""
    end = int((week["offset"] + week["bytes"]).max())
    assert 0.99 * generate.VOLUME < end <= generate.VOLUME
    parts = np.histogram(week["offset"], bins=10, range=(0, generate.VOLUME))[0]
    assert parts.min() > 0.05 * COUNT


def test_reuse_is_that_of_the_volume(week: np.ndarray) -> None:
    """29 % of the requests hit in 256 MiB. Short distances are the same in a short trace, so LRU's
    hits are, too."""
    assert lru_hits(week, 256 << 20) == pytest.approx(0.2906, abs=0.03)
    assert 0.1 < lru_hits(week, 16 << 20) < 0.25


def test_the_blocks_in_use_grow_to_those_of_the_volume() -> None:
    """Over the whole week, the share of new runs falls, as there are more runs to return to. The
    real volume has 19,343,730 blocks of 4 KiB in use."""
    drawn = new = 0
    for _ in range(40):
        _, new = generate.draw_numbers(drawn, new, 100_000, 1)
        drawn += 100_000
    runs = generate.make_runs(np.arange(new, dtype="<u8"), 1)
    requests = drawn * runs.length.mean()
    blocks = (runs.length * -(-runs.size // 4096)).sum()
    real = generate.REQUESTS / 19_343_730
    assert requests / blocks == pytest.approx(real, rel=0.12)


def test_no_two_runs_overlap() -> None:
    """A million runs begin at places that are at least the longest run apart."""
    numbers = np.arange(1_000_000, dtype="<u8")
    places = np.sort(generate.places(numbers))
    assert (np.diff(places) >= generate.LONGEST_RUN).all()
    runs = generate.make_runs(numbers[:100_000], 3)
    assert (runs.length >= 1).all()
    assert (runs.length * runs.size <= generate.LONGEST_RUN).all()


def test_arrivals_follow_the_hours_of_the_day_and_the_days_of_the_week(week: np.ndarray) -> None:
    """Shares of hours agree to 0.5 %, of days to 1 % of all requests."""
    hours = week["time_ns"] // HOUR_NS
    assert week["time_ns"].max() < WEEK_NS
    assert (np.diff(week["time_ns"].astype("<i8")) >= 0).all()
    found = np.bincount((hours % 24).astype("<i8"), minlength=24) / COUNT
    wanted = np.array(generate.HOURS) / sum(generate.HOURS)
    assert np.abs(found - wanted).max() < 0.005
    days = np.bincount((hours // 24).astype("<i8"), minlength=7) / COUNT
    assert np.abs(days - np.array(generate.DAYS) / sum(generate.DAYS)).max() < 0.01


def test_runs_are_sequential(week: np.ndarray) -> None:
    """The share of requests that follow the one before is what the mean length of runs gives. The
    first request of each run does not follow, and a run has run_weight() requests on average."""
    follows = (week["offset"][1:] == week["offset"][:-1] + week["bytes"][:-1]).mean()
    firsts = generate.READ_SHARE / generate.run_weight(generate.READ_SIZES)
    firsts += (1 - generate.READ_SHARE) / generate.run_weight(generate.WRITE_SIZES)
    assert 0.9 * (1 - firsts) < follows <= 1.1 * (1 - firsts)


def test_a_seed_makes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    """The digest is of this generator: a change of it is a change of every published week."""
    for name, seed in (("a.csv", 7), ("b.csv", 7), ("c.csv", 8)):
        generate.write_trace(tmp_path / name, 2000, seed)
    a, b, c = ((tmp_path / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c
    assert a.count(b"\n") == 2000
    assert hashlib.sha256(a).hexdigest()[:16] == "3256d739b24274c9"


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_a_week_is_packed_as_its_name_says(tmp_path: Path, ending: str) -> None:
    """The packed file has the same requests, and no other file is left."""
    generate.write_trace(tmp_path / "a.csv", 500, 7)
    generate.write_trace(tmp_path / f"a.csv.{ending}", 500, 7)
    plain = reader.read_requests(tmp_path / "a.csv")
    assert (reader.read_requests(tmp_path / f"a.csv.{ending}") == plain).all()
    packed = (tmp_path / f"a.csv.{ending}").stat().st_size
    assert packed < (tmp_path / "a.csv").stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", f"a.csv.{ending}"]


def test_a_week_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """The folder is not there."""
    with pytest.raises(BadTraceFile, match="cannot be written: No such file or directory"):
        generate.write_trace(tmp_path / "no" / "a.csv", 500, 7)
    assert not list(tmp_path.iterdir())


def run_verb(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `sluice` with these words."""
    line = [sys.executable, "-m", "sluice.cli", *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)


def test_the_command_makes_a_week_and_looks_at_it(tmp_path: Path) -> None:
    """`trace look` names the format, the packing, the number of requests and the days."""
    path = str(tmp_path / "w.csv.gz")
    made = run_verb("trace", "generate", path, "--requests", "5000", "--seed", "3")
    assert (made.returncode, made.stdout) == (0, f"{path}\n"), made.stderr
    seen = run_verb("trace", "look", path)
    assert seen.returncode == 0, seen.stderr
    first, packed, *lines = seen.stdout.splitlines()
    assert first == "w.csv.gz: read as msr: MSR Cambridge, CSV (guessed; --format says another)"
    assert packed == "packed by gzip"
    assert lines[0].startswith("5,000 requests: 7")
    assert lines[-2].endswith("days from the first request to the last")
    wrong = run_verb("trace", "look", path, "--time-unit", "hours")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--time-unit hours: must be one of s, ms" in wrong.stderr


def test_what_is_in_a_trace_is_told_from_one_pass(tmp_path: Path) -> None:
    """Four requests to two disks, of which the last has no data."""
    path = tmp_path / "w"
    path.write_text(
        "time,op,offset,size,disk\n0.5,R,0,8192,a\n1.5,W,8192,1024,a\n2.5,R,0,2048,b\n3.5,R,9,0,b\n"
    )
    assert look.look(path, "", None, lambda n: None) == [
        "3 requests: 66.7 % reads",
        "5.00 KiB a read on average",
        "1.00 KiB a write on average",
        "33.3 % begin where the request before ended",
        "2 disks, used up to 0.1 MiB",
        "2.000 s from the first request to the last",
        "left out: requests without data: 1",
    ]
    assert look.look(path, "", 1, lambda n: None)[0] == "1 requests: 100.0 % reads"
    path.write_text("block\n7\n")
    assert look.look(path, "csv:columns=block", None, lambda n: None)[-1] == "no times"
