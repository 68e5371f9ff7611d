"""Update policies in the kernel: what each promises of a dirty block's age, in virtual time."""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import MakeImage

from grade import trace
from grade.machine import Config, Disk, run_rc

MEMORY = "128M"
FILES = ("--file", "/w=1M", "--file", "/x=4M")
SLACK_S = 0.05  # of the daemon: to wake and to start writes
BLOCKS = 80  # of each file that LOAD makes dirty, evenly over 40 s
# Two files become dirty; then time passes, until all is of every policy's age.
LOAD = f"""
iogen bs=4k nr={BLOCKS} rate_iops=2 name=w rw=write filename=/w -- name=x rw=write filename=/x
sleep 100
grep trace.phys /dev/stat
"""


@dataclass(frozen=True)
class Write:
    """A write of a dirty block: when it was started, and how old the block was."""

    time_s: float
    age_s: float
    owner: int  # its file; 0: structure of the file system


@dataclass(frozen=True)
class Run:
    writes: list[Write]
    console: str

    def of_files(self) -> list[Write]:
        return [write for write in self.writes if write.owner]

    def ages_s(self) -> tuple[float, float]:
        """The least and the most, of file data."""
        ages = [write.age_s for write in self.of_files()]
        assert len(ages) == 2 * BLOCKS
        return min(ages), max(ages)

    def by_file(self) -> list[list[Write]]:
        files = defaultdict(list)
        for write in self.of_files():
            files[write.owner].append(write)
        return list(files.values())

    def counter(self, name: str) -> int:
        return int(re.search(rf"^{re.escape(name)} (\d+)", self.console, re.M)[1])


def writes_of(memory: Path, console: str) -> list[Write]:
    phys = int(re.search(r"^trace.phys (\d+)", console, re.M)[1])
    lost, events = trace.read(memory, phys)
    assert not lost
    owners: dict[int, int] = {}
    writes = []
    for event in events:
        if event.name == "dirtied":
            owners[event.block] = event.argument
        elif event.name == "writing" and event.block in owners:
            owner = owners.pop(event.block)
            writes.append(Write(event.time_ns / 1e9, event.argument / 1e9, owner))
    return writes


Lab = Callable[..., Run]


@pytest.fixture
def lab(make_image: MakeImage, tmp_path: Path) -> Lab:
    """lab("ipu"): runs LOAD under that policy, or with these arguments another script."""

    def run(args: str, script: str = LOAD) -> Run:
        path, memory = make_image(rc=script, options=FILES), tmp_path / "ram"
        config = Config(
            (Disk(path),),
            memory=MEMORY,
            args=f"drive=rz58 write=delayed nbuf=1200 check=1 trace_k=16 update={args}",
            lab=True,
            options=trace.memory_options(memory, MEMORY),
        )
        result = run_rc(config)
        assert result.status == 0, result.console
        return Run(writes_of(memory, result.console), result.console)

    return run


def test_ipu_writes_each_block_when_it_is_of_age(lab: Lab) -> None:
    youngest, oldest = lab("ipu").ages_s()
    assert 30 <= youngest <= oldest < 30.01


@pytest.mark.parametrize("scan_s", [1, 30])
def test_aipu_writes_a_block_at_its_age_or_up_to_a_scan_later(lab: Lab, scan_s: int) -> None:
    youngest, oldest = lab(f"aipu aipu.scan_ms={1000 * scan_s}").ages_s()
    assert 30 <= youngest < 30 + scan_s / 2 < oldest < 30 + scan_s + SLACK_S


def test_aipu_forces_structure_and_nothing_else(lab: Lab) -> None:
    run = lab("aipu aipu.meta_ms=5000")
    assert run.ages_s()[0] >= 30
    structure = [write.age_s for write in run.writes if not write.owner]
    assert structure and max(structure) < 5 + 1 + SLACK_S


def files_left_in_part(run: Run) -> int:
    """How often a file's blocks were written within a second, but not all that were dirty."""
    times = 0
    for file in run.by_file():
        for write in file:
            end_s = write.time_s + 1
            left = [w for w in file if w.time_s - w.age_s < write.time_s and w.time_s > end_s]
            times += bool(left)
    return times


def test_sprite_writes_whole_files_none_older_than_its_age_and_a_scan(lab: Lab) -> None:
    run = lab("sprite")
    youngest, oldest = run.ages_s()
    assert youngest < 1 and 30 <= oldest < 35 + SLACK_S
    assert files_left_in_part(run) == 0
    assert files_left_in_part(lab("aipu")) > 0


def test_svr4_bounds_the_age_and_writes_data_by_turns(lab: Lab) -> None:
    run = lab("svr4")
    youngest, oldest = run.ages_s()
    assert youngest < 15 and 30 < oldest < 60 + SLACK_S
    in_second = defaultdict(int)
    for write in run.of_files():
        in_second[int(write.time_s)] += 1
    assert max(in_second.values()) <= 1200 / 60


def test_bsd_syncer_writes_whole_files_by_30_s_and_structure_by_10_s(lab: Lab) -> None:
    run = lab("bsd_syncer")
    _, oldest = run.ages_s()
    assert 29 <= oldest < 30 + SLACK_S
    assert files_left_in_part(run) == 0
    structure = [write.age_s for write in run.writes if not write.owner]
    assert structure and 9 <= max(structure) < 10 + SLACK_S


def scanned(lab: Lab, policy: str, blocks: int) -> int:
    """Buffers looked at in an update of so many dirty blocks."""
    script = f"""
sync
iogen bs=4k nr={blocks} rw=write filename=/x
grep bio.scanned /dev/stat > /before
sleep 31
grep bio.scanned /dev/stat
cat /before
grep trace.phys /dev/stat
"""
    console = lab(policy, script).console
    after, before = map(int, re.findall(r"^bio.scanned (\d+)", console, re.M))
    return after - before


def test_bflush_scans_with_the_square_of_what_is_dirty_and_pu_in_proportion(lab: Lab) -> None:
    few, many = 200, 800
    assert 3 < scanned(lab, "pu", many) / scanned(lab, "pu", few) < 5
    assert scanned(lab, "bflush", many) / scanned(lab, "bflush", few) > 10
