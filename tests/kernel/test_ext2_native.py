"""The kernel's ext2 on the host, under ASan and UBSan.

build/native/ext2_test and build/native/ext2_tool run the kernel's own ext2/*.c above a cache
that checks how it is used. The first has unit tests on small images in memory, with a judge of
its own; the second runs scripts and random operations on files that e2fsprogs judges.
SLUICE_SEEDS multiplies the number of seeds.

`make` makes an image by mke2fs, `tool` runs a script of ext2_tool on images and returns what it
prints, and `fsck` has e2fsck check images. A script's error is a number: -5 is an I/O error, -16
busy, -18 another disk, -22 invalid, -27 too large, -28 no space, -30 read-only.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from sluice.host.limits import HANG_S
from sluice.host.paths import NATIVE
from sluice.system.damage import KINDS, damage_file

pytestmark = pytest.mark.native
TOOL = NATIVE / "ext2_tool"
UNITS = NATIVE / "ext2_test"
SEEDS = int(os.environ.get("SLUICE_SEEDS", "1"))
BLOCK_SIZES = [1024, 2048, 4096, 8192]
# without these features, as our mkfs makes images
PLAIN = ("-O", "^resize_inode,^dir_index,^ext_attr")
FILES = {"write": 123_456, "small": 59, "empty": 0, "exact": 8192 * 3}


def command(*words: str | Path, check: int = 0) -> str:
    """Run a program of e2fsprogs; a status above `check` is a failure."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    line = " ".join(str(word) for word in words)
    assert 0 <= done.returncode <= check, f"{line}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def revision_0() -> tuple[str, ...]:
    """Return mke2fs's option for the format of before 1995, which has another name since 1.47.1."""
    said = subprocess.run(("mke2fs", "-V"), capture_output=True, text=True, check=True).stderr
    version = tuple(map(int, re.search(r"mke2fs (\d+)\.(\d+)\.(\d+)", said).groups()))
    return ("-r", "0") if version <= (1, 47, 0) else ("-E", "revision=0")


REVISION_0 = revision_0()


def make(
    path: Path, *options: str, size: str = "8M", block: int = 1024, kind: str = "ext2"
) -> Path:
    """Make an image of this size by mke2fs. Returns its path."""
    command("truncate", "-s", size, path)
    command("mke2fs", "-q", "-F", "-t", kind, "-b", str(block), *options, path)
    return path


def tool(*images: Path, script: str, **options: int) -> str:
    """Run the commands of a script on images, with the tool's options. Returns what it prints."""
    words = [str(TOOL), *(f"{name}={value}" for name, value in options.items())]
    words += [str(image) for image in images]
    done = subprocess.run(
        words,
        input=script,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(words)}\n{script[-2000:]}\n{done.stdout}{done.stderr}"
    return done.stdout


def fsck(*images: Path) -> None:
    """Fail if e2fsck finds anything wrong in an image. It changes nothing (-n)."""
    for image in images:
        command("e2fsck", "-fn", image)


def debugfs(image: Path, request: str) -> str:
    """Return what debugfs prints for a request, which may change the image."""
    return command("debugfs", "-w", "-R", request, image)


# ---- unit tests ----


def unit_names() -> list[str]:
    """Return the tests in the program; collecting needs it built."""
    if not UNITS.exists():
        return ["not_built"]
    return subprocess.run([UNITS], capture_output=True, text=True, check=True).stdout.split()


def unit_parameters() -> list[ParameterSet]:
    """Return the tests as parameters. Of those that differ only in the size of blocks, each run
    makes half."""
    draw = pytest.mark.drawn(2, among="sizes")
    return [
        pytest.param(name, marks=[draw] if name.startswith("no_torn_write_of_a_block_of_") else [])
        for name in unit_names()
    ]


