"""Disks with a virtual log in the kernel: power cuts, starts, and what is refused.

sluice/system/virtual_log.py, which shares no code with the kernel, lays the disks out and reads
them. What it reads is judged by e2fsck and debugfs.

On such a disk a block may be written to any place, and sectors of a map, which form the log, say
where each block is. At a shutdown the kernel writes the log's newest place into the tail, sector 1.
After a power cut the tail is empty, and the kernel finds the map by a scan of the disk.
"""

import random
import re
from pathlib import Path

import pytest
from conftest import MakeImage
from test_power_cut import LONG, MESSAGE, MESSAGES, SECTOR, entries, mail, names

from sluice.host.paths import MKFS
from sluice.system import image, virtual_log
from sluice.system.qemu import Config, Disk, Machine, run_rc

PLACES = 8 * 19 * 72 // 8  # eight cylinders of the HP 97560
ARGS = "drive=hp97560 place=eager check=1"
# By place policy: boot arguments, and how many summaries of segments its disk has. The tunables
# have a policy clean often, which means that it moves blocks to empty tracks or segments.
POLICIES = {
    "eager": (ARGS, 0),
    "range": (ARGS.replace("eager", "range"), 0),
    "vld": ("drive=hp97560 place=vld check=1 vld.idle_ms=1", 0),
    "segments": (
        "drive=hp97560 place=segments check=1 cluster_kb=404 segments.segment_kb=64"
        " segments.idle_reserve=1000",
        12,
    ),
}
# The same policies, with the drive instead of the kernel keeping the log.
POLICIES |= {
    f"{name} in the drive": (f"{args} log_in_drive=1", summaries)
    for name, (args, summaries) in POLICIES.items()
    if name != "range"
}
CLEANING = ("vld", "segments", "vld in the drive", "segments in the drive")
# Drives with 72, 116 and 71 sectors a track. A place has 8, so on the last two, places lie across
# the ends of tracks.
ALIGNED, UNALIGNED = "hp97560", ("lps540s", "rz57")
# The disk is idle until a block has been moved, if one is to be.
UNTIL_MOVED = (
    "m=$(grep disk.moved /dev/stat); for k in $(seq 100); do sleep 0.1;"
    ' test "$m" = "$(grep disk.moved /dev/stat)" || break; done'
)
COUNTED = ("writes", "map_writes", "moved")
CUTS = 40
TAIL = slice(SECTOR, 2 * SECTOR)  # the bytes of sector 1


def lay_out(path: Path, nsummaries: int = 0) -> Path:
    """Lay an image out on a virtual log."""
    path.write_bytes(virtual_log.lay_out_log(path.read_bytes(), PLACES, nsummaries=nsummaries))
    return path


def logical(disk: bytes, to: Path) -> Path:
    """Write the file system that is on a disk with a virtual log into the file `to`, as an image of
    its own. mkfs reads the disk, and must read the same as virtual_log.py."""
    disk_file = to.with_suffix(".disk")
    disk_file.write_bytes(disk)
    image.run_command(MKFS, "--from-log", disk_file, to)
    assert to.read_bytes() == virtual_log.read_logical_disk(disk)
    return to


