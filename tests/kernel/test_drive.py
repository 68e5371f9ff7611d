"""The drive models: measured service times, published figures, and what must hold of any drive.

The program drive_replay_tool runs the requests of a trace on a model, one after the other: each has
its direction, first sector, number of sectors, measured time, and the pause before the next one. A
row is a file of drives/. The demerit figure, by Ruemmler and Wilkes 1994, is the root mean square
of the distances between the measured and the modelled distribution of service times, in percent of
the mean time. Measured traces are outside the tree; without them those tests are skipped.
"""

import os
import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluice.host.limits import HANG_S
from sluice.host.paths import NATIVE, ROOT

TOOL = NATIVE / "drive_replay_tool"
SOURCES = [
    "tests/drives/drive_replay_tool.c",
    "tests/drives/validated_drives.c",
    *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("drives/**/*.c"))),
]
DATA = Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared" / "data"))
TRACE = DATA / "cheetah4LP.trace"
SEEKS = DATA / "cheetah4LP.seek"
# Requests of DiskSim 4.0's valid/hp_c3323a.trace, all or the first of them.
HP_TRACE = DATA / "hp_c3323a.trace"

pytestmark = pytest.mark.native
needs_data = pytest.mark.skipif(
    not TRACE.exists(), reason=f"{TRACE} is absent; SLUICE_DATA names its folder"
)


needs_hp_data = pytest.mark.skipif(
    not HP_TRACE.exists(), reason=f"{HP_TRACE} is absent; SLUICE_DATA names its folder"
)


@dataclass(frozen=True)
class Request:
    write: bool
    sector: int
    sectors: int
    think_us: int = 0


@dataclass(frozen=True)
class Row:
    """A file of drives/, as the tool lists it."""

    name: str
    sectors: int
    room: int
    cylinders: int
    heads: int
    outer_sectors: int
    rpm: int
    rotation_ns: int
    bus_ns: int
    segments: int
    depth: int
    seek_1_ns: int
    seek_mean_ns: int
    seek_full_ns: int


def run(*words: str | Path, tool: Path = TOOL) -> str:
    """Return what the program prints for these words."""
    done = subprocess.run(
        [tool, *words], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def figures(text: str) -> dict[str, float]:
    """Return the lines "name value" of a result."""
    return {name: float(value) for name, value in re.findall(r"^([a-z]\w*) (\S+)$", text, re.M)}


def service(drive: str, requests: list[Request], tmp_path: Path, *options: str) -> list[int]:
    """Return the time that each request took, in ns. The requests must have been served in turn."""
    trace = tmp_path / "made.trace"
    trace.write_text(
        "".join(
            f"{'W' if r.write else 'R'} made {r.sector} {r.sectors} 1 {r.think_us}\n"
            for r in requests
        )
    )
    out = run("-d", drive, *options, "-v", trace)
    times = [tuple(map(int, pair)) for pair in re.findall(r"^(\d+) (\d+)$", out, re.M)]
    assert len(times) == len(requests)
    last_ns = 0
    for (issued_ns, done_ns), request in zip(times, requests, strict=True):
        assert last_ns <= issued_ns < done_ns
        last_ns = done_ns + request.think_us * 1000
    return [done_ns - issued_ns for issued_ns, done_ns in times]


def rows() -> list[Row]:
    """Return the rows that the program lists; none if it is not built."""
    if not TOOL.exists():
        return []
    found = re.findall(r"^(\w+): .*\n((?:    .*\n)+)", run("-l"), re.M)
    return [
        Row(name, **{key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)})
        for name, text in found
    ]


ROWS = rows()
each_row = pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])


def mixed_requests(row: Row, n: int, seed: int) -> list[Request]:
    """Return n random requests, of which a third begin where the last one ended."""
    chance = random.Random(seed)
    made: list[Request] = []
    while len(made) < n:
        size = chance.choice([1, 2, 8, 16, 128])
        sector = chance.randrange(row.sectors - size + 1)
        write = chance.random() < 0.4
        if made and chance.random() < 0.33:
            sector, write = made[-1].sector + made[-1].sectors, made[-1].write
        if sector + size <= row.sectors:
            made.append(Request(write, sector, size, chance.choice([0, 100, 5000, 40000])))
    return made


# Sums of the times of fixed_requests, in ns, by the model at commit 3ba7d7a^. That was the last one
# before rows had a read water mark, kinds of read-ahead, gaps of zones, and times after the media.
BEFORE = {
    "cheetah4lp": 11_437_931_266,
    "hp97560": 40_775_267_369,
    "lps540s": 34_501_486_274,
    "rz57": 41_871_932_485,
    "rz58": 29_055_032_327,
    "st19101": 12_493_106_550,
    "st31230n": 27_174_293_021,
}


