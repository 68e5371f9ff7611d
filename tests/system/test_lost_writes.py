"""A delayed write that is lost is told to each program that has the file open, once (lost.h).

A write is lost when the kernel gives it up, because the disk refused it for seconds. A call tells a
program by failing: close, fsync, sync or umount. A description is what one `open` made; several
descriptors may share it. The disk refuses writes in three ways: QEMU's blkdebug fails those of the
file /bad; the host's disk is full for a while, on a small tmpfs, if the tests may mount one; or, in
virtual time, the kernel's argument full_from_s makes it so.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Boot, MakeImage
from either import run_rc
from test_disk_errors import EIO

from sluice.host.paths import ROOT
from sluice.host.quoting import quote_qemu
from sluice.system import image
from sluice.system.qemu import Config, Disk, Machine

# Under the policy `nvram` an fsync waits for no write. Under `through` the write itself fails.
OTHERS = {"nvram", "through"}
WRITE = sorted({path.stem for path in (ROOT / "policies/write").glob("*.c")} - OTHERS)
BUFFERS, BLOCKS = 60, 200  # fewer than the blocks of the file that is written
# In real time only a few blocks more than there are buffers are written, because the kernel gives a
# write up only after 6 s.
FEW = BUFFERS + 20


@pytest.fixture
def data(make_image: MakeImage) -> Path:
    """Return the image of a disk with /bad, larger than the cache, and /good."""
    files = {"/bad": b"b" * BLOCKS * 4096, "/good": b"g" * 40_000}
    return make_image(files=files, programs=False)


def failing_blocks(path: Path, inside: str) -> Disk:
    """Return a disk on which no block of this file can be written."""
    drive = "driver=raw,file.driver=blkdebug,file.image.driver=file"
    drive += f",file.image.filename={quote_qemu(path)}"
    for i, block in enumerate(image.debugfs(path, f"blocks {inside}").split()):
        rule = f"file.inject-error.{i}"
        drive += (
            f",{rule}.event=none,{rule}.iotype=write,{rule}.errno=28,{rule}.sector={8 * int(block)}"
        )
    return Disk(drive=drive, cache="writeback")


def mounted(boot: Boot, make_image: MakeImage, disk: Disk, args: str = "") -> Machine:
    """Return a machine that has the disk mounted at /mnt."""
    machine = boot(disks=(Disk(make_image()), disk), args=f"nbuf={BUFFERS} {args}")
    machine.check("mkdir /mnt && mount disk1 /mnt")
    return machine


def overwrite(machine: Machine, more: str = "") -> tuple[int, str]:
    """Return the exit status of a program that overwrites part of the file, and its messages."""
    output = machine.run(f"dd if=/dev/zero of=/mnt/bad bs=4k count={FEW} conv=notrunc{more}")
    return output.status, output.text


def fsync(machine: Machine, name: str) -> int:
    """Return the exit status of a program that opens the file anew and calls fsync."""
    return machine.run(f"dd if=/dev/null of=/mnt/{name} conv=notrunc,fsync").status


@pytest.mark.drawn(6)
@pytest.mark.parametrize("policy", WRITE)
def test_a_loss_is_told_by_close_by_the_next_fsync_and_once_by_sync(
    boot: Boot, make_image: MakeImage, data: Path, policy: str
) -> None:
    """The writer's close fails. The fsync of a program that opens /bad later fails, too, and that
    of /good does not. The next sync fails once."""
    machine = mounted(boot, make_image, failing_blocks(data, "/bad"), f"write={policy}")
    status, text = overwrite(machine)
    assert status != 0
    assert EIO in text
    assert text.count("is lost: fsync, close and sync will say so") == 1
    assert fsync(machine, "good") == 0
    assert fsync(machine, "bad") != 0
    machine.run("rm /mnt/bad")  # its dirty blocks need not be written then
    assert machine.run("sync").status != 0
    machine.check("sync && umount /mnt")


def test_through_the_writer_is_told_at_once(boot: Boot, make_image: MakeImage, data: Path) -> None:
    """The blocks of /bad cannot be written. Under write=through the program's own call fails."""
    machine = mounted(boot, make_image, failing_blocks(data, "/bad"), "write=through")
    status, text = overwrite(machine)
    assert status != 0
    assert EIO in text
    machine.run("rm /mnt/bad; sync")
    machine.check("umount /mnt")


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of the host with room for 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True
    ).returncode:
        pytest.skip("only root may mount a small tmpfs")
    yield place  # first of a test's fixtures: its machine is off before it goes
    subprocess.run(["umount", place], check=True)


