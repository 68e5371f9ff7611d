"""Prefetching in the kernel: what each policy promises, in virtual time and in counters."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from conftest import MakeImage

from grade.experiment import devtext
from grade.machine import Config, Disk, run_rc

BLOCK = 8192
DATA_BLOCKS = 3072  # of /data
FILES = ("--file", f"/data={DATA_BLOCKS * BLOCK}", "--file", "/w=1M")
TELL = "echo @stat; cat /dev/stat; echo @end\n"
# The drive rz58 has 96 sectors to a track in its outer zone and turns 90 times a second.
RZ58_MEDIA_BYTES_S = 96 * 512 * 90

SEQUENTIAL = "iogen rw=read bs={bs} filename=/data"
RANDOM = "iogen rw=randread bs=8k filename=/data nr=2000"


@dataclass(frozen=True)
class Run:
    """What iogen's jobs printed, and what was counted during them."""

    jobs: list[dict]
    before: devtext.Counters
    after: devtext.Counters

    def count(self, name: str) -> int:
        return self.after[name][0] - self.before[name][0]

    def bytes_s(self) -> float:
        return sum(job["bytes"] for job in self.jobs) / self.elapsed_s()

    def elapsed_s(self) -> float:
        return max(job["elapsed_ns"] for job in self.jobs) / 1e9


Lab = Callable[..., Run]


@pytest.fixture
def lab(make_image: MakeImage) -> Lab:
    """lab(script, "prefetch=bsd44 nbuf=600"): a run of the script with files /data and /w."""

    def run(script: str, args: str, files: tuple[str, ...] = FILES, size: str = "64M") -> Run:
        path = make_image(rc=TELL + script + "\n" + TELL, options=files, block="8K", size=size)
        result = run_rc(Config((Disk(path),), args=f"check=1 {args}", lab=True))
        assert result.status == 0, result.console
        _, before, rest, after, _ = re.split(r"^@(?:stat|end)\n", result.console, flags=re.M)
        jobs = [json.loads(line) for line in re.findall(r"^iogen (\{.*\})$", rest, re.M)]
        return Run(jobs, devtext.stat(before), devtext.stat(after))

    return run


@pytest.mark.parametrize("bs", ["8k", "64k"])
@pytest.mark.parametrize("policy", ["bsd44", "cluster", "ondemand"])
def test_sequential_reads_reach_the_drives_media_rate(lab: Lab, policy: str, bs: str) -> None:
    run = lab(SEQUENTIAL.format(bs=bs), f"drive=rz58 nbuf=600 prefetch={policy}")
    assert run.bytes_s() >= 0.9 * RZ58_MEDIA_BYTES_S
    assert run.count("bio.ahead_wasted") == 0
    assert run.count("bio.ahead_used") == run.count("bio.ahead") > 0.95 * DATA_BLOCKS


def test_without_prefetching_they_do_not(lab: Lab) -> None:
    run = lab(SEQUENTIAL.format(bs="8k"), "drive=rz58 nbuf=600 prefetch=none")
    assert run.bytes_s() < 0.7 * RZ58_MEDIA_BYTES_S
    assert run.count("bio.ahead") == 0


@pytest.mark.parametrize("policy", ["oneblock", "bsd44", "ondemand"])
@pytest.mark.parametrize("drive", ["rz58", "cheetah4lp"])
def test_random_reads_cost_no_more_than_one_percent_over_none(
    lab: Lab, drive: str, policy: str
) -> None:
    none, with_policy = (
        lab(RANDOM, f"drive={drive} nbuf=300 prefetch={name}") for name in ("none", policy)
    )
    assert with_policy.elapsed_s() <= 1.01 * none.elapsed_s()
    assert with_policy.count("bio.ahead") > 0


def test_cluster_reads_what_is_near_wherever_the_head_is(lab: Lab) -> None:
    none, cluster = (
        lab(RANDOM, f"drive=rz58 nbuf=4000 prefetch={name}") for name in ("none", "cluster")
    )
    # All fits the cache, and most is asked for: fewer trips, and fewer waits.
    assert cluster.count("bio.misses") < 0.7 * none.count("bio.misses")
    assert cluster.elapsed_s() < 0.9 * none.elapsed_s()


def test_what_is_read_ahead_is_used_wasted_or_still_there(lab: Lab) -> None:
    run = lab(RANDOM, "drive=fixed nbuf=100 prefetch=cluster")
    counts = [run.count(f"bio.ahead{of}") for of in ("_used", "_wasted", "_unused")]
    assert sum(counts) == run.count("bio.ahead")
    assert all(counts)
    assert counts[2] <= 25  # its share of the cache


def test_a_block_asked_for_while_its_read_is_under_way_is_late(lab: Lab) -> None:
    run = lab(SEQUENTIAL.format(bs="8k"), "drive=fixed cluster_kb=0 nbuf=600 prefetch=oneblock")
    # There is no computing between two reads: every block is still on its way.
    assert run.count("bio.ahead_late") > 0.99 * run.count("bio.ahead_used") > 0.9 * DATA_BLOCKS


def test_prefetching_writes_nothing_dirty_to_make_room(lab: Lab) -> None:
    script = "sync; iogen rw=write bs=8k filename=/w nr=50; " + SEQUENTIAL.format(bs="8k")
    args = "drive=fixed nbuf=64 update=none write=delayed"
    # From the sync on: 14 buffers are left to the reader.
    run = lab(script, f"{args} prefetch=ondemand")
    none = lab(script, f"{args} prefetch=none")
    assert run.count("bio.written") == none.count("bio.written")
    assert run.count("bio.ahead") > 0
    assert run.after["bio.dirty"][0] >= 50


def test_a_share_of_nothing_prefetches_nothing(lab: Lab) -> None:
    run = lab(SEQUENTIAL.format(bs="8k"), "drive=fixed nbuf=600 prefetch=bsd44 prefetch_percent=0")
    assert run.count("bio.ahead") == 0


def test_ondemand_shrinks_its_window_where_the_cache_is_too_small(lab: Lab) -> None:
    args = "drive=rz58 nbuf=80 prefetch=ondemand ondemand.max_kb=512"
    run = lab(SEQUENTIAL.format(bs="8k"), args)
    assert run.count("ondemand.shrunk") > 0
    assert run.count("bio.ahead_wasted") == 0
    assert run.bytes_s() >= 0.9 * RZ58_MEDIA_BYTES_S
