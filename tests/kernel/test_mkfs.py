"""Images of our mkfs, as e2fsprogs judges and reads them, and what mkfs refuses.

The helper `mkfs` makes an image that e2fsck accepts. Options: -b is the size of blocks, -s of the
image, -g of a group, -d a folder of the host whose files go into the image, -J a journal; --file
adds a file of a size, whose contents are random numbers (--pattern is their seed), and --at says in
which group it begins. `file_blocks` returns a file's block numbers, its indirect blocks included.
"""

import hashlib
import os
import random
import re
import struct
from itertools import pairwise
from pathlib import Path

import pytest

from sluice.host.paths import MKFS
from sluice.system import image

BLOCKS = ["1K", "2K", "4K", "8K"]


def mkfs(path: Path, *options: str | Path) -> Path:
    """Make an image that e2fsck has nothing to say about."""
    image.run_command(MKFS, *options, path)
    image.check_image(path)
    return path


def refusal(path: Path, *options: str | Path) -> str:
    """Return what mkfs says of options it must refuse."""
    done = image.run_command(MKFS, *options, path, check=False)
    assert done.returncode == 1, f"{options}: status {done.returncode}"
    return done.stdout.decode()


def summary(path: Path) -> dict[str, str]:
    """Return the superblock's fields, as dumpe2fs prints them."""
    text = image.run_command("dumpe2fs", "-h", path).stdout.decode(errors="replace")
    return dict(re.findall(r"^([A-Z][^:\n]*): +(.*)$", text, re.MULTILINE))


def file_blocks(path: Path, inside: str) -> list[int]:
    """Return a file's blocks, indirect ones included, in the order of the file."""
    return [int(word) for word in image.debugfs(path, f"blocks {inside}").split()]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_journal_is_as_mke2fs_makes_it(tmp_path: Path, block: str) -> None:
    """Only the journal's place differs, and the pointers that depend on the place."""
    size = 1024 * int(block[:-1])
    theirs = tmp_path / "theirs"
    options = ("-q", "-F", "-t", "ext3", "-b", str(size), "-J", f"size={2048 * size >> 20}")
    image.run_command("mke2fs", *options, theirs, "64M")
    ours = mkfs(tmp_path / "ours", "-b", block, "-s", "64M", "-J", str(2048 * size))
    for name in ("Journal inode", "Journal backup", "Journal features", "Total journal blocks"):
        assert summary(ours)[name] == summary(theirs)[name], name
    for name in ("Journal sequence", "Journal start"):
        assert summary(ours)[name] == summary(theirs)[name], name
    facts = (r"Mode: +(\d+)", r"Links: (\d+)", r"Size: (\d+)", r"Blockcount: (\d+)")
    for fact in facts:
        assert re.search(fact, inode(ours, "<8>"))[1] == re.search(fact, inode(theirs, "<8>"))[1]
    assert "Backing up" not in image.run_command("e2fsck", "-fn", ours).stdout.decode()


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ("1023K", "a journal has 1024 to 10240000 blocks, here of 1024 bytes"),
        ("2049000", "not a multiple of the block size 1024"),
        ("1M", None),  # the smallest one
        ("16M", "does not fit"),
    ],
)
def test_a_journal_of_a_wrong_size_is_refused(tmp_path: Path, size: str, says: str | None) -> None:
    options = ("-b", "1K", "-s", "16M", "-J", size)
    if says is None:
        mkfs(tmp_path / "image", *options)
    else:
        assert says in refusal(tmp_path / "image", *options)
        assert not list(tmp_path.iterdir())


def inode(path: Path, inside: str) -> str:
    """Return what debugfs prints of a file's inode."""
    return image.debugfs(path, f"stat {inside}")


def free_extents(path: Path) -> list[int]:
    """Return the lengths of the runs of free blocks."""
    text = image.run_command("dumpe2fs", path).stdout.decode(errors="replace")
    runs = re.findall(r"^  Free blocks: (.*)$", text, re.MULTILINE)
    pairs = [run.split("-") for line in runs for run in line.split(", ") if run]
    return [int(pair[-1]) - int(pair[0]) + 1 for pair in pairs]


