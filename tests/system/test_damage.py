"""A damaged disk gives errors: never a panic, never a hang, nothing lost elsewhere.

A machine mounts seven damaged copies of one file system by turns, and tries all kinds of commands
on each. A kind of damage names the metadata that a seed changes at random.
"""

import random
from pathlib import Path

import pytest
from conftest import MakeImage
from whole import draw_for_each

from sluice.host.paths import DEBUG_KERNEL, KERNEL
from sluice.system.damage import KINDS, damage_file
from sluice.system.qemu import Config, Disk, run_rc

DISKS = 7  # damaged ones at a time, in addition to the root disk
BATCHES = 5  # boots for each kind of metadata: 7 * 5 * 7 = 245 seeds

# The commands tried on each: read all, change some, remove some. Each may fail.
WALK = """
mount disk{n} /mnt
ls -lR /mnt > /dev/null 2> /dev/null
cat /mnt/* /mnt/d/* /mnt/d/e/* > /dev/null 2> /dev/null
df > /dev/null 2> /dev/null
echo new > /mnt/new
cat /mnt/new > /dev/null
echo more >> /mnt/big
dd if=/dev/zero of=/mnt/grow bs=1k count=300 2> /dev/null
mkdir /mnt/made
ln /mnt/f1 /mnt/made/hard
ln -s /mnt/f1 /mnt/made/soft
mv /mnt/f2 /mnt/made/moved
truncate -s 1000 /mnt/big
rm -r /mnt/d
rm /mnt/f3 /mnt/big /mnt/soft
sync
umount /mnt
echo disk{n} done
"""


@pytest.fixture
def victim(make_image: MakeImage) -> Path:
    """Return a small file system with some of everything in it."""
    chance = random.Random(1)
    files = {f"/f{i}": chance.randbytes(i * 700) for i in range(8)}
    files |= {f"/d/n{i}": b"x" * i for i in range(60)}
    files["/d/e/deep"] = b"deep\n"
    files["/big"] = chance.randbytes(400_000)  # has a double indirect block
    links = {"/soft": "f1", "/slow": "d/../" * 30 + "f1"}  # in the inode, in a block
    return make_image(files=files, links=links, programs=False, size="2M", block="1K")


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.parametrize("kind", draw_for_each(KINDS, 5))
def test_damage_never_crashes_the_kernel(
    make_image: MakeImage, victim: Path, tmp_path: Path, kind: str, batch: int
) -> None:
    """The commands of WALK may fail, but each disk's commands come to their end, and the machine
    powers off with status 0."""
    seeds = range(batch * DISKS, (batch + 1) * DISKS)
    disks = [damage_file(victim, tmp_path / f"{seed}.damaged", kind, seed) for seed in seeds]
    script = "mkdir /mnt\n" + "".join(WALK.format(n=n + 1) for n in range(DISKS))
    root = make_image(rc=script + "sync\nexit 0\n")
    kernel = DEBUG_KERNEL if batch % 2 else KERNEL  # each second batch is for the debug kernel
    result = run_rc(Config((Disk(root), *(Disk(disk) for disk in disks)), kernel=kernel))
    assert result.status == 0, f"seeds {seeds}\n{result.console[-3000:]}"
    assert f"disk{DISKS} done" in result.console