@pytest.mark.parametrize("name", unit_parameters())
def test_unit(name: str) -> None:
    done = subprocess.run(
        [UNITS, name], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert done.returncode == 0, f"{name}: {done.returncode}\n{done.stdout}{done.stderr}"


# ---- agreement with a model ----


@pytest.mark.parametrize("delays", [0, 1])
@pytest.mark.parametrize("seed", range(2 * SEEDS))
@pytest.mark.parametrize("block", BLOCK_SIZES)
def test_random_operations_agree_with_the_model(
    tmp_path: Path, block: int, seed: int, delays: int
) -> None:
    """1200 random operations on files of up to 400,000 bytes: the tool compares each result and
    all contents with its model. delays: the order policy, 0 is sync and 1 is none."""
    image = make(tmp_path / "image", size="12M", block=block)
    options = {"buffers": 16 + 100 * seed, "far": seed % 2, "delays": delays}
    tool(image, script="random 1200 400000\n", seed=seed, **options)
    fsck(image)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize(
    "options", [("-g", "512", "-I", "128", "-N", "64"), REVISION_0, ("-O", "^filetype"), PLAIN]
)
def test_a_full_disk_loses_and_leaks_nothing(
    tmp_path: Path, options: tuple[str, ...], seed: int
) -> None:
    """Random operations fill a disk of 2 MB; e2fsck finds nothing wrong."""
    image = make(tmp_path / "image", *options, size="2M")
    tool(image, script="random 1500 400000\n", seed=seed)
    fsck(image)


@pytest.mark.parametrize("seed", range(4 * SEEDS))
def test_processes_that_meet_neither_deadlock_nor_corrupt(tmp_path: Path, seed: int) -> None:
    """Seven processes do 1500 operations each, and the tool switches between them at random. At the
    end only the root's inode is in use."""
    image = make(tmp_path / "image", block=BLOCK_SIZES[seed % 3])
    out = tool(image, script="processes 7 1500\ninuse\n", seed=seed, delays=seed % 2)
    assert "damaged" not in out
    assert "1 inodes in use" in out
    fsck(image)


# ---- agreement with e2fsprogs ----


@pytest.mark.parametrize("block", BLOCK_SIZES)
def test_files_written_are_read_back_by_debugfs(tmp_path: Path, block: int) -> None:
    """FILES has names and sizes; the tool puts them into an image, and debugfs takes them out."""
    image, data = make(tmp_path / "image", block=block), tmp_path / "data"
    script = "mkdir /d\n"
    for name, size in FILES.items():
        (tmp_path / name).write_bytes(os.urandom(size))
        script += f"put {tmp_path / name} /d/{name}\n"
    tool(image, script=script)
    fsck(image)
    for name in FILES:
        debugfs(image, f"dump /d/{name} {data}")
        assert data.read_bytes() == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("block", BLOCK_SIZES)
def test_files_of_debugfs_are_read(tmp_path: Path, block: int) -> None:
    """What debugfs wrote (files of several sizes, links short and long, a device) is what ext2
    reads."""
    image = make(tmp_path / "image", block=block)
    debugfs(image, "mkdir d")
    script = ""
    for name, size in FILES.items():
        (tmp_path / name).write_bytes(os.urandom(size))
        debugfs(image, f"write {tmp_path / name} d/{name}")
        script += f"get /d/{name} {tmp_path / name}.got\n"
    debugfs(image, "symlink short d/small")
    debugfs(image, f"symlink long {'d/../' * 20}d/small")
    debugfs(image, "mknod tty c 5 1")
    out = tool(image, script=script + "readlink /short\nreadlink /long\nstat /long\nstat /tty\n")
    assert re.search(r"^d/small\n(d/\.\./){20}d/small\n/long:.* size 59 ", out, re.M)
    assert "mode 20" in out and f"rdev {5 << 8 | 1} " in out
    for name in FILES:
        assert (tmp_path / f"{name}.got").read_bytes() == (tmp_path / name).read_bytes()
    fsck(image)


def test_unknown_incompatible_features_are_refused_and_unknown_ro_ones_mount_read_only(
    tmp_path: Path,
) -> None:
    """ext2 has two sets of features that a kernel may not know. With an unknown one of the first
    set a disk cannot be read; with one of the second it cannot be written."""
    out = tool(make(tmp_path / "a", "-O", "extents"), script="ls /\n")
    assert "incompatible features 0x40: extents is not handled: make the image" in out
    assert "mount: -22" in out
    image = make(tmp_path / "b", "-O", "huge_file")
    before = image.read_bytes()
    out = tool(image, script="create /x\nmounts\nls /\n")
    assert "features 0x8: huge_file is not handled: tune2fs -O" in out
    assert "create: -30" in out and "disk0 / ro" in out
    assert image.read_bytes() == before


# Each feature that mke2fs 1.47 sets by itself, and what becomes of a disk with it.
FEATURES = {
    "written": (
        "dir_index",
        "resize_inode",
        "ext_attr",
        "has_journal",
        "sparse_super2",
        "stable_inodes",
        "fast_commit",
        "has_journal,orphan_file",
        "resize_inode,sparse_super2",
        "has_journal,sparse_super2",
    ),
    "read": (
        "huge_file",
        "uninit_bg",
        "dir_nlink",
        "extra_isize",
        "quota",
        "metadata_csum",
        "project",
        "sparse_super2,uninit_bg",
        "huge_file,quota",
    ),
    "refused": (
        "extents",
        "flex_bg",
        "extents,64bit",
        "meta_bg",
        "mmp",
        "inline_data",
        "ea_inode",
        "encrypt",
        "casefold",
        "large_dir",
        "metadata_csum,metadata_csum_seed",
        "mmp,quota",
        "extents,64bit,meta_bg",
        "extents,bigalloc",
    ),
}


# A small disk of five groups: sparse_super and sparse_super2 put copies of the superblock into
# different ones.
FIVE_GROUPS = ("-g", "512")


@pytest.mark.parametrize(
    ("fate", "features"), [(fate, names) for fate, all_ in FEATURES.items() for names in all_]
)
def test_each_feature_is_handled_or_refused_by_its_name(
    tmp_path: Path, fate: str, features: str
) -> None:
    """A disk is written, only read, or refused, as FEATURES says. A feature that is not handled is
    named. Unless it is written, the disk stays as it was."""
    words = f"none,filetype,sparse_super,large_file,{features}"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "old").write_bytes(os.urandom(100_000))
    image = make(
        tmp_path / "image", "-O", words, "-d", str(folder), *FIVE_GROUPS, size="9M", block=4096
    )
    if "quota" in features:  # that of mke2fs 1.47.0 leaves out the folder
        command("e2fsck", "-fp", image, check=1)  # with mmp it waits for 11 s
    before = image.read_bytes()
    script = f"mkdir /d\nwrite /d/f 600000 3\nverify /d/f 0 600000 3\nget /old {tmp_path / 'old'}\n"
    out = tool(image, script=script)
    named = [name for name in features.split(",") if f": {name} is not handled: " in out]
    assert "wrongly" not in out and "not known" not in out
    assert bool(named) == (fate != "written")
    assert ("mount: -22" in out) == (fate == "refused")
    got = tmp_path / "old"
    read = got.exists() and got.read_bytes() == (folder / "old").read_bytes()
    assert read == (fate != "refused")
    assert re.findall(r"mkdir: -\d+", out) == (["mkdir: -30"] if fate == "read" else [])
    if fate != "written":
        assert image.read_bytes() == before
    fsck(image)


