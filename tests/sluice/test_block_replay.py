"""`sluice replay` and sluice.replay_blocks(): a trace on the blocks of a disk, under many policies
(sluice/blocks/*.py, sluice/sweep/block_replay.py).

A trace is first decoded: its requests are sorted by time and packed into a file (`known` are its
figures). A replay runs the cache and a disk, compiled for the host, on that file with `Settings`;
its result are `Figures`. Fixtures: `trace` is a decoded trace, and `file` is a trace's file.
Results are kept in a folder `kept`, and no replay is made twice.
"""

import csv
import math
import re
import shlex
import signal
import subprocess
import threading
import tracemalloc
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typed import LINE, enter

import sluice
from sluice.blocks import batch, decoded, replayer
from sluice.blocks.decoded import BLOCK, Decoded, decode_trace
from sluice.blocks.replayer import ReplayFailed, Settings, run_replay
from sluice.experiment.catalogue import load_catalogue
from sluice.host.limits import HANG_S
from sluice.host.memory import available_bytes
from sluice.host.paths import BUILT, ROOT
from sluice.sweep import block_replay
from sluice.sweep.ranges import BadSweep
from sluice.trace.common import REQUEST
from sluice.trace.errors import BadTraceFile
from sluice.trace.format_words import format_word
from sluice.trace.formats import sluice as own_format
from sluice.trace.packed import HEAD, pack_requests
from sluice.trace.reader import read_requests

SMALL_RUN, SMALL_PIECE = 64, 16  # requests: so that a small trace has many runs and slices
WIDEST = 80  # characters in a line of a table


def random_requests(count: int, blocks: int = 3000, seed: int = 7) -> np.ndarray:
    """Return requests in the order of time: reads and writes of parts of blocks and of several
    blocks. Some blocks are used more often than others."""
    draw = np.random.default_rng(seed)
    table = np.zeros(count, REQUEST)
    table["time_ns"] = np.cumsum(draw.exponential(3e7, count))
    # low blocks are likelier than high ones
    table["offset"] = (blocks ** draw.random(count)).astype("<u8") * BLOCK
    table["bytes"] = draw.choice([512, 4096, 12288], count)
    table["write"] = draw.random(count) < 0.3
    return table


def write_packed(path: Path, table: np.ndarray) -> Path:
    """Write requests in the replayer's form, and return the path."""
    path.write_bytes(pack_requests(table))
    return path


def write_spc(path: Path, rows: list[tuple[int, int, int, str, float]]) -> Path:
    """Write a trace in the format spc, and return the path. A row: unit, sector, bytes, direction,
    seconds."""
    path.write_text("".join(f"{u},{at},{n},{how},{s:.6f}\n" for u, at, n, how, s in rows))
    return path


def read_packed(path: Path) -> np.ndarray:
    """Return the requests of a decoded trace."""
    return np.frombuffer(path.read_bytes(), REQUEST, offset=HEAD.size)


