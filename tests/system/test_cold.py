"""The program `cold`: it reads files with nothing cached, again and again. The kernel and the
images have what it needs.

In each run, processes read `files` of the `pool` of files on a second disk, which has the drive
cheetah4lp. Before a run, cold has the files' blocks evicted from the cache.
"""

import json
import re

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.experiment import jobs
from sluice.system import devtext, image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Result
from sluice.theory.parts.reader import Bsd44, Command, File, program_steps
from sluice.theory.shriver import COST

TELL = "echo @stat; cat /dev/stat; echo @end\n"
MOUNT = "mkdir /data; mount disk1 /data\n"


@pytest.fixture
def cold(make_image: MakeImage, tmp_path):
    """Return a function that runs cold: cold("pool=3 files=2", "3:64K") makes a pool of three files
    of 64 KB. It returns cold's line of figures, and how many disk commands it made."""

    def run(words: str, scatter: str, args: str = "", expect: int = 0) -> tuple[dict, int, Result]:
        rc = f"{MOUNT}{TELL}cold {words} || poweroff 9\n{TELL}"
        options = ("--group", "16M", "--far-indirect", "--scatter", f"/f={scatter}")
        content = Content(programs=False, size="256M", block="8K", options=options)
        disks = (
            Disk(make_image(rc=rc, block="8K")),
            Disk(image.make_image(tmp_path / "d", content)),
        )
        args = f"check=1 drive=fixed disk1.drive=cheetah4lp nbuf=500 {args}"
        result = run_rc(Config(disks, args=args, lab=True))
        assert result.status == expect, result.console
        if expect:
            return {}, 0, result
        stats = re.findall(r"^@stat\n(.*?)@end\n", result.console, flags=re.M | re.S)
        before, after = (devtext.parse_stat(text)["disk.commands"][0] for text in stats)
        [row] = jobs.parse_job_lines(result.console)
        return row, after - before, result

    return run


@pytest.mark.parametrize("prefetch", ["none", "bsd44"])
def test_each_run_reads_the_file_again_and_joins_its_blocks_again(cold, prefetch: str):
    """The blocks' numbers are still in the cache for the second run, where they have been
    invalidated. A second run of a file of eight blocks still makes as many commands as of one
    block: one."""

    def second(kb: int) -> int:
        """Return how many commands the second run makes, for a file of this size."""
        once, twice = (
            cold(f"bs=64k runs={n}", f"1:{kb}K", f"prefetch={prefetch}")[1] for n in (1, 2)
        )
        return twice - once

    assert second(64) == second(8)  # either file is one command


def test_a_drive_whose_cache_adapts_is_divided_when_the_files_are_open_before_they_are_read(cold):
    """The drive's cache is divided into segments, one for each stream. Six streams are as fast with
    adaptive segments as with six, and slower with three."""
    words = "pool=6 files=6 bs=8k runs=3"
    three, six, adapts = (
        cold(words, "6:64K", f"prefetch=bsd44 bsd44.by_block=1 drive_segments={n}")[0]
        for n in ("3", "6", "adaptive")
    )
    assert adapts["run_ns"] == six["run_ns"]
    assert six["run_ns"]["mean"] < 0.9 * three["run_ns"]["mean"]


def test_a_runs_reads_wait_for_the_drive_and_end_with_the_last_process(cold):
    """Four runs read three files of 64 KiB each, by one call a file."""
    row, _, _ = cold("name=x pool=6 files=3 bs=64k runs=4 seed=5", "6:64K")
    assert row["job"] == "x" and row["files"] == 3 and row["size"] == 64 << 10
    assert sum(n for _, n in row["histogram"]) == 3 * 4
    assert row["response_ns"]["min"] > 7_000_000  # no read has found its data in a cache
    assert row["response_ns"]["max"] <= row["run_ns"]["max"]
    assert row["request_ns"] == pytest.approx(row["run_ns"]["mean"], rel=1e-6)
    rate = 3 * 65536 * 1e9 / row["run_ns"]["mean"]  # bytes of three files, a second
    assert row["throughput"] == pytest.approx(rate, rel=1e-3)