def test_an_ext3_mounts_and_recovery_without_a_journal_is_refused(tmp_path: Path) -> None:
    """A journal with transactions is tested in test_recovery.py."""
    image = make(tmp_path / "image", kind="ext3")
    tool(image, script="random 500 100000\n")
    fsck(image)
    debugfs(image, "feature needs_recovery")
    assert "journal replayed: 0 transactions" in tool(image, script="create /x\n")
    fsck(image)
    debugfs(image, "feature needs_recovery ^has_journal")
    out = tool(image, script="")
    assert "incompatible features 0x4: needs_recovery is not handled: e2fsck replays" in out


@pytest.mark.parametrize("options", [(), ("-E", "num_backup_sb=0"), ("-E", "num_backup_sb=1")])
def test_an_image_with_two_superblocks_is_sound(tmp_path: Path, options: tuple[str, ...]) -> None:
    """With sparse_super2, only the groups that the superblock names have a copy of it, if any. The
    file fills most of ten groups."""
    image = make(tmp_path / "image", "-O", "sparse_super2", *options, "-g", "1024", size="10M")
    out = tool(image, script="mkdir /d\nwrite /d/f 7500000 1\nverify /d/f 0 7500000 1\n")
    assert "wrongly" not in out
    fsck(image)


def test_the_state_of_the_superblock_is_kept(tmp_path: Path) -> None:
    """The state says whether the disk was unmounted cleanly (1), or that errors were found (2). A
    mount of a disk that is not clean says so, and a shutdown does not make it clean. With errors it
    is mounted for reading only."""
    image = make(tmp_path / "image")
    debugfs(image, "ssv state 0")
    assert "not unmounted cleanly" in tool(image, script="create /x\n")
    assert "not clean" in command("dumpe2fs", "-h", image)
    command("e2fsck", "-fp", image, check=1)
    tool(image, script="create /y\ncrash\n", save=1)
    assert "not unmounted" not in tool(image, script="")
    debugfs(image, "ssv state 2")
    assert "create: -30" in tool(image, script="create /z\n")


