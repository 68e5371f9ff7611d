"""Prefetching in the kernel: what each policy promises, in virtual time and in counters.

The fixture `lab` runs a script in a machine of virtual time and returns a Run. The counters
are: bio.ahead, the blocks read ahead; bio.ahead_used, those of them that a program then read;
bio.ahead_wasted, those evicted or overwritten unread; bio.ahead_unused, those that still wait in
the cache; bio.ahead_late, those that a program wanted before they had arrived.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.host.paths import ROOT
from sluice.system import devtext
from sluice.system.qemu import Config, Disk

BLOCK = 8192  # bytes of a block of the file systems
DATA_BLOCKS = 3072  # of /data; they fit into the cache only where it has 4000 buffers
FILES = ("--file", f"/data={DATA_BLOCKS * BLOCK}", "--file", "/w=1M")
TELL = "echo @stat; cat /dev/stat; echo @end\n"  # the script begins and ends with the counters
SHARE = 4  # prefetch_percent is 25: blocks read ahead have at most a fourth of the buffers
# The drive rz58 has 96 sectors to a track in its outer zone and turns 90 times a second.
RZ58_MEDIA_BYTES_S = 96 * 512 * 90

POLICIES = sorted(path.stem for path in (ROOT / "policies" / "prefetch").glob("*.c"))
SEQUENTIAL = "iogen rw=read bs={bs} filename=/data"
RANDOM = "iogen rw=randread bs=8k filename=/data nr=2000"


@dataclass(frozen=True)
class Run:
    """The output of iogen's jobs, and the counters' differences."""

    jobs: list[dict]
    before: devtext.Counters
    after: devtext.Counters

    def count(self, name: str) -> int:
        """Return by how much a counter grew while the script ran."""
        return self.after[name][0] - self.before[name][0]

    def bytes_s(self) -> float:
        """Return the bytes that all jobs read in a second."""
        return sum(job["bytes"] for job in self.jobs) / self.elapsed_s()

    def elapsed_s(self) -> float:
        """Return the time that the longest job took."""
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
        return Run(jobs, devtext.parse_stat(before), devtext.parse_stat(after))

    return run


@pytest.mark.parametrize("bs", ["8k", "64k"])
@pytest.mark.parametrize("policy", ["amp", "bsd44", "cluster", "ondemand"])
def test_sequential_reads_reach_the_drives_media_rate(lab: Lab, policy: str, bs: str) -> None:
    """The media rate is what the platters deliver at most. 90 % of it leaves 10 % for the first
    blocks, which are read before the policy has seen a sequential reader."""
    run = lab(SEQUENTIAL.format(bs=bs), f"drive=rz58 nbuf=600 prefetch={policy}")
    assert run.bytes_s() >= 0.9 * RZ58_MEDIA_BYTES_S
    assert run.count("bio.ahead_wasted") == 0
    assert run.count("bio.ahead_used") == run.count("bio.ahead") > 0.95 * DATA_BLOCKS


@pytest.mark.parametrize(
    ("bs", "by_block", "commands"), [("64k", 0, 1), ("64k", 1, 4), ("8k", 1, 4)]
)
def test_bsd44_reads_64_kb_by_four_commands_if_a_calls_blocks_are_read_one_by_one(
    lab: Lab, bs: str, by_block: int, commands: int
) -> None:
    """The four commands have 1, 1, 2 and 4 blocks. With by_block=0 the policy knows how many
    blocks the call wants, so one command reads all eight."""
    args = f"drive=fixed nbuf=600 prefetch=bsd44 bsd44.by_block={by_block}"
    files = ("--file", f"/data={8 * BLOCK}", "--file", "/w=8K")
    before = f"iogen rw=read bs={bs} size=8k filename=/w"  # and the program is cached
    both = f"{before}\niogen rw=read bs={bs} size=64k filename=/data"
    counts = [lab(script, args, files).count("disk.commands") for script in (before, both)]
    assert counts[1] - counts[0] == commands


@pytest.mark.parametrize(("by_block", "commands"), [(0, 1), (1, 8)])
def test_none_reads_64_kb_by_eight_commands_if_a_calls_blocks_are_read_one_by_one(
    lab: Lab, by_block: int, commands: int
) -> None:
    """Without prefetching, eight blocks that are read one by one are eight commands. With
    by_block=0 the kernel reads all blocks of a call by one command."""
    args = f"drive=fixed nbuf=600 prefetch=none none.by_block={by_block}"
    files = ("--file", f"/data={8 * BLOCK}", "--file", "/w=8K")
    before = "iogen rw=read bs=64k size=8k filename=/w"  # and the program is cached
    both = f"{before}\niogen rw=read bs=64k size=64k filename=/data"
    counts = [lab(script, args, files).count("disk.commands") for script in (before, both)]
    assert counts[1] - counts[0] == commands


def test_without_prefetching_sequential_reads_miss_the_drives_media_rate(lab: Lab) -> None:
    run = lab(SEQUENTIAL.format(bs="8k"), "drive=rz58 nbuf=600 prefetch=none")
    assert run.bytes_s() < 0.7 * RZ58_MEDIA_BYTES_S
    assert run.count("bio.ahead") == 0


@pytest.mark.parametrize("policy", ["oneblock", "bsd44", "ondemand", "amp"])
@pytest.mark.parametrize("drive", ["rz58", "cheetah4lp"])
def test_random_reads_cost_no_more_than_one_percent_over_none(
    lab: Lab, drive: str, policy: str
) -> None:
    """A policy may read some blocks ahead of random reads, but the reads of the program hardly wait
    for these blocks."""
    none, with_policy = (
        lab(RANDOM, f"drive={drive} nbuf=300 prefetch={name}") for name in ("none", policy)
    )
    assert with_policy.elapsed_s() <= 1.01 * none.elapsed_s()
    assert with_policy.count("bio.ahead") > 0


def test_cluster_reads_what_is_near_wherever_the_head_is(lab: Lab) -> None:
    """The policy cluster reads a block's whole cluster, also for random reads. That pays in a cache
    that can keep all blocks of the file."""
    none, cluster = (
        lab(RANDOM, f"drive=rz58 nbuf=4000 prefetch={name}") for name in ("none", "cluster")
    )
    # The 3072 blocks fit into 4000 buffers, and 2000 reads ask for most of them. So what cluster
    # reads with a block saves later misses.
    assert cluster.count("bio.misses") < 0.7 * none.count("bio.misses")
    assert cluster.elapsed_s() < 0.9 * none.elapsed_s()


def test_what_is_read_ahead_is_used_wasted_or_still_there(lab: Lab) -> None:
    """Each block read ahead is counted once more, by what became of it. The random reads are so
    many, and the cache so small, that each of the three cases occurs. Blocks that are read ahead
    and still there fill their share of the buffers at most."""
    nbuf = 100
    run = lab(RANDOM, f"drive=fixed nbuf={nbuf} prefetch=cluster")
    used, wasted, still_there = (
        run.count(f"bio.ahead{of}") for of in ("_used", "_wasted", "_unused")
    )
    assert used + wasted + still_there == run.count("bio.ahead")
    assert min(used, wasted, still_there) > 0
    assert still_there <= nbuf // SHARE


def test_a_block_asked_for_while_its_read_is_under_way_is_late(lab: Lab) -> None:
    run = lab(SEQUENTIAL.format(bs="8k"), "drive=fixed cluster_kb=0 nbuf=600 prefetch=oneblock")
    # There is no computing between two reads: every block is still on its way.
    assert run.count("bio.ahead_late") > 0.99 * run.count("bio.ahead_used") > 0.9 * DATA_BLOCKS


def test_a_block_asked_for_after_its_read_is_not_late(lab: Lab) -> None:
    # 20 ms between two reads are more than the drive `fixed` takes for a block.
    script = SEQUENTIAL.format(bs="8k") + " nr=200 thinktime_us=20000"
    run = lab(script, "drive=fixed nbuf=600 prefetch=oneblock")
    assert run.count("bio.ahead_used") > 190  # of 200
    assert run.count("bio.ahead_late") <= 10  # blocks of iogen's own program file


def test_no_block_is_read_that_is_not_the_files(lab: Lab) -> None:
    """Two whole files are read. If a policy read on past the end of a file, the disk would count
    more reads than without prefetching."""
    script = "cat /odd > /dev/null; cat /data > /dev/null; sleep 1"
    files = ("--file", f"/data={500 * BLOCK}", "--file", f"/odd={BLOCK + 5}")
    reads = {
        policy: lab(script, f"drive=rz58 nbuf=600 prefetch={policy}", files).count("disk.reads")
        for policy in POLICIES
    }
    assert reads == dict.fromkeys(POLICIES, reads["none"])
    assert reads["none"] > 500


def test_what_is_overwritten_before_it_is_asked_for_was_read_in_vain(lab: Lab) -> None:
    """The hint has 50 blocks read. Of these, 30 are overwritten, and 20 wait on."""
    script = "advise -n 400k willneed /w; sleep 1; iogen rw=write bs=8k filename=/w nr=30; sync"
    run = lab(script, "drive=fixed nbuf=600 prefetch=hints")
    assert run.count("bio.ahead_wasted") == 30
    assert run.count("bio.ahead_unused") == 20


def test_what_is_not_asked_for_gives_way_when_it_is_stale(lab: Lab) -> None:
    """A hint fills the whole share of blocks read ahead, 150 of 600 buffers, and nobody reads
    these blocks. A reader of another part of the file then has blocks read ahead only if the
    hint's blocks are stale. The kernel calls a block stale 10 s after its read."""
    read = "iogen rw=read bs=8k filename=/data offset=8m nr=400"  # for 4 s
    for wait_s, stale in ((1, False), (11, True)):
        script = f"advise -n 4m willneed /data; sleep {wait_s}; {read}"
        run = lab(script, "drive=fixed nbuf=600 prefetch=bsd44")
        more = run.count("bio.ahead") - 600 // SHARE  # read ahead of the reader
        assert more >= 390 if stale else more < 10
        # As many go as the reader has ahead of it at a time: a cluster or two.
        wasted = run.count("bio.ahead_wasted")
        assert 8 <= wasted <= 16 if stale else wasted == 0


