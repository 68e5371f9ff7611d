"""Files that the kernel writes are read on the host, and the other way round, byte for byte.

"Inside" is in the machine; "outside" is on the host, where debugfs reads and writes the image.
"""

import random
import re

import pytest
from conftest import Boot, MakeImage

from sluice.system import image
from sluice.system.qemu import Disk


def contents(size: int, seed: int) -> bytes:
    """Return so many random bytes."""
    return random.Random(seed).randbytes(size)


# Around a block's end, around the last of the 12 blocks without an indirect block, and large.
SIZES = [0, 1, 511, 4095, 4096, 4097, 12 * 4096, 12 * 4096 + 1, 300_000, 5_000_000]


@pytest.mark.parametrize("block", ["1K", "2K", "4K", "8K"])
def test_copies_made_inside_are_read_back_outside(
    make_image: MakeImage, boot: Boot, block: str
) -> None:
    files = {f"/in/f{size}": contents(size, size) for size in SIZES}
    path = make_image(files=files, block=block, size="64M")
    machine = boot(disks=(Disk(path),))
    machine.check("mkdir /out")
    for size in SIZES:
        machine.check(f"cp /in/f{size} /out/g{size}")
    machine.power_off()
    for size in SIZES:
        assert image.read_file(path, f"/out/g{size}") == contents(size, size), f"{size} bytes"


def test_files_written_by_debugfs_are_read_inside(
    make_image: MakeImage, boot: Boot, tmp_path
) -> None:
    """debugfs writes a file, a directory and a symbolic link to the file into the image."""
    path = make_image()
    text = b"".join(b"line %d\n" % i for i in range(40_000))
    (tmp_path / "host").write_bytes(text)
    image.debugfs(path, f"write {tmp_path / 'host'} fromhost", write=True)
    image.debugfs(path, "mkdir dir", write=True)
    image.debugfs(path, "symlink dir/link /fromhost", write=True)
    machine = boot(disks=(Disk(path),))
    assert machine.check("wc < /dir/link").split() == ["40000", "80000", str(len(text))]
    assert machine.check("tail -n 1 /fromhost") == "line 39999\n"


def test_names_modes_and_links_are_seen_outside(make_image: MakeImage, boot: Boot) -> None:
    path = make_image()
    machine = boot(disks=(Disk(path),))
    machine.check("mkdir /d && echo text > /d/a && ln /d/a /d/b && ln -s a /d/c && mv /d/b /d/e")
    machine.power_off()
    listing = image.debugfs(path, "ls -l /d").splitlines()
    assert sorted(line.split()[-1] for line in listing if line.strip()) == [
        ".",
        "..",
        "a",
        "c",
        "e",
    ]
    assert "Links: 2" in image.debugfs(path, "stat /d/e")  # a and e are names of one file
    assert 'Fast link dest: "a"' in image.debugfs(path, "stat /d/c")


def test_a_directory_of_many_names_survives(make_image: MakeImage, boot: Boot) -> None:
    """A directory of 2000 names is made, emptied and made again."""
    names = [f"file-number-{i}" for i in range(2000)]
    script = "mkdir /many\n" + "".join(f"> /many/{name}\n" for name in names)
    path = make_image(files={"/make": script.encode()}, options=("-i", "4K"))
    machine = boot(disks=(Disk(path),))
    machine.check("sh /make")
    assert machine.check("ls /many | wc -l").split() == ["2000"]
    machine.check("rm -r /many && mkdir /many && echo one > /many/one")
    machine.power_off()
    assert image.read_file(path, "/many/one") == b"one\n"


def test_a_sparse_file_has_holes_outside(make_image: MakeImage, boot: Boot) -> None:
    path = make_image()
    machine = boot(disks=(Disk(path),))
    machine.check("echo end | dd of=/sparse bs=1m seek=3000 2>/dev/null")
    machine.power_off()
    said = image.debugfs(path, "stat /sparse")
    assert f"Size: {3000 * (1 << 20) + 4}" in said
    sectors = int(said.split("Blockcount:")[1].split()[0])
    assert sectors * 512 <= 5 * 4096  # one block of data, and its indirect blocks


def test_two_disks_are_two_file_systems(make_image: MakeImage, boot: Boot) -> None:
    first, second = make_image(), make_image(files={"/there": b"yes\n"}, programs=False)
    machine = boot(disks=(Disk(first), Disk(second)))
    machine.check("mkdir /mnt && mount disk1 /mnt")
    assert machine.check("cat /mnt/there") == "yes\n"
    machine.check("cp /mnt/there /here && cp /bin/ls /mnt/ls && umount /mnt")
    assert machine.run("cat /mnt/there 2>/dev/null").status != 0
    machine.power_off()
    assert image.read_file(first, "/here") == b"yes\n"
    assert image.read_file(second, "/ls") == image.read_file(first, "/bin/ls")


def test_an_unlinked_open_file_is_gone_after_power_off(make_image: MakeImage, boot: Boot) -> None:
    """The last name of a file is removed while a program has it open. Then the machine is switched
    off, and the file's blocks are free again."""

    def free(path) -> str:
        return image.debugfs(path, "stats -h").split("Free blocks:")[1].split()[0]

    path = make_image()
    before = free(path)
    machine = boot(disks=(Disk(path),))
    machine.check("cp /bin/sh /copy")
    machine.send("(rm /copy && echo is go''ne; sleep 1000) < /copy &\n")
    machine.expect("is gone")
    machine.power_off()
    image.check_image(path)
    assert int(before) - int(free(path)) <= 1, "only /dev may have grown"


# ---- a clock out of range ----

LAST = "2106-02-07 06:28:15"  # 2^32 - 1 seconds after the beginning of 1970


@pytest.mark.parametrize(
    ("clock", "date", "stored"),
    [
        ({"options": ("-rtc", "base=1969-12-31T00:00:00")}, "1970-01-01 00:", "1970-01-01 00:"),
        ({"options": ("-rtc", "base=1970-01-01T00:00:00")}, "1970-01-01 00:", "1970-01-01 00:"),
        ({"args": "epoch=4273948800"}, "2105-06-09 00:", "2105-06-09 00:"),
        ({"args": "epoch=5680281600"}, "2150-01-01 00:", LAST),
    ],
    ids=["before", "first", "late", "past"],
)
def test_a_time_that_ext2_cannot_store_is_the_nearest_that_it_can(
    make_image: MakeImage, boot: Boot, clock: dict, date: str, stored: str
) -> None:
    """All ways to set a time are tried: making, writing, touching, reading. QEMU's base ends in
    2094."""
    image = make_image(files={"/b": b"b", "/c": b"c", "/d": b"d"})
    machine = boot(disks=(Disk(image),), **clock)
    assert machine.check("date").startswith(date)
    machine.check("echo a > /a && echo b >> /b && touch /c && touch /new && cat /d > /dev/null")
    for name, field in ("/a", "modified"), ("/b", "modified"), ("/c", "modified"), ("/c", "read"):
        assert re.search(rf"{field} +{stored}", machine.check(f"stat {name}")), (name, field)
    for name, field in ("/new", "modified"), ("/d", "read"), ("/c", "changed"):
        assert re.search(rf"{field} +{stored}", machine.check(f"stat {name}")), (name, field)
    assert ("which times stay at" in machine.console) == (stored == LAST)
    assert ("before 1970: set to 1970" in machine.console) == ("1969" in str(clock))
