"""Slices of a replay, their intervals, the warm-up, hours, and the drive's time with the optimum's
misses (sluice/blocks/slices.c, slices.py, offline.py).

A slice is a part of a replay, of SLICE_NS or of so many requests: it has the number of requests,
hits, bytes, and a histogram of response times. From slices the bootstrap computes intervals of 95
%. The log has each request's number, start and response time. The optimum is Belady's rule, which
misses least.
"""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from test_block_replay import random_requests, type_replay, write_packed

from sluice.blocks import batch
from sluice.blocks.decoded import BLOCK
from sluice.blocks.miss_curve import run_optimum
from sluice.blocks.offline import BUFFERS, POLICIES, make_optimum, plan_optimum
from sluice.blocks.replayer import Figures, Settings, run_replay
from sluice.blocks.slices import (
    DRAWS,
    HOUR_NS,
    MOST,
    WANTED,
    Measured,
    Slices,
    bootstrap,
    dump_slices,
    hours_of,
    parse_slices,
    read_slices,
    slice_length,
)
from sluice.sweep import block_replay

pytestmark = pytest.mark.native
VOLUME = 1 << 30  # bytes of the disk
LOGGED = np.dtype([("number", "<u8"), ("start_ns", "<u8"), ("response_ns", "<u8")])
SLICE_NS = 2 * 10**9


def replay_slices(
    tmp_path: Path, table: np.ndarray, settings: Settings
) -> tuple[Figures, Slices, np.ndarray]:
    """Return the figures, the slices, and the log of a replay."""
    log, slices = tmp_path / "log", tmp_path / "slices"
    path = write_packed(tmp_path / "t", table)
    figures = run_replay(path, VOLUME, settings, log=log, slices=slices)
    return figures, read_slices(slices), np.fromfile(log, LOGGED)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("warmup", [0, 700])
def test_slices_are_the_sums_of_their_requests(tmp_path: Path, closed: bool, warmup: int) -> None:
    """The slices are compared with sums over the log, which has each request. closed: a closed
    loop, whose slices have 250 requests; warmup: how many requests do not count."""
    table = random_requests(3000)
    length = 250 if closed else SLICE_NS
    settings = Settings(buffers=200, closed=closed, warmup=warmup, slice=length)
    figures, slices, log = replay_slices(tmp_path, table, settings)
    assert len(log) == 3000 - warmup == figures.all.count and figures.requests == 3000
    assert log["number"].min() == warmup
    slice_of = log["number"] // 250 if closed else log["start_ns"] // SLICE_NS
    write = table["write"][log["number"].astype(int)] == 1
    for kind, chosen in ((slices.reads, ~write), (slices.writes, write)):
        for number in range(len(kind.count)):
            own = np.sort(log["response_ns"][chosen & (slice_of == number)])
            assert kind.count[number] == len(own)
            assert kind.sum_ns[number] == own.sum()
            # a response time is at most one part in 127 below its histogram's value
            filled = np.repeat(kind.at_ns, kind.counts[number])
            assert (filled >= own).all() and (filled <= own * (1 + 1 / 127) + 1).all()
    assert int(slices.requests.hits.sum()) == figures.all.hits
    assert int(slices.requests.bytes.sum()) == figures.all.bytes
    assert int(slices.reads.hit_bytes.sum()) == figures.reads.hit_bytes
    assert int(slices.requests.mean_ns()) == figures.all.mean_ns
    for share, found in ((0.5, "p50_ns"), (0.99, "p99_ns"), (0.9999, "p99_99_ns")):
        assert slices.requests.quantile_ns(share) == getattr(figures.all, found)


def test_a_warm_up_changes_no_time_and_its_counters_are_known(tmp_path: Path) -> None:
    """999 requests are the warm-up. A counter's growth is what it counts after the warm-up."""
    table = random_requests(3000)
    whole, _, log = replay_slices(tmp_path, table, Settings(buffers=200, slice=SLICE_NS))
    late, _, late_log = replay_slices(
        tmp_path, table, Settings(buffers=200, slice=SLICE_NS, warmup=999)
    )
    assert log[log["number"] >= 999].tolist() == late_log.tolist()
    assert late.counters == whole.counters and whole.warm_counters == {}
    assert late.elapsed_ns == whole.elapsed_ns
    reads = late.warm_counters["disk.reads"]
    assert 0 < reads < late.counters["disk.reads"]
    assert late.growth("disk.reads") == late.counters["disk.reads"] - reads