def count_touched(table: np.ndarray) -> int:
    """Return how many blocks requests touch."""
    return len(
        {
            block
            for row in table.tolist()
            for block in range(row[1] // BLOCK, (row[1] + row[2] - 1) // BLOCK + 1)
        }
    )


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a small trace decoded in many pieces."""
    monkeypatch.setattr(decoded, "RUN", SMALL_RUN)
    monkeypatch.setattr(decoded, "PIECE", SMALL_PIECE)
    monkeypatch.setattr(own_format, "PIECE", SMALL_PIECE)


# ---- decoding ----


@pytest.mark.native
@pytest.mark.parametrize("disorder", [0, 3, 1000])
@pytest.mark.parametrize("count", [None, 300])
def test_a_trace_decoded_in_pieces_is_the_trace_read_at_once(
    tmp_path: Path, small_pieces: None, disorder: int, count: int | None
) -> None:
    """The trace is in order, nearly in order (by 3 places), or in no order; some times are equal.
    count: how many requests are read."""
    table = random_requests(1000)
    table["time_ns"] //= 10**8  # makes some times equal
    # Each request is moved by up to `disorder` places.
    order = np.argsort(np.arange(1000) + np.random.default_rng(1).integers(0, disorder + 1, 1000))
    path = write_packed(tmp_path / "t.requests", table[np.argsort(order, kind="stable")])
    known = decode_trace(path, tmp_path / "out", count=count)
    whole = read_requests(path, count=count)
    assert read_packed(tmp_path / "out").tolist() == whole.tolist()
    assert known.requests == len(whole) and known.reads == int((whole["write"] == 0).sum())
    assert known.bytes == int(whole["bytes"].sum())
    assert known.read_bytes == int(whole["bytes"][whole["write"] == 0].sum())
    assert known.blocks == count_touched(whole)
    assert known.last_ns == int(whole["time_ns"][-1])
    # the volume ends at the first whole MiB after the last request
    assert 0 <= known.volume_bytes - int((whole["offset"] + whole["bytes"]).max()) < 1 << 20


@pytest.mark.native
def test_the_blocks_of_the_largest_volume_take_the_memory_of_those_in_use() -> None:
    """A bit for each block would be 32 TiB."""
    blocks, table = decoded.BlockSet(decoded.LARGEST), np.zeros(3, REQUEST)
    table["offset"] = 0, decoded.LARGEST - 3 * BLOCK, decoded.LARGEST - BLOCK
    table["bytes"] = 2 * BLOCK, 3 * BLOCK, BLOCK
    blocks.add(table)
    assert blocks.count == 5


@pytest.mark.native
def test_several_disks_lie_one_after_another(tmp_path: Path, small_pieces: None) -> None:
    """The trace is of three units (0, 5 and 10), and is replayed twice as fast."""
    rows = [(i % 3 * 5, 7919 * i % 5000, 4096, "RW"[i % 2], i * 0.25) for i in range(200)]
    path = write_spc(tmp_path / "t.spc", rows)
    known = decode_trace(path, tmp_path / "out", scale=2.0)
    whole = read_requests(path)
    found = read_packed(tmp_path / "out")
    assert found["offset"].tolist() == whole["offset"].tolist()
    assert found["time_ns"].tolist() == (whole["time_ns"] // 2).tolist()
    assert known.blocks == count_touched(whole) and known.format == "spc"


@pytest.mark.native
def test_memory_does_not_grow_with_the_trace(
    tmp_path: Path, small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80,000 requests take less than 1.5 times the memory of 20,000."""
    monkeypatch.setattr(decoded, "RUN", 4096)
    monkeypatch.setattr(decoded, "PIECE", 1024)
    monkeypatch.setattr(own_format, "PIECE", 1024)
    peaks = []
    for count in (100, 20_000, 80_000):  # the first one imports modules
        path = write_packed(tmp_path / "t.requests", random_requests(count)[::-1])
        tracemalloc.start()
        decode_trace(path, tmp_path / "out")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    _, short, long = peaks
    assert long < 1.5 * short < 60_000 * REQUEST.itemsize * 1.5


@pytest.mark.native
def test_what_cannot_be_decoded_leaves_nothing(tmp_path: Path) -> None:
    """Line 4 is wrong."""
    path = write_spc(tmp_path / "t.spc", [(0, 8, 4096, "R", 0.5)] * 3)
    path.write_text(path.read_text() + "0,x,4096,R,1\n")
    with pytest.raises(BadTraceFile, match=r"t\.spc:4"):
        decode_trace(path, tmp_path / "to" / "out")
    assert not list((tmp_path / "to").rglob("out*")) and not list((tmp_path / "to").rglob("raw"))


# ---- one replay ----


def lru_hits(table: np.ndarray, buffers: int) -> tuple[int, int]:
    """Return the hits, and the bytes that hit, of LRU for requests of whole blocks. This is a model
    of its own."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = hit_bytes = 0
    for row in table.tolist():
        blocks = range(row[1] // BLOCK, (row[1] + row[2]) // BLOCK)
        there = [block in cache for block in blocks]
        hits += all(there)
        hit_bytes += sum(there) * BLOCK
        for block in blocks:
            cache.pop(block, None)
            cache[block] = None
            if len(cache) > buffers:
                cache.popitem(last=False)
    return hits, hit_bytes


def test_hits_by_requests_and_bytes_are_those_of_a_model(tmp_path: Path) -> None:
    """LRU with 100 buffers, reads only."""
    table = random_requests(5000)
    # every fifth request has three blocks
    table["bytes"] = np.where(np.arange(5000) % 5 == 0, 3 * BLOCK, BLOCK)
    table["write"] = 0
    settings = Settings({"replace": "lru"}, drive="none", buffers=100)
    found = run_replay(write_packed(tmp_path / "t", table), 1 << 30, settings).all
    assert (found.hits, found.hit_bytes) == lru_hits(table, 100)
    assert 0 < found.hits < found.count == 5000
    assert found.bytes == int(table["bytes"].sum())


def test_progress_is_reported_and_a_wrong_argument_is_told(tmp_path: Path) -> None:
    """A small replay reports its begin only."""
    path, seen = write_packed(tmp_path / "t", random_requests(100)), []
    run_replay(path, 1 << 30, Settings(), seen.append)
    assert seen == [0]
    with pytest.raises(ReplayFailed, match="no_such"):
        run_replay(path, 1 << 30, Settings({"replace": "no_such"}))
    with pytest.raises(ReplayFailed, match="beyond the volume's 4096 bytes"):
        run_replay(path, 4096, Settings())


def test_a_row_is_scaled_with_all_its_zones_and_its_whole_seek_table(tmp_path: Path) -> None:
    """A drive is compiled whose row has 100 zones and 340 points of its seek table. On a volume of
    1 TB the row is scaled, and requests alternate between its ends, so each seek needs the last
    points of the table. By the drive's formula instead, a seek takes 900 ms."""
    # The row is that of the HP 97560 with other zones, points of (cylinders, ns), and sectors.
    zones = ", ".join(f"{{{i * 10}, {i * 10 + 9}, 72, 8, 18}}" for i in range(100))
    points = ", ".join(f"{{{i * 3}, {1000000 + i * 10000}}}" for i in range(1, 341))
    text = (ROOT / "drives" / "hp97560.c").read_text().replace("hp97560", "many")
    text = re.sub(r"\{\{0, 1961.*?\{\}\}", f"{{{zones}, {{}}}}", text)
    text = re.sub(r"\.sectors = \d+", f".sectors = {1000 * 19 * 72}", text)
    text = re.sub(
        r"\.seek = .*",
        f".seek = {{(const struct seek_point[]){{{points}, {{0, 0}}}}, 1, 900000000, 0, "
        "900000000, 0},",
        text,
    )
    source, object_file = tmp_path / "many.c", tmp_path / "many.o"
    source.write_text(text)
    words = shlex.split((BUILT / "blocks.command").read_text())
    objects = [word for word in words if word.endswith(".o")]
    compiler = [word for word in words if not word.endswith(".o")]
    for line in (
        [*compiler, "-c", source, "-o", object_file],
        [*compiler, "-w", "-o", tmp_path / "replayer", *objects, object_file],
    ):
        subprocess.run(line, cwd=ROOT, check=True, timeout=HANG_S)
    volume, count = 10**12, 200
    table = np.zeros(count, REQUEST)
    numbers = np.arange(count)
    last_block = volume // BLOCK - 1
    table["time_ns"] = numbers * 10**9
    table["offset"] = np.where(numbers % 2, numbers, last_block - numbers) * BLOCK
    table["bytes"] = BLOCK
    line = [tmp_path / "replayer", "-v", str(volume), write_packed(tmp_path / "t", table)]
    done = subprocess.run(
        [*line, "--", "drive=many", "nbuf=16"], capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 0, done.stderr
    found = replayer.parse_figures(done.stdout).all
    assert 2e6 < found.mean_ns < found.max_ns < 40e6  # by the formula a seek takes 900 ms


# ---- many replays ----


@pytest.fixture
def trace(tmp_path: Path) -> batch.Trace:
    """Return a decoded trace of 3000 requests."""
    return batch.prepare(
        write_packed(tmp_path / "t.requests", random_requests(3000)), tmp_path / "kept"
    )


def count_runs(monkeypatch: pytest.MonkeyPatch, stops_at: int = 0) -> list[Settings]:
    """Return a list that gets the settings of each replay that begins. The replay with the number
    stops_at, and all later ones, are ended by ^C."""
    made: list[Settings] = []

    def run(path: Path, size: int, settings: Settings, *rest: object) -> replayer.Figures:
        made.append(settings)
        if 0 < stops_at <= len(made):
            raise KeyboardInterrupt
        return run_replay(path, size, settings)

    monkeypatch.setattr(batch, "run_replay", run)
    return made


def four_settings() -> list[Settings]:
    """Return settings of four replays."""
    return [
        Settings({"replace": name}, drive="none", buffers=n)
        for n in (50, 100)
        for name in ("lru", "arc")
    ]


def test_what_was_replayed_is_not_replayed_again(
    tmp_path: Path, trace: batch.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four replays are made once. One more is made for another setting."""
    made = count_runs(monkeypatch)
    first = batch.make_runs(
        batch.plan(trace, four_settings()), tmp_path / "kept", batch.make_here(2)
    )
    assert len(made) == 4
    again = batch.make_runs(
        batch.plan(trace, four_settings()), tmp_path / "kept", batch.make_here(2)
    )
    assert len(made) == 4 and again == first
    other = [replace(four_settings()[0], inflight=65)]
    batch.make_runs(batch.plan(trace, other), tmp_path / "kept")
    assert len(made) == 5
    assert first[0].all.hits == lru_hits_of(trace, 50)


def lru_hits_of(trace: batch.Trace, buffers: int) -> int:
    """Return the hits of the replayer by LRU, replayed on its own."""
    settings = Settings({"replace": "lru"}, drive="none", buffers=buffers)
    return run_replay(trace.path, trace.known.volume_bytes, settings).all.hits


def test_an_interrupt_keeps_what_is_done_and_the_next_call_goes_on(
    tmp_path: Path, trace: batch.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third of four replays is interrupted, so two are kept and two are made later."""
    made = count_runs(monkeypatch, stops_at=3)
    with pytest.raises(KeyboardInterrupt):
        batch.make_runs(batch.plan(trace, four_settings()), tmp_path / "kept")
    assert len(made) >= 3
    monkeypatch.undo()
    made = count_runs(monkeypatch)
    steps: list[batch.Step] = []
    batch.make_runs(batch.plan(trace, four_settings()), tmp_path / "kept", report=steps.append)
    assert len(made) == 2
    assert [step.kept for step in steps if step.figures] == [True, True, False, False]


def test_a_replay_that_does_not_fit_beside_another_waits_and_smaller_ones_go_first(
    tmp_path: Path, trace: batch.Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first replay ends only when both small ones have: the second large one must wait for it,
    because memory has room for a large and a small one."""
    begun: list[int] = []
    small_ones = threading.Semaphore(0)

    def run(path: Path, size: int, settings: Settings, *rest: object) -> replayer.Figures:
        begun.append(settings.buffers)
        if settings.buffers == 2001:
            assert all(small_ones.acquire(timeout=HANG_S) for _ in range(2))
        found = run_replay(path, size, settings)
        if settings.buffers < 2000:
            small_ones.release()
        return found

    monkeypatch.setattr(batch, "run_replay", run)
    # two small replays and two large ones
    wanted = [Settings(drive="none", buffers=n) for n in (100, 101, 2000, 2001)]
    room = batch.memory_bytes(wanted[3]) + batch.memory_bytes(wanted[1])
    batch.make_runs(batch.plan(trace, wanted), tmp_path / "kept", batch.make_here(2, room))
    assert sorted(begun[:3]) == [100, 101, 2001] and begun[3] == 2000
    begun.clear()
    batch.make_runs(batch.plan(trace, wanted), tmp_path / "other", batch.make_here(2))
    assert sorted(begun[:2]) == [2000, 2001]


def test_memory_below_that_of_one_replay_is_refused_and_of_two_is_said(
    tmp_path: Path, trace: batch.Trace
) -> None:
    """16 MiB are too few for one replay. 17 MiB are enough for one and too few for two at once."""
    runs = batch.plan(trace, [Settings(buffers=n) for n in (100, 101)])
    request = block_replay.BlockReplay(tmp_path, memory="16M")
    with pytest.raises(BadSweep, match=r"--memory=16M: the largest replay takes up to 16\.1 MiB"):
        block_replay.memory_limit(request, runs)
    limit = block_replay.memory_limit(replace(request, memory="17M"), runs)
    assert limit == 17 << 20
    assert "together, and 17.0 MiB are allowed" in block_replay.plan_memory(runs, 2, limit)[0]
    assert block_replay.plan_memory(runs, 1, limit) == []


def test_available_memory_is_that_which_linux_says(tmp_path: Path) -> None:
    """Where there is no /proc/meminfo, memory counts as endless."""
    info = tmp_path / "meminfo"
    assert available_bytes(info) == math.inf
    info.write_text("MemFree:  7 kB\nMemAvailable:    2048 kB\nBuffers: 1 kB\n")
    assert available_bytes(info) == 2 << 20


@pytest.mark.parametrize("name", load_catalogue().policies["replace"])
def test_no_replay_takes_more_memory_than_is_reckoned(tmp_path: Path, name: str) -> None:
    """The estimate is at least what a replay takes, and at most twice as much. The trace fills the
    cache twice and then uses some blocks again."""
    buffers = 60_000
    table = np.zeros(2 * buffers + buffers // 2, REQUEST)
    blocks = np.arange(2 * buffers, dtype="<u8")
    table["offset"] = np.concatenate([blocks, blocks[: buffers // 2] * 4]) * BLOCK
    table["bytes"], table["write"] = BLOCK, np.arange(len(table)) % 100 == 0
    path = write_packed(tmp_path / "t.requests", table)
    settings = Settings({"replace": name}, drive="none", buffers=buffers)
    taken = run_replay(path, 2 * buffers * BLOCK, settings).memory_kb << 10
    assert taken <= batch.memory_bytes(settings) <= 2 * taken


def test_an_edited_trace_is_decoded_again_and_old_ones_go(tmp_path: Path) -> None:
    """Only the last KEPT_TRACES decoded traces are kept."""
    path, names = tmp_path / "t.requests", []
    for count in range(10, 10 + batch.KEPT_TRACES + 2):
        one = batch.prepare(write_packed(path, random_requests(count)), tmp_path / "kept")
        assert one.known.requests == count
        names.append(one.path)
    assert len(set(names)) == len(names)
    there = sorted(path.name for path in (tmp_path / "kept" / "traces").glob("*.requests"))
    assert there == sorted(path.name for path in names[-batch.KEPT_TRACES :])


@pytest.mark.parametrize("format", ["csv", ""])
def test_what_is_said_of_columns_units_and_bad_lines_holds_for_a_replay(
    tmp_path: Path, format: str
) -> None:
    """One table is read in two ways: its columns and their unit are other ones each time. One of
    its 101 lines is torn, which is refused unless it may be."""
    path, kept = tmp_path / "t.txt", tmp_path / "kept"
    path.write_text("".join(f"{i} R {i + 100} 8\n" for i in range(100)) + "torn\n")
    first = format_word(format, "time,op,sector,sectors", "ms", "1%")
    one = batch.prepare(path, kept, first)
    assert read_packed(one.path).tolist() == read_requests(path, first).tolist()
    assert one.known.last_ns == 99 * 10**6 and one.known.requests == 100
    other = batch.prepare(path, kept, format_word(format, "sector,op,time,blocks", "us", "1%"))
    assert other.known.last_ns == 99 * 10**3 and other.known.bytes == 100 * 8 * BLOCK
    with pytest.raises(BadTraceFile, match=r":101: 1 fields"):
        batch.prepare(path, kept, format_word(format, "time,op,sector,sectors", "ms"))


# ---- the command ----


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a trace's file."""
    return write_packed(tmp_path / "mine.requests", random_requests(8000, 100_000))


def type_replay(file: Path, *words: object) -> int:
    """Run `sluice replay FILE` with these words and return the exit status."""
    return enter("replay", file, "--folder", file.parent / "kept", *words)


def test_a_file_alone_is_replayed_under_every_replace_policy_at_three_sizes(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sizes are 1, 5 and 10 % of the trace's blocks. The second time all figures are there
    already."""
    assert type_replay(file) == 0
    said = capsys.readouterr().out
    assert "format sluice, 8,000 requests" in said
    names = sorted(path.stem for path in (ROOT / "policies" / "replace").glob("*.c"))
    table = said[said.index("cache  policy") :].partition("\n\n")[0].splitlines()
    rows = [line.split() for line in table[1:]]
    assert sorted((row[0], row[2]) for row in rows) == sorted(
        (size, name) for size in ("1", "5", "10") for name in names
    )
    assert all(len(line) <= WIDEST for line in table)
    assert all(0 < float(row[3]) < 100 and float(row[5]) > 0 for row in rows)
    assert "The error of a start is 0 ns by construction" in said
    assert type_replay(file) == 0
    again = capsys.readouterr().out
    assert again.count("made before") == len(rows)
    assert again[again.index("cache  policy") :] == said[said.index("cache  policy") :]


def test_csv_and_parquet_have_the_same_figures(file: Path, tmp_path: Path) -> None:
    """Two policies of two kinds are four replays."""
    parquet = pytest.importorskip("pyarrow.parquet")
    chosen = ("--policies=lru|arc, sched=clook|sstf, aipu.age_ms=1000", "--sizes=20")
    for ending in ("csv", "parquet"):
        assert type_replay(file, *chosen, f"--out={tmp_path}/all.{ending}") == 0
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    other = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    assert [{k: "" if v is None else str(v) for k, v in row.items()} for row in other] == rows
    assert {(row["replace"], row["sched"]) for row in rows} == {
        (one, way) for one in ("lru", "arc") for way in ("clook", "sstf")
    }
    assert {row["aipu.age_ms"] for row in rows} == {"1000"}
    assert len({row["all_mean_ns"] for row in rows}) > 1


def test_without_a_drive_the_table_has_no_times(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert type_replay(file, "--drive=none", "--policies=lru", "--sizes=10") == 0
    said = capsys.readouterr().out
    assert "mean, ms" not in said and re.search(r"^10 % +lru +\d", said, re.M)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--policies", "lur"], 'unknown policy "lur"; did you mean "lru"'),
        (["--policies", "none"], "none: is of several kinds"),
        (["--policies", "replace=lur"], 'unknown replace policy "lur"; did you mean "lru"'),
        (["--policies", "place=eager"], "place: neither a kind of policy nor a tunable"),
        (["--policies", "aipu.age_ms=x"], "aipu.age_ms=x: must be a whole number"),
        (["--sizes", "0"], "--sizes=0: must be percentages"),
        (["--sizes", "1000"], "--sizes=1000: must be percentages up to 100, as 1, 5, 10"),
        (["--sizes", "0.001"], "and the kernel needs 16"),
        (["--out", "x.txt"], "must end in .csv or .parquet"),
        (["--out", "/proc/nowhere/x.csv"], "nothing can be written there"),
        (["--fit", "pack"], "only with --through files"),
        (["--metrics", "x"], "only with --through files"),
        (["--through", "files", "--out", "x.csv"], "only with --through blocks"),
        (["--through", "files", "--inflight", "300"], "must be 1 to 256 with --through files"),
        (["--drive", "cheeta"], "there is no such drive"),
        (["--format", "msr"], "mine.requests:1: "),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_replay(
    file: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message is printed in a box, whose lines are joined here."""
    assert type_replay(file, *words) == 2
    assert why in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not (file.parent / "kept" / "results").exists()


def test_a_trace_without_times_is_read_in_a_closed_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The format lirs has block numbers only."""
    path = tmp_path / "cs.trace"
    path.write_text("".join(f"{i * 7 % 500}\n" for i in range(900)))
    assert type_replay(path, "--policies=lru", "--sizes=50") == 0
    assert "Closed loop: 1 request under way" in capsys.readouterr().out
    assert type_replay(path, "--policies=lru", "--loop=open") == 2
    assert "a trace of this format has no times" in capsys.readouterr().err


def test_small_sizes_that_nobody_asked_for_are_left_out() -> None:
    """The sizes are 1, 5 and 10 % of the trace's blocks, if no other is given. A cache must have 16
    buffers, so of 200 blocks only 10 % are enough. If none is enough, the cache holds all
    blocks."""
    known = Decoded(1, 1, 1, 1, 200, 1 << 20, 0, False, "", "spc")
    assert block_replay.buffer_counts("", known, "t") == {10.0: 20}
    assert block_replay.buffer_counts("", replace(known, blocks=20), "t") == {100.0: 20}
    for blocks, why in ((16, "give a larger share"), (15, "give no --sizes")):
        with pytest.raises(BadSweep, match=f"and the kernel needs 16: {why}$"):
            block_replay.buffer_counts("50", replace(known, blocks=blocks), "t")
    assert block_replay.buffer_counts("", replace(known, blocks=15), "t") == {100.0: 16}


def test_control_c_at_the_command_keeps_what_is_done(tmp_path: Path) -> None:
    """The command is interrupted after its first replays; the same command makes the others. Five
    policies with two sizes are ten replays."""
    file = write_packed(tmp_path / "long.requests", random_requests(100_000, 50_000))
    line = [*LINE, "replay", file, "--folder", tmp_path / "kept", "--jobs=1"]
    line += ["--policies=lru|arc|lirs|2q|s3fifo", "--sizes=5,10"]
    with subprocess.Popen(
        line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        for row in child.stdout:
            if "processor time" in row:
                child.send_signal(signal.SIGINT)
                break
        rest, errors = child.communicate(timeout=HANG_S)
    assert child.returncode == 130, errors
    assert "stopped: all runs so far are kept" in errors and "cache  policy" not in rest
    kept = len(list((tmp_path / "kept" / "results").glob("*/*.json")))
    assert 1 <= kept < 10
    done = subprocess.run(
        line, cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG_S
    )
    assert done.stdout.count("made before") == kept
    assert done.stdout.count("processor time\n") == 10 - kept


# ---- Python ----


def test_python_replays_far_longer_and_larger_than_a_machine_could(tmp_path: Path) -> None:
    """2000 requests take eight months, on 100 places of a volume of 15 TB."""
    count = 2000
    table = sluice.requests(
        time_ns=np.arange(count) * 10**13,  # eight months
        offset=np.arange(count) % 100 * (150 << 30),  # 15 TB
        write=np.arange(count) % 4 == 3,
    )
    found = sluice.replay_blocks(table, {"replace": "arc"}, {"aipu.age_ms": 5000}, buffers=200)
    assert found.requests == count and found.errors == 0
    assert found.elapsed_ns >= (count - 1) * 10**13
    assert (
        found.reads.hits == found.reads.count - 75
    )  # 75 of 100 places are read; whole writes cause no miss
    path = write_packed(tmp_path / "t", table)
    same = sluice.replay_blocks(path, {"replace": "arc"}, {"aipu.age_ms": 5000}, buffers=200)
    assert replace(same, cpu_s=0, memory_kb=0) == replace(found, cpu_s=0, memory_kb=0)


def small_call(**given: object) -> Callable[[], object]:
    """Return a call of replay_blocks with these arguments."""
    return lambda: sluice.replay_blocks(random_requests(5), **given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"policies": {"replace": "lur"}}, 'unknown replace policy "lur"; did you mean "lru"'),
        ({"policies": {"place": "eager"}}, 'policies: "place": must be one of replace'),
        ({"tunables": {"aipu.age": 1}}, 'unknown tunable "aipu.age"'),
        ({"tunables": {"aipu.age_ms": -1}}, "aipu.age_ms=-1: must be a whole number"),
        ({"drive": "cheeta"}, 'unknown drive "cheeta"; did you mean "cheetah4lp"'),
        ({"buffers": 3}, "buffers=3: must be a whole number"),
        ({"loop": "ajar"}, 'loop="ajar": must be'),
        ({"inflight": 0}, "inflight=0: must be"),
        ({"hang": 0}, "hang=0: must be"),
        ({"volume_bytes": 5}, "volume_bytes=5: must be"),
        ({"volume_bytes": (1 << 30) + 1}, "volume_bytes=1073741825: must be whole blocks of 4096"),
        ({"volume_bytes": 1 << 61}, f"must be a whole number, 4096 to {1 << 60}"),
    ],
)
def test_a_wrong_argument_of_replay_blocks_is_refused(given: dict, why: str) -> None:
    """given: the wrong argument of a call with five requests."""
    with pytest.raises(sluice.BadReplay, match=re.escape(why)):
        small_call(**given)()
    with pytest.raises(sluice.ReplayFailed, match="beyond the volume's 4096 bytes"):
        small_call(volume_bytes=4096)()