# The policy cflru may choose a dirty victim. It is written if a program needs the buffer, and never
# to make room for a block that is read ahead.
@pytest.mark.parametrize(("replace", "dirty"), [("lru", 50), ("cflru", 10)])
def test_prefetching_writes_nothing_dirty_to_make_room(lab: Lab, replace: str, dirty: int) -> None:
    script = "sync; iogen rw=write bs=8k filename=/w nr=50; " + SEQUENTIAL.format(bs="8k")
    args = f"drive=fixed nbuf=64 update=none write=delayed replace={replace}"
    # Of 64 buffers 50 are dirty, so 14 are left to the reader.
    run = lab(script, f"{args} prefetch=ondemand")
    none = lab(script, f"{args} prefetch=none")
    assert run.count("bio.written") == none.count("bio.written")
    assert run.count("bio.ahead") > 0
    assert run.after["bio.dirty"][0] >= dirty


def test_a_share_of_nothing_prefetches_nothing(lab: Lab) -> None:
    run = lab(SEQUENTIAL.format(bs="8k"), "drive=fixed nbuf=600 prefetch=bsd44 prefetch_percent=0")
    assert run.count("bio.ahead") == 0


def test_ondemand_shrinks_its_window_where_the_cache_is_too_small(lab: Lab) -> None:
    """The window may have 64 blocks, but only 20 of the 80 buffers may hold blocks read ahead."""
    args = "drive=rz58 nbuf=80 prefetch=ondemand ondemand.max_kb=512"
    run = lab(SEQUENTIAL.format(bs="8k"), args)
    assert run.count("ondemand.shrunk") > 0
    assert run.count("bio.ahead_wasted") == 0
    assert run.bytes_s() >= 0.9 * RZ58_MEDIA_BYTES_S


