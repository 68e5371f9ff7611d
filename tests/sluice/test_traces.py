"""Traces of real disks: their formats, how they are fitted to a drive, and their replay
(sluice/trace/).

A request is a row (time_ns, offset, bytes, write): offset and size in bytes, and write is 1 for a
write and 0 for a read. The program `ioplay` of Sluice's machine makes a trace's requests: it reads
them from one disk and makes them on the files /trace0, /trace1, ... of PART bytes each. A drive
called `fixed` takes 10 ms for each command; cheetah4lp and lps540s are models of real drives.

Fixtures: `play` replays requests in a machine; `sample` writes a small file of a format, whose two
requests are EXPECTED; `traced` is an experiment that replays a trace; `asked` gives the options of
`sluice replay`, and `gap` is a trace of two hours with two requests. `LeftOut` counts what a reader
skips.
"""

import bz2
import gzip
import html
import json
import lzma
import platform
import re
import struct
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow
import pytest
import zstandard
from both import END, decision, expect_alike, machine_and_twin
from either import run_rc
from typed import enter

import sluice
from sluice import api
from sluice.experiment import run as runs
from sluice.experiment import trace_disk, trial
from sluice.experiment.load import load
from sluice.experiment.schema import TRACE, BadExperiment
from sluice.experiment.selection import twin_variant
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, MKFS, PROGRAMS, ROOT
from sluice.sweep import trace_replay as replay
from sluice.sweep.ranges import BadSweep
from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk
from sluice.trace import fit, reader, spool
from sluice.trace.common import REQUEST, build_table, empty_table
from sluice.trace.errors import BadTraceFile
from sluice.trace.fit import Fit
from sluice.trace.formats import ftrace, systor17, vscsi
from sluice.trace.packed import pack_requests, packed_bytes
from sluice.trace.stream import HEAD, PIECE, LeftOut, read_head
from sluice.twin import engine

PART = 1 << 20  # bytes of one file that a trace is replayed on
PARTS = 8  # files of PART bytes that a test's trace has
ON_TWIN = pytest.mark.skipif(
    platform.machine() not in engine.HOSTS, reason=f"the twin runs on {engine.HOSTS} only"
)


def draw_requests(seed: int, count: int, rate: float = 50, reach: int = PARTS * PART) -> np.ndarray:
    """Return random requests: reads and writes of whole and partial blocks, some across two parts.
    rate: requests in a second; reach: the end of the last one at most, in bytes."""
    chance = np.random.default_rng(seed)
    found = np.zeros(count, REQUEST)
    found["time_ns"] = np.cumsum(chance.exponential(1e9 / rate, count))
    found["bytes"] = 512 * chance.integers(1, 65, count)
    found["offset"] = chance.integers(0, reach - 65 * 512, count) // 512 * 512
    # 40 % writes
    found["write"] = chance.random(count) < 0.4
    return found


# ---- the program ----


@dataclass(frozen=True)
class Played:
    """What a replay left: exit status, console text, and the root disk's image."""

    status: int
    console: str
    root: Path

    @property
    def job(self) -> dict:
        """Return the figures that ioplay printed at the end."""
        (line,) = re.findall(r"^ioplay (\{.*\})$", self.console, re.M)
        return json.loads(line)

    @property
    def log(self) -> np.ndarray:
        """Return a row for each request: its number, its start and its response time, in ns."""
        lines = re.findall(r"^(\d+) (\d+) (\d+)$", self.console, re.M)
        return np.array(lines, "<i8")


Play = Callable[..., Played]
WORDS = "requests=/dev/disk1 filename=/trace part=1m"


def disks(
    folder: Path, packed: bytes, script: str, parts: int = PARTS, size: str = "1M"
) -> tuple[Disk, Disk]:
    """Return a root disk with the program and parts, and a disk with requests."""
    options = [word for i in range(parts) for word in ("--file", f"/trace{i}={size}")]
    files = {"/bin/ioplay": (PROGRAMS / "ioplay").read_bytes()}
    content = Content(files=files, rc=script, size="24M", options=tuple(options))
    (folder / "requests.img").write_bytes(packed)
    return Disk(image.make_image(folder / "root.img", content)), Disk(folder / "requests.img")


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """play(requests, "loop=closed"): the image is judged by e2fsck afterwards."""

    def run(requests: np.ndarray | bytes, words: str = "", args: str = "drive=fixed") -> Played:
        """Replay the requests with more options for ioplay (words) and for the kernel (args)."""
        packed = requests if isinstance(requests, bytes) else pack_requests(requests)
        script = f"set -e\nioplay {WORDS} log=/dev/console {words}\nsync\n"
        both = disks(tmp_path, packed, script)
        config = Config(both, memory="64M", args=f"nbuf=512 {args}", lab=True, cpu_shift=0)
        done = run_rc(config)
        image.check_image(both[0].image)
        return Played(done.status, done.console.replace("\r", ""), both[0].image)

    return run


def expect_job(job: dict, requests: np.ndarray) -> None:
    """Compare what ioplay counted with the requests: their numbers, bytes and blocks."""
    writes = requests["write"] == 1
    assert job["errors"] == 0
    assert (job["reads"], job["writes"]) == ((~writes).sum(), writes.sum())
    assert job["bytes"] == requests["bytes"].sum()
    # the first and last byte of each request, and how many blocks of 4096 bytes it touches
    first, last = (requests["offset"] + end for end in (0, requests["bytes"].astype("<u8") - 1))
    blocks = last // 4096 - first // 4096 + 1
    assert job["write_blocks"] == blocks[writes].sum()
    assert job["read_blocks"] == blocks.sum() - job["write_blocks"]
    # A request begins or ends within a block: `cut` has a row for each. A block that is cut at both
    # ends counts once.
    ends = np.stack([first, last + 1])
    cut = ends % 4096 != 0
    partial = np.where(blocks == 1, cut.any(axis=0), cut.sum(axis=0))
    assert job["partial_blocks"] == partial[writes].sum() > 0


def expect_written(root: Path, requests: np.ndarray) -> None:
    """Check that the files on this root disk have data where requests write, and nowhere else."""
    expected = np.zeros(PARTS * PART, bool)
    for row in requests[requests["write"] == 1]:
        expected[int(row["offset"]) : int(row["offset"] + row["bytes"])] = True
    parts = [image.read_file(root, f"/trace{i}") for i in range(PARTS)]
    written = np.frombuffer(b"".join(parts), "u1") != 0
    assert not (written & ~expected).any()
    assert (written & expected).sum() > 0.99 * expected.sum()  # one byte in 256 is a zero


def test_requests_are_made_where_and_when_the_trace_has_them(play: Play) -> None:
    """ioplay's log has a line for each request: its number, when it was due, and its response time,
    both in ns."""
    requests = draw_requests(1, 300)
    played = play(requests)
    job, log = played.job, played.log
    expect_job(job, requests)
    expect_written(played.root, requests)
    assert log[:, 0].tolist() == list(range(300))
    assert log[:, 1].tolist() == requests["time_ns"].tolist()
    assert job["response_ns"]["max"] == log[:, 2].max()
    assert job["response_ns"]["mean"] == log[:, 2].sum() // 300


def test_in_a_closed_loop_one_request_follows_the_other(play: Play) -> None:
    """With one request at a time, each takes as long as the drive takes. With eight at a time, each
    takes up to eight times as long."""
    requests = draw_requests(2, 48)
    requests["write"] = 0
    requests["bytes"] = 512
    # 48 places in a fixed shuffled order (37 and 48 have no common factor), far apart
    requests["offset"] = np.arange(48) * 37 % 48 * 4096 * 37
    for inflight in (1, 8):
        log = play(requests, f"loop=closed inflight={inflight}").log
        took = log[inflight * 2 :, 2] / 10e6  # in commands of the fixed drive, 10 ms each
        assert (0.9 * inflight < took).mean() > 0.5
        assert (took < 2.2 * inflight).all()  # some reads also need a pointer block
        assert log[-1, 1] < 48 * 30e6


def test_a_request_that_finds_all_processes_busy_counts_its_wait(play: Play) -> None:
    """All 20 requests are due at 0 ms and there is one process, so each response takes at least one
    command of the drive (10 ms) longer than the one before."""
    requests = draw_requests(3, 20)
    requests["time_ns"] = 0
    requests["write"], requests["bytes"] = 0, 512
    requests["offset"] = np.arange(20) * 65536 * 5
    log = play(requests, "inflight=1").log
    assert (np.diff(log[:, 2]) > 9.9e6).all()
    assert (log[:, 1] == 0).all()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda r: b"nothing" + bytes(505), "has no requests of form 1"),
        (
            lambda r: pack_requests(r)[:16] + b"\2" + pack_requests(r)[17:],
            "has no requests of form 1",
        ),
        (lambda r: pack_requests(r[:0]), "has no request"),
        (lambda r: pack_requests(r)[:512], "has fewer than 40 requests"),
        (lambda r: pack_requests(r[::-1]), "request 1: is due before the one before it"),
        (
            lambda r: pack_requests(
                np.concatenate([r, build_table([(10**12, PARTS * PART, 512, 0)])])
            ),
            "request 40: ends at 8389120, beyond the 8388608 bytes of /trace",
        ),
        (
            lambda r: pack_requests(np.concatenate([r, build_table([(10**12, 0, 0, 0)])])),
            "request 40: 0 bytes, direction 0",
        ),
        (
            lambda r: pack_requests(np.concatenate([r, build_table([(10**12, 0, 512, 2)])])),
            "request 40: 512 bytes, direction 2",
        ),
    ],
)
def test_wrong_requests_are_refused_before_any_is_made(play: Play, change, why: str) -> None:
    """ioplay checks all requests first: it exits with 2, and no byte of its files has been
    written. change: takes 40 good writes and returns a file of requests with one mistake."""
    requests = draw_requests(4, 40)
    requests["write"] = 1
    played = play(change(requests))
    assert f"ioplay: /dev/disk1: {why}" in played.console
    assert played.status == 2
    files = [image.read_file(played.root, f"/trace{i}") for i in range(PARTS)]
    assert all(data == bytes(len(data)) for data in files)  # zeros, as mkfs made them


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_parts_are_replayed_as_an_experiment_makes_and_more_are_refused(
    tmp_path: Path, more: int
) -> None:
    """A process can have trace_disk.PARTS files open. One file more is refused."""
    words = "requests=/dev/disk1 filename=/trace part=4k"
    parts = trace_disk.PARTS + more
    requests = sluice.requests(0, np.arange(parts) * 4096, write=np.arange(parts) % 2)
    both = disks(tmp_path, pack_requests(requests), f"ioplay {words}\n", parts=parts, size="4K")
    done = run_rc(Config(both, memory="64M", args="nbuf=512 drive=fixed", lab=True, cpu_shift=0))
    refused = f"{parts} parts, but {trace_disk.PARTS} at most can be open: make larger files"
    assert done.status == (2 if more else 0)
    assert (refused in done.console) == bool(more)
    assert (f'"ios":{parts}' in done.console) == (not more)


def ahead(requests: np.ndarray, **given: object) -> tuple[int, int]:
    """Return the numbers of blocks that a replay read ahead and of windows that it opened."""
    of = {"policies": {"prefetch": "ondemand"}, "size_mb": 64, "buffers": 1024}
    counters = sluice.replay(requests, **of | given).counters
    return counters["bio.ahead"], counters["ondemand.opened"]


@ON_TWIN
def test_a_stream_is_read_ahead_whoever_of_the_workers_reads_it() -> None:
    """One process, 8 or 64 read a sequential stream of 600 blocks: the blocks read ahead and the
    windows opened are the same."""
    requests = sluice.requests(np.arange(600) * 6_000_000, np.arange(600) * 4096)
    alone = ahead(requests, inflight=1)
    assert alone[0] > 500
    assert ahead(requests, inflight=8) == ahead(requests, inflight=64) == alone


