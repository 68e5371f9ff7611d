"""A delayed write that is lost is told to each program that has the file open, once (lost.h).

QEMU's blkdebug fails the writes of a file's blocks, or the host's disk is full for a while: a
tmpfs, where the tests may mount one.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Boot, MakeImage
from test_disk_errors import EIO

from grade.host.paths import ROOT
from grade.host.quoting import for_qemu
from grade.machine import image
from grade.machine.qemu import Disk, Machine

# Under nvram an fsync waits for no write, and through tells the writer itself.
OTHERS = {"nvram", "through"}
WRITE = sorted({path.stem for path in (ROOT / "policies/write").glob("*.c")} - OTHERS)
BUFFERS, BLOCKS = 60, 200  # fewer than the blocks of the file that is written


@pytest.fixture
def data(make_image: MakeImage) -> Path:
    files = {"/bad": b"b" * BLOCKS * 4096, "/good": b"g" * 40_000}
    return make_image(files=files, programs=False)


def failing_blocks(path: Path, inside: str) -> Disk:
    """A disk on which no block of this file can be written."""
    drive = "driver=raw,file.driver=blkdebug,file.image.driver=file"
    drive += f",file.image.filename={for_qemu(path)}"
    for i, block in enumerate(image.debugfs(path, f"blocks {inside}").split()):
        rule = f"file.inject-error.{i}"
        drive += (
            f",{rule}.event=none,{rule}.iotype=write,{rule}.errno=28,{rule}.sector={8 * int(block)}"
        )
    return Disk(drive=drive, cache="writeback")


def mounted(boot: Boot, make_image: MakeImage, disk: Disk, args: str = "") -> Machine:
    machine = boot(disks=(Disk(make_image()), disk), args=f"nbuf={BUFFERS} {args}")
    machine.check("mkdir /mnt && mount disk1 /mnt")
    return machine


def overwrite(machine: Machine, more: str = "") -> tuple[int, str]:
    """The end of a program that overwrites the file, and what was said."""
    output = machine.run(f"dd if=/dev/zero of=/mnt/bad bs=4k count={BLOCKS} conv=notrunc{more}")
    return output.status, output.text


def fsync(machine: Machine, name: str) -> int:
    """How a program ends that opens the file anew and calls fsync."""
    return machine.run(f"dd if=/dev/null of=/mnt/{name} conv=notrunc,fsync").status


@pytest.mark.parametrize("policy", WRITE)
def test_a_loss_is_told_by_close_by_the_next_fsync_and_once_by_sync(
    boot: Boot, make_image: MakeImage, data: Path, policy: str
) -> None:
    machine = mounted(boot, make_image, failing_blocks(data, "/bad"), f"write={policy}")
    status, text = overwrite(machine)
    assert status != 0
    assert EIO in text
    assert text.count("is lost: fsync, close and sync will say so") == 1
    assert fsync(machine, "good") == 0
    assert fsync(machine, "bad") != 0
    machine.run("rm /mnt/bad")  # and with it what is still dirty
    assert machine.run("sync").status != 0
    machine.check("sync && umount /mnt")


def test_through_the_writer_is_told_at_once(boot: Boot, make_image: MakeImage, data: Path) -> None:
    machine = mounted(boot, make_image, failing_blocks(data, "/bad"), "write=through")
    status, text = overwrite(machine)
    assert status != 0
    assert EIO in text
    machine.run("rm /mnt/bad; sync")
    machine.check("umount /mnt")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of the host with room for 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True
    ).returncode:
        pytest.skip("only root may mount a small tmpfs")
    yield place  # first of a test's fixtures: its machine is off before it goes
    subprocess.run(["umount", place], check=True)


def test_a_host_disk_that_is_full_for_a_while_loses_nothing(
    small: Path, boot: Boot, make_image: MakeImage
) -> None:
    made = make_image(files={}, programs=False)
    path = small / "disk.img"
    subprocess.run(["cp", "--sparse=always", made, path], check=True)
    machine = mounted(boot, make_image, Disk(path, cache="writeback"))
    machine.send("seq 1 700000 > /mnt/big; echo ended $?\n")
    machine.expect("cannot be written now: trying again")
    subprocess.run(["mount", "-o", "remount,size=100m", small], check=True)
    machine.expect("ended 0", 60)
    machine.check("seq 1 700000 | cmp - /mnt/big && sync && umount /mnt")
    assert "is lost" not in machine.console


def test_processes_that_share_a_description_are_told_together_and_others_once_more(
    small: Path, boot: Boot, make_image: MakeImage
) -> None:
    """The first `dd` ends with 0: its close is not the last one of the shell's description."""
    made = make_image(files={}, programs=False)
    path = small / "disk.img"
    subprocess.run(["cp", "--sparse=always", made, path], check=True)
    machine = mounted(boot, make_image, Disk(path, cache="writeback"))
    fsyncs = "".join(
        f"dd if=/dev/null conv=fsync; echo {n} fsync $? >&2; " for n in ("first", "second")
    )
    write = "dd if=/dev/zero bs=4k count=900; echo writer $? >&2; sleep 2; "
    machine.send(f"({write}{fsyncs}) > /mnt/big; echo all done\n")
    machine.expect("is lost: fsync, close and sync will say so", 60)
    subprocess.run(["mount", "-o", "remount,size=100m", small], check=True)
    machine.expect(r"(?s)writer 0\n.*first fsync 1\n.*second fsync 0\n.*all done\n", 60)
    assert fsync(machine, "big") == 0  # opened when an fsync had been told
    assert machine.run("sync").status != 0
    machine.check("sync && umount /mnt")