def test_starts_are_exact_unless_a_request_waits_for_another(tmp_path: Path) -> None:
    """With 1024 in flight no request waits. With one, and 100 times as fast, a request starts late
    by the time until the one before ends."""
    table = random_requests(2000)
    many, _, _ = replay_slices(
        tmp_path, table, Settings(buffers=200, slice=SLICE_NS, inflight=1024)
    )
    assert many.late_ns == many.mean_late_ns == 0
    table["time_ns"] //= 100
    few, _, log = replay_slices(tmp_path, table, Settings(buffers=200, slice=SLICE_NS, inflight=1))
    assert few.late_ns > few.mean_late_ns > 0
    numbers = np.argsort(log["number"])
    starts, ends = log["start_ns"][numbers], (log["start_ns"] + log["response_ns"])[numbers]
    waits = np.maximum(ends[:-1].astype(int) - starts[1:].astype(int), 0)
    assert few.late_ns == waits.max() and few.mean_late_ns == waits.sum() // 2000


# ---- intervals ----


def slices_of(responses: np.ndarray) -> Measured:
    """Return slices of requests of one block; responses: in ns, shape (slices, requests)."""
    at_ns, places = np.unique(responses, return_inverse=True)
    counts = np.zeros((len(responses), len(at_ns)), np.int64)
    np.add.at(counts, (np.arange(len(responses))[:, None], places.reshape(responses.shape)), 1)
    count = np.full(len(responses), responses.shape[1])
    return Measured(
        count, count * BLOCK, (responses == 0).sum(1), (responses == 0).sum(1) * BLOCK,
        responses.sum(1), at_ns, counts,
    )  # fmt: skip


def random_responses(draw: np.random.Generator, nslices: int = 216) -> np.ndarray:
    """Return the responses of 60 requests in each slice, in ns. Their level changes from slice to
    slice, and stays near the last one."""
    level = np.zeros(nslices)
    for i in range(1, nslices):
        level[i] = 0.5 * level[i - 1] + draw.normal()
    took = 1e6 * np.exp(0.2 * level)[:, None] * draw.exponential(1, (nslices, 60))
    return np.exp2(np.round(np.log2(took) * 16) / 16).astype(int)  # few values, so it is fast


TRACES = 100
COVERED = (0.85, 1.0)  # of TRACES intervals of 95 %; set before it was measured


def test_intervals_cover_the_truth_though_slices_depend_on_each_other() -> None:
    """A bootstrap interval of 95 % is made of each trace; it must contain the truth about as often.
    The true mean is that over all made traces. For the true 99th percentile the median of the
    traces' percentiles is taken."""
    draw = np.random.default_rng(3)
    traces = [random_responses(draw) for _ in range(TRACES)]
    truth = np.mean([trace.mean() for trace in traces])
    high = float(np.median([np.quantile(trace, 0.99) for trace in traces]))
    means = quantiles = 0
    for trace in traces:
        found = bootstrap(slices_of(trace))
        means += found["mean_ns"][0] <= truth <= found["mean_ns"][1]
        quantiles += found["p99_ns"][0] <= high <= found["p99_ns"][1]
    assert COVERED[0] <= means / TRACES <= COVERED[1]
    assert COVERED[0] <= quantiles / TRACES <= COVERED[1]


def test_intervals_are_the_same_each_time_and_hold_the_figure() -> None:
    """The bootstrap draws the same samples each time. Each interval has the figure of the whole."""
    measured = slices_of(random_responses(np.random.default_rng(4)))
    found = bootstrap(measured)
    assert found == bootstrap(measured)
    assert found["mean_ns"][0] < measured.mean_ns() < found["mean_ns"][1]
    for name, share in (("p50_ns", 0.5), ("p99_ns", 0.99), ("p99.99_ns", 0.9999)):
        assert found[name][0] <= measured.quantile_ns(share) <= found[name][1]