@ON_TWIN
def test_two_streams_are_read_ahead_in_different_parts_as_in_one() -> None:
    """The two streams, of 120 blocks each, begin half a part apart (one file) or 40 parts apart."""

    def blocks_ahead(apart: int, inflight: int) -> int:
        places = np.add.outer(np.arange(120) * 4096, [0, apart])
        return ahead(sluice.requests(0, places.ravel()), loop="closed", inflight=inflight)[0]

    assert all(blocks_ahead(apart, n) > 200 for apart in (PART // 2, 40 * PART) for n in (1, 8))


@ON_TWIN
@pytest.mark.parametrize("burst", [2, 4, 16])
def test_requests_that_are_due_at_one_moment_start_in_their_order(burst: int) -> None:
    """The requests are a sequential stream, `burst` of them due at once. In another order they
    would begin new streams, which prefetching would show."""
    place = np.arange(480)
    requests = sluice.requests(place // burst * burst * 6_000_000, place * 4096)
    assert ahead(requests, inflight=64) == ahead(requests, inflight=1)


OF_DRIVE = ("issued", "completed")


def root_events(events: list[trace.Event], of_drive: bool) -> list[trace.Event]:
    """Return the events about the root disk: its drive's, or those of processes and the cache.

    The pid is 0 in all, because the kernel does not decide which process makes a request.
    """
    about = [e for e in events if e.disk == 0 and e.name not in ("named", "counted")]
    return [e._replace(pid=0) for e in about if (e.name in OF_DRIVE) == of_drive]


@ON_TWIN
@pytest.mark.xdist_group("twin")
def test_machine_and_twin_decide_alike_what_a_trace_asks_for(tmp_path: Path) -> None:
    """QEMU's machine and the twin (the kernel compiled for the host) have the same hits, misses,
    victims, and queued and issued requests, on a model of a drive that rotates."""
    script = f"""policy use update none
ioplay {WORDS} inflight=8 log=/dev/console
sync
{END}
"""
    both = disks(tmp_path, pack_requests(draw_requests(5, 250, rate=12)), script)
    args = "disk0.drive=cheetah4lp disk1.drive=fixed nbuf=400 trace_k=256 write=delayed"
    ends = machine_and_twin(Config(both, memory="64M", args=args, lab=True, cpu_shift=0))
    # A command's end may come some us before or after a hit of a process. So the drive's events are
    # compared with the drive's, and all others with all others, in time as well.
    for of_drive in (False, True):
        machine, twin = (root_events(end.events, of_drive) for end in ends)
        expect_alike([decision(e) for e in machine], [decision(e) for e in twin], 1000)
        apart = [abs(one.time_ns - other.time_ns) for one, other in zip(machine, twin, strict=True)]
        assert max(apart) < 3e6  # half a rotation: the arm waits for the same sector
    machine, twin = (Played(0, end.console, tmp_path).log for end in ends)
    assert (machine[:, :2] == twin[:, :2]).all()
    apart_ns = np.abs(machine[:, 2] - twin[:, 2])
    assert apart_ns.max() < 1e6  # far less than a rotation, which takes 6 ms


# ---- formats ----

# The two requests of each sample. 7014609920 is sector 13700410, and 24576 bytes are 48 sectors.
EXPECTED = [(0, 7014609920, 24576, 0), (1_500_000, 512, 4096, 1)]
SAMPLES = {
    "msr": (
        "usr_0.csv",
        b"128166372003061629,usr,0,Read,7014609920,24576,41286\n"
        b"128166372003076629,usr,0,Write,512,4096,3\r\n\r\n",
    ),
    "systor17": (
        "2016022216-LUN0.csv",
        b"Timestamp,Response,IOType,LUN,Offset,Size\n"
        b"1455592800.005208015,0.000172,R,4,7014609920,24576\n"
        b"1455592800.005308015,,,4,8192,4096\n"  # of no known direction
        b"1455592800.006708015,,W,4,512,4096\n",
    ),
    "spc": ("Financial1.spc", b"0,13700410,24576,r,0.25\n0,1,4096,W,0.2515,x\n"),
    "blkparse": (
        "sda.txt",
        b"  8,0    1        1     0.250000000  1234  Q   R 13700410 + 48 [cat]\n"
        b"  8,0    1        2     0.250001000  1234  G   R 13700410 + 48 [cat]\n"
        b"  8,0    1        3     0.251000000  1234  Q   D 64 + 8 [fstrim]\n"
        b"  8,0    1        4     0.251100000  1234  Q FWS [jbd2]\n"
        b"  8,0    1        4     0.251150000  1234  Q FWFSM [jbd2]\n"
        b"  8,0    1        4     0.251150000  1234  Q FWSM (      12) [jbd2/sda 1-8]\n"
        b"  8,0    1        4     0.251150000  1234  Q   N [jbd2]\n"
        b"  8,0    1        4     0.251200000  1234  Q FWS 64 + 0 [jbd2]\n"
        b"  8,0    1        5     0.251500000    99  Q  WS 1 + 8 [jbd2/sda 1-8]\n"
        b"CPU1 (sda):\n Reads Queued:           1,       24KiB\n",
    ),
    "ftrace": (
        "trace.txt",
        b"# tracer: nop\n#\n#           TASK-PID    CPU#  |||||  TIMESTAMP  FUNCTION\n"
        b"     a b-c-7    [001] d..1.    10.250000: block_bio_queue: 8,0 R 13700410 + 48 [a b-c]\n"
        b"     a b-c-7    [001] d..1.    10.250001: block_rq_issue: 8,0 R 24576 () 13700410 + 48 \n"
        b"     a b-c-7    [001] d..1.    10.250002: sched_switch: prev_comm=a ==> next_comm=b\n"
        b"       cat-7    [001] d..1.    10.250003: block_bio_queue: 8,0 D 64 + 8 [fstrim]\n"
        b"       cat-7    [001] d..1.    10.250004: block_bio_queue: 8,0 FWS 0 + 0 [jbd2]\n"
        b"CPU:1 [LOST 12 EVENTS]\n"
        b"     <...>-9     (-----) [000] .....    10.251500: block_bio_queue: 8,0 WS 1 + 8 [j]\n",
    ),
    "fio2": (
        "fio.log",
        b"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda wait 250000 0\n"
        b"/dev/sda read 7014609920 24576\n/dev/sda sync 0 0\n/dev/sda trim 0 4096\n"
        b"/dev/sda wait 1500 0\n/dev/sda write 512 4096\n/dev/sda close\n",
    ),
    "fio3": (
        "fio.log",
        b"fio version 3 iolog\n2 /dev/sda add\n872 /dev/sda open\n"
        b"878 /dev/sda read 7014609920 24576\n900 /dev/sda datasync 0 0\n901 /dev/sda trim 0 4096\n"
        b"fio version 3 iolog\n2378 /dev/sda write 512 4096\n10001677 /dev/sda close\n",
    ),
    "vscsi": (
        "w01.vscsi",
        np.array(
            [
                (0x28, 0x200, 1, 24576, 1, 13700410, 250000, 9),
                (0x35, 0x200, 2, 0, 1, 0, 250700, 9),  # a flush
                (0x2F, 0x200, 2, 4096, 1, 0, 250700, 9),  # verifies what is there
                (0x2A, 0x200, 2, 0, 1, 0, 250700, 9),
                (0x2A, 0x200, 3, 4096, 1, 1, 251500, 9),
            ],
            "<u2,<u2,<u4,<u4,<u4,<u8,<u8,<u8",
        ).tobytes(),
    ),
    "sluice": ("mine.requests", pack_requests(build_table(EXPECTED))),
    "export": (
        "requests.csv",
        b"request,disk,sector,sectors,rw,pid,process,queued_ns,issued_ns,completed_ns,"
        b"response_us,service_us,found_queued,failed\n"
        b"0,disk0,5,8,r,1,init,1,2,3,0.1,0.1,0,0\n"
        b"1,disk1,13700410,48,r,7,iogen read,250000000,2,3,0.1,0.1,0,0\n"
        b"2,disk1,1,8,w,7,a,b,251500000,2,3,0.1,0.1,0,0\n",
    ),
}


@pytest.fixture
def sample(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that writes the sample of a format and returns its path."""

    def write(name: str) -> Path:
        file, data = SAMPLES[name]
        (tmp_path / file).write_bytes(data)
        return tmp_path / file

    return write


@pytest.mark.native
@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_recognised_and_read_as_its_source_has_it(sample, name: str) -> None:
    """The sample of each format gives EXPECTED, whether its format is recognised or given."""
    path = sample(name)
    assert reader.find_format(path, "").__name__.endswith(f".{name}")
    assert reader.read_requests(path).tolist() == EXPECTED
    assert reader.read_requests(path, name, count=1).tolist() == EXPECTED[:1]


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "time"),
    [("mqsim_ps", 1_500_000_000), ("mqsim_ns", 1_500_000), ("mqsim_us", 1500), ("disksim", 1.5)],
)
def test_a_simulators_trace_does_not_tell_its_unit_so_format_must(
    tmp_path: Path, name: str, time: float
) -> None:
    """The simulators MQSim and DiskSim have the same columns, and times in different units. time:
    1.5 ms in the format's unit; a type of 0 is a write."""
    path = tmp_path / "w.trace"
    path.write_text(f"0 13 13700410 48 1\n{time} 13 1 8 0\n")
    assert reader.read_requests(path, name).tolist() == EXPECTED
    with pytest.raises(BadTraceFile, match=r"looks like disksim and mqsim_ns and .* say which"):
        reader.read_requests(path)


@pytest.mark.native
def test_a_simulators_time_with_a_fraction_tells_that_it_is_of_disksim(tmp_path: Path) -> None:
    """MQSim's times are whole numbers, so the fraction shows that DiskSim's format is meant."""
    path = tmp_path / "w.trace"
    path.write_text("0.250000\t13\t13700410\t48\t1\n1.750000\t13\t1\t8\t0\n")
    assert reader.read_requests(path).tolist() == EXPECTED
    assert reader.find_format(path, "").__name__.endswith(".disksim")


@pytest.mark.native
@pytest.mark.parametrize(
    "begin",
    ["a b-c-7    1d..1. {}", "a b-c-7  0..... {}", "a b-c     7 [001]   {}", "a  7/9 [001] {}"],
)
def test_ftrace_is_read_as_trace_cmd_and_perf_script_print_it(tmp_path: Path, begin: str) -> None:
    """trace-cmd report -l has no brackets around the CPU, and perf script has the process in a
    column of its own, and the events' group."""
    group = "block:" * ("[" in begin)
    lines = (
        f"10.250000: {group}block_rq_issue: 259,0 R 24576 () 13700410 + 48 0x0,0,0 [cat]",
        "10.250400:      sched:sched_switch: cat:7 [120] D ==> swapper/1:0 [120]",
        f"10.251500:    {group}block_rq_issue: 259,0 WS 4096 () 1 + 8 [jbd2]",
        f"10.251600:    {group}block_rq_complete: 259,0 WS () 1 + 8 [0]",
    )
    path = tmp_path / "w"
    path.write_text("".join(f"  {begin.format(line)}\n" for line in lines))
    assert reader.find_format(path, "").__name__.endswith(".ftrace")
    assert reader.read_requests(path).tolist() == EXPECTED


# A line of ftrace about a request of 8 sectors, with its time, direction and sector to fill in
WHOLE = "cat-7 [001] d..1         {}: block_bio_queue: 8,0 {} {} + 8 [cat]\n"
# A line of ftrace that is not about requests
OTHERS = "cat-7 [001] d..1         1: sched_switch: cat:7 [120] D ==> swapper/1:0 [120]\n"


@pytest.mark.native
@pytest.mark.parametrize(("unit", "ns"), [("10ms", 10**7), ("ns", 1), ("us", 1000)])
def test_ftrace_of_a_clock_without_seconds_is_read_in_the_unit_that_is_given(
    tmp_path: Path, unit: str, ns: int
) -> None:
    """The clocks uptime, counter and x86-tsc print whole numbers (Linux, trace_print_time)."""
    path = tmp_path / "w"
    path.write_text(OTHERS + WHOLE.format(5758, "R", 8) + WHOLE.format(5761, "WS", 16))
    rows = reader.read_requests(path, f":unit={unit}")
    assert rows["time_ns"].tolist() == [0, 3 * ns]
    assert rows["write"].tolist() == [0, 1]
    assert f"times in {unit} (as you say)" in reader.describe_format(path, f":unit={unit}")


@pytest.mark.native
@pytest.mark.parametrize(
    ("times", "word", "said"),
    [
        (("5758", "5761"), "", r":2: the time '5758': a whole number, .* give --time-unit \(10ms"),
        (("5758", "5761.5"), ":unit=ns", r":3: the time '5761.5': must be a whole number, as the"),
        (("5758.5", "5761"), "", r":3: the time '5761': a whole number, which ftrace's clocks"),
        (("5758.5", "5761.5"), ":unit=ns", r"--time-unit ns: the format ftrace says itself what"),
        (("5758", "5761"), "ftrace:columns=time,op", r"--columns time,op: the format ftrace says"),
    ],
)
def test_whole_times_of_ftrace_without_a_unit_are_refused(
    tmp_path: Path, times: tuple[str, str], word: str, said: str
) -> None:
    """A unit must be given for whole numbers only, and must be given where all times are whole."""
    path = tmp_path / "w"
    path.write_text(OTHERS + "".join(WHOLE.format(time, "R", 8) for time in times))
    with pytest.raises(BadTraceFile, match=said):
        reader.read_requests(path, word)


# Lines of ftrace, with a time and a sector to fill in: its blk tracer (stage Q, G, I or D), and the
# events block_rq_issue and block_rq_insert
BLK = "zsh-3158    [015] d..1.  5758.12{:04}: 249,1    {}   R {} + 8 [zsh]\n"
ISSUE = "zsh-3158    [015] 5758.125{:03}: block_rq_issue: 8,0 R 4096 () {} + 8 none,0,0 [zsh]\n"
INSERT = ISSUE.replace("issue", "insert").replace(" none,0,0", "")


@pytest.mark.native
def test_ftrace_has_requests_where_they_come_first(tmp_path: Path) -> None:
    """A file can show a request at several stages. Only the earliest stage that the file has is
    read: queued (Q) before inserted, inserted before issued (D), in whatever order its lines
    are."""
    path = tmp_path / "w"
    for text, sectors in (
        # the text of a file, and the sectors of the requests that are read from it
        (BLK.format(1, "Q", 8) + BLK.format(2, "G", 8) + BLK.format(3, "D", 8), [8]),
        (BLK.format(1, "D", 8) + BLK.format(2, "D", 16), [8, 16]),
        (ISSUE.format(1, 8) + ISSUE.format(2, 16), [8, 16]),
        (ISSUE.format(1, 8) + INSERT.format(2, 24) + ISSUE.format(3, 24), [24]),
        (ISSUE.format(1, 8) + BLK.format(9, "Q", 32), [32]),
    ):
        path.write_text(text)
        assert (reader.read_requests(path)["offset"] // 512).tolist() == sectors


@pytest.mark.native
def test_ftrace_is_read_in_pieces_whatever_its_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory does not grow with the trace, although the stage to read is known only at its end.
    Here a piece has 4 requests, and there are 10."""
    monkeypatch.setattr(ftrace, "PIECE", 4)
    monkeypatch.setattr(spool, "PIECE", 4)
    add, added = spool.Spool.add, []

    def count(of: spool.Spool, table: np.ndarray) -> None:
        added.append(len(table))
        add(of, table)

    monkeypatch.setattr(spool.Spool, "add", count)
    path = tmp_path / "trace"
    path.write_text(
        "".join(
            f"c-9 [000] .... {n}.5: block_rq_{event}: 8,0 R 4096 () {8 * n} + 8 [c]\n"
            for n in range(10)
            for event in ("insert", "issue")
        )
    )
    with path.open("rb") as stream:
        tables = list(ftrace.read(path, stream, LeftOut()))
    assert [len(table) for table in tables] == [4, 4, 2]
    assert max(added) == 4
    offsets = [int(at) for table in tables for at in table["offset"]]
    assert [at - offsets[0] for at in offsets] == [n * 4096 for n in range(10)]


@pytest.mark.native
def test_ftrace_of_a_device_and_of_those_below_it_is_refused(tmp_path: Path) -> None:
    """Device 253,0 passes its requests on to 8,0, so each would be counted twice."""
    path = tmp_path / "w"
    line = "a-1 [000] d.. 1.1: block_bio_{}\n"
    path.write_text(
        line.format("queue: 253,0 W 50 + 8 [cat]")
        + line.format("remap: 8,0 W 100 + 8 <- (253,0) 50")
        + line.format("queue: 8,0 W 100 + 8 [cat]")
    )
    with pytest.raises(BadTraceFile, match=":3: requests of 253,0 are passed on"):
        reader.read_requests(path)


@pytest.mark.native
def test_jobs_of_fio_in_one_log_count_from_one_start(tmp_path: Path) -> None:
    """A time lower than the one before begins another job, whose times count from the same
    start."""
    path = tmp_path / "w"
    job = "fio version 3 iolog\n5 f add\n{} f read {} 512\n{} f read {} 512\n"
    path.write_text(job.format(10, 0, 30, 512) + job.format(20, 1024, 40, 1536))
    assert reader.read_requests(path)[["time_ns", "offset"]].tolist() == [
        (0, 0),
        (10_000, 1024),
        (20_000, 512),
        (30_000, 1536),
    ]


@pytest.mark.native
def test_a_trace_of_lirs_has_blocks_and_no_times(tmp_path: Path) -> None:
    """A line is the number of a block of 4096 bytes, which is read. A line with `*` is skipped."""
    path = tmp_path / "cs.trace"
    path.write_bytes(b"1\r\n0\n*\n1 \n")
    assert reader.find_format(path, "").__name__.endswith(".lirs")
    assert reader.read_requests(path).tolist() == [
        (0, 4096, 4096, 0),
        (0, 0, 4096, 0),
        (0, 4096, 4096, 0),
    ]


@pytest.mark.native
def test_a_block_of_lirs_that_is_no_number_or_too_far_is_refused_with_its_line(
    tmp_path: Path,
) -> None:
    path = tmp_path / "cs.trace"
    for block in ("1.5", "-1", "+1"):
        path.write_text(f"1\n0\n{block}\n")
        why = re.escape(f":3: the block '{block}': must be a whole number from 0")
        with pytest.raises(BadTraceFile, match=why):
            reader.read_requests(path)
    path.write_text(f"1\n0\n{1 << 52}\n")
    with pytest.raises(BadTraceFile, match=r":3: the offset: \d+ bytes: must be 0 to"):
        reader.read_requests(path)


@pytest.mark.native
def test_objects_of_oraclegeneral_lie_in_the_order_of_their_first_use(tmp_path: Path) -> None:
    """Each object gets as many whole blocks as its largest use needs. Times are in whole seconds,
    so the uses of one second are spread over it. A row is time in s, object, bytes, next use."""
    far = 1 << 60
    rows = [(9, 6, 1, -1), (9, far, 8000, 3), (7, far, 5000, 3), (7, 5, 9000, -1), (9, 5, 100, -1)]
    path = tmp_path / "w.oracleGeneral.bin"
    path.write_bytes(np.array(rows, "<u4,<u8,<u4,<i8").tobytes())
    assert reader.read_requests(path).tolist() == [
        (0, 0, 5000, 0),
        (500_000_000, 8192, 9000, 0),
        (2_000_000_000, 20480, 1, 0),
        (2_333_333_333, 0, 8000, 0),
        (2_666_666_666, 8192, 100, 0),
    ]


LCS = {  # the fields behind time and object, and what follows the operation, by the version
    1: ("<u4", ()),
    2: ("<u4", ("<u4",)),
    3: ("<i8", ("<u4", "<u4")),
    8: ("<i8", ("<u4", "<u4")),
}


def lcs_file(version: int, rows: list[tuple[int, int, int, int]]) -> bytes:
    """Return a file of lcs. rows: time in s, object, size, operation."""
    magic = (0x123456789ABCDEF0).to_bytes(8, "little")
    size, others = LCS[version]
    ends = ["<u4"] * 16 * (version == 8)  # version 8 has 16 more fields
    record = ",".join(["<u4", "<u8", size, *others, "<i8", *ends])
    # the operation in the low byte, tenant 9 above it, then 60: a time to live
    kinds = [(9 << 8 | row[3], 60)[: len(others)] for row in rows]
    data = [(*row[:3], *kind, -1, *[5] * len(ends)) for row, kind in zip(rows, kinds, strict=True)]
    head = magic + version.to_bytes(8, "little") + bytes(8168) + magic
    return head + np.array(data, record).tobytes()


@pytest.mark.native
@pytest.mark.parametrize("version", LCS)
def test_each_version_of_lcs_has_objects_as_oraclegeneral_and_operations(
    tmp_path: Path, version: int
) -> None:
    """Operation 12 reads, 13 writes, 9 deletes. Version 1 has no operations, so all its uses are
    reads. An object lies where it was first used: the first one takes 8192 bytes. The two uses in
    second 7 are half a second apart."""
    path, left = tmp_path / "w", LeftOut()
    # second, name of the object, bytes, operation
    rows = [(7, 1 << 60, 5000, 12), (7, 5, 4096, 13), (8, 5, 0, 3), (8, 5, 100, 0)]
    path.write_bytes(lcs_file(version, [*rows, (9, 5, 1, 9)] if version > 1 else rows))
    assert reader.find_format(path, "").__name__.endswith(".lcs")
    assert reader.read_requests(path, left_out=left).tolist() == [
        (0, 0, 5000, 0),
        (500_000_000, 8192, 4096, int(version > 1)),
        (1_000_000_000, 8192, 100, 0),
    ]
    others = "operations that neither read nor write an object: 1; " * (version > 1)
    assert str(left) == f"{others}requests without data: 1"


@pytest.mark.native
def test_a_wrong_head_or_record_of_lcs_is_refused_with_its_place(tmp_path: Path) -> None:
    """A head has 8192 bytes, a record of version 3 has 36."""
    path = tmp_path / "w"
    whole = lcs_file(3, [(7, 1, 1, 12), (7, 1, 1 << 32, 12)])
    for data, why in (
        (whole, rf"at byte {8192 + 36}: a size in bytes out of range: {1 << 32}"),
        (whole[:-1], r"the last record has 35 bytes of 36"),
        (whole[:8] + b"\x09" + whole[9:], r"at byte 8: version 9 of lcs: must be 1 to 8"),
        (whole[:8000], r"at byte 0: no head of lcs, of 8192 bytes"),
    ):
        path.write_bytes(data)
        with pytest.raises(BadTraceFile, match=why):
            reader.read_requests(path)


@pytest.mark.native
def test_a_use_of_oraclegeneral_without_bytes_is_left_out(tmp_path: Path) -> None:
    """Such a use (size 0) gets no block on the disk and no share of its second."""
    path = tmp_path / "w.oracleGeneral.bin"
    rows = [(9, 7, 0, -1), (9, 6, 1, -1), (9, 5, 0, -1), (9, 8, 2, -1)]
    path.write_bytes(np.array(rows, "<u4,<u8,<u4,<i8").tobytes())
    assert reader.read_requests(path).tolist() == [(0, 0, 1, 0), (500_000_000, 4096, 2, 0)]
    path.write_bytes(np.array(rows[:1], "<u4,<u8,<u4,<i8").tobytes())
    with pytest.raises(BadTraceFile, match="has no request"):
        reader.read_requests(path)


@pytest.mark.native
def test_units_of_spc_lie_one_after_another_in_whole_mib(tmp_path: Path) -> None:
    """A line of SPC is unit, block of 512 bytes, size, direction and time in s. Unit 0 ends within
    1 MiB, so unit 2 begins at 1 MiB. Unit 2 ends within 3 MiB, so unit 7 begins at 4 MiB."""
    path = tmp_path / "w.spc"
    path.write_text("7,9,512,w,5.3\n2,0,512,w,5\n0,3,1024,r,5.1\n2,5000,4096,r,5.2\n")
    assert reader.read_requests(path).tolist() == [  # by time; the first request is at time 0
        (0, PART, 512, 1),
        (100_000_000, 3 * 512, 1024, 0),
        (200_000_000, PART + 5000 * 512, 4096, 0),
        (300_000_000, 4 * PART + 9 * 512, 512, 1),
    ]


SEVERAL = {  # two disks each: both have a request at byte 1024, and the first ends within 2 MiB
    "msr": (
        "128166372003061629,usr,1,Read,1024,1048576,9\n128166372003061630,usr,0,Write,1024,512,9\n"
    ),
    "systor17": (
        f"{systor17.HEAD}\n5.1,,R,0,1024,1048576\n{systor17.HEAD}\n5.1000001,,W,4,1024,512\n"
    ),
    "spc": "0,2,1048576,r,0.1\n3,2,512,w,0.1000001\n",
    "ftrace": (
        "c-9 [000] .... 0.1000000: block_bio_queue: 8,16 RA 2 + 2048 [c]\n"
        "c-9 [000] .... 0.1000001: block_bio_queue: 8,0 W 2 + 1 [c]\n"
    ),
    "blkparse": (
        "8,16 0 1 0.1000000 9 Q RA 2 + 2048 [cat]\n8,0  0 1 0.1000001 9 Q W 2 + 1 [cat]\n"
    ),
}


@pytest.mark.native
@pytest.mark.parametrize("name", SEVERAL)
def test_disks_of_one_trace_do_not_overlap(tmp_path: Path, name: str) -> None:
    """The first request ends in the second MiB of its disk, so the other disk begins at 2 MiB."""
    path = tmp_path / "w"
    path.write_text(SEVERAL[name])
    first = (0, 1024, 1048576, 0)
    assert reader.read_requests(path).tolist() == [first, (100, 2 * PART + 1024, 512, 1)]
    assert reader.read_requests(path, count=1).tolist() == [first]


@pytest.mark.native
def test_a_large_disk_has_room_beside_another(tmp_path: Path) -> None:
    """A disk of a trace may have 2^48 bytes. Two disks of that size are read, and one sector more
    is refused."""
    path, end = tmp_path / "w", (1 << 48) // 512
    lines = [f"8,{16 * i} 0 1 0.1 9 Q R {end - 8} + 8 [cat]" for i in range(2)]
    path.write_text("\n".join(lines))
    assert reader.read_requests(path)["offset"].tolist() == [512 * (end - 8), 512 * (2 * end - 8)]
    path.write_text("\n".join([*lines, f"8,0 0 1 0.1 9 Q R {end - 7} + 8 [cat]"]))
    with pytest.raises(BadTraceFile, match=r":3: the offset: \d+ bytes: must be 0 to 28147497\d+"):
        reader.read_requests(path)


@pytest.mark.native
def test_files_of_a_log_of_fio_do_not_overlap(tmp_path: Path) -> None:
    """File b ends in its second MiB, so file a begins at 2 MiB."""
    path = tmp_path / "w"
    for text in (
        "fio version 2 iolog\nb read 1024 1048576\na wait 9 0\na write 1024 512\n",
        "fio version 3 iolog\n7 b read 1024 1048576\n16 a write 1024 512\n",
    ):
        path.write_text(text)
        assert reader.read_requests(path).tolist() == [
            (0, 1024, 1048576, 0),
            (9000, 2 * PART + 1024, 512, 1),
        ]


# Events of blkparse: a request to device 253,0 (UPPER), which is remapped (A) to partition 8,1 and
# then queued at 8,0 (LOWER); and a request to a partition alone (PARTITION)
UPPER = "253,0 0 1 0.1 9 Q W 50 + 8 [cat]\n"
LOWER = "8,1 0 2 0.2 9 A W 100 + 8 <- (253,0) 50\n8,0 0 3 0.3 9 Q W 2148 + 8 [cat]\n"
PARTITION = "8,1 0 1 0.1 9 A R 7 + 8 <- (8,1) 7\n8,1 0 2 0.2 9 Q R 7 + 8 [cat]\n"


@pytest.mark.native
def test_blkparse_of_a_device_and_of_those_below_it_is_refused(tmp_path: Path) -> None:
    """Such a file has each request twice. Either device alone is read, also if it remaps
    requests."""
    path = tmp_path / "w"
    for text in (UPPER + LOWER, LOWER + UPPER + LOWER, UPPER + PARTITION + LOWER):
        path.write_text(text)
        why = "requests of 253,0 are passed on to other devices, and both are in the file"
        with pytest.raises(BadTraceFile, match=f"{why}.*grep -v '\\^ \\*253,0 '"):
            reader.read_requests(path)
    for text in (UPPER, LOWER, PARTITION, PARTITION + UPPER):
        path.write_text(text)
        assert len(reader.read_requests(path)) == text.count(" Q ")


@pytest.mark.native
def test_spc_is_recognised_with_white_space_and_either_end_of_lines(tmp_path: Path) -> None:
    """Windows' line ends, blanks and tabs."""
    path = tmp_path / "w"
    for text in (
        b"0,13700410,24576,r,0.25\r\n0,1,4096,W,0.2515\r\n",
        b" 0, 13700410 ,24576,\tr , 0.25 \n0 ,1 , 4096 , W,0.2515 , x\n",
    ):
        path.write_bytes(text)
        assert reader.find_format(path, "").__name__.endswith(".spc")
        assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
def test_vscsi_of_version_1_is_read_too(tmp_path: Path) -> None:
    """Version 1 has the fields of version 2 in another order."""
    rows = [(1, 24576, 1, 0x28, 0x100, 13700410, 250000), (2, 4096, 1, 0x2A, 0x100, 1, 251500)]
    path = tmp_path / "w.vscsi"
    path.write_bytes(np.array(rows, "<u4,<u4,<u4,<u2,<u2,<u8,<u8").tobytes())
    assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
def test_a_packed_trace_says_what_to_install_where_nothing_unpacks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setup for experiments only does not install zstandard, which unpacks this trace."""
    (tmp_path / "a.csv").write_bytes(zstandard.compress(b"packed"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(
        BadTraceFile, match=r"type: sh tools/setup\.sh sweep \(without a clone: pip"
    ):
        read_head(tmp_path / "a.csv")


@pytest.mark.native
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_trace_may_be_packed_in_parts_of_a_few_bytes(sample, name: str, pack) -> None:
    """A reader that looks at the beginning has as much of it as in one part."""
    path = sample(name)
    whole = path.read_bytes()
    path.write_bytes(b"".join(pack(whole[at : at + 10]) for at in range(0, len(whole), 10)))
    assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
@pytest.mark.parametrize("name", SAMPLES)
def test_a_compressed_trace_is_the_trace(sample, name: str) -> None:
    """With .gz and .zst a trace reads as without. Half of a packed file is refused."""
    path = sample(name)
    packed = {
        ".gz": gzip.compress(path.read_bytes()),
        ".zst": pyarrow.compress(path.read_bytes(), "zstd", asbytes=True),
    }
    for suffix, data in packed.items():
        other = path.with_name(path.name + suffix)
        other.write_bytes(data)
        assert reader.read_requests(other).tolist() == EXPECTED
        other.write_bytes(data[: len(data) // 2])
        with pytest.raises(BadTraceFile, match=re.escape(f"{other}: cannot be read")):
            reader.read_requests(other, name)


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "old", "new", "why"),
    [
        ("msr", b"Write", b"Trim", ":2: neither Read nor Write but 'Trim'"),
        ("msr", b",512,", b",x,", ":2: the offset 'x': must be a whole number from 0"),
        ("msr", b",4096,3", b"", ":2: 5 fields, not 7"),
        ("msr", b",4096,3", b",4096,3,4", ":2: 8 fields, not 7"),
        ("msr", b",512,", b",-512,", ":2: the offset '-512': must be a whole number from 0"),
        ("msr", b",512,", b",9223372036854775808,", ":2: the offset: 922\\d+ bytes: must be"),
        ("msr", b",4096,", b",4294967296,", ":2: the size: 4294967296 bytes: must be"),
        ("msr", b"128166372003076629", b"100000000000000000", ":2: the time: -\\d+00 ns:"),
        ("msr", b"128166372003076629", b"1_2", ":2: the time '1_2': must be a whole"),
        ("msr", b",4096,3", b",4k,3", ":2: the size '4k': must be a whole"),
        ("systor17", b",W,", b",X,", ":4: neither R nor W but 'X'"),
        ("systor17", b"1455592800.0067", b"yesterday.0067", ":4: the time 'yesterday.0067.*in s"),
        ("systor17", b",4,512,4096", b",?,512,4096", r":4: the unit '\?': must be a whole"),
        ("systor17", b",4,512,", b",4,0x200,", ":4: the offset '0x200': must be a whole"),
        ("systor17", b",4,512,4096", b",4,512,", ":4: the size '': must be a whole"),
        ("spc", b"0,1,4096", b"0,1,-0x1", ":2: the size '-0x1': must be a whole number"),
        ("spc", b"0,1,4096", b"0,1,4096.5", ":2: the size '4096.5': must be a whole number"),
        ("spc", b"0,1,4096", b"0,1,4.5e99", ":2: the size '4.5e99': must be a whole number"),
        ("msr", b"usr,0,Write", b'"usr,0,Write', ":2: a quote is not closed"),
        ("spc", b"0,1,", b"0,12x4,", ":2: the first block '12x4': must be a whole number from 0"),
        ("spc", b"0,1,", "0,\u0661,".encode(), ":2: the first block '\u0661': must be a whole"),
        ("spc", b"0.2515", b"nan", ":2: the time 'nan': must be a number in s"),
        ("spc", b"0.2515", b"-inf", ":2: the time '-inf': must be a number in s"),
        ("spc", b"0.2515", b"1e999999999", ":2: the time '1e999999999': must be a number in s"),
        ("spc", b"0.2515", b"-1", ":2: the time: -1000000000 ns: must be 0 to"),
        ("spc", b"0,1,", b"0,\xff,", r":2: byte 3, 0xff, is no text of UTF-8"),
        ("spc", b"0,1,", b"1,-1,", ":2: the first block '-1': must be a whole number from 0"),
        ("spc", b"0,1,", b"-1,1,", ":2: the unit '-1': must be a whole number from 0"),
        ("spc", b"0,1,", b"16384,1,", ":2: the unit: 16384: must be 0 to 16383"),
        ("spc", b"0,1,", b"0,549755813888,", ":2: the offset: 281474976710656 bytes: must be"),
        ("spc", b"0,1,4096,W,0.2515,x", b"0,1,4096", ":2: 3 fields, not 5 or more"),
        ("blkparse", b"WS 1 + 8", b"WS 1 +", ":9: a queued request without"),
        ("blkparse", b"WS 1 + 8", b"FWS 1 +", ":9: a queued request without"),
        ("blkparse", b"WS 1 + 8 [", b"WS 1 8 [", ":9: a queued request without"),
        ("ftrace", b"WS 1 + 8", b"WS 1 +", ":10: a request without SECTOR"),
        ("fio2", b"write 512 4096", b"write 512", ":9: 3 fields, not 2 or 4"),
        ("fio2", b"write 512", b"wrote 512", ":9: neither read, write, sync"),
        ("fio2", b"sda open", b"sda ajar", ":3: neither add, open, close, unlink but 'ajar'"),
        ("fio3", b"write 512 4096", b"write 512 40967 /dev/sda re", ":8: 7 fields, not 3 or 5"),
        ("fio3", b"write 512", b"wait 512", ":8: neither read, write"),
        ("fio3", b"fio version 3 iolog\n2378", b"fio version 2 iolog\n2378", ":7: not the head"),
        ("fio3", b"878 ", b"soon ", ":4: the time 'soon': must be a whole number"),
        ("blkparse", b"0.251500000", b"now", ":9: not a whole event"),
        ("sluice", b"requests", b"requestz", "at byte 0: no file of requests"),
        ("export", b"1,disk1,13700410,48,r", b"1,disk1,13700410,48,q", ":3: neither r nor w"),
        ("export", b"1,disk1,13700410", b"1,disk8,13700410", ":3: the disk: 8: must be 0 to 7"),
        ("export", b"1,disk1,", b"1,diskette,", ":3: the disk 'ette': must be a whole"),
        ("export", b"1,disk1,13700410", b"1,disk1,-1", ":3: the sector '-1': must be a whole"),
        ("export", b"1,disk1,13700410", b"1,disk1,140737488355328", ":3: the offset: .*: must be"),
        ("export", b"250000000", b"soon", ":3: the time 'soon': must be a whole"),
        ("export", b",48,r", b",4 8,r", ":3: the sectors '4 8': must be a whole"),
        ("export", b",7,iogen read,250000000,2,3,0.1", b"", ":3: 8 fields, not 14 or more"),
    ],
)
def test_a_wrong_trace_is_refused_with_its_place(sample, name, old, new, why) -> None:
    """`old` in the format's sample is replaced by `new`; the refusal names the file, the line and
    what is wrong."""
    path = sample(name)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    with pytest.raises(BadTraceFile, match=f"{re.escape(str(path))}.*({why})"):
        reader.read_requests(path, name)


@pytest.mark.native
def test_a_binary_trace_that_is_cut_off_is_refused_with_the_byte(tmp_path: Path, sample) -> None:
    """The fifth record of vscsi begins at byte 160; the requests of Sluice's own file begin at byte
    32."""
    path = sample("vscsi")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadTraceFile, match="at byte 160: the last record has 39 bytes of 40"):
        reader.read_requests(path)
    path = sample("sluice")
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(BadTraceFile, match="at byte 32: the file ends, and 2 requests"):
        reader.read_requests(path)


@pytest.mark.native
def test_no_more_of_a_trace_is_read_than_is_asked_for(tmp_path: Path) -> None:
    """A trace is read in pieces of PIECE lines. With a wrong line in the second piece, the first
    can be read and the whole cannot."""
    path, lines = tmp_path / "w.csv", PIECE + 9
    text = f"{systor17.HEAD}\n" + "".join(f"{i},,R,0,{512 * i},512\n" for i in range(lines))
    path.write_text(text)
    assert (reader.read_requests(path)["offset"] == 512 * np.arange(lines)).all()
    path.write_text(f"{text}0,,R,0,0,-1\n")
    assert len(reader.read_requests(path, count=PIECE)) == PIECE
    with pytest.raises(BadTraceFile, match=f"{path}:{lines + 2}: the size '-1': must be a whole"):
        reader.read_requests(path)


BINARY = {"vscsi": (0, vscsi.VERSIONS[2]), "sluice": (32, REQUEST)}  # the head's bytes, a record


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "field", "value", "why"),
    [
        ("vscsi", "ver", 0x300, "a record of version 3"),
        ("vscsi", "ts", 1 << 62, "a time in us that is too large: 4611686018427387904"),
        ("vscsi", "lbn", 1 << 60, "a block that is too far: 1152921504606846976"),
        ("sluice", "write", 2, "neither read nor write: 2"),
    ],
)
def test_a_wrong_record_is_refused_with_its_byte(sample, name, field, value, why) -> None:
    """The wrong record is beyond the first PIECE records, which are read at once. The file has the
    sample's first record again and again; a head says how many there are."""
    path = sample(name)
    head, record = BINARY[name]
    data, wrong = path.read_bytes(), PIECE + 3
    begin = data[:16] + struct.pack("<QQ", 1, PIECE + 9) if head else b""
    rows = np.resize(np.frombuffer(data, record, 1, head), PIECE + 9)
    path.write_bytes(begin + rows.tobytes())
    assert len(reader.read_requests(path, name)) == len(rows)
    rows[field][wrong] = value
    path.write_bytes(begin + rows.tobytes())
    place = head + wrong * record.itemsize
    with pytest.raises(BadTraceFile, match=re.escape(f"{path}: at byte {place}: {why}")):
        reader.read_requests(path, name)


@pytest.mark.native
def test_a_binary_trace_of_another_form_is_refused(sample) -> None:
    """A version number that no reader knows is put into the head or the first record."""
    for name, at, value, why in (
        ("vscsi", 2, 0x300, "no record of version 1 or 2 of vscsi"),
        ("sluice", 16, 2, "no file of requests of form 1"),
    ):
        path = sample(name)
        data = bytearray(path.read_bytes())
        struct.pack_into("<H", data, at, value)
        path.write_bytes(data)
        with pytest.raises(BadTraceFile, match=f"at byte 0: {why}"):
            reader.read_requests(path, name)


@pytest.mark.native
def test_a_file_of_no_format_and_a_wrong_name_are_refused_with_the_choices(tmp_path) -> None:
    """prepare: makes the file (or a folder) or leaves it as it is; name: the format that is given;
    why: a pattern for the refusal."""
    path = tmp_path / "x"
    for prepare, name, why in (
        (lambda: None, "", "there is no such file"),
        (lambda: path.write_bytes(b"hello"), "", "looks like no known format.* msr, "),
        (lambda: None, "mrs", 'unknown format "mrs"; did you mean "msr"'),
        (lambda: path.write_bytes(b""), "msr", "has no request"),
        (lambda: (path.unlink(), path.mkdir()), "msr", "is a folder"),
    ):
        prepare()
        with pytest.raises(BadTraceFile, match=why):
            reader.read_requests(path, name)


@pytest.mark.native
@pytest.mark.parametrize("name", ["", "spc"])
def test_a_file_without_a_request_is_said_to_have_none(tmp_path: Path, name: str) -> None:
    """The mark EF BB BF is UTF-8's byte order mark."""
    path, packed = tmp_path / "x", tmp_path / "x.gz"
    for data, why in (
        (b"", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (b"\n \r\n\n", "has only blank lines"),
    ):
        path.write_bytes(data)
        packed.write_bytes(gzip.compress(data))
        for file in (path, packed):
            with pytest.raises(BadTraceFile, match=f"^{file}: {why}: it has no request$"):
                reader.read_requests(file, name)


@pytest.mark.native
@pytest.mark.parametrize("name", ["systor17", "export"])
def test_a_file_with_a_head_only_has_no_request(sample, name: str) -> None:
    path = sample(name)
    head = path.read_bytes().splitlines()[0]
    for data in (head, head + b"\n\n", b"\xef\xbb\xbf" + head + b"\r\n"):
        path.write_bytes(data)
        with pytest.raises(BadTraceFile, match="has no request"):
            reader.read_requests(path)


@pytest.mark.native
@pytest.mark.parametrize("name", ["msr", "systor17", "spc", "blkparse", "export", "fio3"])
def test_a_byte_order_mark_is_skipped(sample, name: str) -> None:
    """The mark is UTF-8's, and is skipped at the beginning only."""
    path = sample(name)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert (
        reader.read_requests(path).tolist() == reader.read_requests(path, name).tolist() == EXPECTED
    )


# ---- one rule for the fields of all texts, and what is left out ----

WRITTEN = {  # other ways to write the second request of a sample, which all programs have
    "msr": [
        b"128166372003076629, usr ,0 ,\tWrite, 512,4096 ,3",
        b'"128166372003076629","usr","0","Write","512","4096","3"',
        b'"128166372003076629" ,"usr", "0","Write","512","4096","3" ,,',
        b"128166372003076629,usr,0,Write,512,4096,3,",
        b"128166372003076629,usr,0,Write,512,4096",
        b"128166372003076629,usr,0,write,512,4096,3",
        b"128166372003076629,usr,0,WRITE,512,4096,3",
        b"1.28166372003076629E+17,usr,0,Write,5.12e2,4096.0,3",
    ],
    "systor17": [
        b"1455592800.006708015, , w ,4, 512 ,4096",
        b'"1455592800.006708015","","W","4","512","4096"',
        b"1455592800.006708015,,W,4,512,4096,,",
        b"1.455592800006708015e9,,w,4e0,512.0,4.096e3",
    ],
    "spc": [
        b' "0", "1","4096","W","0.2515"',
        b"0,1,4096,W,0.2515,",
        b"0,1.0,4.096e3,w,2515e-4",
    ],
    "export": [
        b"2, DISK1 ,1,8, W ,7,a,b,251500000,2,3,0.1,0.1,0,0,",
        b'"2","disk1","1","8","w","7","a,b","251500000","2","3","0.1","0.1","0","0"',
        b"2,disk1,1e0,8.0,w,7,a,b,2.515e8,2,3,0.1,0.1,0,0",
    ],
}
FIO_WRITTEN = {
    "fio2": [b"/dev/sda  WRITE\t512.0 4.096e3 ,", b'"/dev/sda" "write" "512" "4096"'],
    "fio3": [b"2.378e3 /dev/sda Write 512 4096.0,", b'"2378" "/dev/sda" "write" "512" "4096"'],
}
SECOND = {  # the second request of each sample, as the sample has it
    "msr": b"128166372003076629,usr,0,Write,512,4096,3",
    "systor17": b"1455592800.006708015,,W,4,512,4096",
    "spc": b"0,1,4096,W,0.2515,x",
    "export": b"2,disk1,1,8,w,7,a,b,251500000,2,3,0.1,0.1,0,0",
}


@pytest.mark.native
@pytest.mark.parametrize(("name", "written"), [(n, w) for n, all in WRITTEN.items() for w in all])
def test_a_field_may_be_written_in_many_ways_in_every_text(sample, name, written) -> None:
    """Spaces, quotes, upper case, a trailing comma and exponents change nothing."""
    path = sample(name)
    data = path.read_bytes()
    assert SECOND[name] in data
    path.write_bytes(data.replace(SECOND[name], written))
    assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
def test_a_field_of_fio_may_be_written_in_many_ways(sample) -> None:
    """The fields of fio's logs are separated by white space."""
    for name, written in FIO_WRITTEN.items():
        path = sample(name)
        data = path.read_bytes()
        for other in written:
            line = {"fio2": b"/dev/sda write 512 4096", "fio3": b"2378 /dev/sda write 512 4096"}[
                name
            ]
            assert line in data
            path.write_bytes(data.replace(line, other).replace(b"fio version", b" FIO  Version"))
            assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
@pytest.mark.parametrize(("name", "written"), [(n, w) for n, all in WRITTEN.items() for w in all])
def test_what_can_be_read_is_recognised(tmp_path: Path, name: str, written: bytes) -> None:
    """A format is recognised from the first HEAD bytes. The record is alone, between blank lines,
    or before a line that is longer than HEAD."""
    path = tmp_path / "w"
    for data in (written, b"\n \n" + written + b"\r\n", written + b"\n" + b"9" * HEAD):
        path.write_bytes(data)
        assert reader.find_format(path, "").__name__.endswith(f".{name}")


@pytest.mark.native
def test_heads_are_recognised_however_they_are_written(sample) -> None:
    """The line with the columns' names may be in upper case, or have spaces, quotes or a trailing
    comma."""
    for name in ("systor17", "export"):
        path = sample(name)
        head, _, rest = path.read_bytes().partition(b"\n")
        words = head.split(b",")
        for other in (
            head.upper(),
            b" , ".join(words),
            b'"' + b'","'.join(words) + b'"',
            head + b",",
        ):
            path.write_bytes(other + b"\n" + rest)
            assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'"abc\n', "a quote is not closed"),
        (b'"a",b\rc,1,2,3,4\n', "new-line character"),
        (b'0,0,8,R,"' + b"x" * 140_000 + b'"\n', "field larger"),
    ],
)
def test_quotes_that_cannot_be_read_are_refused_with_words(
    tmp_path: Path, data: bytes, why: str
) -> None:
    """A quote is open at the end, holds a bare carriage return, or is longer than a field may be
    (131,072 bytes). With no format given, no format is recognised."""
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(BadTraceFile, match="looks like no known format"):
        reader.read_requests(path)
    for name in ("spc", "systor17", "msr", "export"):
        with pytest.raises(BadTraceFile, match=rf"x:1: .*{why}"):
            reader.read_requests(path, name)


@pytest.mark.native
def test_one_line_of_lirs_and_a_preamble_of_blkparse_are_recognised(tmp_path: Path, sample) -> None:
    (tmp_path / "x").write_bytes(b" 7\n")
    assert reader.read_requests(tmp_path / "x").tolist() == [(0, 7 * 4096, 4096, 0)]
    path = sample("blkparse")
    path.write_bytes(b"Input file sda.blktrace.0 added\n\n" + path.read_bytes())
    assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
def test_vscsi_is_recognised_whatever_its_name(tmp_path: Path) -> None:
    """vscsi is binary: its contents are recognised, also without the ending .vscsi."""
    (tmp_path / "w01.bin").write_bytes(SAMPLES["vscsi"][1])
    assert reader.read_requests(tmp_path / "w01.bin").tolist() == EXPECTED


def left_out(path: Path, name: str = "", count: int | None = None) -> tuple[int, str]:
    """Return how many requests were read, and the text that says what was left out."""
    left = LeftOut()
    return len(reader.read_requests(path, name, count, left_out=left)), str(left)


EMPTY = {  # a request of size 0
    "msr": b"128166372003076629,usr,0,Write,512,0,3\n",
    "systor17": b"1455592800.006708015,,W,4,512,0\n",
    "spc": b"0,0,0,R,2.0\n",
    "export": b"2,disk1,1,0,w,7,a,251500000,2,3,0.1,0.1,0,0\n",
    "blkparse": b"  8,0    1        9     0.251500000    99  Q   W [mkfs.btrfs]\n",
    "fio2": b"/dev/sda write 512 0\n",
    "fio3": b"99 /dev/sda write 512 0\n",
    "ftrace": b"c-9 [000] .... 10.3: block_bio_queue: 8,0 W 2 + 0 [c]\n",
    "vscsi": np.array([(0x2A, 0x200, 2, 0, 1, 0, 251500, 9)], vscsi.VERSIONS[2]).tobytes(),
}


@pytest.mark.native
@pytest.mark.parametrize("name", EMPTY)
def test_requests_of_size_0_are_left_out_of_every_format_and_counted(sample, name: str) -> None:
    """Two requests without data follow the sample's own. They are counted only if the reader gets
    that far."""
    path = sample(name)
    usual = left_out(path)[1]
    before = int((re.search(r"without data: (\d+)", usual) or [0, 0])[1])
    path.write_bytes(path.read_bytes() + 2 * EMPTY[name])
    assert reader.read_requests(path).tolist() == EXPECTED
    assert f"requests without data: {before + 2}" in left_out(path)[1]
    # lines behind the last request that is asked for are not counted
    assert left_out(path, count=2) == (2, usual)


@pytest.mark.native
def test_rows_of_size_0_in_our_own_file_are_left_out_and_counted(sample) -> None:
    """left_out() returns how many requests are read, and what was left out until then."""
    path = sample("sluice")
    path.write_bytes(pack_requests(build_table([EXPECTED[0], (7, 0, 0, 1), EXPECTED[1]])))
    assert reader.read_requests(path).tolist() == EXPECTED
    assert left_out(path) == (2, "requests without data: 1")
    assert left_out(path, count=1) == (1, "")


@pytest.mark.native
def test_all_that_is_left_out_is_counted_by_why(sample, tmp_path: Path) -> None:
    """The samples hold discards, flushes, verifications, lost events and requests to other
    disks."""
    assert left_out(sample("blkparse")) == (2, "discards: 1; requests without data: 5")
    lost = "places where ftrace lost events: 1"
    assert left_out(sample("ftrace")) == (2, f"{lost}; discards: 1; requests without data: 1")
    for name in ("fio2", "fio3"):
        assert left_out(sample(name)) == (2, "requests without data: 1; discards: 1")
    assert left_out(sample("export")) == (2, "requests to other disks of the run: 1")
    assert left_out(sample("vscsi"))[1] == (
        "requests without data: 1; other commands (0x2f): 1; other commands (0x35): 1"
    )
    assert left_out(sample("systor17"))[1] == (
        "requests without a type, which may be reads or writes: 1"
    )
    path = tmp_path / "w.oracleGeneral"
    path.write_bytes(np.array([(9, 7, 0, -1), (9, 6, 1, -1)], "<u4,<u8,<u4,<i8").tobytes())
    assert left_out(path) == (1, "requests without data: 1")
    path.write_bytes(np.array([(9, 7, 0, -1)], "<u4,<u8,<u4,<i8").tobytes())
    with pytest.raises(BadTraceFile, match=r"has no request; left out: requests without data: 1$"):
        reader.read_requests(path)


@pytest.mark.native
def test_both_doors_say_what_was_left_out(sample, asked, capsys) -> None:
    """The command prints it and sluice.read() warns, unless `count` requests were read before
    it."""
    path = sample("spc")
    path.write_bytes(path.read_bytes() + EMPTY["spc"])
    replay.write_experiment(asked(trace=path, fit="pack"))
    assert capsys.readouterr().err == f"{path}: left out: requests without data: 1\n"
    with pytest.warns(sluice.LeftOutWarning, match=r"spc: left out: requests without data: 1$"):
        sluice.read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(sluice.read(path, count=2)) == 2


@pytest.mark.native
@pytest.mark.parametrize("ending", ["bz2", "xz", "GZ"])
def test_other_packers_are_known_too(sample, ending: str) -> None:
    """Known by the name's ending, in capitals as well."""
    path = sample("msr")
    module = {"bz2": bz2, "xz": lzma, "GZ": gzip}[ending]
    other = path.with_name(f"{path.name}.{ending}")
    other.write_bytes(module.compress(path.read_bytes()))
    assert reader.read_requests(other).tolist() == EXPECTED
    other.write_bytes(other.read_bytes()[:-20])
    with pytest.raises(BadTraceFile, match="cannot be read"):
        reader.read_requests(other)


@pytest.mark.native
@pytest.mark.parametrize("packer", [gzip, bz2, lzma, None])
def test_what_is_packed_is_known_without_its_ending(sample, packer: ModuleType | None) -> None:
    """A packed file is recognised by its first bytes. packer: the module that packs the trace;
    None: Zstandard packs it."""
    path = sample("spc")
    data = path.read_bytes()
    zstd = pyarrow.compress(data, "zstd", asbytes=True)
    path.write_bytes(packer.compress(data) if packer else zstd)
    assert reader.read_requests(path).tolist() == EXPECTED
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadTraceFile, match=f"^{path}: cannot be read: "):
        reader.read_requests(path, "spc")


@pytest.mark.native
def test_lines_that_are_no_events_of_blkparse_are_counted_but_for_its_sums(sample) -> None:
    """Such a line may be of another tool, whose output was taken for blkparse's."""
    path = sample("blkparse")
    usual = left_out(path)[1]
    assert "no events" not in usual
    odd = b"# by hand\n  zsh-3158 249,1 Q R 0 + 8 [zsh]\n"
    path.write_bytes(odd + path.read_bytes())
    assert reader.read_requests(path).tolist() == EXPECTED
    assert left_out(path) == (2, f"lines that are no events of blkparse: 2; {usual}")
    path.write_bytes(odd)
    with pytest.raises(BadTraceFile, match=r"no request; left out: lines that are no events.*: 2$"):
        reader.read_requests(path, "blkparse")


@pytest.mark.native
@pytest.mark.parametrize(
    "line",
    [
        b"8,0\t1\t5\t0.251500000\t99\tQ\tWS\t1 + 8\t[jbd2]",
        b"  8,0    1        5     0.251500000    99  Q  ws 1 + 8 [jbd2]",
        b"  8,0    1        5     0.251500000    99  Q  WS 1 + 8 [Isolierter D\xc3]",
        b"  8,0    1        5     0.251500000    99  Q  WS 1 + 8 [a\r8,0 1]",
    ],
)
def test_an_event_of_blkparse_may_have_tabs_either_case_and_any_name(tmp_path, line) -> None:
    """A process's name is cut after 15 bytes, whatever letter is there."""
    path = tmp_path / "w"
    path.write_bytes(line + b"\n")
    assert reader.read_requests(path).tolist() == [(0, 512, 4096, 1)]


@pytest.mark.native
def test_a_process_of_an_export_may_have_any_name(sample) -> None:
    path = sample("export")
    path.write_bytes(path.read_bytes().replace(b"iogen read", b"iogen \xc3"))
    assert reader.read_requests(path).tolist() == EXPECTED


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("msr", b"128166372003076629,usr,0,Write,9223372036854775808,0,3\n"),
        ("spc", b"0,9223372036854775807,0,R,2.0\n"),
        ("systor17", b"1455592800.006708015,,W,4,9223372036854775808,0\n"),
    ],
)
def test_a_request_of_size_0_may_have_any_place(sample, name: str, line: bytes) -> None:
    """For the place of a flush, Linux prints -1 as a number of 64 bits."""
    path = sample(name)
    path.write_bytes(path.read_bytes() + line)
    assert reader.read_requests(path).tolist() == EXPECTED
    assert "requests without data: 1" in left_out(path)[1]


