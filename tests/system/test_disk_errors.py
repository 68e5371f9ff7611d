"""Errors of the disk reach the program that asked, and flushes reach the disk.

QEMU's blkdebug driver fails chosen transfers of an image, with the error EIO (number 5). The file
systems have blocks of 4 KiB, so the files /bad and /good of the fixture `data` have ten blocks.
"""

from pathlib import Path

import pytest
from conftest import Boot, MakeImage

from sluice.system import image
from sluice.system.qemu import Disk, Machine

EIO = "input/output error"


def failing(path: Path, iotype: str, sector: int | None = None) -> Disk:
    """Return a disk whose transfers of that type (read, write or flush) fail: those that have this
    sector, or all of them."""
    rule = f"inject-error.0.event=none,file.inject-error.0.iotype={iotype}"
    if sector is not None:
        rule += f",file.inject-error.0.sector={sector}"
    drive = f"driver=raw,file.driver=blkdebug,file.image.driver=file,file.image.filename={path}"
    return Disk(drive=f"{drive},file.{rule},file.inject-error.0.errno=5", cache="writeback")


def sector_of(path: Path, inside: str, index: int = 0) -> int:
    """Return the first sector of a file's block, on an image of 4 KiB blocks."""
    return int(image.debugfs(path, f"blocks {inside}").split()[index]) * 8


def second_disk(boot: Boot, make_image: MakeImage, disk: Disk, args: str = "") -> Machine:
    """Return a machine that has the disk mounted at /mnt."""
    machine = boot(disks=(Disk(make_image()), disk), args=args)
    machine.check("mkdir /mnt && mount disk1 /mnt")
    return machine


@pytest.fixture
def data(make_image: MakeImage) -> Path:
    """Return the image of a disk with the files /bad and /good."""
    files = {"/bad": b"b" * 40_000, "/good": b"g" * 40_000}
    return make_image(files=files, programs=False)


def test_a_failed_read_is_eio_to_the_reader_and_harms_no_other(
    boot: Boot, make_image: MakeImage, data: Path
) -> None:
    """A sector of /bad's block 4 fails. The four blocks before it can be read, and so can /good."""
    disk = failing(data, "read", sector_of(data, "/bad", 4) + 3)
    machine = second_disk(boot, make_image, disk)
    output = machine.run("cat /mnt/bad > /dev/null")
    assert output.status != 0
    assert EIO in output.text
    assert machine.check("head -n 1 /mnt/good | wc -c").split() == ["40000"]
    machine.check("dd if=/mnt/bad of=/dev/null bs=4k count=4 2> /dev/null")
    machine.check("umount /mnt")


def test_a_failed_write_is_eio_to_fsync_and_to_sync(
    boot: Boot, make_image: MakeImage, data: Path
) -> None:
    """Writes to block 4 of /bad fail. The machine and the other file go on."""
    disk = failing(data, "write", sector_of(data, "/bad", 4))
    machine = second_disk(boot, make_image, disk)
    output = machine.run("dd if=/dev/zero of=/mnt/bad bs=4k count=9 conv=notrunc,fsync")
    assert output.status != 0
    assert EIO in output.text
    machine.check("dd if=/dev/zero of=/mnt/good bs=4k count=9 conv=notrunc,fsync 2> /dev/null")
    machine.run("sync")
    machine.run("umount /mnt")
    assert machine.check("echo still here") == "still here\n"


def test_a_failed_flush_is_eio_to_fsync_so_fsync_flushes(
    boot: Boot, make_image: MakeImage, data: Path
) -> None:
    """With drive_volatile=0 the order of writes needs no flush, so the flush is fsync's own."""
    machine = second_disk(boot, make_image, failing(data, "flush"), "drive_volatile=0")
    output = machine.run("dd if=/dev/zero of=/mnt/new bs=4k count=1 conv=fsync")
    assert output.status != 0
    assert EIO in output.text
    machine.check("dd if=/dev/zero of=/mnt/other bs=4k count=1 2> /dev/null")


def test_where_the_order_of_writes_needs_a_flush_and_it_fails_nothing_is_changed(
    boot: Boot, make_image: MakeImage, data: Path
) -> None:
    """The flush fails before the new file's metadata is changed. The file system becomes
    read-only."""
    machine = second_disk(boot, make_image, failing(data, "flush"))
    output = machine.run("dd if=/dev/zero of=/mnt/new bs=4k count=1")
    assert output.status != 0
    assert "read-only file system" in output.text
    machine.check("cat /mnt/good > /dev/null")


def test_metadata_that_cannot_be_read_is_eio(boot: Boot, make_image: MakeImage, data: Path) -> None:
    """The block of the root directory cannot be read. EIO is the message of that error."""
    disk = failing(data, "read", sector_of(data, "/"))
    machine = second_disk(boot, make_image, disk)
    output = machine.run("ls /mnt")
    assert output.status != 0
    assert EIO in output.text
    machine.check("ls / > /dev/null && umount /mnt")