def test_the_seed_chooses_and_the_same_words_give_the_same(cold):
    lines = [cold(f"pool=20 files=2 seed={s}", "20:64K")[0] for s in (1, 1, 2)]
    assert lines[0] == lines[1] != lines[2]


def test_a_process_computes_after_each_read(cold):
    """work=1000 is a million instructions of 32 ns after each read. A file of 64 KB is four reads
    of 16 KB, so a run takes four times 32 ms more."""
    plain, busy = (cold(f"bs=16k work={n}", "1:64K")[0]["run_ns"]["mean"] for n in (0, 1000))
    assert busy - plain == pytest.approx(4 * 32e6, rel=0.001)  # nothing is read meanwhile


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("files=4 pool=3", "files=4: pool=3 has fewer"),
        ("pool=9", "file=/data/f: /data/f8: no such file or directory"),
        ("bs=4", "bs=4: must be 512 to 1048576"),
        ("disk=disk7", "disk7 at /data: no such device"),
    ],
)
def test_impossible_words_are_refused_by_name(cold, words: str, says: str):
    _, _, result = cold(words, "3:64K", expect=9)
    assert f"cold: {says}" in result.console


# ---- the commands that a reader makes: by the model of sluice/theory, and by the kernel ----

CASES = [
    (policy, kb, bs) for policy in ("none", "bsd44") for kb in (64, 128, 512) for bs in (8, 10, 64)
]


@pytest.mark.parametrize(("policy", "kb", "bs"), CASES)
def test_the_model_of_a_reader_makes_the_kernels_commands(cold, policy: str, kb: int, bs: int):
    """The model lists the commands for a file of kb KB that is read by bs KB. The kernel makes as
    many, compared with a file of one block, which the model reads by one command. A file of more
    than 96 KB has an indirect block, which is read, too."""

    def commands(size: int, call: int) -> int:
        """Return how many commands the kernel makes for a file of `size` KB read by `call` KB."""
        return cold(f"bs={call}k", f"1:{size}K", f"prefetch={policy}")[1]

    file = File(kb, bs, 8, far=True, cluster_kb=64, work=0)
    made = program_steps(file, COST, Bsd44(8) if policy == "bsd44" else None)
    mine = [step for step in made if isinstance(step, Command)]
    assert sum(command.blocks for command in mine) == kb // 8 + (kb > 96)
    assert commands(kb, bs) - commands(8, 8) == len(mine) - 1


# ---- drive_command_us: how long a command travels to the drive ----


def mean_ms(result: Result) -> float:
    """Return the mean response time that iogen printed first."""
    [line] = re.findall(r"^iogen (\{.*\})$", result.console, re.M)[:1]
    return json.loads(line)["response_ns"]["mean"] / 1e6


def test_a_commands_way_is_part_of_its_service_but_not_of_the_one_before(run_script):
    """A command that finds the drive idle takes longer by the whole time of its way to the drive.
    If the drive has four commands, the next one travels while it serves the one before."""

    def read(words: str, args: str) -> float:
        rc = f"iogen rw=randread bs=4k filename=/dev/disk0 nr=40 {words}"
        return mean_ms(run_script(rc, args=f"drive=fixed {args}", lab=True))

    for more_ms in (1, 7):
        way = f"drive_command_us={more_ms}000"
        assert read("", way) - read("", "") == pytest.approx(more_ms, abs=0.001)
    waiting = [read("numjobs=4", f"drive_depth=4 {way}") for way in ("", "drive_command_us=1000")]
    assert waiting[1] == pytest.approx(waiting[0], rel=0.01)


def test_a_way_of_no_modelled_drive_or_too_long_stops_the_boot(run_script):
    for args, says in (
        ("drive=none drive_command_us=5", "drive_command_us: unknown"),
        ("drive=fixed drive_command_us=100001", "drive_command_us=100001: not in 0 to 100000"),
    ):
        result = run_script("true", args=args, lab=True)
        assert result.status == 100 and f"boot: argument {says}" in result.console