@pytest.mark.native
@pytest.mark.parametrize("name", ["systor17", "export"])
def test_columns_in_another_order_are_recognised_and_refused_with_the_order(sample, name) -> None:
    """The first two columns of the head are swapped."""
    path = sample(name)
    head, _, rest = path.read_bytes().partition(b"\n")
    first, second, *others = head.split(b",")
    path.write_bytes(b",".join([second, first, *others]) + b"\n" + rest)
    with pytest.raises(BadTraceFile, match=r":1: the columns must be in this order: "):
        reader.read_requests(path)


@pytest.mark.native
def test_a_wrong_line_says_what_may_be_wrong_with_it(sample) -> None:
    """Other separators, and a file that was cut off. A wrong line in the middle is not called cut
    off."""
    path = sample("spc")
    whole = path.read_bytes()
    for change, why in (
        (whole.replace(b",", b";"), "1 fields, not 5 or more: it has semicolons, and commas are"),
        (whole.replace(b",", b"\t"), "1 fields, not 5 or more: it has tabs, and commas are"),
        (whole[:-9], "the file ends within this line: if it was cut off, delete the line"),
    ):
        path.write_bytes(change)
        with pytest.raises(BadTraceFile, match=why):
            reader.read_requests(path, "spc")
    path.write_bytes(whole[:30] + b"x\n" + whole)
    with pytest.raises(BadTraceFile) as found:
        reader.read_requests(path, "spc")
    assert "cut off" not in str(found.value)


