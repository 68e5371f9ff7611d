"""NVRAM (memory that keeps its contents without power) in front of a disk: a write is done when
NVRAM has it, the disk gets it later, and a power cut keeps what NVRAM holds.

The fixture `folder` has two images: data.img is disk1, mounted at /data, and nvram.img is disk2, in
which the contents of NVRAM are. `poweroff -n 7` is a power cut; it ends the machine with status 7.
"""

from pathlib import Path

import pytest

from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine, Result

ARGS = "disk1.drive=rz58 nvram_of=disk1 nvram_in=disk2 check=1"
SHOW = "grep nvram. /dev/stat; grep disk.writes /dev/stat"
WRITE = "for i in 0 1 2 3 4 5; do dd if=/bin/sh of=/data/f$i bs=8k conv=fsync 2> /dev/null; done"


def boot(folder: Path, rc: str, args: str = ARGS) -> Result:
    """Run the commands with the disks of a folder, and keep what the machine leaves on them."""
    content = Content(rc=f"mkdir /data; mount disk1 /data\n{rc}\n", size="16M")
    root = image.make_image(folder / "root.img", content)
    disks = (Disk(root), Disk(folder / "data.img"), Disk(folder / "nvram.img"))
    config = Config(disks, memory="64M", args=args, lab=True, charged=True)
    with Machine(config) as machine:
        return machine.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the images of the disk and of its NVRAM."""
    image.make_image(tmp_path / "data.img", Content(programs=False, size="32M"))
    with (tmp_path / "nvram.img").open("wb") as file:
        file.truncate(1 << 20)
    return tmp_path


def counter(result: Result, name: str) -> int:
    """Return a counter that SHOW has printed."""
    return int(next(line.split()[1] for line in result.console.splitlines() if name in line))


def test_a_power_cut_keeps_what_was_answered(folder: Path) -> None:
    """Six files are written with fsync, and the power is cut before the disk has all of them. After
    the next boot all six are whole, and the disk gets what it lacked."""
    first = boot(folder, f"{WRITE}\n{SHOW}\npoweroff -n 7")
    assert first.status == 7
    assert counter(first, "nvram.writes") > counter(first, "disk.writes")
    cut = (folder / "data.img").read_bytes()  # some files are only in NVRAM yet
    checks = "\n".join(f"cmp /bin/sh /data/f{i} && echo kept {i}" for i in range(6))
    second = boot(folder, f"{checks}\numount /data; sleep 9")
    assert [f"kept {i}" in second.console for i in range(6)] == [True] * 6
    assert (folder / "data.img").read_bytes() != cut
    image.check_image(folder / "data.img")


def test_a_full_nvram_lets_writes_wait(folder: Path) -> None:
    writes = "dd if=/bin/sh of=/data/f bs=8k 2> /dev/null; cp /data/f /data/g; cp /data/f /data/h"
    with (folder / "nvram.img").open("r+b") as file:
        file.truncate(32 << 10)  # three blocks of 8 KiB, and the table
    ended = boot(
        folder, f"{writes}; sync; {SHOW}; cmp /data/f /data/h && echo equal; umount /data; sleep 9"
    )
    assert ended.status == 0
    assert counter(ended, "nvram.waits") > 0
    assert "equal" in ended.console
    image.check_image(folder / "data.img")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("nvram_of=disk1 nvram_in=disk1", "nvram_in=disk1: must be another disk, in virtual time"),
        ("nvram_of=disk1", "nvram_in=: there is no such disk"),
        (
            "disk0.drive=rz58 nvram_of=disk0 nvram_in=disk1",
            "nvram_in=disk1: it holds something else than writes for disk0",
        ),
    ],
)
def test_a_boot_with_wrong_arguments_says_so(folder: Path, args: str, said: str) -> None:
    """The second disk has contents, so it is no empty NVRAM. said: what the kernel says."""
    with (folder / "data.img").open("r+b") as file:
        file.write(b"something")
    ended = boot(folder, "", args)
    assert ended.status == 100
    assert f"boot: {said}" in ended.console


def test_what_the_drive_refuses_stays_in_nvram(folder: Path) -> None:
    """A drive that takes no write is tried three times for each block. Then the machine says so,
    still reads the block, and writes past a full NVRAM fail. The next boot tries again."""
    with (folder / "nvram.img").open("r+b") as file:
        file.truncate(256 << 10)  # 31 blocks
    refuses = f"{ARGS} full_from_s=20 full_for_s=100000"  # no write is taken from second 20 on
    rc = (
        "sleep 20; cp /bin/true /data/f; sync /data/f; sleep 60\n"
        f"cmp /bin/true /data/f && echo read; {SHOW}; sleep 9\n"
        "for i in g h; do dd if=/bin/sh of=/data/$i bs=8k conv=fsync; done\n"
        f"{SHOW}; poweroff -n 7"
    )
    first = boot(folder, rc, refuses)
    assert first.status == 7
    assert "read\n" in first.console
    assert first.console.count("nvram: disk1 refuses a write of sector") == 1
    failed = [line for line in first.console.splitlines() if "nvram.failed" in line]
    assert 0 < int(failed[0].split()[1]) < 31 <= int(failed[1].split()[1])
    assert "dd: /data/h: input/output error" in first.console
    second = boot(folder, f"cmp /bin/true /data/f && echo kept; sleep 9; umount /data; {SHOW}")
    assert "kept" in second.console
    assert counter(second, "nvram.failed") == 0
    image.check_image(folder / "data.img")