def test_few_slices_have_no_interval() -> None:
    """15 slices are too few, 16 are enough."""
    assert bootstrap(slices_of(np.ones((15, 4), int))) == {}
    assert bootstrap(slices_of(np.ones((16, 4), int)))["mean_ns"] == (1.0, 1.0)
    assert DRAWS >= 1000


@pytest.mark.parametrize("hours", [0.001, 0.5, 3, 47, 48, 24 * 7, 24 * 31, 24 * 400])
def test_slices_are_enough_and_parts_or_multiples_of_an_hour(hours: float) -> None:
    """From a few seconds to 400 days, a trace has WANTED to MOST slices."""
    length = slice_length(int(hours * HOUR_NS))
    assert HOUR_NS % length == 0 or length % HOUR_NS == 0
    assert WANTED <= hours * HOUR_NS / length <= MOST


def test_slices_that_are_written_are_those_that_were_read(tmp_path: Path) -> None:
    """Slices survive being stored as text."""
    _, slices, _ = replay_slices(tmp_path, random_requests(500), Settings(slice=SLICE_NS))
    again = parse_slices(dump_slices(slices))
    for kind in ("reads", "writes"):
        one, other = getattr(slices, kind), getattr(again, kind)
        assert one.counts.tolist() == other.counts.tolist()
        assert one.at_ns.tolist() == other.at_ns.tolist()
        assert one.hit_bytes.tolist() == other.hit_bytes.tolist()


