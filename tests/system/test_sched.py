"""Schedulers in the kernel: what each promises to reads and writes, in virtual time.

The fixture `lab` runs a script in a machine of virtual time, with files /a, /w and /z one after
another on the disk, and returns a Run. On the drive `fixed` each command takes 10 ms, so a limit is
a number of commands: what may be in service before a request, and the request itself. A few tenths
of a command more are allowed for computing. A candidate is a dirty block that a scheduler may write
early, before the update policy would.
"""

import json
import re
from dataclasses import dataclass

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.system import devtext
from sluice.system.qemu import Config, Disk

FILES = ("--file", "/a=8M", "--file", "/w=1M", "--file", "/z=8M")
SERVICE_MS = 10
READERS_MS = 4000  # the least that the readers of LOAD need, for 400 reads

# A writer of 20 blocks a second, each written at once, while there is always a read in
# the queue: the two readers are in the drive and in the queue by turns.
LOAD = """
iogen bs=4k name=w rw=randwrite filename=/w nr=40 rate_iops=20 -- \
 name=a rw=randread filename=/a nr=200 -- name=z rw=randread filename=/z nr=200
sleep 2
"""
TELL = "echo @stat; cat /dev/stat; echo @hist; cat /dev/hist; echo @end\n"

# A job reads one file while another file becomes dirty, which no update policy writes back. In
# BETWEEN, jobs read on both sides of the dirty file.
DIRTY = """
iogen bs=4k name=w rw=randwrite filename=/w rate_iops=20 until=a -- \
 name=a rw=randread filename=/a nr=400
"""
BETWEEN = DIRTY.rstrip() + " -- name=z rw=randread filename=/z nr=400\n"


@dataclass(frozen=True)
class Run:
    """The report of iogen on a run's jobs, and /dev/stat and /dev/hist at its end."""

    jobs: dict[str, dict]
    stat: devtext.Counters
    hist: devtext.Histograms

    def count(self, name: str) -> int:
        """Return a counter of /dev/stat."""
        return self.stat[name][0]

    def worst_ms(self, kind: str) -> float:
        """Return the longest response of a read or a write."""
        return self.hist[f"disk0.{kind}_response"]["buckets"][-1][1] / 1e6

    def mean_ms(self, kind: str) -> float:
        """Return the mean response of a read or a write."""
        row = self.hist[f"disk0.{kind}_response"]
        return row["sum"] / row["count"] / 1e6


@pytest.fixture
def lab(make_image: MakeImage):
    """Return the function that runs a script: lab(script, "sched=clook")."""

    def run(script: str, args: str, **machine) -> Run:
        path = make_image(rc=script + TELL, options=FILES)
        result = run_rc(Config((Disk(path),), args=f"{args} check=1", lab=True, **machine))
        assert result.status == 0, result.console
        said, stat, hist, _ = re.split(r"^@\w+\n", result.console, flags=re.M)
        jobs = [json.loads(line) for line in re.findall(r"^iogen (.*)$", said, flags=re.M)]
        by_name = {job["job"]: job for job in jobs}
        return Run(by_name, devtext.parse_stat(stat), devtext.parse_histograms(hist))

    return run


@pytest.fixture
def worst_ms(lab):
    """Return a function: worst_ms("clook") is the longest response under LOAD, in ms, of a read and
    of a write."""

    def run(sched: str) -> tuple[float, float]:
        done = lab(LOAD, f"sched={sched} drive=fixed nbuf=64 write=async update=none")
        return done.worst_ms("read"), done.worst_ms("write")

    return run


def test_purp_has_a_read_wait_for_one_write_at_most_and_starves_writes(worst_ms) -> None:
    read_ms, write_ms = worst_ms("purp")
    # A read waits for the write in service and the other reader's read, and has its own service.
    assert read_ms < 3.2 * SERVICE_MS
    assert write_ms > READERS_MS


def test_purp_with_a_bound_lets_no_write_wait_much_longer(worst_ms) -> None:
    bound_ms = 500
    _, write_ms = worst_ms(f"purp purp.bound_ms={bound_ms}")
    # The write waits for the request in service, and for the writes that are due before this write.
    assert bound_ms < write_ms < bound_ms + 5 * SERVICE_MS


