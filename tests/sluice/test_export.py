"""Exports of a run's trace: the tools the formats are for read them, and agree with the kernel.

One small run is made and recorded (`rec`, a Recording: its requests and events). `result` has the
kernel's own counters and histograms of the run, with which the exported files (`files`, a folder)
must agree. disk1 has the files that are read and written; disk0 is the root disk.
"""

import base64
import csv
import json
import re
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from statistics import fmean

import pytest
from small_experiment import reads_beside_writes
from typed import LINE

from sluice.experiment import metrics
from sluice.experiment import run as runs
from sluice.experiment.load import load
from sluice.export import recording
from sluice.export.formats import fio
from sluice.export.recording import Recording
from sluice.export.writing import find_formats, write_files
from sluice.host.paths import ROOT
from sluice.system.requests import Request, pair_requests
from sluice.system.trace import Event
from sluice.trace import reader

# Random reads beside a writer whose blocks are flushed in bursts, and join.
SMALL = reads_beside_writes("a trace can be exported", 500)


@pytest.fixture(scope="module")
def toml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of the experiment whose one run is exported."""
    path = tmp_path_factory.mktemp("export") / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def recorded(toml: Path) -> tuple[Recording, dict]:
    """Return the recording of the one run, and its result."""
    run = load(toml).runs[0]
    result, _ = runs.make_run(run, toml.with_name("console"))
    return recording.repeat_and_record(run, toml.parent), result


@pytest.fixture(scope="module")
def rec(recorded: tuple[Recording, dict]) -> Recording:
    """Return the recording of the run."""
    return recorded[0]


@pytest.fixture(scope="module")
def result(recorded: tuple[Recording, dict]) -> dict:
    """Return the result of the run."""
    return recorded[1]


@pytest.fixture(scope="module")
def files(rec: Recording, toml: Path) -> Path:
    """Return the folder with the files of all formats."""
    out = toml.with_name("out")
    write_files(rec, find_formats(), out)
    return out


def run_tool(folder: Path, *words: str) -> str:
    """Run a tool and return its output."""
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


def counter(result: dict, name: str) -> int:
    """Return the value of one of the kernel's counters."""
    return result["counters"][name][0]