@pytest.mark.native
@pytest.mark.parametrize("name", ["msr", "systor17", "spc", "blkparse", "lirs"])
def test_a_text_is_recognised_though_it_begins_with_many_empty_lines(tmp_path, name) -> None:
    """5000 blank lines are more than the HEAD bytes that are examined otherwise."""
    path = tmp_path / "w"
    path.write_bytes(b" \r\n" * 5000 + {**SECOND, "blkparse": LOWER.encode(), "lirs": b"7"}[name])
    assert reader.find_format(path, "").__name__.endswith(f".{name}")


@pytest.mark.native
@pytest.mark.parametrize("code", [0x0A, 0x2A, 0xAA, 0x8A, 0x2E, 0xAE, 0x8E, 0x89, 0x8B, 0x9A, 0x9C])
def test_all_commands_of_scsi_that_write_are_writes(tmp_path: Path, code: int) -> None:
    """The codes are those of WRITE, WRITE AND VERIFY, COMPARE AND WRITE and their variants."""
    rows = [(0x28, 0x200, 1, 512, 1, 1, 0, 9), (code, 0x200, 1, 512, 1, 9, 5, 9)]
    (tmp_path / "w.vscsi").write_bytes(np.array(rows, vscsi.VERSIONS[2]).tobytes())
    assert reader.read_requests(tmp_path / "w.vscsi")["write"].tolist() == [0, 1]


