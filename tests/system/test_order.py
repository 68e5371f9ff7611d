"""Order policies in the running kernel, and a disk of ext3 whose journal has to be replayed.

An order policy says how metadata reaches the disk: `sync` waits for each write, `none` delays all,
and `journal` writes them to a log first, which the image must have (mkfs --journal).
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import MakeImage
from either import run_rc

from sluice.crash.logwriter import Image, Transaction
from sluice.host.paths import MKFS
from sluice.system import image
from sluice.system.qemu import Config, Disk

# Commands that change many names.
NAMES = """set -e
mkdir /d
mkdir /d/a
mv /d/a /d/b
for i in $(seq 100); do echo $i > /d/f$i; done
mv /d/f7 /d/f8
rm /d/f9
"""
JOURNAL = ("--journal", "4M")


def elapsed_s(console: str) -> float:
    """Return the seconds between the two times that a script prints with uptime."""
    begin, end = (float(s) for s in re.findall(r"up 00:00:(\d+\.\d+)", console))
    return end - begin


def test_names_cost_no_waiting_where_metadata_is_delayed(run_script) -> None:
    """Changes of names take less than half the time of order=sync. After the shutdown e2fsck finds
    the disk whole under each policy."""
    seconds = {}
    for order in ("sync", "none", "journal"):
        script = f"uptime\n{NAMES}uptime\n"
        args = f"drive=cheetah4lp order={order}"
        result = run_script(script, lab=True, options=JOURNAL, args=args)
        assert result.status == 0, result.console
        seconds[order] = elapsed_s(result.console)
    assert seconds["none"] < seconds["sync"] / 2
    assert seconds["journal"] < seconds["sync"] / 2


def test_swaps_of_order_policies_among_changes_of_names_lose_nothing(run_script) -> None:
    swaps = "for i in $(seq 12); do policy use order none; sleep 0.05; "
    swaps += "policy use order sync; sleep 0.05; done &\n"
    script = f"{swaps}{NAMES}wait\nls /d | grep -c f\npolicy | grep order\n"
    result = run_script(script, lab=True, args="drive=cheetah4lp check=1")
    assert result.status == 0, result.console
    # Of 100 files, f7 has replaced f8, and f9 is removed.
    assert re.search(r"^98$", result.console, re.M), result.console
    assert re.search(r"order .*\[sync\]", result.console)


# ---- order=journal, and disks that it does not go with ----

NO_JOURNAL = "order/journal: a disk that is mounted has no journal: mkfs --journal makes one"


def test_a_disk_without_a_journal_refuses_that_policy(run_script, make_image: MakeImage) -> None:
    """While a disk without a journal is mounted, the policy cannot be used. While the policy is in
    use, that disk can be mounted only for reading."""
    second = Disk(make_image(programs=False))
    script = """mkdir /mnt