@pytest.fixture
def full(small: Path, boot: Boot, make_image: MakeImage) -> Machine:
    """Return a machine whose disk1, at /mnt, has 3 MB of its host's disk, until there is more."""
    made = make_image(files={}, programs=False)
    path = small / "disk.img"
    subprocess.run(["cp", "--sparse=always", made, path], check=True)
    return mounted(boot, make_image, Disk(path, cache="writeback"))


def make_space(small: Path) -> None:
    """Make room on the host's disk, which was full."""
    subprocess.run(["mount", "-o", "remount,size=100m", small], check=True)


def test_a_host_disk_that_is_full_for_a_while_loses_nothing(small: Path, full: Machine) -> None:
    """The disk's image is on a host disk that is full until make_space()."""
    machine = full
    machine.send("seq 1 700000 > /mnt/big; echo ended $?\n")
    machine.expect("cannot be written now: trying again")
    make_space(small)
    machine.expect("ended 0", 60)
    machine.check("seq 1 700000 | cmp - /mnt/big && sync && umount /mnt")
    assert "is lost" not in machine.console


def test_processes_that_share_a_description_are_told_together_and_not_again(
    small: Path, full: Machine
) -> None:
    """The first `dd` ends with 0: its close is not the last one of the shell's description."""
    machine = full
    fsyncs = "".join(
        f"dd if=/dev/null conv=fsync; echo {n} fsync $? >&2; " for n in ("first", "second")
    )
    write = "dd if=/dev/zero bs=4k count=900; echo writer $? >&2; sleep 2; "
    machine.send(f"({write}{fsyncs}) > /mnt/big; echo all done\n")
    machine.expect("is lost: fsync, close and sync will say so", 60)
    make_space(small)
    machine.expect(r"(?s)writer 0\n.*first fsync 1\n.*second fsync 0\n.*all done\n", 60)
    assert fsync(machine, "big") == 0  # opened when an fsync had been told
    assert machine.run("sync").status != 0
    machine.check("sync && umount /mnt")


# The tests below run in virtual time. From second 10 to second 40 only the root disk takes writes.


def console_of(make_image: MakeImage, script: str, data: Path, args: str) -> str:
    """Return what a machine prints that runs a script on a disk1 that is full for a while."""
    root = make_image(rc=f"mkdir /mnt\nmount disk1 /mnt\nsleep 10\n{script}poweroff\n")
    args += " drive=fixed full_from_s=10 full_for_s=30"
    return run_rc(Config((Disk(root), Disk(data)), lab=True, args=args)).console


def shown_lines(console: str) -> list[str]:
    """Return the lines that a script's `echo` has printed, which begin with `>`."""
    return [line for line in console.splitlines() if line.startswith((">", "panic"))]


def lines_of(make_image: MakeImage, script: str, data: Path, buffers: int = BUFFERS) -> list[str]:
    """Return the lines that a script's `echo` prints on a disk1 that is full for a while."""
    return shown_lines(console_of(make_image, script, data, f"nbuf={buffers}"))


def show_end(name: str, command: str) -> str:
    """Return the lines of a script that run a command and print how it ends."""
    return f"{command} 2> /dev/null && echo '>' {name} well || echo '>' {name} failed\n"


WRITE_ALL = f"dd if=/dev/zero bs=4k count={BLOCKS}"
FSYNC = "dd if=/dev/null conv=fsync"
UNTIL_WELL = "sleep 30\n"  # then the disk takes writes again


@pytest.mark.parametrize("policy", WRITE)
def test_under_each_policy_a_loss_is_told_by_close_by_the_next_fsync_and_once_by_sync(
    make_image: MakeImage, data: Path, policy: str
) -> None:
    """As above, where each run of the tests makes one policy's test in real time."""
    script = show_end("writer", f"{WRITE_ALL} of=/mnt/bad conv=notrunc") + UNTIL_WELL
    for name in ("good", "bad"):
        script += show_end(f"fsync of {name}", f"{FSYNC} of=/mnt/{name} conv=notrunc")
    script += show_end("sync 1", "sync") + show_end("sync 2", "sync")
    console = console_of(make_image, script, data, f"nbuf={BUFFERS} write={policy}")
    assert console.count("is lost: fsync, close and sync will say so") == 1
    assert shown_lines(console) == [
        "> writer failed",
        "> fsync of good well",
        "> fsync of bad failed",
        "> sync 1 failed",
        "> sync 2 well",
    ]