# ---- fitting ----


def sectors_of(requests: np.ndarray) -> np.ndarray:
    """Return a row (time, place, direction) for each sector of 512 bytes, in the order of the
    requests."""
    rows = []
    for time_ns, offset, size, write in requests.tolist():
        rows += [(time_ns, offset + i, write) for i in range(0, size, 512)]
    return np.array(rows)


@pytest.mark.native
@pytest.mark.parametrize("seed", range(3))
def test_splitting_and_joining_keep_every_byte(seed: int) -> None:
    """Requests are split into pieces of at most 3072 bytes and joined again."""
    requests = draw_requests(seed, 400)
    # whole KiB, because pieces of 3072 bytes must have whole sectors
    requests["bytes"] = -(-requests["bytes"] // 1024) * 1024
    pieces = fit.split_requests(requests, 3072)
    assert pieces["bytes"].max() <= 3072 < requests["bytes"].max()
    assert (sectors_of(pieces) == sectors_of(requests)).all()
    whole = fit.join_requests(pieces, 1 << 20, 0)
    assert (sectors_of(whole)[:, 1:] == sectors_of(requests)[:, 1:]).all()
    assert len(whole) <= len(requests)
    assert fit.join_requests(pieces, 6144, 0)["bytes"].max() == 6144


@pytest.mark.native
def test_joined_are_neighbours_of_one_direction_and_come_with_the_first() -> None:
    """At most 1024 bytes are joined, within 1 ns of the first request, whose time the joined
    request has."""
    rows = [(1, 0, 512, 0), (2, 512, 512, 1), (3, 1024, 512, 1)]
    rows += [(5, 4096, 512, 1), (6, 4608, 512, 1), (7, 5120, 512, 1)]
    assert fit.join_requests(build_table(rows), 1024, 1).tolist() == [
        *((1, 0, 512, 0), (2, 512, 1024, 1)),
        *((5, 4096, 1024, 1), (7, 5120, 512, 1)),
    ]
    assert not len(fit.join_requests(empty_table(), 1024, 1))


@pytest.mark.native
def test_no_request_is_joined_to_one_that_came_long_before() -> None:
    """Requests come every 2 ms, and 4 ms are allowed. The time counts from the first of the joined
    requests, so three are joined and not five."""
    rows = [(2_000_000 * i, 512 * i, 512, 0) for i in range(5)]
    assert fit.join_requests(build_table(rows), 1 << 20, 4_000_000).tolist() == [
        (0, 0, 3 * 512, 0),
        (6_000_000, 3 * 512, 2 * 512, 0),
    ]
    for wanted, left in ((Fit(join_kb=64), 3), (Fit(join_kb=64, join_ms=0), 5)):
        assert len(fit.fit_requests("t", build_table(rows), wanted, 1 << 30)) == left
    assert TRACE["join_ms"].default == Fit().join_ms


@pytest.mark.native
def test_the_time_for_joining_is_that_of_the_trace_whatever_its_scale() -> None:
    """Two requests 2 ms apart are joined, also if the replay is ten times as slow or as fast."""
    rows = build_table([(0, 0, 512, 0), (2_000_000, 512, 512, 0)])
    for scale in (0.1, 10):
        assert len(fit.fit_requests("t", rows, Fit(scale=scale, join_kb=64), 1 << 30)) == 1


@pytest.mark.native
def test_a_request_across_two_parts_has_both() -> None:
    """Packing leaves out the unused MiB of a disk. Parts 7, 8 and 99 are used here, and become 0, 1
    and 2."""
    end = 8 * PART
    requests = build_table([(0, end - 512, 1024, 0), (1, 99 * PART, 512, 0)])
    assert fit.pack_used_parts(requests).tolist() == [
        (0, PART - 512, 1024, 0),
        (1, 2 * PART, 512, 0),
    ]


@pytest.mark.native
def test_the_file_of_requests_is_the_image_of_a_disk() -> None:
    """A disk's image has whole sectors of 512 bytes."""
    for count in (1, 20, 21):
        assert len(pack_requests(draw_requests(1, count))) % 512 == 0


# Bytes of a disk onto which a trace that reaches to 4 GiB can be packed, and of one too small
ROOM, TOO_SMALL = 1 << 29, 1 << 24


@pytest.mark.native
def test_a_trace_that_does_not_fit_is_refused_with_the_ways_to_make_it_fit() -> None:
    requests = draw_requests(7, 500, reach=1 << 32)
    for way, room, why in (
        ("refuse", ROOM, r"t: reaches to 4\.00 GiB, of which .* are used"),
        ("refuse", TOO_SMALL, "take a larger drive, or fit = fold"),  # packing would not help
        ("pack", TOO_SMALL, "take a larger drive or fewer requests, or fit = fold"),
    ):
        with pytest.raises(BadTraceFile, match=why):
            fit.fit_requests("t", requests, Fit(way=way), room)


@pytest.mark.native
def test_packing_keeps_the_order_of_places_and_the_distance_of_neighbours() -> None:
    """Requests that lie less than a part from each other stay as far apart as they were."""
    requests, room = draw_requests(7, 500, reach=1 << 32), ROOM
    packed = fit.fit_requests("t", requests, Fit(way="pack"), room)
    assert fit.highest_byte(packed) <= room
    order = np.argsort(requests["offset"], kind="stable")
    assert (np.diff(packed["offset"][order].astype("<i8")) >= 0).all()
    near = np.diff(requests["offset"][order]) < fit.PART
    same = np.diff(packed["offset"][order]) == np.diff(requests["offset"][order])
    assert near.any()
    assert same[near].all()


@pytest.mark.native
def test_folding_stays_inside_a_disk_that_is_too_small_for_packing() -> None:
    requests = draw_requests(7, 500, reach=1 << 32)
    folded = fit.fit_requests("t", requests, Fit(way="fold"), TOO_SMALL)
    assert fit.highest_byte(folded) <= TOO_SMALL


@pytest.mark.native
@pytest.mark.parametrize("room", [3 << 20, (3 << 20) + 1000, 4 << 30, 5 << 30])
def test_folding_keeps_requests_aligned_and_inside_on_disks_of_any_size(room: int) -> None:
    """Places beyond the last whole MiB of the room count from 0 again."""
    requests = draw_requests(7, 500, reach=1 << 36)
    requests["offset"] -= requests["offset"] % 4096
    requests["bytes"] = -(-requests["bytes"] // 4096) * 4096  # rounded up to whole blocks
    folded = fit.fit_requests("t", requests, Fit(way="fold"), room)
    whole = room // PART * PART  # the room in whole MiB
    assert whole * 0.95 < fit.highest_byte(folded) <= whole
    assert not (folded["offset"] % 4096).any()
    remainder = requests["offset"] % whole
    inside = remainder + requests["bytes"] <= whole
    assert (folded["offset"] == remainder)[inside].all()
    assert (folded["offset"] <= remainder).all()  # moved down if it would pass the end


@pytest.mark.native
@pytest.mark.parametrize("way", ["refuse", "pack", "fold"])
def test_a_disk_without_a_whole_mib_is_refused(way: str) -> None:
    requests = build_table([(0, 0, 2 * PART, 0)])
    with pytest.raises(BadTraceFile, match=r"for 0\.9 MiB: take a larger drive( or fewer .*)?$"):
        fit.fit_requests("t", requests, Fit(way=way), PART - 4096)


@pytest.mark.native
def test_what_is_just_too_large_is_not_said_to_be_as_large_as_the_room() -> None:
    """Sizes are rounded for the message, the trace's up and the disk's down, so that the message
    never says "5.0 of 5.0"."""
    for room, said in ((5 << 20, "5.1 MiB.*5.0 MiB"), (5 << 30, "5.01 GiB.*5.00 GiB")):
        with pytest.raises(BadTraceFile, match=f"reaches to {said}"):
            fit.fit_requests("t", build_table([(0, room, 512, 0)]), Fit(), room)


@pytest.mark.native
def test_a_file_of_requests_is_as_long_as_is_said_of_so_many() -> None:
    """packed_bytes() predicts the length of the file. 20 requests fit into one sector, 21 do
    not."""
    for count in (1, 20, 21, 64):
        assert len(pack_requests(draw_requests(count, count))) == packed_bytes(count)
    assert (packed_bytes(20), packed_bytes(21)) == (512, 1024)


@pytest.mark.native
def test_scaled_time_is_that_many_times_as_fast() -> None:
    """Times are halved, up to rounding; places stay."""
    requests = draw_requests(8, 50)
    twice = fit.fit_requests("t", requests, Fit(scale=2), 1 << 30)
    assert np.abs(twice["time_ns"] * 2.0 - requests["time_ns"]).max() <= 1
    assert (twice["offset"] == requests["offset"]).all()


@pytest.mark.native
def test_a_scale_at_which_times_are_too_large_is_refused() -> None:
    """One second at a scale of 1e-9 is 10^18 ns, which is still below the limit of 2^62 ns."""
    requests = build_table([(0, 0, 512, 0), (10**9, 0, 512, 0)])
    assert fit.fit_requests("t", requests, Fit(scale=1e-9), 1 << 20)["time_ns"][1] == 10**18
    for scale in (1e-10, 1e-320):
        with pytest.raises(BadTraceFile, match=rf"t: scale = {scale}: the last .* than 2\^62 ns"):
            fit.fit_requests("t", requests, Fit(scale=scale), 1 << 20)


# ---- experiments ----

TRACED = """
claim = "A trace."
source = "a test"
[machine]
nbuf = 256
cpu_shift = 2
[machine.data]
drive = "cheetah4lp"
size = "64M"
[[arms]]
name = "one"
[trace]
file = "mine.requests"
scale = "{scale}"
[workload]
commands = "ioplay name=trace requests=/dev/disk2 filename=/data/trace part={part_mb}m"
[sweep]
scale = [1, 2]
[plot]
columns = ["trace.mean_ms", "hist.disk1.read_response.count"]
"""


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """Return an experiment that replays a trace."""
    (tmp_path / "mine.requests").write_bytes(pack_requests(draw_requests(9, 200, rate=40)))
    path = tmp_path / "traced.toml"
    path.write_text(TRACED)
    return path


@ON_TWIN
def test_an_experiment_replays_a_trace_alike_in_a_plain_and_in_a_resident_twin(traced) -> None:
    """A plain twin is a new process for each run; a resident one makes many. The second run, at
    scale 2, takes half as long as the first."""
    elapsed = []
    for run in twin_variant(load(traced)).runs:
        result, _ = runs.make_run(run, traced.with_suffix(".console"))
        assert trial.measure_run(run).figures["jobs"] == result["jobs"]
        assert result["jobs"][0]["ios"] == 200
        elapsed.append(result["jobs"][0]["elapsed_ns"])
    assert 1.8 < elapsed[0] / elapsed[1] < 2.2


@ON_TWIN
def test_a_trace_that_changes_is_read_again(traced: Path) -> None:
    """The trace's file is replaced between two loads of the experiment."""
    first = load(traced).runs[0].config["trace"]
    (traced.parent / "mine.requests").write_bytes(pack_requests(draw_requests(10, 100, rate=40)))
    second = load(traced).runs[0].config["trace"]
    assert (first["count"], second["count"]) == (200, 100)
    assert first["requests"] != second["requests"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("mine.requests", "other", r"traced.toml:13: .*other: there is no such file"),
        ('scale = "{scale}"', "scale = 0", "scale = 0: must be more than 0"),
        ('scale = "{scale}"', 'scale = "slow"', 'scale = "slow": must be a number'),
        ('scale = "{scale}"', 'format = "spcc"', 'unknown format "spcc"; did you mean "spc"'),
        ('scale = "{scale}"', "spilt_kb = 4", 'unknown key "spilt_kb"; did you mean "split_kb"'),
        (
            'name = "one"',
            'name = "one"\npolicies = {place = "eager"}',
            r'traced.toml:12: place = "eager": does nothing, .* no disk has a virtual log \(log_p',
        ),
        ('size = "64M"', 'size = "8M"', "reaches to 8.0 MiB.*has room for 7.0 MiB"),
        ('size = "64M"', 'size = "64M"\nfiles = {"/trace1" = "1M"}', "files of the trace"),
        ('[machine.data]\ndrive = "cheetah4lp"\nsize = "64M"', "", "needs a data disk"),
    ],
)
def test_a_wrong_trace_table_is_refused_with_its_line(traced: Path, old, new, why) -> None:
    traced.write_text(TRACED.replace(old, new))
    with pytest.raises(BadExperiment, match=why):
        load(traced)


def fitting(folder: Path, size: int, block: str, data: dict | None = None) -> list[str]:
    """Return failures of mkfs: traces that trace_disk finds room for on a disk of `size` MiB, but
    mkfs does not. Tried are traces that end at the room's end, one MiB before, and in its middle.
    """
    room_mb = trace_disk.trace_capacity({"size": f"{size}M"} | (data or {})) // PART
    wrong = []
    for end_mb in {room_mb, room_mb - 1, room_mb // 2} - {0, -1}:
        trace = trace_disk.describe_requests("", 1, end_mb << 20)
        disk = trace_disk.add_request_files({"files": {}} | (data or {}), trace)
        words = []
        for path, mb in disk["files"].items():
            words += ["--file", f"{path}={mb}"]
        for path, of in disk.get("scatter", {}).items():
            words += ["--scatter", f"{path}={of}"]
        words += ["--group", disk["group"]] if "group" in disk else []
        options = ("-s", f"{size}M", "-b", block, *words)
        if image.run_command(MKFS, *options, folder / "disk", check=False).returncode:
            wrong.append(f"{end_mb} MiB on a disk of {size} MiB, blocks of {block}")
    return wrong


@pytest.mark.native
@pytest.mark.parametrize("block", ["1K", "2K", "4K", "8K"])
def test_what_a_disk_is_said_to_have_room_for_mkfs_lays_down(tmp_path: Path, block: str) -> None:
    """trace_capacity() never promises more than mkfs can lay out, with small block groups or with
    other files on the disk either."""
    # in MiB: all small ones, and those around powers of two and of real drives
    sizes = [*range(1, 70), 100, 541, 1019, 1024, 1316, 4339]
    assert not [wrong for size in sizes for wrong in fitting(tmp_path, size, block)]
    assert not [w for n in range(28, 40) for w in fitting(tmp_path, n, block, {"group": "1M"})]
    more = {"files": {"/a": "9M", "/b": "100K"}, "scatter": {"/c": "500:5K", "/d": "3:1M"}}
    assert not [w for n in (40, 64, 100) for w in fitting(tmp_path, n, block, more)]


@pytest.mark.native
def test_the_room_of_a_disk_is_in_whole_mib_and_all_below_it_fits() -> None:
    """For disks of 1 to 5999 MiB, a trace gets all but 6 % and 2 MiB of the disk, and its files
    never take more than 97 % of it."""
    for size in range(1, 6000):
        room, most = trace_disk.trace_capacity({"size": f"{size}M"}), size * 0.97
        assert room % PART == 0
        assert room > (0.94 * size - 2) * PART
        ends = (room, room - PART // 2, room // 3)  # where the trace's last request ends
        for end in (e for e in ends if e > 0):
            trace = trace_disk.describe_requests("", 1, end)
            assert trace["parts"] <= trace_disk.PARTS
            assert trace["part_mb"] * trace["parts"] <= most


def test_no_image_has_the_program_unless_it_replays_a_trace(traced: Path) -> None:
    """ioplay is put onto the root disk of a run that has a trace, and is in no other image."""
    assert not (BUILT / "root" / "bin" / "ioplay").exists()
    run = load(traced).runs[0]
    assert "/bin/ioplay" in runs.content(run, "root").files
    run.config.pop("trace")
    assert runs.content(run, "root").files == {}


# ---- limits, and paths ----


@pytest.fixture
def gap(tmp_path: Path) -> Path:
    """Return a trace that lasts 7,201 s, one second longer than other runs may take."""
    path = tmp_path / "gap.requests"
    path.write_bytes(pack_requests(build_table([(0, 0, 4096, 0), (7201 * 10**9, 4096, 4096, 0)])))
    return path


@ON_TWIN
def test_a_trace_that_lasts_longer_than_other_runs_may_is_replayed(asked, gap: Path, capsys):
    """The command and sluice.replay() replay it. Under the limit of other runs, slow policies would
    be missing from the table."""
    assert replay.execute(asked(trace=gap, policies="replace=lru|arc"))
    assert len(re.findall(r"^(?:lru|arc) +\d", capsys.readouterr().out, re.M)) > 1
    assert (sluice.replay(sluice.read(gap)).response_ns > 0).all()


@ON_TWIN
def test_a_slow_policy_is_not_missing_where_a_drive_is_overloaded(tmp_path: Path) -> None:
    """The trace lasts 0.8 s, and its replay takes more than 2 s. It ends only without a limit of 2
    s."""
    requests = draw_requests(11, 800, rate=1000, reach=40 * PART)
    requests["write"] = 0
    path = tmp_path / "mine.requests"
    path.write_bytes(pack_requests(requests))
    text = TRACED.replace("[machine]", "[machine]\nvirtual_limit_s = 2")
    (tmp_path / "short.toml").write_text(text)
    (tmp_path / "long.toml").write_text(TRACED)
    short, long = (twin_variant(load(tmp_path / f"{n}.toml")).runs[0] for n in ("short", "long"))
    with pytest.raises(runs.RunFailed, match="more than 2 s of virtual time"):
        trial.measure_run(short)
    assert trial.measure_run(long).figures["jobs"][0]["ios"] == 800


@pytest.mark.parametrize(
    ("commands", "is_open"),
    [
        ("ioplay name=a", True),
        ("ioplay loop=closed inflight=2", False),
        ("ioplay loop={loop}", False),
        ("ioplay loop=closed\nioplay loop=open", True),
        ("ioplay loop=open\nioplay loop=closed", True),
        ("ioplay name=a\nioplay loop=closed", True),
        ("ioplay loop=closed\nioplay name=b \\\n part=1m", True),
        ("ioplay loop=closed\nioplay loop={loop}", False),
        ("iogen name=read", True),
    ],
)
def test_a_replay_is_open_if_any_of_its_commands_is(commands: str, is_open: bool) -> None:
    """An open replay has no limit of time that ends before the trace does."""
    assert trace_disk.is_open_loop(commands, {"loop": "closed"}) is is_open


@pytest.mark.native
def test_the_limit_of_virtual_time_grows_with_the_length_of_the_trace(asked, gap: Path) -> None:
    """It is 7200 s more than the trace lasts, whose times are divided by the scale."""
    for given, least in (
        ({"loop": "open"}, 7201),
        ({"scale": "0.1"}, 72010),
        ({"scale": "1e-3"}, 7201e3),
    ):
        (run, *_) = load(replay.write_experiment(asked(trace=gap, **given))).runs
        assert run.config["virtual_limit_s"] > least + 7200


@pytest.mark.native
def test_the_limits_of_a_replay_grow_with_the_number_of_requests(asked, gap: Path) -> None:
    """Each of 100,000 requests may take 2 ms of the host's time, and more than 50 s of virtual
    time."""
    gap.write_bytes(pack_requests(build_table([(i, 0, 512, 0) for i in range(100_000)])))
    (run, *_) = load(replay.write_experiment(asked(trace=gap))).runs
    assert run.host_limit_s == HANG_S + 200
    assert run.config["virtual_limit_s"] > 5e6


@pytest.mark.native
def test_the_limit_of_the_longest_trace_is_still_a_number_of_64_bits(asked, gap: Path) -> None:
    """2^61 ns are nearly the longest time that a trace may have."""
    gap.write_bytes(pack_requests(build_table([(0, 0, 512, 0), (1 << 61, 0, 512, 0)])))
    (run, *_) = load(replay.write_experiment(asked(trace=gap))).runs
    assert 1 << 61 < run.config["virtual_limit_s"] * 10**9 < 1 << 63


@pytest.mark.native
def test_a_limit_that_ends_before_the_trace_is_refused_before_the_run(traced: Path, gap: Path):
    """The trace lasts 7201 s. In a closed loop its times do not count, so any limit is accepted."""

    def text(limit: int, loop: str) -> str:
        """Return the experiment's file with this limit of virtual time in s."""
        made = TRACED.replace("mine.requests", gap.name).replace(
            "part={part_mb}m", f"part={{part_mb}}m {loop}"
        )
        return made.replace("[machine]", f"[machine]\nvirtual_limit_s = {limit}")

    for limit, loop in ((7202, ""), (7202, "loop=open"), (100, "loop=closed")):
        traced.write_text(text(limit, loop))
        assert load(traced).runs[0].config["virtual_limit_s"] == limit
    traced.write_text(text(7201, "loop=open"))
    why = r"traced.toml:5: virtual_limit_s = 7201: the trace lasts 7201 s: leave the limit away"
    with pytest.raises(BadExperiment, match=why):
        load(traced)


@pytest.mark.native
def test_a_limit_of_a_replay_may_be_a_variable(traced: Path) -> None:
    """Each value of the limit is compared with the time that the trace lasts."""
    text = TRACED.replace("[machine]", '[machine]\nvirtual_limit_s = "{limit}"\nhost_limit_s = 50')
    traced.write_text(text.replace("[sweep]", "[sweep]\nlimit = [100, 200]"))
    found = [run.config["virtual_limit_s"] for run in load(traced).runs]
    assert sorted(found) == [100, 100, 200, 200]
    traced.write_text(text.replace("[sweep]", "[sweep]\nlimit = [1]"))
    with pytest.raises(BadExperiment, match="virtual_limit_s = 1: the trace lasts"):
        load(traced)


# A file's name with what has a meaning in a template, TOML, a shell, HTML or a terminal's markup
NASTY = "a {scale} {2 * x} %s $claim ${file} [red] \\1 fit = pack é 'q' \"d\" #.requests"


@ON_TWIN
def test_a_path_is_text_and_no_template(asked, tmp_path: Path, capsys) -> None:
    """Experiment and page show the name as it is. A message about the file begins with the name."""
    folder = tmp_path / NASTY
    folder.mkdir()
    path = folder / NASTY
    path.write_bytes(pack_requests(draw_requests(9, 60, rate=40)))
    assert len(sluice.read(path)) == 60
    assert replay.execute(asked(trace=path, policies="replace=lru|arc", drive="lps540s"))
    said = capsys.readouterr().out
    page = Path(re.search(r"^page:  (.*)$", said, re.M)[1]).read_text()
    assert html.escape(NASTY, quote=False) in html.escape(html.unescape(page), quote=False)
    path.write_bytes(b"nothing")
    with pytest.raises(BadTraceFile) as found:
        replay.write_experiment(asked(trace=path))
    assert replay.describe_error(found.value, path=path).startswith(f"{path}: ")


@pytest.mark.native
def test_python_refuses_what_no_machine_has_memory_for_with_the_argument_to_change() -> None:
    """Too many requests, and too many buffers."""
    most = api.max_requests()
    assert trace_disk.memory_mb(most) <= trace_disk.MOST_MB < trace_disk.memory_mb(most + 4096)
    many = sluice.requests(np.arange(most + 4097), 0)
    with pytest.raises(
        sluice.BadReplay, match=rf"^requests: {len(many)} of them: .* {most} at most"
    ):
        sluice.replay(many)
    with pytest.raises(sluice.BadReplay, match=r"buffers=2000000: must be .*, 16 to \d{6}$"):
        sluice.replay(many[:10], buffers=2_000_000)


@pytest.mark.native
def test_the_command_refuses_a_cache_that_no_machine_has_memory_for_with_the_option_to_change(
    asked, monkeypatch
) -> None:
    """--cache is a part of the trace's blocks, which are 3,000,000 in the second case."""
    why = "^--policies: a cache of 2000000 buffers and 200 requests"
    with pytest.raises(BadSweep, match=why):
        replay.write_experiment(asked(policies="nbuf=64..2000000"))
    monkeypatch.setattr(replay, "buffer_counts", lambda *of: [16, 3_000_000])
    with pytest.raises(
        BadSweep, match=r"^--cache: a cache of 3000000 buffers .*: give a smaller cache"
    ):
        replay.write_experiment(asked(cache="10, 50"))


@pytest.mark.native
def test_a_large_cache_gets_memory(asked) -> None:
    """The experiment's largest cache, of 100,000 buffers of 4 KiB, determines the memory of all its
    runs."""
    written = replay.write_experiment(asked(policies="replace=lru|arc, nbuf=64..100000:3"))
    (memory,) = {run.config["memory"] for run in load(written).runs}
    assert int(memory[:-1]) > trace_disk.LEAST_MB + (100_000 - trace_disk.BUFFERS) * 4096 // PART


def test_both_doors_have_the_program_s_most_requests_in_flight() -> None:
    """The command and sluice.replay() allow as many as ioplay's source has room for."""
    source = (ROOT / "sluice/programs/ioplay.c").read_text()
    assert f"#define INFLIGHT_MAX {trace_disk.INFLIGHT}\n" in source


# ---- the command ----


@pytest.fixture
def asked(traced: Path, tmp_path: Path, monkeypatch) -> Callable[..., replay.ReplayRequest]:
    """Return the arguments of `sluice replay`; experiments are written to the test's folder."""
    monkeypatch.setattr(replay, "EXPERIMENTS", tmp_path / "written")

    def choice(**given: object) -> replay.ReplayRequest:
        """Return the usual options of `sluice replay`, with these changes."""
        usual = {"format": "", "policies": "", "drive": "cheetah4lp", "scale": "1", "count": None}
        usual |= {"fit": "refuse", "loop": "open", "metrics": replay.METRICS, "jobs": 1}
        usual |= {"inflight": None, "cache": ""}
        usual |= {"trace": tmp_path / "mine.requests", "scheduler": "", "folder": tmp_path}
        return replay.ReplayRequest(**usual | given)

    return choice


def test_a_trace_may_come_very_slowly(asked) -> None:
    """Python prints this small scale as 1e-05, which the experiment's file must hold as a
    number."""
    written = replay.write_experiment(asked(scale="0.00001"))
    assert {run.variables["scale"] for run in load(written).runs} == {1e-05}


@ON_TWIN
def test_make_trace_measures_every_policy_and_shows_a_pareto_front(asked, tmp_path, capsys) -> None:
    """Two policies of two kinds are four rows of the table."""
    assert replay.execute(
        asked(drive="lps540s", policies="replace=lru|arc, write=delayed|async", count=60)
    )
    said = capsys.readouterr().out
    assert re.search(r"^replace +write +mean, ms +deviation +99 % +longest +hits, %", said, re.M)
    first = said[said.index("mean, ms") :].partition("\n\n")[0]  # of the table's parts
    assert len(re.findall(r"^(?:lru|arc) +(?:delayed|async) +\d", first, re.M)) == 4
    page = Path(re.search(r"^page:  (.*)$", said, re.M)[1]).read_text()
    assert "What can be had together" in page
    assert len(re.findall(r">(?:lru|arc) (?:delayed|async)[ <]", page)) > 1  # labels of points
    (written,) = (tmp_path / "written").glob("*.toml")
    assert re.fullmatch(r"mine-[0-9a-f]{6}-lps540s-60", written.stem)
    names = {run.arm for run in load(written).runs}
    # without --policies each policy is an arm, except the defaults and those that do nothing here
    assert {"usual", "sched=sluice", "replace=2q", "update=pu", "prefetch=stride"} <= names
    assert not {"replace=lru", "place=eager", "write=delayed"} & names


@pytest.mark.native
def test_traces_of_different_paths_are_different_experiments_and_have_their_names(asked) -> None:
    """An experiment's name has the trace's name, six digits of a hash of its path, and the
    drive."""
    paths = ("/a/trace.2020-01.csv", "/a/trace.2020-02.csv", "/b/trace.csv.gz", "/a/trace.csv")
    names = [replay.name_of(asked(inflight=64), Path(path)) for path in paths]
    plain = [re.sub(r"-[0-9a-f]{6}-cheetah4lp$", "", name) for name in names]
    assert plain == ["trace.2020-01", "trace.2020-02", "trace", "trace"]
    assert len(set(names)) == len(paths)
    assert replay.name_of(asked(inflight=64), Path(paths[0])) == names[0]
    assert replay.plain_name(Path("/a/w12.oracleGeneral.bin.zst")) == "w12"
    assert replay.plain_name(Path("/a/.csv")) == "trace"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"trace": Path("/nowhere/x")}, "/nowhere/x: there is no such file"),
        ({"format": "mrs"}, 'did you mean "msr"'),
        ({"drive": "cheeta4lp"}, 'unknown drive "cheeta4lp"; did you mean "cheetah4lp"'),
        ({"fit": "pak"}, 'did you mean "pack"'),
        ({"loop": "ajar"}, 'unknown --loop "ajar"'),
        ({"count": 0}, "--count=0: must be 1 or more"),
        ({"count": -1}, "--count=-1: must be 1 or more"),
        ({"scale": "0"}, "--scale=0: must be a number above 0"),
        ({"cache": "0.1"}, "--cache=0.1: 0.1 % of the"),
        ({"policies": "replace=lur"}, '--over: replace=lur: unknown replace policy "lur"'),
        ({"policies": "sched=sstf, place=eager"}, "--policies: place: does nothing here, because"),
        ({"policies": "order=none"}, "--policies: order: does nothing here, because a trace"),
        ({"metrics": "trace.mean"}, "--metrics: trace.mean"),
    ],
)
def test_make_trace_refuses_what_it_cannot_do(asked, given: dict, why: str) -> None:
    with pytest.raises((BadSweep, BadTraceFile), match=re.escape(why).replace("\\\n", "\n")):
        replay.execute(asked(**given))