def fixed_requests(count: int) -> list[Request]:
    """Return requests that are the same on every host, because they are computed: two at places
    spread over the first 90 MB, one where the last one ended, and so on."""
    sizes, pauses_us = (1, 2, 8, 16, 128), (0, 100, 5000, 40000)
    made: list[Request] = []
    for i in range(count):
        if i % 3 == 1:  # it goes on where the last one ended
            at, write = made[-1].sector + made[-1].sectors, made[-1].write
        else:
            at, write = 7919 * i * i % 180_000, i % 5 < 2
        made.append(Request(write, at, sizes[i * i // 3 % 5], pauses_us[i // 3 % 4]))
    return made


@pytest.mark.parametrize("drive", BEFORE)
def test_a_row_that_leaves_the_newer_columns_out_has_the_times_of_before(
    drive: str, tmp_path: Path
) -> None:
    assert sum(service(drive, fixed_requests(3000), tmp_path)) == BEFORE[drive]


def test_there_is_a_row_for_every_drive_of_the_papers() -> None:
    """-l lists the drives, one a line."""
    names = re.findall(r"^(\w+):", run("-l"), re.M)
    wanted = {"rz57", "rz58", "lps540s", "st31230n", "cheetah4lp", "hp97560", "st19101"}
    assert wanted | {"exponential", "fixed", "none"} <= set(names)
    assert len(names) == len(set(names))


# ---- against measurements ----


@needs_data
def test_cheetah4lp_is_as_the_measured_drive() -> None:
    result = figures(run(TRACE))
    assert result["requests"] == 10000  # of the trace
    assert result["demerit_percent"] <= 6
    assert result["mean_ms"] == pytest.approx(result["measured_mean_ms"], rel=0.06)


@needs_data
@pytest.mark.parametrize(
    ("parts", "percent"),
    [
        ("no-readahead", 15),
        ("no-writebehind", 40),
        ("no-readahead no-writebehind", 50),
        ("linear-seek", 20),
        ("constant-seek", 14),
    ],
)
def test_every_part_of_the_model_matters(parts: str, percent: float) -> None:
    """Without a part of the model, or with a simpler seek curve, the demerit figure is above this
    percentage. With all parts it is at most 6 %."""
    options = [word for part in parts.split() for word in ("-x", part)]
    assert figures(run(*options, TRACE))["demerit_percent"] > percent


@needs_hp_data
def test_a_drive_with_a_read_mark_is_as_the_measured_one() -> None:
    """The limits are those of the Cheetah. This drive sends a read's data only when its buffer has
    all of them (its read mark)."""
    result = figures(run("-d", "hp_c3323a", HP_TRACE))
    assert result["demerit_percent"] <= 6
    assert result["mean_ms"] == pytest.approx(result["measured_mean_ms"], rel=0.06)


@needs_hp_data
@pytest.mark.parametrize("part", ["no-read-mark", "no-completion"])
def test_the_read_mark_and_the_completion_matter(part: str) -> None:
    """Without one part of the model the error against the measured trace (demerit) grows by 20
    %."""
    whole, without = (
        figures(run("-d", "hp_c3323a", *options, HP_TRACE))["demerit_ms"]
        for options in ((), ("-x", part))
    )
    assert without > 1.2 * whole


@needs_data
def test_the_seek_curve_of_cheetah4lp_is_as_the_measured_one() -> None:
    curve = {int(d): int(ns) for d, ns in re.findall(r"(\d+) (\d+)", run("-s"))}
    measured = re.findall(r"^(\d+),\s*([\d.]+)", SEEKS.read_text(), re.M)
    assert len(measured) == 103  # distances in the file
    errors_ms = [curve[int(d)] / 1e6 - float(ms) for d, ms in measured]
    assert max(map(abs, errors_ms)) < 0.7
    assert sum(map(abs, errors_ms)) / len(errors_ms) < 0.35


@pytest.mark.parametrize("seed", range(1, 6))
def test_random_4k_reads_of_cheetah4lp_take_what_disksim_says(seed: int) -> None:
    """The simulator DiskSim has a mean of 12.337 ms. Here 5,000 reads come within 1 %."""
    mean_ms = figures(run("-r", "5000", str(seed)))["mean_ms"]
    assert mean_ms == pytest.approx(12.337, rel=0.01)


def test_many_random_4k_reads_of_cheetah4lp_come_nearer() -> None:
    """100,000 reads come within 0.4 % of DiskSim's mean."""
    assert figures(run("-r", "100000", "1"))["mean_ms"] == pytest.approx(12.337, rel=0.004)


# Mean time of reading a random sector in ms, and how near the model must be. The access time that
# DEC published (rz57, rz58) has seek, half a rotation and overhead. The others published the seek
# alone; half a rotation, overhead and transfer are added here.
@pytest.mark.parametrize(
    ("drive", "mean_ms", "tolerance"),
    [
        ("rz57", 23.0, 0.03),
        ("rz58", 18.0, 0.03),
        ("lps540s", 10.7 + 6.67 + 1.0 + 0.2, 0.02),
        ("st31230n", 9.4 + 5.54 + 1.0 + 0.15, 0.02),
        ("hp97560", 12.8 + 7.5 + 2.2 + 0.26, 0.02),
        ("st19101", 7.94 + 3.0 + 0.1 + 0.04, 0.02),
    ],
)
def test_random_reads_take_the_published_access_time(
    drive: str, mean_ms: float, tolerance: float
) -> None:
    """20,000 reads of one sector at random places, one at a time; seed 1."""
    result = figures(run("-d", drive, "-r", "20000", "1", "1"))
    assert result["mean_ms"] == pytest.approx(mean_ms, rel=tolerance)


# ---- of any drive ----


@each_row
def test_the_figures_of_a_row_fit_together(row: Row) -> None:
    """room: how many sectors the tracks hold. At most 2 % of them are spare."""
    assert row.sectors <= row.room <= 1.02 * row.sectors
    assert row.rotation_ns == 60_000_000_000 // row.rpm
    assert row.segments <= 16
    assert row.depth == 1, "these drives of the 1990s did not queue commands"
    assert 0 < row.seek_1_ns < row.seek_mean_ns < row.seek_full_ns < 40_000_000
    assert row.cylinders * row.heads < row.sectors


@each_row
def test_a_longer_seek_takes_no_less(row: Row) -> None:
    """Where two published formulas meet, it may take 2 % less."""
    curve = [int(ns) for ns in re.findall(r" (\d+)", run("-d", row.name, "-s"))]
    assert len(curve) == row.cylinders
    assert curve[0] == 0
    longest = 0
    for ns in curve:
        assert ns >= 0.98 * longest
        longest = max(longest, ns)


@each_row
def test_no_request_is_faster_than_the_bus_nor_slower_than_all_delays(
    row: Row, tmp_path: Path
) -> None:
    """The limit is twice the sum of the longest seek, three rotations and 10 ms, and then the time
    of two transfers of the longest request, 128 sectors, and of four more rotations."""
    requests = mixed_requests(row, 3000, seed=7)
    worst_ns = 2 * (row.seek_full_ns + 3 * row.rotation_ns + 10_000_000)
    for r, ns in zip(requests, service(row.name, requests, tmp_path), strict=True):
        assert ns >= r.sectors * row.bus_ns
        assert ns <= worst_ns + 2 * 128 * row.bus_ns + 4 * row.rotation_ns


@each_row
def test_the_ends_of_a_drive_can_be_read_and_written(row: Row, tmp_path: Path) -> None:
    ends = [0, row.sectors - 8, 8, row.sectors - 16]
    requests = [Request(write, sector, 8, 60000) for sector in ends for write in (False, True)]
    service(row.name, requests, tmp_path)


@each_row
def test_a_transfer_over_many_tracks_loses_a_small_part_of_each_rotation(
    row: Row, tmp_path: Path
) -> None:
    """From one track to the next, sectors are shifted (skew) so that a head switch or a seek of one
    cylinder loses little more than its own time. So the transfer takes at most 35 % longer than the
    sectors need to pass the head, or 2 % longer than the bus needs."""
    sectors = 20_000
    (ns,) = service(row.name, [Request(False, 0, sectors)], tmp_path)
    media_ns = sectors / row.outer_sectors * row.rotation_ns
    assert media_ns < ns < max(1.35 * media_ns, 1.02 * sectors * row.bus_ns) + 2 * row.rotation_ns


@each_row
def test_rereading_at_once_is_a_hit_in_the_drives_cache(row: Row, tmp_path: Path) -> None:
    """A hit takes at most 2.5 ms, and the time of eight sectors on the bus. The second read comes
    1 ms after the first one."""
    requests = [Request(False, row.sectors // 2, 8, think_us=1000)] * 2
    first_ns, second_ns = service(row.name, requests, tmp_path)
    assert second_ns < 2_500_000 + 8 * row.bus_ns < first_ns


@each_row
def test_sequential_reads_lose_no_rotations_and_without_read_ahead_they_do(
    row: Row, tmp_path: Path
) -> None:
    """Between two reads the program computes for 0.5 ms. Without read-ahead the next sectors have
    then passed the head, so each read waits for most of a rotation."""
    requests = [Request(False, 16 * i, 16, 500) for i in range(200)]
    ahead_ns = sum(service(row.name, requests, tmp_path)[1:]) / 199
    without_ns = sum(service(row.name, requests, tmp_path, "-x", "no-readahead")[1:]) / 199
    assert ahead_ns < 0.6 * row.rotation_ns
    assert without_ns > ahead_ns + 0.3 * row.rotation_ns


def test_a_write_behind_is_acknowledged_at_the_speed_of_the_platters_in_the_end(
    tmp_path: Path,
) -> None:
    """A drive that writes behind says that a write is done when its cache has the data. But the
    stream is much longer than the cache, which is soon full. A sector passes the head in 106 us."""
    requests = [Request(True, 128 * i, 128) for i in range(100)]
    times_ns = service("cheetah4lp", requests, tmp_path)
    assert sum(times_ns) > 0.98 * 100 * 128 * 106_000


def test_data_that_were_written_are_not_read_from_an_old_segment(tmp_path: Path) -> None:
    """The first read has the drive read ahead into a segment of its cache. The write then changes
    sectors of that segment, so the last read must go to the platters."""
    requests = [
        Request(False, 1_000_000, 8, 50_000),  # and reads ahead over what follows
        Request(True, 1_000_100, 8, 50_000),
        Request(False, 1_000_096, 8, 50_000),
    ]
    *_, reread_ns = service("cheetah4lp", requests, tmp_path)
    assert reread_ns > 8 * 106_000 + 500_000, "the read must be a miss"


# ---- the program ----


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the program, compiled in two other ways."""
    folder, made = tmp_path_factory.mktemp("tools"), []
    for level, more in [("-O0", []), ("-O2", ["-fsanitize=undefined", "-fno-sanitize-recover"])]:
        made.append(folder / f"tool{level}")
        compile_words = [os.environ.get("HOSTCC", "cc"), "-std=gnu11", level, *more, "-I."]
        subprocess.run([*compile_words, "-o", made[-1], *SOURCES], cwd=ROOT, check=True)
    return made


@pytest.mark.xdist_group("drive tools")
@each_row
def test_the_same_requests_take_the_same_times_however_compiled(
    row: Row, tools: list[Path], tmp_path: Path
) -> None:
    requests = mixed_requests(row, 500, seed=3)
    service(row.name, requests, tmp_path)
    trace = tmp_path / "made.trace"
    results = {run("-d", row.name, "-v", trace)}  # service() wrote the trace
    results |= {run("-d", row.name, "-v", trace, tool=tool) for tool in tools}
    assert len(results) == 1


def test_the_distributions_are_written(tmp_path: Path) -> None:
    """Option -c writes two distributions. Line i of n has the share i / n, and the i-th shortest of
    the modelled and of the measured times."""
    trace, out = tmp_path / "a.trace", tmp_path / "cdf"
    trace.write_text("R x 0 8 5000 0\nW x 800 8 1500.5 0\nR x 80000 8 9000 0\n")
    run("-c", out, trace)
    lines = [[float(word) for word in line.split()] for line in out.read_text().splitlines()]
    assert [fraction for fraction, *_ in lines] == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-6)
    assert [measured for *_, measured in lines] == [1500.5, 5000, 9000]
    assert sorted(line[1] for line in lines) == [line[1] for line in lines]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("R x 0 8 1", "expected 6 words"),
        ("R x 0 8 1 1 1", "expected 6 words"),
        ("Q x 0 8 1 1", "expected R or W"),
        ("R x 8887196 8 1 1", "not on a drive of 8887200 sectors"),
        ("R x -8 8 1 1", "not on a drive"),
        ("R x 0 0 1 1", "not on a drive"),
        ("R x zero 8 1 1", "not on a drive"),
        ("R x 0 8 fast 1", "expected two times in us"),
        ("R x 0 8 1 -1", "expected two times in us"),
    ],
)
def test_a_bad_line_is_refused_with_file_and_line(
    line: str, complaint: str, tmp_path: Path
) -> None:
    """The second line of the trace is wrong; complaint: a part of the message."""
    trace = tmp_path / "bad.trace"
    trace.write_text(f"R x 0 8 1000 0\n{line}\n")
    done = subprocess.run(
        [TOOL, trace], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 1
    assert f"{trace}:2: " in done.stderr
    assert complaint in done.stderr


@pytest.mark.parametrize(
    "words",
    ["", "a b", "-d ramdisk x", "-d fixed x", "-x no-heads x", "-r 0 1", "-r x", "-r x 1", "-l x"],
)
def test_a_bad_command_line_is_refused(words: str) -> None:
    done = subprocess.run(
        [TOOL, *words.split()], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode in (1, 2)
    assert done.stderr
    assert not done.stdout