def test_hours_are_sums_of_slices() -> None:
    """Twelve slices of a quarter of an hour are three hours of 240 requests. Slices of two hours
    give every second hour."""
    measured = slices_of(random_responses(np.random.default_rng(5), 12))
    found = hours_of(measured, HOUR_NS // 4)
    assert [hour for hour, _ in found] == [0, 1, 2]
    assert [int(one.count.sum()) for _, one in found] == [240, 240, 240]
    assert sum(int(one.sum_ns.sum()) for _, one in found) == int(measured.sum_ns.sum())
    assert [hour for hour, _ in hours_of(measured, 2 * HOUR_NS)] == list(range(0, 24, 2))


# ---- the optimum ----


@pytest.mark.parametrize("warmup", [0, 500])
def test_the_optimum_takes_the_drives_time_for_its_misses_alone(
    tmp_path: Path, warmup: int
) -> None:
    """The reads that miss are replayed here on their own; hits and writes take no time."""
    table = random_requests(4000, 20_000)
    trace = batch.prepare(write_packed(tmp_path / "t.requests", table), tmp_path / "kept")
    settings = Settings(buffers=400, slice=SLICE_NS, warmup=warmup)
    planned = plan_optimum(trace, settings)
    figures, slices = make_optimum(planned, tmp_path / "kept")
    misses, log = tmp_path / "misses", tmp_path / "log"
    optimum = run_optimum(trace.path, [400], warmup, misses)
    alone = Settings(POLICIES, buffers=BUFFERS)
    run_replay(misses, trace.known.volume_bytes, alone, log=log)
    took = np.fromfile(log, LOGGED)["response_ns"]
    reads = int((table["write"][warmup:] == 0).sum())
    assert 0 < len(took) < reads == figures.reads.count
    assert figures.reads.hits == reads - len(took)
    assert figures.reads.mean_ns == round(took.sum() / reads)
    assert figures.all.mean_ns == round(took.sum() / (4000 - warmup))
    assert figures.writes.max_ns == 0 and figures.writes.count == 4000 - warmup - reads
    every = np.sort(np.concatenate([took, np.zeros(reads - len(took), int)]))
    exact_ns = every[math.ceil(0.99 * reads) - 1]  # the 99th percentile; figures have its bucket
    assert exact_ns <= figures.reads.p99_ns <= exact_ns * (1 + 1 / 127)
    assert figures.all.hits == optimum.hits[0].requests
    assert figures.all.hit_bytes == optimum.hits[0].bytes
    sums = table["bytes"][warmup:][table["write"][warmup:] == 0].sum()
    assert int(slices.reads.bytes.sum()) == sums == figures.reads.bytes
    again = make_optimum(planned, tmp_path / "kept")
    assert again[0] == figures


def test_an_optimum_that_misses_no_read_takes_no_time(tmp_path: Path) -> None:
    """All requests write."""
    table = random_requests(100)
    table["write"] = 1
    trace = batch.prepare(write_packed(tmp_path / "t.requests", table), tmp_path / "kept")
    figures, _ = make_optimum(plan_optimum(trace, Settings(slice=SLICE_NS)), tmp_path / "kept")
    assert figures.all.max_ns == 0 and figures.all.count == 100


# ---- the command ----


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a trace's file whose path has a blank."""
    (tmp_path / "a folder").mkdir()
    return write_packed(tmp_path / "a folder" / "mine.requests", random_requests(6000, 60_000))


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def test_the_command_has_intervals_hours_a_warm_up_and_the_optimum(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 6000 requests, 5000 count. The optimum's hits have no interval."""
    words = ["--policies=lru|arc", "--sizes=5", "--warmup=1000", "--optimum", "--intervals"]
    words += [f"--out={tmp_path}/all.csv", f"--hours={tmp_path}/hours.csv"]
    assert type_replay(file, *words) == 0
    said = capsys.readouterr().out
    tables = said[said.index("cache  policy") :].split("\n\n")[:2]
    assert all(len(line) <= 80 for line in "\n".join(tables).splitlines())
    assert " to " in tables[1] and "optimum" in tables[0]
    assert "The first 1,000 requests fill the cache" in said
    assert "Measured: 0 ms at most" in said
    rows = {row["policy"]: row for row in read_csv(tmp_path / "all.csv")}
    assert set(rows) == {"lru", "arc", "optimum"}
    for row in rows.values():
        assert row["all_count"] == "5000" and row["start_error_max_ns"] == "0"
        low, high = float(row["all_p99_ns_low"]), float(row["all_p99_ns_high"])
        assert low <= float(row["all_p99_ns"]) <= high
        assert row["reads_mean_ns_low"] and row["all_p99_99_ns_high"]
        hits = int(row["all_hits"]) / int(row["all_count"])
        low, high = row["all_hit_ratio_low"], row["all_hit_ratio_high"]
        if row["policy"] == "optimum":
            assert low == high == ""
        else:
            assert float(low) <= hits <= float(high)
    assert float(rows["optimum"]["all_mean_ns"]) < float(rows["arc"]["all_mean_ns"])
    assert int(rows["lru"]["counter.disk.reads"]) < 5000
    hours = read_csv(tmp_path / "hours.csv")
    counted = sum(int(row["requests"]) for row in hours if row["policy"] == "lru")
    assert counted == 5000 and {row["kind"] for row in hours} == {"reads", "writes"}


def test_flash_has_its_write_amplification(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The amplification is 1 + pages moved / pages written."""
    table = random_requests(4000)
    table["write"] = 1
    table["bytes"] = BLOCK
    file = write_packed(tmp_path / "t.requests", table)
    out = tmp_path / "a.csv"
    words = ["--drive=flash", "--policies=lru", "--sizes=10", f"--out={out}"]
    assert type_replay(file, *words) == 0
    assert "writes x" in capsys.readouterr().out
    row = read_csv(out)[0]
    moved, written = int(row["counter.flash.moved"]), int(row["counter.flash.written"])
    assert float(row["write_amplification"]) == pytest.approx(1 + moved / written)


@pytest.mark.parametrize("option", ["--optimum", "--hours=x.csv"])
def test_what_needs_times_is_refused_in_a_closed_loop(
    file: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert type_replay(file, option, "--loop=closed", "--policies=lru") == 2
    assert "needs the trace's times" in capsys.readouterr().err


def test_a_table_without_slices_has_no_intervals() -> None:
    """A result has no slices if they were lost."""
    row = block_replay.Row(None, 1.0, None, None)  # type: ignore[arg-type]
    assert set(block_replay.interval_columns(row).values()) == {None}