def splitmix64(seed: int, words: int) -> bytes:
    """Return the bytes of --pattern's generator, written from its description."""
    mask = (1 << 64) - 1
    out = []
    for k in range(1, words + 1):
        z = (seed + k * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        out.append(z ^ (z >> 31))
    return struct.pack(f"<{words}Q", *out)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files of sizes around the ends of blocks, a program, and links with
    targets of 59 characters, which an inode can hold, and more."""
    top = tmp_path / "folder"
    (top / "sub" / "deep").mkdir(parents=True)
    (top / "none").mkdir()
    for size in (0, 1, 1024, 12 * 1024, 12 * 1024 + 1, 300_000, 5_000_000):
        (top / "sub" / f"f{size}").write_bytes(random.Random(size).randbytes(size))
    (top / "sub" / "deep" / "program").write_text("text")
    (top / "sub" / "deep" / "program").chmod(0o700)
    (top / "short").symlink_to("sub/deep")
    (top / "l59").symlink_to("x" * 59)
    (top / "l60").symlink_to("y" * 60)
    (top / "l1000").symlink_to("z" * 1000)
    return top


@pytest.mark.parametrize("size", ["700K", "8M", "65M", "300M"])
@pytest.mark.parametrize("block", BLOCKS)
def test_every_block_size_and_image_size_passes_e2fsck(
    tmp_path: Path, block: str, size: str
) -> None:
    if block == "8K" and size == "700K":
        size = "704K"  # a size must be whole blocks
    path = mkfs(tmp_path / "i", "-b", block, "-s", size, "-L", "label", "-m", "5")
    fields = summary(path)
    assert fields["Block size"] == str(int(block[0]) * 1024)
    assert fields["Filesystem features"] == "filetype sparse_super large_file"
    assert fields["Filesystem volume name"] == "label"
    assert int(fields["Reserved block count"]) == int(fields["Block count"]) * 5 // 100


@pytest.mark.parametrize("options", [(), ("--sparse",), ("--fill", "60", "--fragment", "30")])
@pytest.mark.parametrize("block", BLOCKS)
def test_a_folder_is_read_back_byte_for_byte(
    tmp_path: Path, folder: Path, block: str, options: tuple[str, ...]
) -> None:
    path = mkfs(tmp_path / "i", "-b", block, "-s", "48M", "-d", folder, *options)
    for file in folder.glob("sub/f*"):
        assert image.read_file(path, f"/sub/{file.name}") == file.read_bytes(), file.name


def test_modes_come_from_the_x_bit_and_the_owner_is_root(tmp_path: Path, folder: Path) -> None:
    path = mkfs(tmp_path / "i", "-d", folder, "-T", "1000000000")
    assert re.search(r"Mode: +0755 .*User: +0 +Group: +0 ", inode(path, "/sub/deep/program"), re.S)
    assert re.search(r"Mode: +0644", inode(path, "/sub/f1"))
    assert "mtime: 0x3b9aca00" in inode(path, "/sub/f1")  # 1000000000


def test_symbolic_links_keep_their_targets_of_every_length(tmp_path: Path, folder: Path) -> None:
    """A target of up to 59 characters is in the inode ("fast"), a longer one in a block."""
    path = mkfs(tmp_path / "i", "-b", "1K", "-d", folder)
    assert 'Fast link dest: "sub/deep"' in inode(path, "/short")
    assert f'Fast link dest: "{"x" * 59}"' in inode(path, "/l59")
    assert image.read_file(path, "/l60") == b"y" * 60
    assert image.read_file(path, "/l1000") == b"z" * 1000


@pytest.mark.parametrize("block", ["1K", "4K"])
def test_a_directory_holds_ten_thousand_names(tmp_path: Path, block: str) -> None:
    """The names are made in an order that is not the alphabet's: 7919 and 10,000 have no common
    divisor, so each of 10,000 numbers occurs once."""
    top = tmp_path / "folder"
    (top / "many").mkdir(parents=True)
    names = [f"name-{k * 7919 % 10_000}" for k in range(10_000)]
    for name in names:
        (top / "many" / name).touch()
    path = mkfs(tmp_path / "i", "-b", block, "-i", "4K", "-d", top)
    listed = image.debugfs(path, "ls -p /many").splitlines()
    assert sorted(line.split("/")[5] for line in listed if line) == sorted([".", "..", *names])


def test_a_subdirectory_goes_where_its_parent_is_and_top_ones_spread(tmp_path: Path) -> None:
    top = tmp_path / "folder"
    for k in range(4):
        (top / f"d{k}" / "below").mkdir(parents=True)
        (top / f"d{k}" / "below" / "file").write_bytes(b"." * 50_000)
    path = mkfs(tmp_path / "i", "-g", "16M", "-s", "80M", "-d", top)
    # The groups, of 4096 blocks, in which each top directory and what is below it begin.
    groups = [
        {file_blocks(path, f"/d{k}{p}")[0] // 4096 for p in ("", "/below", "/below/file")}
        for k in range(4)
    ]
    assert all(len(group) == 1 for group in groups)
    assert len(set.union(*groups)) == 4


def test_a_large_file_is_contiguous_with_its_indirect_blocks_in_line(tmp_path: Path) -> None:
    layout = ("-b", "1K", "-s", "8M")
    path = mkfs(tmp_path / "i", *layout, "--file", "/db/big=2200K", "--pattern", "9")
    blocks = file_blocks(path, "/db/big")
    assert blocks == list(range(blocks[0], blocks[0] + len(blocks)))
    # Blocks of 1 KiB: data; an indirect block; a double indirect one with 8 below it.
    assert len(blocks) == 2200 + 1 + 1 + 8
    data = splitmix64(9, 2200 << 7)
    assert hashlib.sha1(image.read_file(path, "/db/big")).digest() == hashlib.sha1(data).digest()


# Blocks of 8 KiB: 12 direct ones, an indirect one, 2048 pointers in it.
FAR = ("-b", "8K", "-s", "128M", "--group", "16M", "--far-indirect")


def test_far_indirect_blocks_and_what_they_point_to_begin_in_another_group(tmp_path: Path) -> None:
    path = mkfs(tmp_path / "i", *FAR, "--file", "/small=96K", "--file", "/f=17M", "--at", "/f=2")
    image.check_image(path)
    blocks = file_blocks(path, "/f")
    # 12 direct blocks; a pointer block and the 2048 that it points to; two more pointer blocks and
    # the rest.
    direct, first, second = blocks[:12], blocks[12:2061], blocks[2061:]
    starts = [run[0] // 2048 for run in (direct, first, second)]
    # Groups of 2048 blocks: the file begins in group 2, as --at says.
    assert starts[:2] == [2, 3] and starts[2] not in starts[:2]
    assert len(second) == 2 + 17 * 128 - 2060
    for run in (direct, second):
        assert run == list(range(run[0], run[0] + len(run)))
    small = file_blocks(path, "/small")
    assert small == list(range(small[0], small[0] + 12))


def test_random_indirect_blocks_begin_in_groups_drawn_for_each_file(tmp_path: Path) -> None:
    """Of each of 40 files, the indirect block and the four blocks behind it lie in another of the
    64 groups. The distances of these groups are of many values, and a second image is the same."""
    layout = ("-b", "8K", "-s", "256M", "--group", "4M", "--random-indirect")
    files = ("--scatter", "/f=40:128K", "--seed", "3")
    path = mkfs(tmp_path / "i", *layout, *files)
    image.check_image(path)
    moved = set()
    for i in range(40):
        blocks = file_blocks(path, f"/f{i}")
        assert blocks[:12] == list(range(blocks[0], blocks[0] + 12))
        assert blocks[12:] == list(range(blocks[12], blocks[12] + 5))
        moved.add((blocks[12] // 512 - blocks[0] // 512) % 64)
    assert 0 not in moved and len(moved) > 20
    assert mkfs(tmp_path / "j", *layout, *files).read_bytes() == path.read_bytes()


SPREAD = ("-b", "8K", "-s", "256M", "--group", "16M", "--spread")


@pytest.mark.parametrize("groups", [1, 3])
def test_a_spread_file_goes_on_in_another_group_after_each_part(
    tmp_path: Path, groups: int
) -> None:
    path = mkfs(tmp_path / "i", *SPREAD, f"1M:{groups}", "--file", "/f=5M", "--at", "/f=2")
    image.check_image(path)
    blocks = file_blocks(path, "/f")
    # The direct blocks, then 1 MiB at a time; the first part has the indirect block, too.
    starts = [0, 12, *range(141, len(blocks), 128), len(blocks)]
    parts = [blocks[first:end] for first, end in pairwise(starts)]
    assert [part[0] // 2048 for part in parts] == [(2 + groups * i) % 16 for i in range(len(parts))]
    for part in parts:
        assert part == list(range(part[0], part[0] + len(part)))
    assert mkfs(tmp_path / "j", *SPREAD, "1M", "--file", "/f=5M", "--at", "/f=2").read_bytes() == (
        mkfs(tmp_path / "k", *SPREAD, "1M:1", "--file", "/f=5M", "--at", "/f=2").read_bytes()
    )


# ---- scattered files ----

SCATTER = ("-b", "8K", "-s", "512M", "--group", "16M")


def test_scattered_files_are_whole_anywhere_with_their_inodes_beside_them(tmp_path: Path) -> None:
    """60 files of 12 blocks each have groups drawn for them. A group has 2048 blocks and 1024
    inodes."""
    path = mkfs(tmp_path / "i", *SCATTER, "--scatter", "/d/f=60:90K", "--pattern", "7")
    groups = []
    for k in range(60):
        blocks = file_blocks(path, f"/d/f{k}")
        assert blocks == list(range(blocks[0], blocks[0] + 12))
        number = int(re.search(r"Inode: (\d+)", inode(path, f"/d/f{k}"))[1])
        assert (number - 1) // 1024 == blocks[0] // 2048
        groups.append(blocks[0] // 2048)
        assert image.read_file(path, f"/d/f{k}")[:800] == splitmix64(7 + k, 100)
    # Of 32 groups 60 draws miss 32 e^(-60/32) = 5, give or take some.
    assert 22 <= len(set(groups)) <= 31 and groups != sorted(groups)


def test_places_are_drawn_from_the_seed(tmp_path: Path) -> None:
    """-U: the seed. Three files of 64 KiB are laid at random places in three images."""
    options = (*SCATTER, "--scatter", "/f=3:64K")
    first, again, other = (
        [file_blocks(mkfs(tmp_path / f"{i}", *options, "-U", seed), f"/f{k}") for k in range(3)]
        for i, seed in enumerate(("1", "1", "2"))
    )
    assert first == again != other


def test_scattered_files_fill_a_disk_that_has_hardly_room(tmp_path: Path) -> None:
    path = mkfs(tmp_path / "i", "-b", "1K", "-s", "9M", "--scatter", "/f=2:4M")
    # Each file has 4096 blocks of data and 17 indirect ones.
    assert sum(len(file_blocks(path, f"/f{k}")) for k in (0, 1)) == 2 * (4096 + 17)


@pytest.mark.parametrize(
    "word", ["/f", "/f=3", "/f=3:", "/f=0:1K", "/f=3:0", "/f=3:1K2", "/f=x:1K"]
)
def test_a_scatter_that_is_none_is_refused(tmp_path: Path, word: str) -> None:
    said = refusal(tmp_path / "i", "--scatter", word)
    assert f"--scatter {word}: not PATH=COUNT:SIZE, both from 1" in said


def test_each_file_has_a_pattern_of_its_own_up_to_its_last_byte(tmp_path: Path) -> None:
    options = ["--file", "/a=5003", "--file", "/x/b=1K", "--pattern", "100", "-b", "1K"]
    path = mkfs(tmp_path / "i", *options)
    assert image.read_file(path, "/a") == splitmix64(100, 626)[:5003]  # 626 words of 8 bytes
    assert image.read_file(path, "/x/b") == splitmix64(101, 128)


def test_files_reach_triple_indirect_blocks_and_beyond_four_gigabytes(tmp_path: Path) -> None:
    """debugfs shows the blocks of pointers of the third (TIND) and second (DIND) level."""
    path = mkfs(tmp_path / "i", "-b", "1K", "-s", "200M", "--file", "/t=80M", "--file", "/d=1M")
    assert "(TIND)" in inode(path, "/t")
    assert "(DIND)" in inode(path, "/d")
    path = mkfs(tmp_path / "j", "-s", "6G", "--file", "/huge=5G")
    assert re.search(r"Size: +5368709120", inode(path, "/huge"))


def test_blocks_of_zeros_are_holes_only_if_asked(tmp_path: Path) -> None:
    top = tmp_path / "folder"
    top.mkdir()
    data = b"head" + bytes(5 << 20) + b"tail"
    (top / "f").write_bytes(data)
    whole = mkfs(tmp_path / "i", "-d", top)
    sparse = mkfs(tmp_path / "j", "-d", top, "--sparse")
    assert image.read_file(whole, "/f") == image.read_file(sparse, "/f") == data
    # Data and indirect blocks; in the sparse file only the first and last block have data.
    assert len(file_blocks(whole, "/f")) == 1281 + 3
    assert len([b for b in file_blocks(sparse, "/f") if b]) == 2 + 2


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, folder: Path) -> None:
    """-U: the seed, by which the fillers are drawn that use half of the disk."""
    options = ["-d", folder, "--fill", "50", "--fragment", "40", "-U"]
    first, second, other = (
        mkfs(tmp_path / name, *options, seed).read_bytes()
        for name, seed in (("i", "1"), ("j", "1"), ("k", "2"))
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("block", BLOCKS)
def test_a_file_begins_where_asked(tmp_path: Path, block: str) -> None:
    """--at gives a file's group, and the block in it."""
    options = ["-b", block, "-g", "4M", "-s", "32M", "--file", "/a=1M", "--file", "/b=1M"]
    path = mkfs(tmp_path / "i", *options, "--at", "/a=5:200", "--at", "/b=2")
    group_blocks = int(summary(path)["Blocks per group"])
    first = int(summary(path)["First block"])
    assert file_blocks(path, "/a")[0] == first + 5 * group_blocks + 200
    assert (file_blocks(path, "/b")[0] - first) // group_blocks == 2


@pytest.mark.parametrize("fill, fragment", [(100, 0), (80, 0), (80, 15), (50, 50), (20, 75)])
@pytest.mark.parametrize("block", ["1K", "4K"])
def test_ageing_reaches_the_utilisation_asked_for(
    tmp_path: Path, block: str, fill: int, fragment: int
) -> None:
    """--fill says how many percent of the blocks for users are used afterwards. With --fragment,
    fillers are laid among the others and removed again. Three used blocks less are allowed."""
    options = ["-b", block, "-g", "4M", "-s", "40M", "-m", "2"]
    empty = summary(mkfs(tmp_path / "e", *options))
    path = mkfs(tmp_path / "i", *options, "--fill", str(fill), "--fragment", str(fragment))
    fields = summary(path)
    # Blocks for data: the free ones of an empty image, the root's, lost+found's.
    lost_found = len(file_blocks(tmp_path / "e", "/lost+found"))
    data = int(empty["Free blocks"]) + 1 + lost_found
    used = data - int(fields["Free blocks"])
    whole = data - int(fields["Reserved block count"])
    assert 0 <= whole * fill / 100 - used <= 3, f"{100 * used / whole} %"


def test_fragmenting_scatters_the_free_space(tmp_path: Path) -> None:
    """Half of the disk stays free: in one or two pieces, or scattered by fillers that are
    removed."""
    options = ["-s", "64M", "--fill", "50", "--fragment"]
    whole = free_extents(mkfs(tmp_path / "i", *options, "0"))
    scattered = free_extents(mkfs(tmp_path / "j", *options, "50"))
    assert len(whole) <= 2
    assert len(scattered) > 100
    assert max(scattered) < max(whole) / 10


REFUSED = {
    "-b 3K": "--block 3072: not 1K, 2K, 4K or 8K",
    "-s 12Q": "--size 12Q: not a number",
    "-s 5000": "--size 5000: not a multiple of the block size 4096",
    "-s 64K": "--size 65536: too small, needs ",
    "-s 0": "--size 0: too small",
    "-g 20K": "--group 20480: not a multiple of 8 blocks of 4096 bytes",
    "-g 256M": "--group 268435456: at most 134217728 with blocks of 4096 bytes",
    "-g 64K -i 1K": "groups of 16 blocks are too small",
    "-i 1K": "--inode 1024: 65536 inodes in a group, at most ",
    "-m 51": "--reserved 51: more than 50",
    "-L 12345678901234567": "--label 12345678901234567: longer than 16 bytes",
    "-d /nonexistent": "/nonexistent: No such file or directory",
    "-z": "unknown option -z",
    "--nosuch": "unknown option --nosuch",
    "--fill 101": "--fill 101: not a percentage",
    "--fill 1 --file /f=8M": "--fill 1: 2057 of 16124 blocks ",
    "--fill 80 --fragment 50": "--fill 80 --fragment 50: needs ",
    "--spread 1M:0": "--spread 1M:0: not SIZE or SIZE:GROUPS",
    "--spread 1M:": "--spread 1M:: not SIZE or SIZE:GROUPS",
    "--spread x": "--spread x: not SIZE or SIZE:GROUPS",
    "--spread 1000": "--spread 1000: not a multiple of the block size 4096",
    "--fragment 10": "--fragment 10: only together with --fill",
    "--file /f": "--file /f: not PATH=SIZE",
    "--file /f=70M": "does not fit: needs 17944 blocks of 4096 bytes",
    "--file /=1M": "--file /=1M: no file name",
    "--file /f=1 --file /f/g=1": "--file /f/g=1: f is not a directory",
    "--file /f=1 --file f=2": "f: is there twice",
    "--file /f=1M --at /g=1": "--at /g=1: no file with data of this name",
    "--file /f=1M --at /f=1": "--at /f=1: the last group is 0",
    "--file /f=1M --at /f=0:3": "--at /f=0:3: the block is in use; data begins at block ",
    "--file /f=1M --at /f=0:99999": "--at /f=0:99999: group 0 has no such block",
    "--file /f=1M --at /f=0:": "--at /f=0:: not PATH=GROUP or PATH=GROUP:BLOCK",
    "-T 5000000000": "--time 5000000000: past 4294967295",
    "--pattern x": "--pattern x: not a number",
}


@pytest.mark.parametrize("options", REFUSED)
def test_wrong_options_are_named_and_leave_no_image(tmp_path: Path, options: str) -> None:
    said = refusal(tmp_path / "i", *options.split(), *(["-s", "64M"] * ("-s" not in options)))
    assert REFUSED[options] in said
    assert list(tmp_path.iterdir()) == []


def test_a_missing_value_or_image_is_named() -> None:
    for words, said in (
        (["--fill"], "--fill: needs a value"),
        ([], "no IMAGE"),
        (["a", "b"], "more than one IMAGE"),
    ):
        done = image.run_command(MKFS, *words, check=False)
        assert (done.returncode, done.stdout.decode().count(said)) == (1, 1), words


def test_a_refused_file_is_named_and_the_old_image_stays(tmp_path: Path) -> None:
    """The folder has a named pipe, which no image can have."""
    top = tmp_path / "folder"
    (top / "dev").mkdir(parents=True)
    os.mkfifo(top / "dev" / "pipe")
    path = mkfs(tmp_path / "i")
    before = path.read_bytes()
    assert f"{top}/dev/pipe: not a file, a directory or a symbolic link" in refusal(path, "-d", top)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "i"]