@pytest.mark.native
def test_a_trace_has_as_many_files_as_there_may_be_and_not_more() -> None:
    """At most 48 files: a trace of 48 MiB has files of 1 MiB, and with one byte more it has 25 of 2
    MiB."""
    for end, part, parts in ((1, 1, 1), (48 << 20, 1, 48), ((48 << 20) + 1, 2, 25)):
        found = trace_disk.describe_requests("", 1, end)
        assert (found["part_mb"], found["parts"]) == (part, parts)


@pytest.mark.native
def test_a_trace_that_was_read_before_has_the_program_of_today(
    asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decoded trace is kept by the trace and by the code that reads it; the program is part of
    each run's configuration all the same, and so in its key."""
    path = tmp_path / "cs.trace"
    path.write_text("1\n0\n1\n")
    file = replay.write_experiment(asked(trace=path, loop=""))
    found = []
    for program in ("old", "new"):
        monkeypatch.setattr(trace_disk, "program_hash", lambda program=program: program)
        trace_disk.fit_trace.cache_clear()
        found.append({run.config["trace"]["program"] for run in load(file).runs})
    assert found == [{"old"}, {"new"}]


@pytest.mark.native
def test_a_trace_without_times_is_read_one_request_after_another(asked, tmp_path) -> None:
    """The format lirs has no times, so the loop is closed, with one request in flight unless told
    otherwise. With times it is open, with 64."""
    path = tmp_path / "cs.trace"
    path.write_text("1\n0\n1\n")

    def settled(**given: object) -> tuple[str, int]:
        """Return the loop and the requests in flight that these options lead to."""
        choice = asked(**{"trace": path, "loop": ""} | given)
        replay.write_experiment(choice)
        choice = replay.settle(choice)
        return choice.loop, choice.inflight

    assert settled() == ("closed", 1)
    assert settled(loop="closed") == ("closed", 64)
    assert settled(inflight=8) == ("closed", 8)
    assert settled(trace=tmp_path / "mine.requests") == ("open", 64)
    with pytest.raises(BadSweep, match="--loop=open: a trace of this format has no times"):
        settled(loop="open")
    with pytest.raises(BadSweep, match="--inflight=0: must be 1 to 256"):
        settled(inflight=0)
    assert settled(inflight=256) == ("closed", 256)
    with pytest.raises(BadSweep, match="--inflight=257: must be 1 to 256"):
        settled(inflight=257)


@pytest.mark.native
@pytest.mark.parametrize("count", [None, 400_000])
def test_the_machine_has_memory_for_the_requests_that_there_are(
    asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int | None
) -> None:
    """The trace's 300,000 requests count, not its packed size and not --count if that is more. The
    trace is read once for this check and for all runs."""
    path = tmp_path / "cs.trace.gz"
    path.write_bytes(gzip.compress(b"7\n" * 300_000))
    given = asked(trace=path, loop="", count=count)
    file = replay.write_experiment(given)
    reads = trace_disk.fit_trace.cache_info().misses
    (memory,) = {run.config["memory"] for run in load(file).runs}
    assert trace_disk.fit_trace.cache_info().misses == reads
    assert memory == f"{trace_disk.LEAST_MB + 74}M"  # 300,000 of 256 bytes
    monkeypatch.setattr(trace_disk, "REQUEST_BYTES", 1 << 20)
    with pytest.raises(BadSweep, match=r"cs\.trace\.gz: 300000 requests .* --count to"):
        replay.write_experiment(given)


@pytest.mark.native
def test_the_machine_has_memory_for_the_parts_of_long_requests(asked, tmp_path: Path) -> None:
    """Each of the 1000 requests of 100 MiB is split into 100 parts of 1 MiB."""
    path = tmp_path / "long.requests"
    path.write_bytes(pack_requests(build_table([(i, 0, 100 << 20, 0) for i in range(1000)])))
    text = replay.write_experiment(asked(trace=path)).read_text()
    assert f'memory = "{trace_disk.LEAST_MB + 25}M"' in text  # 100,000 of 256 bytes


@pytest.mark.native
def test_the_table_of_make_trace_has_the_best_first_and_hits_in_percent() -> None:
    """The figure is the part of blocks that were missed, 0.25 and 0.5; the table shows hits, 75 %
    and 50 %."""
    figures = dict.fromkeys(replay.HEADS, 7.0) | {replay.LATE: 3.0}
    ratio = next(m for m, head in replay.HEADS.items() if head == replay.HITS)
    points = [
        SimpleNamespace(
            point={"arm": arm},
            figures=figures | {ratio: missed},
            costs=lambda objectives, cost=cost: (cost,),
            number=number,
        )
        for number, (arm, cost, missed) in enumerate([("worse", 2, 0.5), ("better", 1, 0.25)])
    ]
    sweep = SimpleNamespace(objectives=(), axes=[SimpleNamespace(name="arm", grid=lambda: "ab")])
    _, first, second = replay.points_table(sweep, points)
    assert re.match(r"better +7 .* 75\.0 ", first)
    assert re.match(r"worse +7 .* 50\.0 ", second)


@pytest.mark.native
def test_waits_for_a_process_are_told_of_an_open_loop() -> None:
    """A note says how long a request waited for one of the 64 processes, if that is 1 ms or more
    and the loop is open."""

    def note(late_ms: float, loop: str = "open") -> list[str]:
        points = [SimpleNamespace(figures={replay.LATE: ms}) for ms in (0, late_ms)]
        return replay.late_requests_note(points, loop, 64)

    assert note(3)[0].startswith("Up to 3 ms of a response time is the wait for one of the 64")
    assert note(3, "closed") == note(0.5) == []


@pytest.mark.native
def test_dirty_blocks_at_the_end_are_told_with_the_most_of_a_run() -> None:
    """dirty: how many blocks were left dirty in each run. Runs without any, or that wrote nothing,
    get no note."""

    def note(*dirty: float, wrote: int = 9999) -> list[str]:
        """Return the notes about runs that left so many blocks dirty, and each wrote so many."""
        named = (replay.DIRTY, replay.WROTE)
        figures = [dict(zip(named, (left, wrote), strict=True)) for left in dirty]
        return replay.dirty_blocks_note([SimpleNamespace(figures=of) for of in figures])

    (said,) = note(0, 1234, 5)
    assert said.startswith("Up to 1,234 blocks were still dirty at the end: their writes are not")
    assert note(0) == note(1, wrote=0) == []


@pytest.mark.native
def test_a_cache_in_which_no_block_gives_way_is_told_with_its_size() -> None:
    """If no run with a size of the cache evicts a block, replacement policies cannot differ
    there."""

    def note(rows: list[tuple[int, int]]) -> list[str]:
        """Return the notes about points with these numbers of buffers and of evicted blocks."""
        named = (replay.EVICTIONS, replay.DIRTY_VICTIMS)
        points = [
            SimpleNamespace(point={"nbuf": n}, figures=dict.fromkeys(named, gone))
            for n, gone in rows
        ]
        return replay.roomy_caches_note(points, 4096)

    (said,) = note([(64, 9), (2000, 0), (2000, 3)])
    assert said.startswith("With 2,000 buffers no block was evicted, so replacement policies")
    assert "--cache=" in said
    assert note([(64, 1), (2000, 3)]) == []


@ON_TWIN
def test_make_trace_says_what_is_usual_and_what_to_know_of_its_figures(
    asked, tmp_path, capsys
) -> None:
    """Notes below the table, which the page has as well."""
    assert replay.execute(asked(policies="replace=lru|arc, write=delayed|through", count=60))
    said = capsys.readouterr().out
    page = Path(re.search(r"^page:  (.*)$", said, re.M)[1]).read_text()
    for words in (
        "Usual, if a row names no other: update=aipu, write=delayed, sched=clook, replace=lru, "
        "prefetch=none, and a cache of 4,096 buffers of 4 KiB.",
        "With 4,096 buffers no block was evicted",
        "1 run each, so no interval.",
    ):
        assert words in said and words in page
    assert re.search(r"^Up to \d+ blocks were still dirty at the end", said, re.M)


@pytest.mark.native
def test_the_cache_may_be_a_part_of_the_blocks_that_are_read(asked, tmp_path: Path) -> None:
    """--cache is in percent of the 200 blocks that the trace reads."""
    path = tmp_path / "cs.trace"
    path.write_text("".join(f"{i}\n" for i in range(200)) + "*\n7\n")
    given = {"trace": path, "policies": "replace=lru|arc"}
    assert replay.sweep_axes_text(asked(**given)) == "arm=usual, replace=lru|arc"
    over = replay.sweep_axes_text(asked(**given, cache="10, 50"))
    assert over == "arm=usual, replace=lru|arc, nbuf=20|100"
    assert replay.sweep_axes_text(asked(trace=path, cache="25")).endswith(", nbuf=50")


def test_a_replay_speaks_of_its_own_options(asked, capsys) -> None:
    """The errors of a replay name options of `replay`, and neither the experiment that it writes
    nor --over."""
    for given, why in (
        (["--policies", "lur=x"], "--policies: lur=x: unknown"),
        (["--format", "msr"], f"{asked().trace}:1: "),
    ):
        assert enter("replay", asked().trace, "--through=files", *given) == 2
        assert capsys.readouterr().err.startswith(why)
    assert replay.describe_error("x.toml:9: t: take fit = pack") == "t: take --fit=pack"
    assert replay.describe_error("t: scale = 1e-17: the last") == "t: --scale=1e-17: the last"