def test_a_changed_directory_with_a_hash_tree_becomes_a_plain_one(tmp_path: Path) -> None:
    """Linux may add a hash tree to a directory (flag 0x1000). Our kernel does not keep the tree up
    to date, so it takes the flag away when it changes the directory."""
    image = make(tmp_path / "image", size="16M")
    tool(image, script="mkdir /d\nmany /d 600 abcdefghijkl\n")
    command("e2fsck", "-fyD", image, check=1)
    assert "Flags: 0x1000" in debugfs(image, "stat d")
    tool(image, script="rmmany /d 100 abcdefghijkl\nmany /d 300 other\n")
    assert "Flags: 0x0" in debugfs(image, "stat d")
    fsck(image)


def test_extended_attributes_go_with_their_file(tmp_path: Path) -> None:
    """debugfs gives a file an attribute. The kernel, which has none, must free its block with the
    file."""
    image = make(tmp_path / "image", "-I", "128")
    tool(image, script="write /x 2000 1\n")
    debugfs(image, "ea_set x user.name value")
    assert "File ACL: 0" not in debugfs(image, "stat x")
    tool(image, script="append /x 2000 1\n")
    fsck(image)
    tool(image, script="rm /x\n")
    fsck(image)


# ---- the format's limits ----


def test_sparse_and_large_files_reach_the_formats_limit(tmp_path: Path) -> None:
    """The limit is 12 direct blocks and all that one, two and three levels of indirect blocks point
    to, with 256 numbers in each. One byte more is an error (-27)."""
    image = make(tmp_path / "image", size="16M")
    limit = (12 + 256 + 256**2 + 256**3) * 1024
    out = tool(
        image,
        script=f"""
            pwrite /triple 70000000 3000 5
            verify /triple 70000000 3000 5
            verify /triple 3000 5000 zero
            pwrite /end {limit - 900} 900 1
            verify /end {limit - 900} 900 1
            pwrite /end {limit} 1 1
            create /t
            truncate /t {limit}
            truncate /t {limit + 1}
            truncate /triple 69999000
            stat /triple
        """,
    )
    assert out.count("-27") == 2
    # Blocks of 512 bytes: after the truncation only the three indirect blocks are left.
    assert re.search(r"/triple:.* size 69999000 blocks 6 ", out)
    fsck(image)
    assert "large_file" in command("dumpe2fs", "-h", image)


def test_a_directory_of_thousands_of_files(tmp_path: Path) -> None:
    """4000 files are made, half of them removed, and 2000 with longer names made in their
    places."""
    image = make(tmp_path / "image", "-N", "8000", size="32M", block=4096)
    script = "mkdir /d\nmany /d 4000 f\nrmmany /d 2000 f\nmany /d 2000 longer_name\nstat /d\n"
    tool(image, script=script, flush=0, buffers=1000)
    fsck(image)


