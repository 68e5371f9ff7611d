"""Update policies in the kernel: what each promises of a dirty block's age, in virtual time.

The fixture `lab` runs LOAD under a policy and returns a LabRun (lab_writes.py), which has every
write of a dirty block, with its time and the block's age. The limits 30 s, 60 s and so on are the
policies' defaults, from their papers. A write of metadata is one that belongs to no file.
"""

import re
from collections import defaultdict
from collections.abc import Callable

import pytest
from conftest import MakeImage
from lab_writes import LabRun, Write, lab_of

SLACK_S = 0.05  # of the daemon: to wake and to start writes
BLOCKS = 80  # of each file that LOAD makes dirty, evenly over 40 s
# Two files become dirty; then time passes, until all is of every policy's age.
LOAD = f"""
iogen bs=4k nr={BLOCKS} rate_iops=2 name=w rw=write filename=/w -- name=x rw=write filename=/x
sleep 100
"""

Lab = Callable[..., LabRun]


def ages_s(run: LabRun) -> tuple[float, float]:
    """Return the least and the greatest age of the file data that LOAD makes dirty."""
    ages = [write.age_s for write in run.of_files()]
    assert len(ages) == 2 * BLOCKS
    return min(ages), max(ages)


def by_file(run: LabRun) -> list[list[Write]]:
    """Return the writes of file data, in a list for each file."""
    files = defaultdict(list)
    for write in run.of_files():
        files[write.owner].append(write)
    return list(files.values())


@pytest.fixture
def lab(make_image: MakeImage) -> Lab:
    """Return a function: lab("ipu") runs LOAD under that policy; the words may also have boot
    arguments, and a second argument is another script."""

    def run(args: str, script: str = LOAD) -> LabRun:
        return lab_of(make_image)(script, f"update={args}")

    return run


def test_ipu_writes_each_block_when_it_is_of_age(lab: Lab) -> None:
    youngest, oldest = ages_s(lab("ipu"))
    assert 30 <= youngest <= oldest < 30.01


@pytest.mark.parametrize("scan_s", [1, 30])
def test_aipu_writes_a_block_at_its_age_or_up_to_a_scan_later(lab: Lab, scan_s: int) -> None:
    """Blocks are written at an age of 30 s, or when the next scan sees them. Their ages in s spread
    over a whole scan."""
    youngest, oldest = ages_s(lab(f"aipu aipu.scan_ms={1000 * scan_s}"))
    assert 30 <= youngest < 30 + scan_s / 2 < oldest < 30 + scan_s + SLACK_S


def test_the_update_program_writes_as_the_paper_s_did(lab: Lab) -> None:
    """update -e 1 30 is AIPU, in a kernel whose own daemon writes nothing."""
    youngest, oldest = ages_s(lab("none", f"update -e 1 30 &\n{LOAD}"))
    assert 30 <= youngest < 30.5 < oldest < 31 + SLACK_S


def test_the_update_program_writes_at_multiples_of_its_time(lab: Lab) -> None:
    """update -e 30 is PU: each block is written at the next multiple of 30 s since power-on."""
    run = lab("none", f"update -e 30 &\n{LOAD}")
    assert 0 < ages_s(run)[0] < ages_s(run)[1] < 30 + SLACK_S


def test_aipu_writes_only_metadata_earlier_if_it_has_an_age_of_its_own(lab: Lab) -> None:
    """With meta_ms metadata is written at the age of 5 s, or up to a scan of 1 s later."""
    run = lab("aipu aipu.meta_ms=5000")
    assert ages_s(run)[0] >= 30
    metadata = [write.age_s for write in run.of_structure()]
    assert metadata and max(metadata) < 5 + 1 + SLACK_S


def count_partial_writes(run: LabRun) -> int:
    """Return how often some of a file's dirty blocks, but not all, were written within a second."""
    times = 0
    for file in by_file(run):
        for write in file:
            end_s = write.time_s + 1
            left = [w for w in file if w.time_s - w.age_s < write.time_s and w.time_s > end_s]
            times += bool(left)
    return times


def test_sprite_writes_whole_files_none_older_than_its_age_and_a_scan(lab: Lab) -> None:
    """When a block of a file is 30 s old, sprite writes all dirty blocks of the file, also new
    ones. It scans each 5 s. AIPU writes single blocks."""
    run = lab("sprite")
    youngest, oldest = ages_s(run)
    assert youngest < 1 and 30 <= oldest < 35 + SLACK_S
    assert count_partial_writes(run) == 0
    assert count_partial_writes(lab("aipu")) > 0


def test_svr4_bounds_the_age_and_writes_data_by_turns(lab: Lab) -> None:
    """svr4 scans a sixtieth of the 1200 buffers each second, and writes the dirty blocks there. So
    a second has 20 writes at most, and no block becomes older than the 60 s of a round."""
    run = lab("svr4")
    youngest, oldest = ages_s(run)
    assert youngest < 15 and 30 < oldest < 60 + SLACK_S
    assert run.most_in_a_second() <= 1200 / 60
    metadata = [write.age_s for write in run.of_structure()]
    assert metadata and 30 < max(metadata) < 60 + SLACK_S, "all of it once a minute"


def test_bsd_syncer_writes_whole_files_by_30_s_and_metadata_by_10_s(lab: Lab) -> None:
    """The oldest block of a file is written at 30 s, together with all others of the file."""
    run = lab("bsd_syncer")
    _, oldest = ages_s(run)
    assert 29 <= oldest < 30 + SLACK_S
    assert count_partial_writes(run) == 0
    metadata = [write.age_s for write in run.of_structure()]
    assert metadata and 9 <= max(metadata) < 10 + SLACK_S


def count_scanned(lab: Lab, policy: str, blocks: int) -> int:
    """Return how many buffers an update with this many dirty blocks scans."""
    script = f"""
sync
iogen bs=4k nr={blocks} rw=write filename=/x
grep bio.scanned /dev/stat > /before
sleep 31
grep bio.scanned /dev/stat
cat /before
"""
    console = lab(policy, script).console
    after, before = map(int, re.findall(r"^bio.scanned (\d+)", console, re.M))
    return after - before


def test_bflush_scans_with_the_square_of_what_is_dirty_and_pu_in_proportion(lab: Lab) -> None:
    """Four times as many dirty blocks have pu scan about four times as many buffers, and bflush,
    which begins anew after each write, about 16 times as many."""
    few, many = 200, 800
    assert 3 < count_scanned(lab, "pu", many) / count_scanned(lab, "pu", few) < 5
    assert count_scanned(lab, "bflush", many) / count_scanned(lab, "bflush", few) > 10