def record_writes(
    folder: Path, policy: str, drive: str = ALIGNED
) -> tuple[bytes, list[tuple[int, bytes]]]:
    """Run a machine on whose disk messages arrive (mail in test_power_cut.py). Returns the disk
    before that, and its writes since, in their order."""
    args, nsummaries = POLICIES[policy]
    args = args.replace(ALIGNED, drive)
    rc = mail().replace("echo finished", "grep disk.moved /dev/stat\necho finished")
    if policy in CLEANING:
        rc = rc.replace("\nrm", f"\n{UNTIL_MOVED}\nrm")
    content = image.Content(files={"/msg": MESSAGE}, rc=rc, size="4M")
    path, log = lay_out(image.make_image(folder / "disk", content), nsummaries), folder / "log"
    before = path.read_bytes()
    log.write_bytes(b"")
    files = f"file.driver=file,file.filename={path},log.driver=file,log.filename={log}"
    disk = Disk(drive=f"driver=blklogwrites,{files}", cache="writeback")
    with Machine(Config((disk,), args=f"{args} write=delayed", lab=True)) as machine:
        moved = int(machine.expect(r"^disk.moved (\d+) blocks")[1])
        machine.expect(r"^finished \.")
        machine.wait()
    assert moved > 20 or policy not in CLEANING
    return before, [entry for entry in entries(log) if entry]


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[tuple[int, bytes]]]:
    """Return the disk before a run of eager writing, and the writes of the run."""
    return record_writes(tmp_path_factory.mktemp("virtual_log"), "eager")


def cut(before: bytes, log: list[tuple[int, bytes]], n: int, sectors: int) -> bytes:
    """Return the disk after n writes and the first sectors of the next write, which is torn."""
    disk = bytearray(before)
    at, data = log[n]
    for start, written in [*log[:n], (at, data[: sectors * SECTOR])]:
        disk[start : start + len(written)] = written
    return bytes(disk)


def count_arrived(path: Path) -> int:
    """Return how many messages must have been fsynced, since a later one is there. Each of them
    must be whole, or old enough to have been removed."""
    new = names(path, "/mail/new")
    last = max(new | names(path, "/mail/tmp") | {0})
    for i in range(last):
        if i in new:
            assert image.read_file(path, f"/mail/new/{LONG}{i}") == MESSAGE, i
        else:
            assert i <= last - MESSAGES // 2, f"{i} of {last}"
    return last


