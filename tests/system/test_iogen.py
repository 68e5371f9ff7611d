"""The load generator iogen: which blocks its jobs read and write, when, and what it prints.

The fixture `lab` runs a script in a machine of virtual time and returns a Run. The drive `fixed`
takes 10 ms for each command; with `none` the disk takes no time. A line of iogen's log is one I/O.
Random numbers are compared with a model of the generator, written from what iogen's head says.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from pathlib import Path

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.host.paths import ROOT
from sluice.system import image
from sluice.system.qemu import Config, Disk

MASK = (1 << 64) - 1  # of a number of 64 bits
FILES = ("--file", "/data=2M", "--file", "/w=2M")
BLOCK = 4096
BLOCKS = (2 << 20) // BLOCK  # of each file
# What a job draws random numbers for, from a stream of their own each: the block, read or write,
# the time of arrival, the order of popularity, the data, and whether a write is a partial one.
WHERE, WHICH, WHEN, SHUFFLE, _DATA, PARTIAL = range(6)


@dataclass(frozen=True)
class Run:
    """A console, and the image as the machine has left it."""

    console: str
    image: Path

    def jobs(self) -> list[dict]:
        """Return what iogen has printed."""
        lines = [s for s in self.console.splitlines() if s.startswith("iogen {")]
        return [json.loads(line.removeprefix("iogen ")) for line in lines]

    def log(self, path: str = "/log") -> list[tuple[int, int, int, str]]:
        """Return the rows of a log: start_ns, response_ns, block, r or w."""
        lines = image.read_file(self.image, path).decode().splitlines()
        return [
            (int(start), int(response), int(block), kind)
            for start, response, block, kind in map(str.split, lines)
        ]

    def changed(self, name: str) -> int:
        """Return by how much a counter grew, as iostat has it."""
        found = re.search(rf"^{re.escape(name)} +(\d+) ", self.console, re.M)
        return int(found[1]) if found else 0


Lab = Callable[..., Run]


@pytest.fixture
def lab(make_image: MakeImage) -> Lab:
    """Runs a script in lab mode, with files /data and /w."""

    def run(script: str, args: str = "drive=fixed", status: int = 0) -> Run:
        path = make_image(rc=script, options=FILES)
        result = run_rc(Config((Disk(path),), args=f"{args} check=1", lab=True))
        assert result.status == status, result.console
        return Run(result.console, path)

    return run


# ---- a model of the random numbers, as iogen's head and random.c state them ----


def splitmix64(state: int) -> Iterator[int]:
    """Yield the random numbers of the generator SplitMix64 from this state on."""
    while True:
        state = state + 0x9E3779B97F4A7C15 & MASK
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        yield z ^ z >> 31


def stream(seed: int, job: int, use: int) -> Iterator[int]:
    """Return the random numbers of a job for one use, such as WHERE."""
    for add in (job, use):
        seed = next(splitmix64(seed)) + add & MASK
    return splitmix64(next(splitmix64(seed)))


def shuffled(n: int, numbers: Iterator[int]) -> list[int]:
    """Return 0 to n - 1 in a random order, by the shuffle that Fisher and Yates describe."""
    items: list[int] = []
    for r in range(n):
        other = next(numbers) * (r + 1) >> 64
        items.append(r)
        items[r], items[other] = items[other], r
    return items


def zipf_weights(n: int, theta: float) -> list[float]:
    """Return the weights of n blocks, the most popular first: rank to the power of -theta."""
    return [r**-theta for r in range(1, n + 1)]


# ---- tests ----

JOBS = """
iogen seed={seed} name=a rw=randrw filename=/w nr=60 rate_iops=40 arrival=poisson log=/log -- \
name=b rw=zipf filename=/data nr=60
"""


def test_the_same_words_give_the_same_bytes(lab: Lab) -> None:
    """Two runs with one seed print the same and leave the same image; another seed reads other
    blocks."""
    args = "drive=rz58"
    runs = [lab(JOBS.format(seed=7), args) for _ in range(2)]
    assert len({(run.console, run.image.read_bytes()) for run in runs}) == 1
    other = lab(JOBS.format(seed=8), args)
    assert [io[2] for io in other.log()] != [io[2] for io in runs[0].log()]


def test_random_blocks_are_those_of_the_stated_generator(lab: Lab) -> None:
    """A random number x of 64 bits becomes the block x * BLOCKS / 2^64."""
    run = lab("iogen rw=randread filename=/data nr=200 seed=5 log=/log")
    numbers = islice(stream(5, 0, WHERE), 200)
    assert [io[2] for io in run.log()] == [x * BLOCKS >> 64 for x in numbers]


def test_a_mix_has_its_share_of_reads(lab: Lab) -> None:
    """An I/O is a read if its random number, scaled to 0 to 99, is below 30. Of 200 I/Os 60 should
    be reads; 40 to 80 are within three standard deviations."""
    run = lab("iogen rw=randrw rwmixread=30 filename=/w nr=200 seed=5 log=/log", "drive=none")
    numbers = islice(stream(5, 0, WHICH), 200)
    assert [io[3] for io in run.log()] == ["r" if x * 100 >> 64 < 30 else "w" for x in numbers]
    (job,) = run.jobs()
    assert job["reads"] + job["writes"] == job["ios"] == 200
    assert 40 <= job["reads"] <= 80


def test_a_job_without_an_end_passes_once_over_its_part_of_the_file(lab: Lab) -> None:
    """The part has 512 KiB from offset 64 KiB on: 32 blocks of 16 KiB. The log counts blocks from
    the part's beginning."""
    run = lab("iogen rw=read filename=/data offset=64k size=512k bs=16k log=/log")
    (job,) = run.jobs()
    assert (job["ios"], job["bytes"], job["errors"]) == (32, 512 << 10, 0)
    assert [io[2] for io in run.log()] == list(range(32))