def test_a_disk_whose_superblock_cannot_be_read_is_not_mounted(
    boot: Boot, make_image: MakeImage, data: Path
) -> None:
    machine = boot(disks=(Disk(make_image()), failing(data, "read", 2)))  # ext2's superblock
    output = machine.run("mkdir /mnt && mount disk1 /mnt")
    assert output.status != 0
    assert EIO in output.text


def test_a_read_only_disk_is_mounted_read_only(
    boot: Boot, make_image: MakeImage, data: Path
) -> None:
    disk = Disk(drive=f"file={data},format=raw,read-only=on")
    machine = boot(disks=(Disk(make_image()), disk))
    machine.run("mkdir /mnt && mount -r disk1 /mnt || mount disk1 /mnt")
    machine.check("cat /mnt/good > /dev/null")
    assert "read-only" in machine.run("echo text > /mnt/new").text
    machine.check("umount /mnt")


# ---- one block of data that cannot be written ----

JOURNAL = ("--journal", "4M")
FSYNC = "dd if=/dev/null conv=notrunc,fsync 2> /dev/null of="


def boot_bad_block(boot: Boot, make_image: MakeImage, order: str) -> tuple[Machine, Path]:
    """Return a machine where a block of /mnt/bad is dirty and cannot be written, and the image of
    its disk. Zeros of /mnt/holes are confirmed."""
    data = make_image(files={"/bad": b"b" * 40_000}, programs=False, options=JOURNAL, damaged=True)
    disk = failing(data, "write", sector_of(data, "/bad", 4))
    machine = boot(disks=(Disk(make_image(options=JOURNAL)), disk), args=f"order={order}")
    machine.check("mkdir /mnt && mount disk1 /mnt")
    machine.check(f"truncate -s 60000 /mnt/holes && {FSYNC}/mnt/holes")
    machine.check("dd if=/dev/zero of=/mnt/bad bs=4k count=9 conv=notrunc 2> /dev/null")
    return machine, data


@pytest.mark.parametrize("order", ["sync", "none", "journal"])
def test_a_power_off_writes_all_but_the_block_that_cannot_be_written(
    boot: Boot, make_image: MakeImage, order: str
) -> None:
    machine, data = boot_bad_block(boot, make_image, order)
    machine.check(f"echo new > /mnt/new && {FSYNC}/mnt/new")
    machine.check("echo last > /mnt/last")
    # Behind the direct blocks, so no other change writes the pointer.
    machine.check("echo hole | dd of=/mnt/holes bs=4k seek=13 conv=notrunc 2> /dev/null")
    result = machine.power_off()
    assert result.status == 1
    assert "poweroff: not everything was written" in result.console
    image.run_command("e2fsck", "-fp", data, check=False)
    image.check_image(data)
    assert image.read_file(data, "/new") == b"new\n"
    assert image.read_file(data, "/last") == b"last\n"
    assert image.read_file(data, "/holes") == (bytes(13 * 4096) + b"hole\n").ljust(60000, b"\0")


@pytest.mark.parametrize(("old", "new"), [("none", "sync"), ("journal", "sync")])
def test_a_swap_of_order_with_a_block_that_cannot_be_written_goes_on(
    boot: Boot, make_image: MakeImage, old: str, new: str
) -> None:
    """What the old policy has delayed or logged is on the disk, and the disk can still be used."""
    machine, data = boot_bad_block(boot, make_image, old)
    machine.check("echo old > /mnt/old && mkdir /mnt/d")
    machine.check(f"policy use order {new}")
    machine.check(f"echo new > /mnt/d/new && {FSYNC}/mnt/d/new")
    machine.kill()
    assert "read-only" not in machine.console
    image.run_command("e2fsck", "-fp", data, check=False)
    image.check_image(data)
    assert image.read_file(data, "/old") == b"old\n"
    assert image.read_file(data, "/d/new") == b"new\n"


def test_a_log_goes_round_although_a_block_of_data_cannot_be_written(
    boot: Boot, make_image: MakeImage
) -> None:
    """Each fsync commits some blocks; the log has 1024."""
    machine, data = boot_bad_block(boot, make_image, "journal")
    loop = f"for i in $(seq 300); do echo $i > /mnt/f$i && {FSYNC}/mnt/f$i || exit 1; done"
    machine.check(f"( {loop} )")
    checkpoints = machine.check("grep journal.checkpoints /dev/stat").split()[1]
    assert int(checkpoints) > 1
    machine.kill()
    assert "read-only" not in machine.console
    image.run_command("e2fsck", "-fp", data, check=False)
    image.check_image(data)
    assert image.read_file(data, "/f300") == b"300\n"