@pytest.mark.drawn(4)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("unaligned", [False, True], ids=["aligned", "unaligned"])
def test_mail_survives_a_power_cut_at_any_sector(
    policy: str, unaligned: bool, tmp_path: Path
) -> None:
    """40 cuts are tried, at random writes, each after a random number of the write's sectors."""
    drive = random.Random(policy).choice(UNALIGNED) if unaligned else ALIGNED
    before, log = record_writes(tmp_path, policy, drive)
    rng, proved = random.Random(f"{policy} {drive}"), 0
    assert len(log) > 20 * MESSAGES
    for n in rng.sample(range(1, len(log)), CUTS):
        disk = cut(before, log, n, rng.randrange(len(log[n][1]) // SECTOR))
        path = logical(disk, tmp_path / "image")
        repaired = image.run_command("e2fsck", "-fp", path, check=False)
        assert repaired.returncode in (0, 1), f"cut {n}: {repaired.stdout.decode()}"
        proved += count_arrived(path)
    assert proved > CUTS


def on_second_disk(make_image: MakeImage, disk: Path, script: str) -> str:
    """Return the output of a machine that mounts the disk at /mnt and then runs a script."""
    root = make_image(rc=f"mkdir /mnt && mount disk1 /mnt || exit 9\n{script}\n")
    config = Config((Disk(root), Disk(disk)), lab=True, args=f"{ARGS} disk0.drive=fixed")
    result = run_rc(config)
    assert result.status == 0, result.console
    return result.console


def test_the_kernel_finds_the_map_by_a_scan_and_next_time_by_the_tail(
    cuts: tuple[bytes, list[tuple[int, bytes]]], make_image: MakeImage, tmp_path: Path
) -> None:
    """The disk is cut when all messages in `new` are whole. The first mount finds the map by a scan
    and says so; the shutdown writes the tail, by which the second mount finds it."""
    before, log = cuts
    path, scan = tmp_path / "disk", "disk1: the virtual log was found by a scan"
    for n in range(len(log) * 2 // 3, 0, -1):  # back to a moment when none is being removed
        path.write_bytes(cut(before, log, n, 0))
        found = logical(path.read_bytes(), tmp_path / "image")
        there = names(found, "/mail/new")
        if all(image.read_file(found, f"/mail/new/{LONG}{i}") == MESSAGE for i in there):
            break
    script = "\n".join(f"cmp /mnt/msg /mnt/mail/new/{LONG}{i} || exit 9" for i in sorted(there))
    assert there and not any(path.read_bytes()[TAIL])
    assert scan in on_second_disk(make_image, path, script)
    assert any(path.read_bytes()[TAIL])
    assert scan not in on_second_disk(make_image, path, script)
    assert names(logical(path.read_bytes(), tmp_path / "image"), "/mail/new") == there


def boot_refused(make_image: MakeImage, disk: Path, args: str) -> str:
    """Return the console of a kernel that refuses to boot with this disk. A kernel that does boot
    ends at once and fails the test."""
    config = Config((Disk(make_image(rc="echo booted\n")), Disk(disk)), lab=True, args=args)
    result = run_rc(config)
    assert result.status == 100, result.console
    return result.console


def test_what_cannot_be_used_is_refused_with_words(make_image: MakeImage, tmp_path: Path) -> None:
    """Refused are: a disk without a log for mkfs --from-log; boot arguments that do not go with a
    log; a damaged map; a swap to a policy without a log; and a write to the mounted disk itself."""
    disk = lay_out(make_image(damaged=True, programs=False, size="4M"))
    whole = disk.read_bytes()
    said = image.run_command(MKFS, "--from-log", make_image(), tmp_path / "i", check=False)
    assert said.returncode == 1 and b"has no label of a virtual log" in said.stdout
    for args in ("place=eager", f"{ARGS} drive_volatile=1"):
        assert "a drive model and drive_volatile=0" in boot_refused(make_image, disk, args)
    for more in ("drive_depth=4", "disk1.drive=fixed"):
        said = boot_refused(make_image, disk, f"{ARGS} log_in_drive=1 {more}")
        assert "log_in_drive=1: disk1: wants platters and drive_depth=1" in said
    map_sectors = {
        at
        for at in range(virtual_log.PLACE, len(whole), virtual_log.PLACE)
        if virtual_log.read_sector(whole[at : at + SECTOR])
    }
    broken = bytearray(whole)
    broken[min(map_sectors) + 100] ^= 1
    disk.write_bytes(broken)
    assert "disk1: a sector of the map is damaged" in boot_refused(make_image, disk, ARGS)
    disk.write_bytes(whole)
    said = on_second_disk(make_image, disk, "policy use place inplace; echo then")
    assert "a disk has a virtual log" in said and "then" in said
    disk.write_bytes(whole)
    said = on_second_disk(make_image, disk, "dd if=/dev/zero of=/dev/disk1 bs=4k count=1; echo so")
    assert "busy" in said and "so" in said


def test_a_full_disk_says_so_and_can_be_written_again(
    make_image: MakeImage, tmp_path: Path
) -> None:
    """The file system has as many blocks as the log can hold. It is filled, and then other files
    are written. `df` prints the counters of the log's writes in a sentence."""
    size = f"{4 * virtual_log.log_capacity(PLACES)}K"
    disk = lay_out(make_image(damaged=True, programs=False, size=size))
    script = """
    dd if=/dev/zero of=/mnt/all bs=4k 2> /dev/null; sync
    rm /mnt/all
    iogen name=w rw=write filename=/mnt/more bs=4k size=1m nr=256 > /dev/null
    cp /bin/sh /mnt/sh && cmp /bin/sh /mnt/sh && echo same
    grep disk. /dev/stat; df
    """
    said = on_second_disk(make_image, disk, script)
    assert "same" in said
    count = {name: re.search(rf"^disk\.{name} (\d+) ", said, re.M)[1] for name in COUNTED}
    assert int(count["map_writes"]) > 100
    wrote = "written: {writes} requests, {map_writes} sectors of a map, {moved} blocks to empty"
    assert wrote.format(**count) in said
    image.check_image(logical(disk.read_bytes(), tmp_path / "image"))
