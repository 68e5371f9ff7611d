"""Policies that adapt to the load: what each promises, in the kernel and in virtual time.

The fixture `lab` runs a script in a machine of virtual time. It returns a LabRun (lab_writes.py),
which has every write of a dirty block, with the block's age at that time. The cache has 1200 blocks
of 4 KiB, unless a test says another nbuf.
"""

import json
import re

import pytest
from conftest import MakeImage
from lab_writes import Lab, LabRun, lab_of

SLACK_S = 0.05  # of the daemon: to wake and to start writes


@pytest.fixture
def lab(make_image: MakeImage) -> Lab:
    """Return the function that runs a script; see the head of this file."""
    return lab_of(make_image)


def ages_s(run: LabRun) -> list[float]:
    """Return how old each block of a file was when it was written, the youngest first."""
    return sorted(write.age_s for write in run.of_files())


def test_ldcl_spreads_what_became_dirty_at_one_moment_over_its_range(lab: Lab) -> None:
    """60 blocks become dirty at once. The policy ldcl writes them from age 50 s to 60 s, so six in
    each second. With a range of 0 it writes all at once."""
    burst = "iogen bs=4k nr=60 rw=write filename=/w\nsleep 70\n"
    spread = lab(burst, "update=ldcl")
    assert len(spread.of_files()) == 60
    assert spread.most_in_a_second() == 6
    assert ages_s(spread)[0] >= 50 and ages_s(spread)[-1] < 61 + SLACK_S
    assert lab(burst, "update=ldcl ldcl.range_s=0").most_in_a_second() == 60


# 60 dirty blocks of 600 allow a queue of 4; six readers make it longer, for 20 s.
BESIDE_READERS = f"""
iogen bs=4k name=w nr=60 rw=write filename=/w -- {
    " -- ".join(f"name=r{i} rw=randread filename=/r{i} runtime_s=20" for i in range(6))
} > /dev/null
sleep 30
"""


def test_hac_waits_for_a_queue_to_become_short_but_not_longer_than_its_age(lab: Lab) -> None:
    """The readers end after 20 s, so most of the 60 writes start then, and the last one at its age
    of 30 s at the latest. If the queue may be 1000 requests long, all start at once."""
    args = "update=hac nbuf=600 drive_depth=1"
    ages = ages_s(lab(BESIDE_READERS, f"{args} hac.queue=4"))
    assert len(ages) == 60
    assert ages[0] > 19 and sum(age < 23 for age in ages) > 40
    assert ages[-1] < 30 + 0.1 + SLACK_S
    assert ages_s(lab(BESIDE_READERS, f"{args} hac.queue=1000"))[-1] < 1


def test_linux_writes_at_a_scan_each_5_s_and_at_once_above_its_limit(lab: Lab) -> None:
    """The policy linux scans each 5 s. A disk that was idle has no share of the dirty limit, so the
    next scan writes its blocks. A disk that has just written 8 MiB has a share, so a file is
    written when its oldest block is 30 s old. Above the limit, 10 % of the 1200 blocks, writes
    start at once."""
    few = "iogen bs=4k nr=10 rate_iops=5 rw=write filename=/x\nsleep 40\n"
    idle = ages_s(lab("sleep 60\n" + few, "update=linux"))
    assert len(idle) == 10 and idle[-1] <= 5 + SLACK_S
    fill = "iogen bs=64k nr=64 rw=write filename=/w\nsync\n" * 2
    busy = ages_s(lab(fill + few, "update=linux"))[-10:]
    assert busy[0] >= 28 and 30 <= busy[-1] <= 35 + SLACK_S
    fast = "iogen bs=4k nr=500 rate_iops=50 rw=write filename=/x\nsleep 40\n"
    run = lab(fast, "update=linux")
    assert run.most_dirty == 1200 // 10 + 1 and ages_s(run)[0] < 5


def test_a_throttled_writer_waits_at_the_limit(lab: Lab) -> None:
    """The limit is 5 % of the 1200 blocks. Without it the writer dirties all of its 900 blocks."""
    script = "iogen bs=4k nr=900 rw=write filename=/x\nsleep 40\n"
    free = lab(script, "update=linux linux.background_percent=100")
    assert free.most_dirty >= 900 and free.count("bio.throttled") == 0
    args = "update=linux write=throttled throttled.dirty_percent=5 linux.background_percent=100"
    run = lab(script, args)
    assert run.most_dirty <= 1200 // 20 + 1 and run.count("bio.throttled") > 0


