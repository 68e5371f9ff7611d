"""The drive models inside the kernel: what they refuse, and commands that the drive queues."""

import re

import pytest
from conftest import Run

from sluice.system.qemu import Disk


def test_a_disk_larger_than_its_drive_is_refused(run_script: Run) -> None:
    """The disk has 1 GiB, and the drive LPS540S some 516 MiB. The message counts
    sectors of 512 bytes."""
    disk = Disk(drive="driver=null-co,size=1G")
    result = run_script("echo must not run", disks=(disk,), args="disk1.drive=lps540s")
    assert result.status != 0
    assert "must not run" not in result.console
    assert "lps540s: holds 1056640 sectors, disk1 has 2097152" in result.console


@pytest.mark.parametrize(
    ("drive", "cylinders", "sectors"),
    # Cylinders times heads times sectors of a track; cheetah4lp has spares among them.
    [("hp97560", 36, 36 * 19 * 72), ("st19101", 11, 11 * 16 * 256), ("cheetah4lp", 100, 0)],
)
def test_a_disk_may_be_a_part_of_a_drive(
    run_script: Run, drive: str, cylinders: int, sectors: int
) -> None:
    """A disk with as many sectors as the part (the first cylinders) has boots, and one with a
    sector more is refused. For cheetah4lp `sectors` is 0, because its number is not known; so only
    a disk of one sector is tried."""
    args = f"disk1.drive={drive} drive_cylinders={cylinders}"
    for size in filter(None, (sectors, sectors + 1)):
        disk = Disk(drive=f"driver=null-co,size={512 * size}")
        result = run_script("echo runs", disks=(disk,), args=args)
        assert ("runs" in result.console) == (size <= sectors)
        assert (f"{sectors} sectors, disk1 has {size}" in result.console) == (size > sectors)


def test_a_drive_that_reads_whole_tracks_has_what_lies_before_a_request(run_script: Run) -> None:
    """Eight blocks of a file are read, the last one first. They are on two tracks at most.

    A drive that reads whole tracks needs two rotations of 15 ms, two seeks of 8 ms at most over so
    small a disk, and eight commands of 2.6 ms: 67 ms at most. As its row says, hp97560 reads no
    whole tracks. The block before begins 8 of its 72 sectors earlier, so the drive waits for a
    rotation minus 8 sectors, at least six times on the same track: at least 80 ms. The fast
    processor uses at most 1 ms of each such rotation for dd, so the limit is 74 ms.
    """
    again = [f"dd if=/f of=/dev/null bs=4k count=1 skip={i}\n" for i in range(7, -1, -1)]
    script = f"dd if=/g of=/dev/null\ncat /dev/hist\n{''.join(again)}cat /dev/hist\n"
    files = {"f": bytes(8 * 4096), "g": b"g"}
    sums = {}
    for how in ("", "drive_ahead=track"):
        args = f"drive=hp97560 prefetch=none {how}"
        result = run_script(script, files=files, args=args, lab=True, cpu_shift=2)
        assert result.status == 0, result.console
        pattern = r"^hist disk0.read_response ns (\d+) (\d+)$"
        (n, ns), (all_n, all_ns) = re.findall(pattern, result.console, re.M)
        assert int(all_n) - int(n) == 8
        sums[how] = (int(all_ns) - int(ns)) / 10**6
    assert sums["drive_ahead=track"] < 67  # ms
    assert sums[""] > 74


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("drive=hp97560 drive_ahead=far", "drive_ahead=far: hp97560: must be track"),
        ("drive=fixed drive_ahead=track", "argument drive_ahead: unknown"),
        ("drive=none drive_ahead=track", "argument drive_ahead: unknown"),
        (
            "drive=hp97560 drive_segments=4 drive_ahead=track",
            "drive_ahead=track: hp97560: a segment of its cache is smaller than a track",
        ),
        (
            "drive=hp97560 drive_segments=adaptive drive_ahead=track",
            "drive_ahead=track: hp97560: not with segments that adapt or ahead_if_sequential",
        ),
    ],
)
def test_reading_whole_tracks_is_refused_with_the_reason(
    run_script: Run, args: str, said: str
) -> None:
    result = run_script("true", args=args, lab=True)
    assert result.status == 100
    assert f"boot: {said}" in result.console


def test_a_drive_that_queues_commands_itself_answers_sooner(run_script: Run) -> None:
    """Six readers read six files. The scheduler fcfs keeps the order of their requests, and the
    drive, which holds up to eight of them, chooses a better one."""
    readers = "".join(f"dd if=/f{i} of=/dev/null &\n" for i in range(5))
    script = f"{readers}dd if=/f5 of=/dev/null\nwait\ncat /dev/hist\n"
    files = {f"f{i}": bytes(200_000) for i in range(6)}
    read_ns = {}
    for depth in (1, 8):
        args = f"drive=cheetah4lp sched=fcfs drive_depth={depth}"
        result = run_script(script, files=files, args=args, lab=True)
        assert result.status == 0, result.console
        line = re.search(r"^hist disk0.read_response ns \d+ (\d+)$", result.console, re.M)
        read_ns[depth] = int(line[1])
    assert read_ns[8] < 0.9 * read_ns[1]