def test_amp_reads_less_at_once_where_the_cache_is_too_small(lab: Lab) -> None:
    large, small = (
        lab(SEQUENTIAL.format(bs="8k"), f"drive=rz58 nbuf={nbuf} prefetch=amp")
        for nbuf in (2000, 80)
    )
    assert large.count("amp.lost") == 0 < small.count("amp.lost")
    assert small.count("bio.ahead_wasted") == 0
    # Each loss is a read that waits, so this is far from the media rate.
    assert small.bytes_s() < 0.9 * RZ58_MEDIA_BYTES_S < large.bytes_s()


@pytest.mark.xfail(
    strict=False,
    reason="some instructions decide it, because a read that comes a little too late waits for a "
    "rotation: 2.90 and 2.83 MB/s with the kernel of 2026-11-27, 2.51 and 2.76 with that of 11-28",
)
def test_amp_in_a_cache_that_is_too_small_is_faster_than_no_prefetching(lab: Lab) -> None:
    """A file is read sequentially with 80 buffers."""
    none, small = (
        lab(SEQUENTIAL.format(bs="8k"), f"drive=rz58 nbuf=80 prefetch={policy}")
        for policy in ("none", "amp")
    )
    assert none.bytes_s() < small.bytes_s()


# Four readers of one open file, each of a part of its own.
STREAMS = "iogen rw=read bs=8k filename=/data streams=4"