def test_deadline_has_a_write_wait_for_two_batches_of_its_kind_at_most(worst_ms) -> None:
    """deadline dispatches batches of reads, and a batch of writes after two of reads. A write may
    miss the first batch of writes, if that begins at a sector beyond the write."""
    batch = 4
    read_ms, write_ms = worst_ms(f"deadline deadline.fifo_batch={batch}")
    # Twice two batches of reads, and 3 commands: in service, and the writes themselves.
    assert write_ms < (2 * 2 * batch + 3) * 1.1 * SERVICE_MS
    assert read_ms < (batch + 3) * 1.1 * SERVICE_MS


@pytest.mark.parametrize("sched", ["clook", "cscan", "fcfs", "scan"])
def test_a_sweep_or_an_order_of_arrival_starves_nobody(worst_ms, sched: str) -> None:
    """These schedulers sweep over the disk or keep the order of arrival. No request waits for a
    tenth of the time that all reads take."""
    assert max(worst_ms(sched)) < READERS_MS / 10


READS, STROKE_MS = 200, 21.9  # reads of each reader; a seek over all cylinders of the RZ58
READERS = " -- ".join(f"name=r{i} rw=randread filename=/{i} nr={READS}" for i in "awz")


def test_cscan_pays_for_the_seek_to_the_end_and_back(lab) -> None:
    """C-SCAN seeks to the last cylinder after each sweep, and back to the first. C-LOOK does not.
    The files lie at the disk's beginning, so the two seeks are nearly twice the whole stroke."""
    args = "drive=rz58 nbuf=64 update=none"
    look, scan = (lab(f"iogen bs=4k {READERS}\n", f"sched={s} {args}") for s in ("clook", "cscan"))
    returns, ms = scan.count("cscan.returns"), scan.count("cscan.travelled") / 1e6
    assert 1.8 * STROKE_MS < ms / returns < 2 * STROKE_MS
    # Each reader waits for all these seeks. But requests gather during a seek, and then a sweep
    # serves more of them, so the mean read takes less than the whole of this time more.
    more_ms = scan.mean_ms("read") - look.mean_ms("read")
    assert 0.6 < more_ms / (ms / READS) < 1


@pytest.mark.parametrize("way_us", [0, 500])
def test_freeblock_writes_dirty_blocks_and_reads_take_no_longer(lab, way_us: int) -> None:
    """freeblock writes a candidate while the head waits for a read's sector anyway (a free write).
    way_us: how long a command travels to the drive, which the policy must take into account."""
    args = f"drive=cheetah4lp drive_depth=1 drive_command_us={way_us} nbuf=600"
    args += " write=delayed update=none"
    plain, free = lab(DIRTY, f"sched=clook {args}"), lab(DIRTY, f"sched=freeblock {args}")
    written = free.count("bio.written") - plain.count("bio.written")
    assert written > 50
    assert free.count("freeblock.late") < 0.05 * written
    # 3 % are for the search of candidates.
    assert free.mean_ms("read") < 1.03 * plain.mean_ms("read")


@pytest.mark.parametrize("shift", [2, 4, 6])
def test_a_free_write_is_in_time_whatever_the_processor_takes_to_make_it(lab, shift: int) -> None:
    """shift: an instruction takes 2^shift ns, so the fastest processor is 16 times as fast as the
    slowest one. The policy learns how late its commands reach the drive."""
    args = "drive=rz58 nbuf=600 write=delayed update=none sched=freeblock"
    run = lab(DIRTY.replace("nr=400", "nr=1600"), args, cpu_shift=shift)
    assert run.count("freeblock.free") > 50
    assert run.count("freeblock.late") <= 1  # the one from which the policy learns


def test_writes_into_the_cache_cost_little_more_under_sluice(lab) -> None:
    """The cache holds all blocks, and the disk is idle. The scheduler sluice is not queried for
    each block that a program modifies, so the writes take at most 2 % longer than with clook."""
    script = "iogen bs=4k name=w rw=randwrite filename=/w nr=2000\n"
    args = "drive=rz58 nbuf=3000 write=delayed update=ipu"
    look, sluice = (lab(script, f"sched={s} {args}") for s in ("clook", "sluice"))
    assert sluice.jobs["w"]["elapsed_ns"] < 1.02 * look.jobs["w"]["elapsed_ns"]


def test_what_one_scheduler_lets_wait_does_not_wait_for_long_with_the_next(lab) -> None:
    """sluice lets a write wait while it expects another read (sluice.pause). Then clook replaces it
    and must dispatch that write, although no new request comes."""
    # `policy` and `sleep` run once before, so that the cache has their programs.
    script = """
policy > /dev/null; sleep 0
iogen bs=4k name=a rw=randread filename=/a nr=1 -- name=w rw=randwrite filename=/w nr=1
policy use sched clook
sleep 3
"""
    args = "sched=sluice sluice.pause=1000 drive=rz58 nbuf=600 write=async update=none"
    assert lab(script, args).worst_ms("write") < 1000