def test_sequential_jobs_go_round(lab: Lab) -> None:
    """After the last of its four blocks, a job of ten writes goes on with the first."""
    run = lab("iogen rw=write filename=/w size=16k nr=10 log=/log")
    assert [io[2] for io in run.log()] == [i % 4 for i in range(10)]
    assert [io[3] for io in run.log()] == ["w"] * 10


def test_a_closed_loop_starts_an_io_when_the_last_is_done_and_thought_about(lab: Lab) -> None:
    """From the end of a read to the next one, the job thinks for 7 ms, and computes for less than
    0.5 ms. With the drive's 10 ms, an I/O takes less than 18 ms."""
    run = lab("iogen rw=randread filename=/data nr=50 thinktime_us=7000 log=/log")
    (job,) = run.jobs()
    assert job["ios"] == 50 and job["late_ns"] == 0
    for (start, response, *_), (following, *_) in pairwise(run.log()):
        assert 7_000_000 <= following - start - response < 7_500_000
    assert 49 * 7_000_000 < job["elapsed_ns"] < 50 * 18_000_000


def test_a_closed_loop_may_think_after_several_ios_only(lab: Lab) -> None:
    """The job thinks for 1 s after each four reads. A gap is the ns from a read's end to the begin
    of the next one."""
    words = "thinktime_us=1000000 thinktime_blocks=4"
    run = lab(f"iogen rw=randread filename=/data nr=10 {words} log=/log")
    log = run.log()
    gaps = [after[0] - io[0] - io[1] for io, after in pairwise(log)]
    assert [gap >= 10**9 for gap in gaps] == [i % 4 == 0 for i in range(1, 10)]