@pytest.mark.parametrize("policy", ["oneblock", "bsd44", "cluster", "ondemand", "amp"])
def test_streams_in_one_open_file_are_each_read_ahead(lab: Lab, policy: str) -> None:
    run = lab(STREAMS, f"drive=cheetah4lp nbuf=600 prefetch={policy}")
    assert run.count("bio.ahead_used") > 0.95 * DATA_BLOCKS
    assert run.count("bio.ahead_wasted") < 0.01 * DATA_BLOCKS


def test_stride_reads_ahead_of_strided_reads_and_sequential_policies_do_not(lab: Lab) -> None:
    """A program reads each fifth block, 500 of them. At most ten blocks are read ahead of other
    reads: those of iogen's own program file."""
    script = "iogen rw=read bs=8k filename=/data step=5 nr=500; sleep 0.1"
    for policy, least, most in (("stride", 490, 510), ("ondemand", 0, 10), ("amp", 0, 10)):
        run = lab(script, f"drive=fixed nbuf=600 prefetch={policy}")
        assert least <= run.count("bio.ahead_used") <= most, policy


def test_leap_reads_eight_ahead_of_each_ninth_read_at_equal_distances(lab: Lab) -> None:
    """Of 500 reads, each ninth finds nothing and has the next eight blocks read: 444 or so are
    read ahead. Of random reads, hardly one is at the distance of the read before."""
    for step in (1, 5):
        script = f"iogen rw=read bs=8k filename=/data step={step} nr=500; sleep 0.1"
        run = lab(script, "drive=fixed nbuf=600 prefetch=leap")
        assert 434 <= run.count("bio.ahead_used") <= 446
        assert run.count("bio.ahead_wasted") + run.count("bio.ahead_unused") <= 8
    assert lab(RANDOM, "drive=fixed nbuf=300 prefetch=leap").count("bio.ahead") < 20


# ---- hints: what a program says that it will do with a file (fadvise) ----


def test_reads_said_to_be_random_are_not_read_ahead(lab: Lab) -> None:
    script = SEQUENTIAL.format(bs="8k") + " fadvise_hint=random"
    for policy in ("bsd44", "cluster", "ondemand", "stride", "hints"):
        run = lab(script, f"drive=fixed nbuf=600 prefetch={policy}")
        # These blocks are read ahead in iogen's own program file.
        assert run.count("bio.ahead") < 20, policy
    # The policy oneblock takes no hints.
    assert lab(script, "drive=fixed nbuf=600 prefetch=oneblock").count("bio.ahead") > 3000


