"""A disk of flash chips inside the kernel: it does what the model alone does, run after run, and
policies that want a platter get along without one.

Flash cannot overwrite a page. The model writes a page elsewhere, and cleans: it moves the pages
that are still valid out of a block of pages, and erases the block.
"""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import MakeImage, Run

from sluice.host.paths import NATIVE, ROOT
from sluice.system.qemu import Config, Disk, Result, run_rc

# Writes enough for cleaning: a disk of 16 MB has 15 % of 256 blocks to spare.
LOAD = (
    "iogen name=w rw=randwrite filename=/dev/disk1 bs=4k nr=2500 seed=3 -- "
    "name=r rw=randread filename=/dev/disk1 bs=8k nr=1000 seed=4\ncat /dev/stat\ncat /dev/hist\n"
)


def run(make_image: MakeImage, tmp_path: Path, script: str, args: str, size: int) -> Result:
    """Run a script in a machine that has a flash disk of this size, disk1."""
    disk = tmp_path / "flash.disk"
    disk.write_bytes(bytes(size))
    root = Disk(make_image(rc=script))
    return run_rc(Config((root, Disk(disk)), lab=True, cpu_shift=0, args=args))


def counted(console: str, name: str) -> int:
    """Return a counter of /dev/stat."""
    return int(re.search(rf"^{re.escape(name)} (\d+) ", console, re.M)[1])


def test_the_same_run_twice_is_the_same_and_cleans(make_image: MakeImage, tmp_path: Path) -> None:
    consoles = []
    for _ in range(2):
        result = run(make_image, tmp_path, LOAD, "check=1 disk1.drive=flash", 16 << 20)
        assert result.status == 0, result.console
        consoles.append(result.console)
    assert consoles[0] == consoles[1]
    # Each of 2500 writes is a page of its own, unless it still waits when it is written again.
    assert 2400 < counted(consoles[0], "flash.written") <= 2500
    assert counted(consoles[0], "flash.moved") > 0
    assert counted(consoles[0], "flash.erased") > 10


def test_a_file_system_outlives_every_scheduler_and_place_policy(
    make_image: MakeImage, tmp_path: Path
) -> None:
    """The policies are used one after the other, with candidates to write. A policy that wants a
    platter does without, or the command `policy` says why the policy cannot be used."""
    kinds = {
        kind: sorted(path.stem for path in (ROOT / "policies" / kind).glob("*.c"))
        for kind in ("sched", "place")
    }
    steps = "".join(
        f"policy use {kind} {name} || echo no {name}\n"
        f"iogen rw=randrw filename=/f-{name} size=200k layout=1 bs=4k nr=60 seed=5 >/dev/null\n"
        f"echo after {name}\n"
        for kind, names in kinds.items()
        for name in names
    )
    root = Disk(make_image(rc=f"{steps}sync\ncat /dev/stat\n"))
    args = "check=1 drive=flash write=delayed nbuf=100"
    result = run_rc(Config((root,), lab=True, cpu_shift=0, args=args))
    assert result.status == 0, result.console
    assert re.findall(r"^after (\w+)$", result.console, re.M) == [
        n for k in kinds for n in kinds[k]
    ]
    assert counted(result.console, "disk.flushes") > 0
    assert counted(result.console, "policy.faults") == 0


def test_a_disk_too_large_for_its_tables_is_refused(run_script: Run) -> None:
    disk = Disk(drive="driver=null-co,size=200G")
    result = run_script("echo must not run", disks=(disk,), args="disk1.drive=flash")
    assert result.status != 0
    assert "must not run" not in result.console
    assert "disk1: the tables of its flash do not fit: shrink it" in result.console


@pytest.mark.native
def test_the_parts_of_a_commands_time() -> None:
    """A command's parts, in ns, are those of `sluice why`: overhead, the wait for a busy die, two
    that only platters have, and the rest. A read of a page that has just been written waits until
    the page is programmed, which takes 300 us from the moment when its bytes have arrived.

    The input has a command in each line: the first and last time at which the drive may have taken
    it up, its kind, its first sector, its number of sectors, and the time when it was reported
    done."""
    parts = [NATIVE / "drive_parts_tool", "flash"]
    commands = "0 0 W 80 8 1000000\n1000000000 1000000000 R 0 8 2000000000\n"
    commands += "2000000000 2000000000 W 80 8 3000000000\n2000133656 2000133656 R 80 8 3000000000\n"
    done = subprocess.run(
        [*parts, "sectors=80000"], input=commands, capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    sent = 8 * 1707  # 8 sectors over the bus, 1707 ns each
    read = 25_000 + 100_000 + sent
    assert [row[7] for row in rows] == ["flash"] * 4
    assert [list(map(int, row[2:7])) for row in rows[:3]] == [
        [20_000, 0, 0, 0, sent],
        [20_000, 0, 0, 0, read],
        [20_000, 0, 0, 0, sent],
    ]
    told_ns = 2_000_133_656 + 20_000  # 120 us after the page began to cross
    busy_ns = 2_000_033_656 + 300_000 - told_ns
    assert list(map(int, rows[3][2:7])) == [20_000, busy_ns, 0, 0, read]
    refused = subprocess.run(parts, input=commands, capture_output=True, text=True, check=False)
    assert (refused.returncode, "sectors= is missing" in refused.stderr) == (2, True)