mount disk1 /mnt
policy use order journal || echo refused
policy order | grep sync
umount /mnt
policy use order journal && echo used
mount disk1 /mnt || echo not mounted
mount -r disk1 /mnt && echo for reading
"""
    result = run_script(script, options=JOURNAL, disks=(second,))
    said = result.console
    assert NO_JOURNAL in said and "[sync]" in said
    assert re.findall(r"^(refused|used|not mounted|for reading)$", said, re.M) == [
        "refused",
        "used",
        "not mounted",
        "for reading",
    ]
    assert "disk1: the order policy needs a journal: make the image with mkfs --journal" in said


def test_a_root_without_a_journal_ends_the_boot_with_words(run_script) -> None:
    result = run_script("echo must not run", args="order=journal")
    assert result.status != 0 and "must not run" not in result.console
    assert "disk0: the order policy needs a journal: make the image with mkfs" in result.console


def test_a_cache_with_too_few_buffers_refuses_that_policy(run_script) -> None:
    script = "policy use order journal || policy order | grep sync\n"
    result = run_script(script, options=JOURNAL, args="nbuf=63")
    assert "order/journal: it needs 64 buffers: raise nbuf" in result.console
    assert "[sync]" in result.console
    result = run_script("echo must not run", options=JOURNAL, args="nbuf=63 order=journal")
    assert result.status != 0 and "order=journal: it needs 64 buffers" in result.console


MANY_GROUPS = """set -e
mkdir /mnt
mount disk1 /mnt
dd if=/dev/zero of=/mnt/big bs=64k count=320 2> /dev/null
sync
rm /mnt/big
sync
umount /mnt
echo all done
"""


@pytest.mark.parametrize(("buffers", "used"), [(64, False), (1024, True)])
def test_blocks_of_many_groups_are_freed_by_a_commit_that_fits_the_cache_or_without_a_journal(
    make_image: MakeImage, tmp_path: Path, buffers: int, used: bool
) -> None:
    """The file lies in 80 of the 128 groups; a commit that frees it changes a bitmap of each."""
    data = tmp_path / "data"
    image.run_command("truncate", "-s", "32M", data)
    options = ("-b", "1024", "-g", "256", "-N", "512", "-O", "^resize_inode,^dir_index,^ext_attr")
    image.run_command("mke2fs", "-q", "-F", *options, "-J", "size=1", data)
    root = make_image(rc=MANY_GROUPS, block="1K", options=JOURNAL)
    args = f"nbuf={buffers} order=journal drive=fixed"
    result = run_rc(Config((Disk(root), Disk(data)), lab=True, args=args))
    assert result.status == 0 and "all done" in result.console
    assert ("disk1: the journal is not used" in result.console) != used
    image.check_image(data)


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """Return a disk with a file that only its journal holds."""
    before, after = tmp_path / "before", tmp_path / "after"
    folder = tmp_path / "folder"
    folder.mkdir()
    options = ("-b", "4K", "-s", "32M", "-J", "4M", "-d", folder)
    image.run_command(MKFS, *options, before)
    shutil.copy(before, after)
    (tmp_path / "text").write_bytes(b"from the log" * 3000)
    image.debugfs(after, f"write {tmp_path / 'text'} text", write=True)
    old, new = Image(before), Image(after)
    numbers = range(len(old.data) // 4096)
    # The log gets all blocks by which the disks with and without the file differ.
    changed = {n: new.block(n) for n in numbers if old.block(n) != new.block(n)}
    old.write_log([Transaction(changed)])
    return old.save()


def test_the_kernel_mounts_a_disk_whose_journal_has_to_be_replayed(
    run_script, logged: Path
) -> None:
    script = "mkdir /mnt\nmount disk1 /mnt\ncp /mnt/text /mnt/copy\ncmp /mnt/text /mnt/copy\n"
    script += "wc -c /mnt/copy\numount /mnt\n"
    result = run_script(script, disks=[Disk(logged)])
    assert result.status == 0, result.console
    assert "disk1: journal replayed: 1 transactions" in result.console
    assert "36000" in result.console
    image.check_image(logged)
    assert image.read_file(logged, "/text") == b"from the log" * 3000


def journal_counts(console: str) -> list[dict[str, int]]:
    """Return the journal's counters at each time that a script printed them."""
    found: list[dict[str, int]] = []
    for name, value in re.findall(r"^journal\.(\w+) (\d+) ", console, re.M):
        if name == "commits":  # the first of them each time
            found.append({})
        found[-1][name] = int(value)
    return found


@pytest.mark.parametrize(
    ("drive", "processes", "least"),  # least: files in a commit, in the mean
    [
        *(("drive=cheetah4lp drive_volatile=1 ", n, 0.9 * n) for n in (1, 2, 8)),
        # If a commit did not wait for others, it would have 1.02 files here, so short is it.
        ("", 8, 4),
    ],
)
def test_processes_that_fsync_again_and_again_share_each_commit(
    make_image: Callable[..., Path], drive: str, processes: int, least: float
) -> None:
    """Each process writes a file and calls fsync, again and again. A commit should have the files
    of all processes. In Linux it has half of them: the processes that a commit releases come too
    late for the next one."""
    tell = "grep ^journal /dev/stat\n"
    files = 40 * processes
    script = f"set -e\n{tell}bench files {files} {processes}\n{tell}"
    root = make_image(rc=script, options=("--journal", "4M"), size="24M")
    result = run_rc(Config((Disk(root),), lab=True, args=f"{drive}order=journal"))
    assert result.status == 0, result.console
    before, after = journal_counts(result.console)
    commits = after["commits"] - before["commits"]
    assert files / commits > least, result.console