def test_each_description_of_one_program_is_told_once(make_image: MakeImage, data: Path) -> None:
    """The shell opens the file twice, as descriptors 3 and 4, and its children inherit both. The
    first fsync by each description fails, the second does not."""
    asks = [show_end(f"fsync of {fd}", f"{FSYNC} >&{fd}") for fd in (3, 4, 3, 4)]
    script = show_end("writer", f"{WRITE_ALL} >&3") + UNTIL_WELL + "".join(asks)
    said = lines_of(make_image, f"{{\n{script}}} 3>> /mnt/bad 4>> /mnt/bad\n", data)
    assert said == [
        "> writer well",
        "> fsync of 3 failed",
        "> fsync of 4 failed",
        "> fsync of 3 well",
        "> fsync of 4 well",
    ]


def test_who_opens_later_is_told_until_an_fsync_was_and_umount_once(
    make_image: MakeImage, data: Path
) -> None:
    """A program that opens the file after the loss is told by its fsync, until one fsync was. A
    close tells only the writer itself, and an exit, which closes, tells nobody."""
    exits = "sleep 0 >> /mnt/bad"  # opens the file once more, and ends without close()
    script = show_end("writer", f"{WRITE_ALL} of=/mnt/bad conv=notrunc") + UNTIL_WELL
    script += show_end("exit", exits)
    for n in (1, 2):
        script += show_end(f"later {n}", f"{FSYNC} of=/mnt/bad")
    for n in (1, 2):
        script += show_end(f"umount {n}", "umount /mnt")
    assert lines_of(make_image, script, data) == [
        "> writer failed",
        "> exit well",
        "> later 1 failed",
        "> later 2 well",
        "> umount 1 failed",
        "> umount 2 well",
    ]


def test_the_shell_closes_what_it_has_opened_for_its_own_commands(
    make_image: MakeImage, data: Path
) -> None:
    """A descriptor that dup2 replaces tells nobody, so the shell closes it itself."""
    script = show_end("group", f"{{ {WRITE_ALL}; }} >> /mnt/bad")
    assert lines_of(make_image, script, data) == ["> group failed"]


def test_a_new_file_is_not_told_of_the_loss_of_a_removed_one(
    make_image: MakeImage, data: Path
) -> None:
    """The new file has the inode of the removed one, 12, and an fsync of it succeeds."""
    inode = "$(stat {} | grep -c 'inode 12,')"
    script = show_end("writer", f"{WRITE_ALL} of=/mnt/bad conv=notrunc") + UNTIL_WELL
    script += f"echo '>' old {inode.format('/mnt/bad')}\nrm /mnt/bad\n"
    script += show_end("new", f"{FSYNC} of=/mnt/new")
    script += f"echo '>' new {inode.format('/mnt/new')}\n"
    script += show_end("sync 1", "sync") + show_end("sync 2", "sync")
    assert lines_of(make_image, script, data) == [
        "> writer failed",
        "> old 1",
        "> new well",
        "> new 1",
        "> sync 1 failed",
        "> sync 2 well",
    ]


def test_structure_that_is_lost_makes_the_disk_read_only_and_each_fsync_fail(
    make_image: MakeImage,
) -> None:
    """Metadata is lost: more blocks of inodes (32 inodes each) are changed than the cache has
    buffers, and no data is there to be given up first. From then on the disk is read-only, and each
    fsync fails, not only the first. To open a file tells nobody of the loss."""
    folders = range(10)
    files = {f"/{d}/{i}": b"" for d in folders for i in range(130)}
    data = make_image(damaged=True, files={"/good": b"g", **files}, programs=False)
    changes = [show_end(f"change {d}", f"chmod 600 /mnt/{d}/*") for d in folders]
    script = "".join(changes) + UNTIL_WELL
    script += show_end("new", "touch /mnt/new")
    script += "told=$(grep bio.told /dev/stat)\n"
    script += show_end("open", "dd if=/dev/null of=/mnt/good conv=notrunc")
    script += "grep -q \"$told\" /dev/stat && echo '>' nobody told\n"
    script += show_end("fsync 1", f"{FSYNC} >&3") + show_end("fsync 2", f"{FSYNC} >&3")
    script += show_end("sync 1", "sync") + show_end("sync 2", "sync")
    said = lines_of(make_image, f"{{\n{script}}} 3>> /mnt/good\n", data, 16)
    assert said[0] == "> change 0 well"  # its blocks still find buffers
    assert said[len(folders) - 1] == "> change 9 failed"
    assert said[len(folders) :] == [
        "> new failed",
        "> open failed",
        "> nobody told",
        "> fsync 1 failed",
        "> fsync 2 failed",
        "> sync 1 failed",
        "> sync 2 well",
    ]
    flags = image.debugfs(data, "stats")
    assert "clean with errors" in flags or "with errors" in flags, flags