@pytest.mark.parametrize(("policy", "more"), [("bsd44", 7), ("cluster", 8), ("hints", 16)])
def test_reads_said_to_be_sequential_are_read_ahead_at_once(
    lab: Lab, policy: str, more: int
) -> None:
    """One block is read. After it, bsd44 reads the rest of a cluster of 8 blocks, hints its window
    of 16. The policy cluster reads the rest of the cluster in any case, so the hint adds the next
    cluster, of 8."""
    script = "iogen rw=read bs=8k filename=/data nr=1 fadvise_hint={hint}"
    ahead = {
        hint: lab(script.format(hint=hint), f"drive=fixed nbuf=600 prefetch={policy}")
        for hint in ("none", "sequential")
    }
    assert ahead["sequential"].count("bio.ahead") - ahead["none"].count("bio.ahead") == more


@pytest.mark.parametrize(("policy", "read"), [("hints", 40), ("ondemand", 40), ("none", 0)])
def test_what_is_said_to_be_needed_is_read_if_the_policy_takes_hints(
    lab: Lab, policy: str, read: int
) -> None:
    """The hint names 40 blocks. A program that then reads them waits for none, so its longest read
    takes less than a millisecond. The policy `none` takes no hints."""
    script = "advise -o 80k -n 320k willneed /data; sleep 1; {then}"
    args = f"drive=fixed nbuf=600 prefetch={policy}"
    run = lab(script.format(then="iogen rw=read bs=8k filename=/data offset=80k nr=40"), args)
    alone = lab(script.format(then="true"), args)
    before = lab("true; sleep 1; true", args).count("bio.ahead")
    assert read <= alone.count("bio.ahead") - before <= read + 2  # 2: of the program advise
    assert (run.jobs[0]["response_ns"]["max"] < 1e6) == bool(read)


def test_what_is_needed_fills_no_more_than_its_share(lab: Lab) -> None:
    script = "advise -n 12m willneed /data; advise -o 12m willneed /data"
    run = lab(script, "drive=fixed nbuf=600 prefetch=hints")
    assert 100 < run.after["bio.ahead_unused"][0] <= 600 // SHARE


def test_what_is_not_needed_is_evicted_first(lab: Lab) -> None:
    """Programs read 50 blocks, A, then 40 others, B, then 60 new ones, then A again. The cache of
    150 buffers is too small for all. If a hint says that B is not needed again, B is evicted in
    the place of A, and the last reads find A in the cache."""
    script = """
    iogen rw=read bs=8k filename=/data size=400k
    iogen rw=read bs=8k filename=/data offset=8m size=320k
    {advise}
    iogen rw=read bs=8k filename=/data offset=16m size=480k
    iogen rw=read bs=8k filename=/data size=400k
    """
    again = {}  # the time of the last reads, without the hint and with it
    for advise in ("true", "advise -o 8m -n 320k dontneed /data"):
        run = lab(script.format(advise=advise), "drive=fixed nbuf=150 prefetch=hints")
        again[advise] = run.jobs[-1]["elapsed_ns"]
    plain, advised = again.values()
    assert advised < plain / 4


# ---- clusters: adjacent blocks are one command ----

SCHEDULERS = sorted(path.stem for path in (ROOT / "policies" / "sched").glob("*.c"))


def clustered(sched: str, cluster_kb: int = 64) -> str:
    """Return the arguments of a machine whose commands have at most cluster_kb."""
    return f"drive=rz58 nbuf=4000 sched={sched} cluster_kb={cluster_kb} update=none"


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_adjacent_blocks_are_read_by_one_command_under_every_scheduler(
    lab: Lab, sched: str
) -> None:
    # A call wants eight adjacent blocks at a random place, below the head or above it.
    script = "iogen rw=randread bs=64k filename=/w nr=200"
    run = lab(script, clustered(sched), files=("--file", "/w=16M"))
    reads = run.count("disk.reads")
    assert reads > 900
    assert run.count("disk.commands") <= reads / 8 + 40  # 40: of metadata and of programs


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_adjacent_blocks_are_written_by_one_command_under_every_scheduler(
    lab: Lab, sched: str
) -> None:
    script = "iogen rw=write bs=8k filename=/data nr=800; sync"
    run = lab(script, clustered(sched) + " write=delayed")
    writes = run.count("disk.writes")
    assert writes >= 800
    assert run.count("disk.commands") <= writes / 4  # a command of 64 KB could write 8 blocks