def test_a_varying_job_is_sequential_then_random_then_of_unequal_blocks(lab: Lab) -> None:
    """The load changes after each 100 I/Os: sequential, random, Zipf, and sequential again. The hot
    blocks are the tenth that is most popular under Zipf's law."""
    words = "filename=/data seed=5 vary_ios=100"
    run = lab(f"iogen rw=vary {words} nr=400 log=/log", "drive=none")
    blocks = [io[2] for io in run.log()]
    assert blocks[:100] == list(range(100))
    random = stream(5, 0, WHERE)
    assert blocks[100:200] == [next(random) * BLOCKS >> 64 for _ in range(100)]
    hot = shuffled(BLOCKS, stream(5, 0, SHUFFLE))[: BLOCKS // 10]
    assert sum(block in hot for block in blocks[200:300]) > 40, "Zipf: two thirds are"
    assert sum(block in hot for block in blocks[100:200]) < 25, "random: a tenth"
    assert blocks[300:] == list(range(300, 400))


def test_fixed_arrivals_keep_the_rate_exactly(lab: Lab) -> None:
    """The k-th of 90 reads starts k/30 s after the job, however long the reads before it took."""
    run = lab("iogen rw=randread filename=/data nr=90 rate_iops=30 log=/log")
    (job,) = run.jobs()
    starts = [io[0] - job["start_ns"] for io in run.log()]
    assert starts == [k * 10**9 // 30 for k in range(90)]
    last_ns = 89 * 10**9 // 30
    assert last_ns < job["elapsed_ns"] <= last_ns + job["response_ns"]["max"]


def test_poisson_gaps_are_the_logarithms_of_the_stated_generator(lab: Lab) -> None:
    """The gaps of Poisson arrivals are exponentially distributed: -ln(u) / rate for a uniform u."""
    run = lab("iogen rw=randread filename=/data nr=300 rate_iops=25 arrival=poisson log=/log")
    (job,) = run.jobs()
    starts = [job["start_ns"], *(io[0] for io in run.log())]
    numbers = stream(1, 0, WHEN)
    for before, start in pairwise(starts):
        uniform = (next(numbers) | 1) / 2**64  # never 0, of which there is no logarithm
        gap_ns = -math.log(uniform) * 1e9 / 25
        assert abs(start - before - gap_ns) < 3
    assert 0.8 < job["elapsed_ns"] / (300 / 25 * 1e9) < 1.2


def test_an_open_loop_that_is_late_leaves_nothing_out_and_counts_the_wait(lab: Lab) -> None:
    """The drive does 100 reads a second, and 200 arrive. So the k-th read waits k times 5 ms, and
    then takes 10 ms itself."""
    run = lab("iogen bs=512 rw=randread filename=/dev/disk0 nr=100 rate_iops=200 log=/log")
    (job,) = run.jobs()
    assert job["ios"] == 100
    for k, (_, response_ns, *_) in enumerate(run.log()):
        expected_ns = (10 + 5 * k) * 1_000_000
        assert abs(response_ns - expected_ns) < 500_000 * (k + 1)
    assert job["late_ns"] > 99 * 5_000_000


def test_a_job_ends_after_its_runtime(lab: Lab) -> None:
    run = lab("iogen rw=randread filename=/data runtime_s=2 log=/log")
    (job,) = run.jobs()
    assert 2 * 10**9 <= job["elapsed_ns"] < 2.02 * 10**9  # the last read began before the end
    assert all(io[0] < job["start_ns"] + 2 * 10**9 for io in run.log())


def test_jobs_start_together_and_a_background_job_ends_with_its_foreground_one(lab: Lab) -> None:
    """The job `back` runs until `front` has ended, after 40 reads and 40 times 20 ms. Its last read
    begins at most 40 ms before that end: the wait for the drive and the other jobs' reads."""
    run = lab(
        "iogen filename=/data rw=randread name=back thinktime_us=1000 until=front log=/log -- "
        "name=front nr=40 thinktime_us=20000 log=/log2 -- name=third rate_iops=100 nr=20"
    )
    back, front, third = run.jobs()
    assert [job["job"] for job in (back, front, third)] == ["back", "front", "third"]
    assert back["start_ns"] == front["start_ns"] == third["start_ns"]
    assert front["ios"] == 40 and third["ios"] == 20
    end_ns = front["start_ns"] + front["elapsed_ns"]
    first, last = run.log()[0], run.log()[-1]
    assert first[0] < run.log("/log2")[1][0], "they did not run at the same time"
    assert end_ns - 40_000_000 < last[0] <= end_ns + 1_000_000


def test_a_sleeping_background_job_hears_of_the_end(lab: Lab) -> None:
    """After one read, the background job thinks for 100 s. The end of the other job, after nine
    reads, ends that sleep: the next command starts within a second."""
    job = "iogen filename=/data rw=randread name=f nr=9"
    run = lab(f"{job} -- name=b rw=read filename=/w thinktime_us=100000000 until=f\n{job}")
    front, back, after = run.jobs()
    assert (front["ios"], back["ios"]) == (9, 1)
    assert after["start_ns"] < front["start_ns"] + 1_000_000_000, "it slept on"


def test_a_job_of_several_processes_ends_when_all_of_them_have(lab: Lab) -> None:
    """The background job `back` reads until the last of the three processes of `many` has ended.
    These draw different arrival times, so they end at different times."""
    run = lab(
        "iogen filename=/data name=back rw=read until=many thinktime_us=1000 log=/log -- "
        "name=many numjobs=3 rw=randread rate_iops=10 arrival=poisson nr=20"
    )
    back, *many = run.jobs()
    assert [(job["job"], job["ios"]) for job in many] == [("many", 20)] * 3
    took_ns = sorted(job["elapsed_ns"] for job in many)
    assert took_ns[-1] - took_ns[0] > 50_000_000, "they drew the same numbers"
    end_ns = back["start_ns"] + took_ns[-1]
    assert end_ns - 100_000_000 < run.log()[-1][0] <= end_ns + 1_000_000


def test_processes_of_a_job_may_each_have_a_file(lab: Lab) -> None:
    """The processes write the files, too: /part0 to /part2 are there afterwards, as large as asked
    for."""
    run = lab(
        "iogen filename='/part$jobnum' layout=1 size=16k bs=4k name=many numjobs=3 rw=read\n"
        "cat /part0 /part1 /part2 | wc"
    )
    many = run.jobs()
    assert [job["filename"] for job in many] == ["/part0", "/part1", "/part2"]
    assert [job["bytes"] for job in many] == [16384] * 3
    assert str(3 * 16384) in run.console


@pytest.mark.parametrize("share", [25, 50])
def test_moguls_writer_dirties_its_share_of_the_cache_each_period(lab: Lab, share: int) -> None:
    """Mogul's writer writes its share of the cache, evenly, in each period of 30 s, and each block
    once. In a minute of two periods, with no update daemon, each block is dirtied once.

    Besides these blocks only the inode's block becomes dirty, if it is not dirty already by another
    inode's access time.
    """
    per_period = 400 * share // 100  # blocks: cache_blocks=400
    words = f"rw=mogul share_percent={share} cache_blocks=400 filename=/w runtime_s=60"
    run = lab(
        f"iostat iogen {words}\niogen {words} log=/log",
        "drive=rz58 nbuf=1000 update=none write=delayed",
    )
    _, job = run.jobs()
    assert [job["ios"] for job in run.jobs()] == [2 * per_period] * 2
    assert run.changed("bio.dirtied") - 2 * per_period in (0, 1)
    log = run.log()
    assert [io[2] for io in log] == list(range(2 * per_period))
    due = [io[0] - job["start_ns"] for io in log]
    assert due == [k * 30 * 10**9 // per_period for k in range(2 * per_period)]


def test_moguls_writer_is_flushed_by_periodic_update_in_bursts_of_its_share(lab: Lab) -> None:
    """In each of six periods the writer writes 80 blocks, half of 160. Periodic update flushes them
    at the period's end, so no write finds its block dirty: 80 blocks are dirtied in each period,
    with the inode's block 81."""
    run = lab(
        "iostat iogen rw=mogul cache_blocks=160 filename=/w period_s=10 runtime_s=60",
        "drive=rz58 nbuf=1000 update=pu write=delayed pu.interval_ms=10000",
    )
    assert run.jobs()[0]["ios"] == 6 * 80
    assert 6 * 80 < run.changed("bio.dirtied") <= 6 * (80 + 1) + 1


@pytest.mark.parametrize("theta", ["0.5", "1", "1.25", "0"])
def test_zipf_frequencies_are_those_of_theory(lab: Lab, theta: str) -> None:
    """A chi-square test compares how often each of 20 blocks was read with Zipf's law."""
    n, picks = 20, 4000
    run = lab(
        f"iogen rw=zipf theta={theta} filename=/data size={n * BLOCK} nr={picks} seed=3 log=/log",
        "drive=none",
    )
    counts = Counter(io[2] for io in run.log())
    weights = zipf_weights(n, float(theta))
    chi_square = 0.0
    for block, weight in zip(shuffled(n, stream(3, 0, SHUFFLE)), weights, strict=True):
        expected = picks * weight / sum(weights)
        chi_square += (counts[block] - expected) ** 2 / expected
    # With 19 degrees of freedom, chance alone exceeds 43.8 once in 1000 times.
    assert chi_square < 43.8


def test_zipf_picks_are_those_of_exact_weights(lab: Lab) -> None:
    """A random number, scaled to the sum of all weights, picks the first rank up to which the
    weights' sum exceeds it."""
    run = lab("iogen rw=zipf theta=1.1 filename=/data nr=500 log=/log", "drive=none")
    sums = list(accumulate(zipf_weights(BLOCKS, 1.1)))
    items = shuffled(BLOCKS, stream(1, 0, SHUFFLE))
    for (_, _, block, _), number in zip(run.log(), stream(1, 0, WHERE), strict=False):
        target = number / 2**64 * sums[-1]
        rank = next(r for r, upto in enumerate(sums) if target < upto)
        assert block == items[rank]


def test_the_summary_and_the_histogram_are_those_of_the_log(lab: Lab) -> None:
    """The printed figures are computed again from the log's response times. A bin of the histogram
    begins at `low` and is at most low/128 wide."""
    run = lab("iogen rw=randread filename=/data nr=400 log=/log", "drive=rz58")
    (job,) = run.jobs()
    times = sorted(io[1] for io in run.log())
    n = len(times)
    squares = sum(t * t for t in times) - sum(times) ** 2 // n  # of the deviations from the mean
    assert job["response_ns"] == {
        "min": times[0],
        "max": times[-1],
        "mean": sum(times) // n,
        "std": math.isqrt(squares // n),
    }
    counts = [count for _, count in job["histogram"]]
    assert sum(counts) == n and all(counts)
    ordered = iter(times)
    for low, count in job["histogram"]:
        for time in islice(ordered, count):
            assert low <= time and time - low <= low / 128


def test_partial_writes_are_delayed_by_async_and_whole_ones_are_not(lab: Lab) -> None:
    """The write policy `async` starts a write of a whole block at once, and delays that of a
    partial block. So only the partial ones are dirtied."""
    words = "rw=write filename=/w nr=200 seed=5 partial_percent=30"
    run = lab(f"iostat iogen {words}", "write=async update=none drive=none")
    partial = sum(x * 100 >> 64 < 30 for x in islice(stream(5, 0, PARTIAL), 200))
    assert 40 <= partial <= 80
    assert run.changed("bio.dirtied") - partial in (0, 1), "1: the inode's block"


def test_every_write_is_durable_before_the_next_with_fsync_1(lab: Lab) -> None:
    """Each write is followed by an fsync, which takes at least the 10 ms of one command."""
    run = lab(
        "sync; iostat iogen rw=randwrite filename=/w nr=30 fsync=1 seed=2 log=/log",
        "drive=fixed update=none write=delayed",
    )
    (job,) = run.jobs()
    assert job["fsyncs"] == job["writes"] == 30
    assert run.changed("disk.flushes") >= 30
    assert run.changed("disk.writes") >= 30
    assert job["fsync_ns"]["min"] >= 10_000_000, "a write of the drive takes 10 ms"
    for (start, response, *_), (following, *_) in pairwise(run.log()):
        assert following - start - response >= 10_000_000


def test_fsync_3_comes_after_every_third_write(lab: Lab) -> None:
    run = lab("iogen rw=write filename=/w nr=10 fsync=3")
    assert run.jobs()[0]["fsyncs"] == 3


def test_for_people_the_same_figures_are_a_few_lines_of_text(lab: Lab) -> None:
    """With output=text iogen prints three lines in the place of JSON: what the job did, response
    times, and times of fsync, in milliseconds. They are compared with the JSON of the same job."""
    words = "rw=randrw filename=/w nr=200 fsync=20 seed=5"
    [job] = lab(f"iogen {words}").jobs()
    run = lab(f"iogen output=text {words}", "drive=fixed")
    assert not run.jobs()
    first, responses, fsyncs = run.console[run.console.index("iogen job1:") :].splitlines()[:3]
    done = f"iogen job1: {job['reads']} reads and {job['writes']} writes of 4096 bytes in "
    assert first.startswith(done) and "failed" not in first
    for line, what in ((responses, "response_ns"), (fsyncs, "fsync_ns")):
        told = {name: float(ms) for name, ms in re.findall(r"(\w+) (\d+\.\d+)", line)}
        assert list(told) == ["mean", "median", "p99", "longest"]
        for name, key in (("mean", "mean"), ("longest", "max")):
            assert told[name] == pytest.approx(job[what][key] / 1e6, rel=0.01, abs=0.001)
        assert told["median"] <= told["p99"] <= told["longest"]
    # The histogram has bins of (lowest ns, count), each a part in 128 wide. The median is in the
    # first bin with which half of all responses are counted.
    total = sum(count for _, count in job["histogram"])
    counted = accumulate(count for _, count in job["histogram"])
    low_ns = next(
        low for (low, _), n in zip(job["histogram"], counted, strict=True) if 2 * n >= total
    )
    median_ms = float(re.search(r"median (\S+)", responses)[1])
    assert low_ns / 1e6 - 0.001 <= median_ms <= low_ns * 129 / 128 / 1e6 + 0.01
    run = lab("iogen output=text rw=write filename=/dev/disk0 nr=5", status=1)
    assert ", 5 failed\n" in run.console


def test_a_file_is_laid_out_first_when_asked(lab: Lab) -> None:
    """With layout=1 the file is made before it is read: 100 KiB behind an offset of 4 KiB."""
    run = lab(
        "iogen rw=randread filename=/new layout=1 offset=4k size=100k bs=2k nr=20\nls -l /new"
    )
    assert run.jobs()[0]["ios"] == 20
    assert len(image.read_file(run.image, "/new")) == 104 << 10


def test_failed_ios_are_counted_and_the_status_is_1(lab: Lab) -> None:
    """Writes to the disk fail because a file system is mounted from it. The reason is printed
    once, not five times."""
    run = lab("iogen rw=write filename=/dev/disk0 nr=5", status=1)
    (job,) = run.jobs()
    assert (job["ios"], job["bytes"], job["errors"], job["histogram"]) == (0, 0, 5, [])
    assert run.console.count("write of block 0: device or file busy") == 1


GOOD = "rw=randread filename=/data nr=1"
BAD = {  # words of a command, and a part of the message that refuses them
    "colour=red": "colour=red: no such option",
    f"{GOOD} bs=3q": "bs=3q: bad number",
    f"{GOOD} bs=0": "bs=0: must be 1 to 1048576",
    f"{GOOD} bs=": "bs=: no value",
    f"{GOOD} nr=2": "nr=2: number_ios is given twice",
    f"{GOOD} seed=-1": "seed=-1: bad number",
    f"{GOOD} seed=4k": "seed=4k: bad number",
    f"{GOOD} randread": "randread: no such option",
    "rw=reed filename=/data": "rw=reed: must be one of read write",
    "filename=/data": "rw= is needed",
    "rw=read": "filename= is needed",
    "rw=read filename=/nosuch": "filename=/nosuch: no such file",
    "rw=read filename=/bin": "filename=/bin: is not a file",
    "rw=read filename=/data size=4m": "size=4194304: /data has 2097152 bytes",
    "rw=read filename=/data size=10k": "size=10240: must be a multiple of bs=4096",
    "rw=read filename=/data offset=4m": "size=0: must be",
    "rw=read filename=/dev/disk0 bs=100": "bs=100: /dev/disk0 has sectors",
    f"{GOOD} theta=1": "theta= is not for randread",
    f"{GOOD} fsync=1": "fsync= is not for randread",
    f"{GOOD} share_percent=5": "share_percent= is not for",
    f"{GOOD} partial_percent=5": "partial_percent= is not for randread",
    "rw=write filename=/w bs=512 partial_percent=5": "partial_percent=5: bs=512 has no last sec",
    f"{GOOD} rwmixread=5": "rwmixread= is not for",
    f"{GOOD} arrival=poisson": "arrival=poisson: only with rate_iops=",
    f"{GOOD} thinktime_blocks=5": "thinktime_blocks=5: only with thinktime_us=",
    f"{GOOD} vary_ios=5": "vary_ios=",
    f"{GOOD} rate_iops=5 thinktime_us=5": "thinktime_us=5: not with rate_iops=",
    f"{GOOD} numjobs=33": "numjobs=33: must be 1 to 32",
    f"{GOOD} name=a numjobs=30 -- name=b numjobs=3": "more than 32 processes",
    f"{GOOD} numjobs=2 log=/x": "log=/x: only with numjobs=1",
    f"{GOOD} numjobs=2 name=a -- name=a": "name=a: another job has it",
    "rw=mogul filename=/w cache_blocks=400 numjobs=2": "numjobs= is not for mogul",
    f"{GOOD} layout=1": "layout=1: only with size=",
    f"{GOOD} until=b": "until=b: no such job",
    f"{GOOD} until=job1": "until=job1: that job has an until=",
    "rw=zipf filename=/data theta=3.5": "theta=3.5: must be 0 to 3",
    "rw=zipf filename=/data theta=1.2345": "theta=1.2345: bad number",
    "rw=mogul filename=/w": "cache_blocks= is needed",
    "rw=mogul filename=/w cache_blocks=400 rate_iops=5": "rate_iops= is not for mogul",
    "rw=mogul filename=/w cache_blocks=520": "size=2097152: 512 blocks; rw=mogul writes 520 a min",
    "rw=mogul filename=/w cache_blocks=400 bs=1k": "bs=1024: for rw=mogul the cache's blocks",
    f"{GOOD} name=a -- name=a": "name=a: another job has it",
    f"{GOOD} name=a -- bs=8k": "job 2 has no name=",
    f"log=/x {GOOD} name=a -- name=b rw=read filename=/w": "log=/x: job a has it",
    "rw=write filename=/made layout=1 size=4k name=a -- name=b rw=x": "rw=x: must be one of",
    "rw=write layout=1 size=8k name=a filename=/made -- name=b filename=/w until=c": "until=c: no",
}


def test_impossible_words_are_refused_by_name_before_any_io(lab: Lab) -> None:
    """BAD has words and the message for them. The status is 2, and no file is made."""
    lines = [f"iogen {words}; echo status $?" for words in BAD]
    run = lab("\n".join([*lines, "test -e /made; echo made $?"]))
    said = re.findall(r"^iogen: (.*)\n.*?status (\d+)$", run.console, re.M)
    assert len(said) == len(BAD), run.console
    for (words, message), (text, status) in zip(BAD.items(), said, strict=True):
        assert message in text and status == "2", f"{words}: {text}: {status}"
    assert not run.jobs()
    assert "made 1" in run.console, "the first job's file was made"


def test_words_before_the_first_name_hold_for_all_jobs(lab: Lab) -> None:
    run = lab("iogen rw=read filename=/data bs=8k -- name=a nr=3 -- name=b nr=4 bs=16k")
    assert [(job["job"], job["bs"], job["ios"]) for job in run.jobs()] == [
        ("a", 8192, 3),
        ("b", 16384, 4),
    ]


def test_help_tells_every_option_with_its_range_and_default(lab: Lab) -> None:
    """The options are the rows of the program's table."""
    text = lab("iogen -h").console
    rows = re.findall(r'ROW\("(\w+)"', (ROOT / "user/load/iogen/options.c").read_text())
    assert len(rows) > 15
    for name in rows:
        assert re.search(rf"^  {name}=\S+  \w", text, re.M), name
    assert "1 to 1048576; default 4k" in text


def test_ten_thousand_reads_beside_moguls_writer_take_seconds(make_image: MakeImage) -> None:
    """Mogul's experiment at its size: five minutes of disk time. The cache has 1228 blocks, of
    which the writer dirties half, 614, in each 30 s."""
    options = ("--file", "/data=34M", "--file", "/w=10M")
    rc = (
        "iogen name=w rw=mogul filename=/w cache_blocks=1228 until=r -- "
        "name=r rw=randread filename=/data nr=10000\n"
    )
    path = make_image(rc=rc, size="64M", options=options)
    args = "drive=rz58 nbuf=1228 update=pu write=delayed sched=fcfs cluster_kb=0"
    result = run_rc(Config((Disk(path),), args=args, lab=True))
    writer, reader = Run(result.console, path).jobs()
    assert reader["ios"] == 10000 and reader["errors"] == writer["errors"] == 0
    expected = reader["elapsed_ns"] * 614 / 30e9
    assert abs(writer["ios"] - expected) < 620  # about one period's writes
    assert reader["response_ns"]["max"] > 1_000_000_000, "periodic update makes reads wait"