def command(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `sluice export` with these words to its end."""
    line = [*LINE, "export", *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


# ---- what is recorded ----


def test_the_recorded_requests_are_those_that_the_kernel_counted(rec, result):
    """Some requests share a command, so there are fewer commands than requests."""
    for word in ("read", "write"):
        some = [r for r in rec.requests if r.direction == word]
        assert len(some) == counter(result, f"disk.{word}s") > 100
        assert sum(r.sectors for r in some) == counter(result, f"disk.{word}_sectors")
    commands = {r.command for r in rec.requests}
    assert len(commands) == counter(result, "disk.commands") < len(rec.requests)
    assert rec.lost == 0


def test_times_between_events_are_those_of_the_kernels_histograms_to_the_ns(rec, result):
    """Each of the kernel's histograms has the sum and the buckets that follow from the recording.
    Service is the time from issue to completion; an age is the time from a block's first dirtying
    to its write."""
    reads, writes = (
        [r for r in rec.requests if r.disk and r.write == write] for write in (False, True)
    )
    dirty_since = {}  # when, in ns, by disk and block
    ages = []
    for e in rec.events:
        if e.name == "dirtied":
            dirty_since.setdefault((e.disk, e.block), e.time_ns)
        elif e.name == "writing":
            since_ns = dirty_since.pop((e.disk, e.block), e.time_ns)
            assert e.time_ns - since_ns == e.argument, e
            if e.argument and e.time_ns >= rec.start_ns:
                ages.append(e.argument)
    for name, values in {
        "disk1.read_response": [r.completed_ns - r.queued_ns for r in reads],
        "disk1.write_response": [r.completed_ns - r.queued_ns for r in writes],
        "disk1.read_service": [r.completed_ns - r.issued_ns for r in reads],
        "disk1.write_service": [r.completed_ns - r.issued_ns for r in writes],
        "disk1.queued": [r.found_queued for r in reads + writes],
        "bio.age_written": ages,
    }.items():
        histogram = result["histograms"][name]
        assert sum(values) == histogram["sum"]
        for low, high, n in histogram["buckets"]:
            assert n == sum(low <= value < high for value in values), name


def test_processes_have_the_names_of_their_programs_and_jobs(rec):
    names = {rec.process(r.pid) for r in rec.requests}
    assert {"iogen read", "updated"} <= names
    assert not any(name.startswith("pid ") for name in names)


def test_every_request_goes_through_its_states_in_time(rec):
    """A request is queued, issued and completed; the trace counts requests by `number`."""
    for r in rec.requests:
        assert r.queued_ns < r.issued_ns < r.completed_ns, r
        assert rec.start_ns <= r.completed_ns <= rec.end_ns
        assert r.completed_ns - r.queued_ns == r.response_ns
    assert [r.number for r in rec.requests] == sorted({r.number for r in rec.requests})


def event(time_ns: int, name: str, block: int, argument: int, write: bool = False) -> Event:
    """Return an event of disk 0 and process 7."""
    return Event(time_ns, name, 0, block, 7, argument, write)


def test_a_command_that_failed_and_was_split_is_told_by_its_last_try():
    """Two requests are one command, which fails and is tried again as two commands. The issue times
    are those of the second try."""
    pairing = pair_requests(
        [
            event(1, "queued", 8, 8),
            event(2, "queued", 16, 8),
            event(3, "issued", 8, 16),
            event(4, "issued", 8, 8),
            event(5, "completed", 8, 4),
            event(5, "failed", 8, 8),
            event(6, "issued", 16, 8),
            event(7, "completed", 16, 5),
        ]
    )
    found = [(r.sector, r.issued_ns, r.completed_ns, r.failed, r.command) for r in pairing.done]
    assert found == [(8, 4, 5, True, 2), (16, 6, 7, False, 3)]
    assert pairing.incomplete_requests() == []


def test_a_trace_that_begins_in_the_middle_tells_of_what_it_saw_queued():
    """The requests for sectors 8 and 16 were queued before the trace began, so they are unknown.
    That for 32 is whole, that for 40 never ends."""
    pairing = pair_requests(
        [
            event(1, "completed", 8, 1),
            event(2, "issued", 16, 8),
            event(3, "queued", 32, 8),
            event(4, "completed", 16, 1),
            event(5, "issued", 32, 8),
            event(6, "queued", 40, 8),
            event(7, "completed", 32, 4),
        ]
    )
    assert [r.sector for r in pairing.done] == [32]
    assert [r.sector for r in pairing.incomplete_requests()] == [40]
    assert pairing.unknown == 2


def test_requests_for_one_sector_are_told_apart_by_direction_and_order():
    """Three requests are for sector 8: read 0, write 1, read 2. The first read queued is the first
    that is done."""
    pairing = pair_requests(
        [
            event(1, "queued", 8, 8),
            event(2, "queued", 8, 8, write=True),
            event(3, "queued", 8, 8),
            event(4, "issued", 8, 8, write=True),
            event(5, "issued", 8, 8),
            event(6, "completed", 8, 1, write=True),
            event(7, "completed", 8, 1),
        ]
    )
    assert [(r.number, r.write, r.found_queued) for r in pairing.done] == [
        (1, True, 1),
        (0, False, 0),
    ]
    assert [r.number for r in pairing.incomplete_requests()] == [2]


# ---- blktrace ----


def test_blkparse_counts_what_the_kernel_counted(files, result):
    """blkparse, the standard reader of Linux's block traces, prints totals for each disk."""
    found: Counter[str] = Counter()
    for disk in ("disk0", "disk1"):
        text = run_tool(files, "blkparse", "-i", disk)
        assert not re.search("skipped|bad|unknown|corrupt", text, re.I)
        total = text[text.rindex("CPU0") :]
        for word, count, size in re.findall(r"(\w+ \w+): +(\d+)(?:, +(\d+)KiB)?", total):
            found[word] += int(count)
            found[f"{word} KiB"] += int(size or 0)
    for word in ("Read", "Write"):
        reads = f"disk.{word.lower()}"
        for what in (f"{word}s Queued", f"{word}s Completed"):
            assert found[what] == counter(result, f"{reads}s"), what
            assert found[f"{what} KiB"] == counter(result, f"{reads}_sectors") // 2
    assert found["Read Dispatches"] + found["Write Dispatches"] == counter(result, "disk.commands")
    joined = counter(result, "disk.reads") + counter(result, "disk.writes")
    joined -= counter(result, "disk.commands")
    assert found["Read Merges"] + found["Write Merges"] == joined > 0


def test_blkparse_names_processes_and_directions(files, rec):
    """The first and the last request of disk1 are looked up among blkparse's lines."""
    text = run_tool(files, "blkparse", "-i", "disk1", "-f", "%T.%t %p %C %a %d %S %n\n", "-q")
    found = [line.split(" ") for line in text.splitlines()]
    queued = [line for line in found if "Q" in line]
    some = [r for r in rec.requests if r.disk == 1]
    assert len(queued) == len(some)
    for r in (some[0], some[-1]):
        words = rec.process(r.pid).split(" ")
        line = [str(r.pid), *words, "Q", "W" if r.write else "R", str(r.sector), str(r.sectors)]
        assert line in [words[1:] for words in queued]


def test_what_blkparse_prints_is_read_as_the_trace_that_requests_csv_is(files, tmp_path) -> None:
    """The readers of sluice/trace give the same requests at the same times."""
    text = tmp_path / "blkparse.txt"
    text.write_text(run_tool(files, "blkparse", "-i", "disk1"))
    ours, theirs = reader.read_requests(files / "requests.csv"), reader.read_requests(text)
    assert len(ours) > 500
    assert ours.tolist() == theirs.tolist()


def test_btt_tells_the_mean_times_that_we_do(files, rec):
    """btt calls the time from queueing to completion Q2C, and that from dispatch to completion
    D2C."""
    run_tool(files, "blkparse", "-q", "-i", "disk1", "-d", "disk1.bin", "-O")
    text = run_tool(files, "btt", "-i", "disk1.bin")
    some = [r for r in rec.requests if r.disk == 1]
    for name, values in {
        "Q2C": [r.completed_ns - r.queued_ns for r in some],
        "D2C": [r.service_ns for r in some],
    }.items():
        low, mean, high, n = re.search(
            rf"^{name} +(\S+) +(\S+) +(\S+) +(\d+)$", text, re.M
        ).groups()
        assert int(n) == len(values)
        assert float(mean) == pytest.approx(fmean(values) / 1e9, abs=1e-9)
        assert (float(low), float(high)) == (min(values) / 1e9, max(values) / 1e9)


def test_iowatcher_draws_the_disk(files):
    run_tool(files, "iowatcher", "-t", "disk1", "-o", "disk1.svg")
    svg = (files / "disk1.svg").read_text()
    assert "<svg" in svg[:500] and svg.rstrip().endswith("</svg>")
    assert len(svg) > 10_000


# ---- HdrHistogram ----


def numbers(data: bytes) -> Iterator[int]:
    """Yield the signed numbers of ZigZag LEB128. The ninth byte of a number, if there is one, has
    eight bits."""
    at = 0
    while at < len(data):
        n = 0
        for byte in range(9):
            digit = data[at]
            at += 1
            n |= (digit if byte == 8 else digit & 0x7F) << 7 * byte
            if digit < 0x80:
                break
        yield n >> 1 ^ -(n & 1)


def read_histogram(text: str) -> Counter[int]:
    """Return how often each value was counted. Where a bucket holds several values, the highest one
    stands for them. The format is V2, compressed, of HdrHistogram, which has no package for every
    processor: a list of the buckets' counts, in which a negative number -n skips n empty buckets.
    The first 2 * half buckets hold one value each, the next half two each, then four each."""
    raw = base64.b64decode(text, validate=True)
    cookie, size = struct.unpack_from(">Ii", raw)
    assert (cookie, size) == (0x1C849314, len(raw) - 8)
    plain = zlib.decompress(raw[8:])
    cookie, size, shift, digits, lowest, _, _ = struct.unpack_from(">IiiiqQd", plain)
    assert (cookie, size, shift, lowest) == (0x1C849313, len(plain) - 40, 0, 1)
    half = 1 << (2 * 10**digits - 1).bit_length() - 1
    found: Counter[int] = Counter()
    at = 0
    for n in numbers(plain[40:]):
        if n > 0:
            doublings = max(at // half - 1, 0)  # the bucket holds 2^doublings values
            found[(at - doublings * half + 1 << doublings) - 1] += n
        at += abs(n) if n < 0 else 1
    return found


def percentile(histogram: Counter[int], percent: float) -> int:
    """Return the value that `percent` per cent of the values do not exceed."""
    rank = max(int(percent / 100 * histogram.total() + 0.5), 1)
    ordered = sorted(histogram)
    sums = accumulate(histogram[value] for value in ordered)
    return next(value for value, sum_ in zip(ordered, sums, strict=True) if sum_ >= rank)


# Made by hdrhistogram 0.10.8 of PyPI from 1, 2047 to 2049, three times 5,000,000, 8,100,123,456
# and 3,600,000,000,000, with three digits, up to a day of ns.
BY_HDRHISTOGRAM = "HISTFAAAADR4nJNpmSzMwMAgxAABzFCakYHBb8pEfwYG+w9QAaaf8kwsrZsZ2bpXMzL972ZkAgDOqAl0"


def test_a_histogram_of_the_projects_own_library_is_read_right() -> None:
    """BY_HDRHISTOGRAM is text that the library itself has written, of nine values."""
    known = read_histogram(BY_HDRHISTOGRAM)
    assert known.total() == 9
    assert known[1] == known[2047] == 1
    assert known[2049] == 2, "two values share a count"
    for percent, value in ((50, 5e6), (60, 5e6), (89, 8_100_123_456), (100, 3.6e12)):
        assert percentile(known, percent) == pytest.approx(value, rel=1e-3)


def test_the_histograms_have_the_percentiles_that_we_have(files, rec):
    """responses.hlog has lines with a histogram each; those of one disk and direction are added up.
    A percentile agrees to 0.1 %."""
    totals: dict[str, Counter[int]] = {}
    for line in (files / "responses.hlog").read_text().splitlines():
        if line.startswith("Tag="):
            tag, *_, text = line.removeprefix("Tag=").split(",")
            totals.setdefault(tag, Counter()).update(read_histogram(text))
    assert set(totals) == {f"disk{r.disk}-{r.direction}" for r in rec.requests}
    for name, histogram in totals.items():
        values = sorted(
            r.response_ns for r in rec.requests if f"disk{r.disk}-{r.direction}" == name
        )
        assert histogram.total() == len(values)
        for percent in (1, 25, 50, 90, 99, 99.9, 100):
            rank = max(int(percent / 100 * len(values) + 0.5), 1)
            found = percentile(histogram, percent)
            assert found == pytest.approx(values[rank - 1], rel=1e-3), (name, percent)


def test_each_line_of_the_log_is_of_its_second(files, rec):
    """Each line has a histogram of the requests that ended in one second."""
    lines = (files / "responses.hlog").read_text().splitlines()
    rows = [line.split(",") for line in lines if line.startswith("Tag=disk1-read,")]
    seconds = Counter(r.completed_ns // 10**9 for r in rec.requests if r.disk and not r.write)
    assert [int(float(row[1])) for row in rows] == sorted(seconds)
    for row in rows:
        histogram = read_histogram(row[4])
        assert histogram.total() == seconds[int(float(row[1]))]
        assert float(row[3]) == pytest.approx(max(histogram) / 1e6, rel=1e-3)


# ---- CSV ----


def test_the_csv_has_a_row_for_each_request_with_times_that_agree(files, rec):
    """Service is from issue to completion, response from queueing to completion."""
    with (files / "requests.csv").open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == len(rec.requests)
    for row, r in zip(rows, rec.requests, strict=True):
        queued, issued, completed = (
            int(row[f"{name}_ns"]) for name in ("queued", "issued", "completed")
        )
        assert (queued, issued, completed) == (r.queued_ns, r.issued_ns, r.completed_ns)
        assert float(row["service_us"]) == (completed - issued) / 1000
        assert float(row["response_us"]) == (completed - queued) / 1000
        assert (row["rw"], row["failed"]) == ("w" if r.write else "r", "0")
        assert row["process"] == rec.process(r.pid)


# ---- Chrome ----


def test_every_chrome_request_begins_once_and_ends_once_in_order(files, rec):
    """Chrome's phases b, n and e are the begin, an instant and the end of an asynchronous event; M
    names a process."""
    rows = json.loads((files / "trace.json").read_text())["traceEvents"]
    life: dict[tuple, list[dict]] = {}
    for row in rows:
        if row["ph"] in "bne":
            life.setdefault((row["cat"], row["id"]), []).append(row)
    assert len(life) == len(rec.requests)
    assert len({number for _, number in life}) == len(life)
    for steps in life.values():
        assert [row["ph"] for row in steps] == ["b", "n", "e"]
        assert [row["ts"] for row in steps] == sorted(row["ts"] for row in steps)
        assert len({(row["name"], row["pid"]) for row in steps}) == 1
    named = {row["pid"] for row in rows if row["ph"] == "M"}
    assert {row["pid"] for row in rows} == named


def test_chromes_counters_and_flushes_are_the_kernels(files, rec, result):
    """Phase C is a counter and phase i an instant, which is a flush here."""
    rows = json.loads((files / "trace.json").read_text())["traceEvents"]
    counters: dict[str, list[tuple[float, int]]] = {}
    for row in rows:
        if row["ph"] == "C":
            counters.setdefault(row["name"], []).append((row["ts"], row["args"]["n"]))
    queue = [n for _, n in sorted(counters["disk1 queued"])]
    assert queue[-1] == 0 and min(queue) == 0
    assert max(queue) == max(r.found_queued for r in rec.requests if r.disk) + 1
    dirty = [n for _, n in counters["dirty blocks"]]
    assert dirty[-1] - dirty[0] == counter(result, "bio.dirty")
    flushes = [row["args"]["blocks"] for row in rows if row["ph"] == "i"]
    bursts = result["histograms"]["bio.burst"]
    assert (len(flushes), sum(flushes)) == (bursts["count"], bursts["sum"])


# ---- fio ----

# The keys that fio 3.33 prints for a direction of a job, and for a disk.
DIRECTION = (
    "io_bytes io_kbytes bw_bytes bw iops runtime total_ios short_ios drop_ios slat_ns clat_ns"
    " lat_ns bw_min bw_max bw_agg bw_mean bw_dev bw_samples iops_min iops_max iops_mean"
    " iops_stddev iops_samples"
)
DISK = "name read_ios write_ios read_merges write_merges read_ticks write_ticks in_queue util"
JOB = (
    "jobname groupid job_start error eta elapsed job_options read write trim sync job_runtime"
    " latency_ns latency_us latency_ms usr_cpu sys_cpu"
)


def test_the_fio_file_has_the_keys_of_fios(files):
    """Keys with blanks are written with underscores in JOB."""
    found = json.loads((files / "fio.json").read_text())
    assert list(found) == [
        "fio version",
        "timestamp",
        "timestamp_ms",
        "time",
        "global options",
        "jobs",
        "disk_util",
    ]
    for job in found["jobs"]:
        assert {key.replace(" ", "_") for key in job} == set(JOB.split())
        for name in ("read", "write", "trim"):
            assert set(job[name]) == set(DIRECTION.split())
            assert set(job[name]["lat_ns"]) >= {"min", "max", "mean", "stddev", "N"}
    assert all(set(disk) == set(DISK.split()) for disk in found["disk_util"])


def test_the_fio_file_adds_up_to_the_kernels_counters(files, rec, result):
    """The sums over all jobs are the kernel's counters."""
    found = json.loads((files / "fio.json").read_text())
    for word in ("read", "write"):
        parts = [job[word] for job in found["jobs"]]
        assert sum(part["total_ios"] for part in parts) == counter(result, f"disk.{word}s")
        sectors = counter(result, f"disk.{word}_sectors")
        assert sum(part["io_bytes"] for part in parts) == sectors * 512
        assert sum(part["lat_ns"]["N"] for part in parts) == counter(result, f"disk.{word}s")
    for disk in found["disk_util"]:
        assert 0 < disk["util"] <= 100
    merges = sum(d["read_merges"] + d["write_merges"] for d in found["disk_util"])
    assert merges == len(rec.requests) - counter(result, "disk.commands")


def read_as_fio_plot_does(path: Path) -> dict:
    """Return the row that fio-plot 1.1.21 makes of a file with one job (fiolib/jsonimport.py and
    jsonparsing_support.py). fio-plot has no wheel, so it is not pinned and not
    run here: its own reader was run by hand."""
    found = json.loads(path.read_text())
    (one,) = found["jobs"]
    options = one["job options"] | found["global options"]
    rw = options["rw"]
    mode = rw.removeprefix("rand") if not rw.endswith("rw") else "read"
    assert all(name in one for name in ("latency_ms", "usr_cpu", "sys_cpu"))
    return {
        "rw": rw,
        "bs": int(options["bs"]),
        "iodepth": int(options["iodepth"]),
        "numjobs": int(options["numjobs"]),
        "iops": one[mode]["iops"],
        "lat": one[mode]["lat_ns"]["mean"],
        "name": one["jobname"],
    }


def test_fio_plot_finds_each_job_with_what_its_requests_show(files: Path, rec: Recording) -> None:
    """iodepth is the most requests of a process that are under way at once."""
    rows = [read_as_fio_plot_does(path) for path in (files / "fio-jobs").glob("*.json")]
    jobs = json.loads((files / "fio.json").read_text())["jobs"]
    assert sorted(row["name"] for row in rows) == sorted(job["jobname"] for job in jobs)
    by_name = {row["name"]: row for row in rows}
    pairs = {(r.pid, r.disk): f"{rec.process(r.pid)} on disk{r.disk}" for r in rec.requests}
    # processes and disks whose name no other has, so that a file belongs to them
    alone = [of for of, name in pairs.items() if list(pairs.values()).count(name) == 1]
    assert alone
    for pid, disk in alone:
        own = [r for r in rec.requests if (r.pid, r.disk) == (pid, disk)]
        row = by_name[pairs[pid, disk]]
        # how many are under way when each one is queued
        depths = [sum(q.queued_ns <= r.queued_ns < q.completed_ns for q in own) for r in own]
        assert row["iodepth"] == max(depths)
        directions = {(False,): "read", (True,): "write", (False, True): "rw"}
        words = directions[tuple(sorted({r.write for r in own}))]
        assert row["rw"].removeprefix("rand") == words
        assert any(r.sectors * 512 == row["bs"] for r in own)
        assert row["iops"] > 0 < row["lat"]


def test_requests_in_sequence_are_no_random_ones() -> None:
    """Four requests of 8 sectors (4096 bytes) are queued every 10 ns and take 25 ns, so three are
    in flight."""

    def build_requests(*sectors: int, write: bool = False) -> list[Request]:
        """Return requests that begin at these sectors."""
        return [
            Request(i, 1, write, at, 8, 1, 10 * i, 0, 10 * i, i, 10 * i + 25, 25)
            for i, at in enumerate(sectors)
        ]

    options = {"rw": "read", "bs": "4096", "iodepth": "3", "numjobs": "1"}
    assert fio.job_options(build_requests(0, 8, 16, 24)) == options
    assert fio.job_options(build_requests(0, 80, 16, 24))["rw"] == "randread"
    assert fio.job_options(build_requests(0, 8, 16, write=True))["rw"] == "write"
    writes = build_requests(99, 107, 115, write=True)
    both = [one for two in zip(build_requests(0, 8, 16), writes, strict=True) for one in two]
    assert fio.job_options(both)["rw"] == "rw"


def find_percentile(bins: Counter[int], percent: float) -> int:
    """Return the middle of the bin in which the running sum reaches `percent` per cent."""
    need = percent / 100 * bins.total()
    for middle, n in sorted(bins.items()):
        need -= n
        if need <= 0:
            return middle
    raise AssertionError("the bins hold fewer")


def test_fios_bins_and_percentiles_are_those_of_the_kernels_histogram(files, result):
    """fio's bins are narrower than the kernel's buckets, so percentiles agree to 2 %."""
    found = json.loads((files / "fio.json").read_text())
    together: Counter[int] = Counter()
    for job in found["jobs"]:
        latency = job["read"]["lat_ns"]
        if not latency["N"] or not job["jobname"].endswith(" on disk1"):
            continue
        bins = Counter({int(middle): n for middle, n in latency["bins"].items()})
        together += bins
        assert bins.total() == latency["N"]
        for percent, value in latency["percentile"].items():
            assert find_percentile(bins, float(percent)) == pytest.approx(value, rel=0.01)
    kernel = metrics.series(result, "hist.disk1.read_response")
    for percent in (10, 50, 90, 99):
        ours = kernel.value(f"p{percent}")
        assert find_percentile(together, percent) == pytest.approx(ours, rel=0.02)


def test_fios_classes_of_latency_are_shares_of_all(files):
    """The shares in the classes of ns, us and ms are percentages. Submission latency (slat) and
    completion latency (clat) sum to the whole (lat)."""
    for job in json.loads((files / "fio.json").read_text())["jobs"]:
        shares = [job[name] for name in ("latency_ns", "latency_us", "latency_ms")]
        assert sum(sum(share.values()) for share in shares) == pytest.approx(100)
        # the sum over all requests of each latency: the mean, times the number of requests
        slat, clat, lat = (
            sum(job[word][name]["mean"] * job[word][name]["N"] for word in ("read", "write"))
            for name in ("slat_ns", "clat_ns", "lat_ns")
        )
        assert slat + clat == pytest.approx(lat, rel=0.01)


# ---- the command ----


def test_a_format_is_a_file_and_nothing_else(files):
    """No other module of sluice/export names a format."""
    names = {path.stem for path in (ROOT / "sluice" / "export" / "formats").glob("[!_]*.py")}
    assert set(find_formats()) == names
    text = "".join(path.read_text() for path in (ROOT / "sluice" / "export").glob("*.py"))
    assert not re.search(rf"formats\.({'|'.join(names)})|\"({'|'.join(names)})\"", text)


def test_the_command_writes_one_format_and_tells_how_to_open_it(toml, tmp_path):
    out = tmp_path / "out"
    done = command(toml, "--run", 1, "--format", "csv", "--out", out, "--folder", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in out.iterdir()] == ["requests.csv"]
    assert "small run 1, delayed: " in done.stdout
    assert "requests.csv" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give an experiment; --list lists them"),
        (["nonesuch"], "nonesuch: there is no such experiment; there are "),
        (["mogul-4.1-fats"], 'no such experiment; did you mean "mogul-4.1-fast"?'),
        (["mogul-4.1"], "mogul-4.1: give one experiment; these begin so: mogul-4.1-fast, "),
        (["TOML"], "give the number of a run; sluice experiment list "),
        (["TOML", "--run", 2], "--run=2: there is no such run; small has runs 1 to 1"),
        (
            ["TOML", "--run", 1, "--format", "pcap"],
            "pcap: there is no such format; there are blktrace, ",
        ),
    ],
)
def test_a_wrong_choice_is_told_with_what_there_is_and_changes_nothing(toml, tmp_path, words, said):
    words = [toml if word == "TOML" else word for word in words]
    done = command(*words, "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_run_that_comes_out_unlike_the_stored_result_is_refused(toml, tmp_path, result):
    """The stored result is equal first, and then has another virtual time."""
    run = load(toml).runs[0]
    stored = tmp_path / "small" / "runs" / f"{runs.result_key(run)}.json"
    stored.parent.mkdir(parents=True)
    for change, status in (({}, 0), ({"virtual_ms": 1}, 1)):
        stored.write_text(json.dumps(result | change))
        words = (toml, "--run", 1, "--format", "csv", "--folder", tmp_path)
        done = command(*words, "--out", tmp_path / "out" / str(status))
        assert done.returncode == status, done.stderr
    assert "differs from the stored result in: virtual_ms" in done.stderr
    assert not (tmp_path / "out" / "1").exists()