@pytest.mark.parametrize(("cluster_kb", "blocks"), [(0, 1), (16, 2), (256, 32)])
def test_a_command_is_as_large_as_the_limit_allows(lab: Lab, cluster_kb: int, blocks: int) -> None:
    """blocks: how many the limit cluster_kb allows in a command; one, if the limit is 0."""
    run = lab("iogen rw=read bs=256k filename=/data", clustered("clook", cluster_kb))
    commands = run.count("disk.commands")
    assert DATA_BLOCKS / blocks <= commands <= 1.2 * DATA_BLOCKS / blocks + 40


# ---- segments: a drive divides its cache, and reads ahead for one stream in each part ----

EIGHT = [f"/f{i}" for i in range(8)]


def eight_files(each: str) -> tuple[str, ...]:
    """mkfs's options for eight files of this size, each in a group of its own."""
    made = [("--file", f"{f}={each}", "--at", f"{f}={i}") for i, f in enumerate(EIGHT)]
    return ("--group", "16M", *(word for words in made for word in words))


def reading(files: list[str]) -> str:
    """Return the command that reads these files at the same time, each by a process of its own."""
    return "iogen " + " -- ".join(f"rw=read bs=8k name={f[1:]} filename={f}" for f in files)


@pytest.mark.usefixtures("in_the_machine")
def test_more_streams_than_segments_collapse_and_adaptive_segments_restore(lab: Lab) -> None:
    """Eight streams need eight segments. With adaptive segments the drive's cache is divided anew,
    and so emptied, seven times, once for each further file. What the drive read ahead for the
    others is then read again, up to 28 times, in some 8 ms each: a fiftieth of this run. So
    adaptive segments reach 95 % of the rate of eight."""

    def bytes_s(segments: str) -> float:
        args = f"drive=cheetah4lp nbuf=600 drive_segments={segments}"
        return lab(reading(EIGHT), args, files=eight_files("4M"), size="160M").bytes_s()

    three, eight, adaptive = bytes_s("3"), bytes_s("8"), bytes_s("adaptive")
    assert eight > 2.5 * three
    assert adaptive > 0.95 * eight


def test_adaptive_segments_follow_the_number_of_streams_both_ways(lab: Lab) -> None:
    script = f"{reading(EIGHT)}\nsleep 2\n{reading(EIGHT[:1])}"
    args = "drive=cheetah4lp nbuf=100 drive_segments=adaptive"
    run, alone = (
        lab(commands, args, files=eight_files("1M"), size="160M")
        for commands in (script, reading(EIGHT))
    )
    # A mode select is the command that divides the drive's cache. The division grows from 1 part,
    # enough for the boot, to 8, by at most seven of them; the single stream shrinks it by one more.
    assert 1 <= alone.count("disk.mode_selects") <= 7
    assert run.count("disk.mode_selects") == alone.count("disk.mode_selects") + 1


@pytest.mark.parametrize(
    "argument", ["drive_segments=0", "drive_segments=17", "drive_segments=many", "drive_bus_kb_s=1"]
)
def test_a_wrong_division_of_the_drives_cache_stops_the_boot(run_script, argument: str) -> None:
    result = run_script("true", args=f"drive=cheetah4lp {argument}", lab=True)
    assert result.status == 100
    assert f"boot: argument {argument}: not" in result.console


def test_a_drive_without_a_cache_has_no_segments_to_divide(run_script) -> None:
    result = run_script("true", args="drive=fixed drive_segments=4", lab=True)
    assert result.status == 100
    assert "boot: argument drive_segments: unknown" in result.console