def test_a_file_lies_in_one_piece_and_directories_in_different_groups(tmp_path: Path) -> None:
    image = make(tmp_path / "image", "-g", "2048", *PLAIN, size="16M")
    script = "".join(f"mkdir /d{i}\nwrite /d{i}/f 300000 {i}\n" for i in range(5))
    tool(image, script=script)
    groups = set()
    for i in range(5):
        blocks = debugfs(image, f"blocks /d{i}/f").split()
        first, last = int(blocks[0]), int(blocks[-1])
        assert last - first == len(blocks) - 1 == 295, "293 of data, 3 of pointers"
        groups.add(first // 2048)  # -g: a group has 2048 blocks
        inode = re.search(r"Inode: (\d+)", debugfs(image, f"stat /d{i}/f"))
        parent = re.search(r"Inode: (\d+)", debugfs(image, f"stat /d{i}"))
        # A group has 256 inodes: the file's is in its directory's group.
        assert inode and parent and (int(inode[1]) - 1) // 256 == (int(parent[1]) - 1) // 256
    assert len(groups) == 5
    fsck(image)


# ---- names ----


def test_mounts_are_crossed_both_ways_and_busy_ones_stay(tmp_path: Path) -> None:
    """Paths lead into a mounted disk and back by `..`; nothing is renamed across, and a mount with
    a process in it, or with a disk mounted on it, is not removed. Then the same disk, read-only."""
    root, other = (make(tmp_path / name, block=4096) for name in ("root", "other"))
    wrong = make(tmp_path / "wrong")
    assert "block size 1024" in tool(root, wrong, script="mkdir /m\nmount /m\n")
    script = """
        mount /m
        mkdir /m/sub
        write /m/sub/f 10000 1
        mv /m/sub/f /f
        cd /m/sub
        pwd
        umount /m
        rmdir /m
        mv /m /n
        cd ..
        pwd
        cd ..
        pwd
        mounts
        umount /m
        ls /m
        mount /m ro
        create /m/x
        verify /m/sub/f 0 10000 1
        umount /m
        umount /
        inuse
    """
    out = tool(root, other, script=script)
    expected = ["mv: -18", "/m/sub", "umount: -16", "rmdir: -16", "mv: -16", "/m", "/"]
    expected += ["disk0 / rw", "disk1 /m rw", "12 2 .", "2 2 ..", "create: -30", "umount: -16"]
    assert out.split("\n")[:-2] == expected
    assert "1 inodes in use" in out
    fsck(root, other)


def test_a_file_without_names_lives_till_its_last_user_even_at_shutdown(tmp_path: Path) -> None:
    """`hold` opens a file, which then loses its name and grows. Its blocks are free again after the
    shutdown, or after `release`: only then does /k of 7 MB fit."""
    image = make(tmp_path / "image")
    script = "write /h 400000 1\nhold 1 /h\nrm /h\ngrow 1 300000 1\nsync\n"
    tool(image, script=script)
    fsck(image)
    tool(image, script=script + "release 1\nwrite /k 7000000 1\nverify /k 0 7000000 1\n")
    fsck(image)


# ---- damage, errors and power cuts ----


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an image with some of everything: files, large files, a directory, a long link."""
    image = make(tmp_path_factory.mktemp("victim") / "image", "-g", "1024", size="4M")
    script = "random 500 300000\nmkdir /z\nwrite /z/big 900000 1\nwrite /z/big2 300000 1\n"
    script += f"many /z 60 file\nmkdir /z/sub\nwrite /z/sub/f 3000 1\nsymlink {'z/../' * 30} /z/s\n"
    tool(image, script=script, seed=77)
    return image


@pytest.mark.parametrize("kind", KINDS)
def test_damage_never_ends_in_a_panic_a_hang_or_a_bad_access(
    tmp_path: Path, victim: Path, kind: str
) -> None:
    """kind: which part of the disk the seed damages. The tool then does random operations."""
    for seed in range(8 * SEEDS):
        image = damage_file(victim, tmp_path / f"{kind}.{seed}", kind, seed)
        script = "abuse 200\nprocesses 3 60\nabuse 100\n"
        tool(image, script=script, seed=seed, block=1024, save=0)
        image.unlink()


@pytest.mark.parametrize("field", ["Block bitmap at", "Inode bitmap at", "Inode table at"])
def test_a_pointer_into_the_systems_own_blocks_is_refused(tmp_path: Path, field: str) -> None:
    """A file's first block number is changed to that of a bitmap or of the table of inodes. The
    file cannot be written, and truncating it does not free that block."""
    image = make(tmp_path / "image")
    tool(image, script="write /f 1000 1\n")
    match = re.search(rf"{field} (\d+)", command("dumpe2fs", image))
    assert match
    start = int(match[1]) * 1024
    debugfs(image, f"sif /f block[0] {match[1]}")
    before = image.read_bytes()[start : start + 1024]
    out = tool(image, script="pwrite /f 0 1024 1\nverify /f 0 0 1\n")
    assert "points to block" in out and "pwrite: -5" in out
    assert "read-only" in tool(image, script="truncate /f 0\n")
    assert image.read_bytes()[start : start + 100] == before[:100]


@pytest.mark.parametrize("seed", range(6 * SEEDS))
def test_errors_of_the_disk_never_end_in_a_panic(tmp_path: Path, victim: Path, seed: int) -> None:
    """The seed chooses how often reads and writes fail, and what the tool does."""
    rates = {"read_errors": 30 * (seed % 3), "write_errors": 50 * (seed % 2)}
    script = "abuse 200\nprocesses 3 100\nabuse 100\n"
    tool(victim, script=script, seed=seed, save=0, buffers=16, **rates)


@pytest.mark.parametrize("seed", range(6 * SEEDS))
def test_a_power_cut_is_repaired_and_what_was_fsynced_is_there(tmp_path: Path, seed: int) -> None:
    """The cut is after any completed write, or within the next write. e2fsck -p then repairs the
    disk without a question. There is one exception: a directory was being renamed, its new name is
    in another sector, and the disk has not been mounted since (ext2/rename.c, and the test below).
    ext2_cuts.c tests that mounting leaves no rename half done."""
    block = BLOCK_SIZES[seed % 3]
    image = make(tmp_path / "image", block=block)
    facts = tmp_path / "facts"
    script = f"random 300 60000 / 0 {facts}\ncuts 6 {tmp_path}\ncrash\n"
    tool(image, script=script, seed=seed, log=1, flush=(5, 20, 200)[seed % 3])
    cuts = [*tmp_path.glob("cut.*"), *tmp_path.glob("torn.*")]
    assert len(cuts) > 6
    for cut in cuts:
        if "is a link to directory" in command("e2fsck", "-fp", cut, check=4):
            tool(cut, script="", quiet=1)
            command("e2fsck", "-fp", cut, check=1)
        fsck(cut)
        torn = int(cut.stem == "torn")
        tool(cut, script=f"facts {facts} {cut.suffix[1:]} {torn}\n", save=0, quiet=1)


def test_only_where_metadata_is_delayed_must_e2fsck_ask_after_a_power_cut(tmp_path: Path) -> None:
    """With delays=1 (order=none) metadata is written in any order, and e2fsck -p refuses some cuts
    (status 4). With -y, which answers yes to all questions, it repairs these, too."""
    script = "random 300 60000 / 0\n"
    asked = dict.fromkeys((0, 1), 0)
    for delays in asked:
        folder = tmp_path / str(delays)
        folder.mkdir()
        image = make(folder / "image")
        lines = f"{script}cuts 20 {folder}\ncrash\n"
        tool(image, script=lines, seed=3, log=1, flush=5, delays=delays)
        for cut in folder.glob("cut.*"):
            preened = subprocess.run(("e2fsck", "-fp", cut), capture_output=True, check=False)
            asked[delays] += preened.returncode == 4
            command("e2fsck", "-fy", cut, check=1)
            fsck(cut)
    assert asked[0] == 0 and asked[1] > 0


def test_after_a_power_cut_a_moved_directory_is_repaired_by_a_mount(tmp_path: Path) -> None:
    """At some cuts the directory has both names. e2fsck would ask about that. A mount removes one
    of the names, so that the directory has one of them at each cut."""
    image = make(tmp_path / "image")
    script = "mkdir /a\nmkdir /b\nmkdir /a/d\nwrite /a/d/f 5000 1\nfsync /a/d/f\nsync\n"
    tool(image, script=script)
    script = f"mv /a/d /b/e\ncuts 8 {tmp_path}\ncrash\n"
    tool(image, script=script, log=1, flush=0)
    asked = 0
    for cut in tmp_path.glob("cut.*"):
        asked += "is a link to directory" in command("e2fsck", "-fn", cut, check=4)
        tool(cut, script="", quiet=1)
        command("e2fsck", "-fp", cut, check=1)
        out = tool(cut, script="stat /a/d/f\nstat /b/e/f\n", save=0)
        assert out.count("size 5000") == 1
    assert asked