def test_opportunistic_writes_on_its_way_and_delays_a_read_by_one_command(lab) -> None:
    """A candidate near the way to the next read is written before that read."""
    args = "drive=fixed nbuf=600 write=delayed update=none"
    run = lab(BETWEEN, f"sched=opportunistic opportunistic.near_sectors=100000 {args}")
    assert run.count("opportunistic.taken") > 20
    assert run.count("disk.offers_taken") >= run.count("opportunistic.taken")
    # A read waits for the command in service, for a write on the way and the other job's read, and
    # for a write on its own way: with itself five commands.
    assert run.worst_ms("read") < 5.2 * SERVICE_MS


def test_wow_keeps_what_is_dirty_under_its_mark_while_the_disk_has_time(lab) -> None:
    """wow writes groups of neighbouring candidates while more blocks are dirty than its marks
    allow. It passes over a group that was modified again (wow.spared)."""
    low, high = 30, 60
    args = f"drive=fixed nbuf=600 write=delayed wow.high_blocks={high} wow.low_blocks={low}"
    script = """
iogen bs=4k name=all rw=write filename=/w nr=200 -- \
 name=hot rw=randwrite filename=/z size=40k rate_iops=20 runtime_s=20 -- \
 name=r rw=randread filename=/a rate_iops=20 runtime_s=20
sleep 2
"""
    run = lab(script, f"sched=wow update=none {args}")
    # The last command may have been one of 16 blocks.
    assert low - 16 <= run.count("bio.dirty") <= high
    assert run.count("wow.spared") > 0
    # of the command in service, and of the read itself
    assert run.worst_ms("read") < 2.2 * SERVICE_MS
    # Neighbours are written by one command.
    assert run.count("disk.offers_taken") > 4 * run.count("wow.groups")


# 256 blocks become dirty at once. With sluice.early=50 they may be written in the second half of
# their age of 5 s. That is time enough for all: the disk does some 80 writes a second besides 40
# reads a second.
BURST = """
iogen bs=4k name=w rw=write filename=/w nr=256 -- \
 name=a rw=randread filename=/a rate_iops=40 arrival=poisson nr=480
"""
AGE_S = 5


@pytest.mark.usefixtures("in_the_machine")
def test_sluice_spreads_a_burst_before_it_is_due_and_reads_hardly_wait(lab) -> None:
    """Under clook ipu writes the burst at once when it is due; sluice writes it early, between
    reads."""
    ages = f"ipu.age_ms={AGE_S * 1000} sluice.age_ms={AGE_S * 1000} sluice.early=50"
    args = f"drive=rz58 cluster_kb=0 nbuf=600 write=delayed update=ipu {ages}"
    # The scheduler is swapped after the boot, so both boots write the same.
    burst, spread = (lab(f"policy use sched {s}{BURST}", args) for s in ("clook", "sluice"))
    assert burst.worst_ms("read") > 500
    assert spread.worst_ms("read") < 120
    assert spread.mean_ms("read") < 0.8 * burst.mean_ms("read")
    # A block that is written early may be modified again, and then it is written twice.
    assert spread.count("disk.writes") <= 1.02 * burst.count("disk.writes")
    # The scheduler was in time: the update policy found nothing that was due.
    assert spread.count("ipu.written") == 0
    assert spread.hist["bio.age_written"]["buckets"][-1][1] / 1e9 < AGE_S * 1.02


def test_sluice_writes_on_an_idle_machine_what_is_due_and_not_before(lab) -> None:
    """40 blocks become dirty, four a second; nothing reads. The scheduler writes them at 5 s,
    before the update policy ipu has to."""
    ages = "ipu.age_ms=5000 sluice.age_ms=5000"
    args = f"sched=sluice drive=rz58 cluster_kb=0 nbuf=600 write=delayed update=ipu {ages}"
    script = "iogen bs=4k name=w rw=write filename=/w nr=40 rate_iops=4\nsleep 6\n"
    run = lab(script, args)
    assert run.count("sluice.unwatched") >= 40  # writes while no read waited
    assert run.count("ipu.written") == 0
    age = run.hist["bio.age_written"]
    # Blocks that were younger were written by a sync of the boot, or cost nothing.
    of_age = [n for low, _, n in age["buckets"] if low / 1e9 > 0.8 * AGE_S]
    assert sum(of_age) >= 40