def mean_high_mark(lab: Lab, rate_iops: int) -> float:
    """Return the mean high mark of 20 s with rate_iops writes a second, after 20 s with ten."""
    run = lab(
        "iogen bs=4k rate_iops=10 runtime_s=20 rw=write filename=/w\ngrep ahlw /dev/stat\n"
        f"iogen bs=4k rate_iops={rate_iops} runtime_s=20 rw=write filename=/x\n",
        "update=ahlw",
    )
    before = {
        name: int(n) for name, n in re.findall(r"^ahlw\.(\w+) (\d+)", run.console, flags=re.M)
    }
    steps = run.count("ahlw.steps") - before["steps"]
    return (run.count("ahlw.high_sum") - before["high_sum"]) / steps


def test_ahlw_lowers_its_high_mark_as_writers_become_faster(lab: Lab) -> None:
    """The high mark is the number of dirty blocks at which the daemon begins to write. Twice and
    four times as many writes a second should have it at about a half and a fourth."""
    assert 0.4 < mean_high_mark(lab, 20) / mean_high_mark(lab, 10) < 0.8
    assert 0.2 < mean_high_mark(lab, 40) / mean_high_mark(lab, 10) < 0.6


# A reader of 475 blocks beside a writer; both together do not fit the cache of 600.
SHARED = """
iogen bs=4k name=w rate_iops=50 runtime_s=60 rw=write filename=/w -- \
 name=r rw=randread filename=/x size=1900k thinktime_us=10000 runtime_s=60
"""
MARKS = "nbuf=600 ahlw.high_percent=40 awol.high_percent=40"


def test_awol_gives_readers_the_memory_that_write_buffering_takes_from_them(lab: Lab) -> None:
    """The policy awol counts reads of blocks that dirty ones have displaced (ghost misses), and
    lowers its high mark for them. With ahlw, which does not, readers miss more often."""
    runs = {name: lab(SHARED, f"update={name} {MARKS}") for name in ("ahlw", "awol")}
    assert runs["awol"].count("awol.ghost_misses") > 0
    assert runs["awol"].count("bio.misses") < 0.98 * runs["ahlw"].count("bio.misses")
    steps = runs["ahlw"].count("ahlw.steps")
    assert steps == runs["awol"].count("awol.steps")
    assert runs["awol"].count("awol.high_sum") < 0.8 * runs["ahlw"].count("ahlw.high_sum")


# A burst of a hundred writes beside a reader that always has a read outstanding.
BURST = """
iogen bs=4k name=w nr=100 rw=write filename=/w -- name=r rw=randread filename=/x nr=500
"""


def worst_read_ms(run: LabRun) -> float:
    """Return the longest response time of the job that reads."""
    line = next(line for line in run.console.splitlines() if '"rw":"randread"' in line)
    return json.loads(line.removeprefix("iogen "))["response_ns"]["max"] / 1e6


def test_oaw_keeps_a_burst_of_writes_out_of_the_way_of_reads(lab: Lab) -> None:
    """The policy oaw holds writes back while reads are outstanding, and releases some later."""
    args = "update=aipu nbuf=400 cluster_kb=0 sched=fcfs oaw.floor=5"
    asynchronous, held_back = (lab(BURST, f"{args} write={name}") for name in ("async", "oaw"))
    assert worst_read_ms(held_back) < 0.3 * worst_read_ms(asynchronous)
    assert held_back.count("oaw.held_back") > 50
    assert 0 < held_back.count("oaw.released") < held_back.count("oaw.held_back")


def test_oaw_with_delayed_writes_holds_back_only_what_is_due(lab: Lab) -> None:
    """With oaw.delay=1 a write waits for the update policy first, until its age of 5 s. Only then
    does oaw hold it back."""
    args = "update=ipu ipu.age_ms=5000 nbuf=400 cluster_kb=0 write=oaw oaw.floor=5 oaw.delay=1"
    run = lab(BURST + "sleep 30\n", args)
    assert ages_s(run)[0] >= 5
    assert run.count("oaw.held_back") > 50
    assert run.count("oaw.released") == run.count("oaw.held_back")


def test_oaw_releases_all_that_is_held_back_when_the_disk_is_idle(lab: Lab) -> None:
    run = lab(BURST + "sleep 20\n", "update=none nbuf=400 cluster_kb=0 write=oaw oaw.floor=5")
    assert run.count("oaw.held_back") > 50
    assert run.count("oaw.released") == run.count("oaw.held_back")
