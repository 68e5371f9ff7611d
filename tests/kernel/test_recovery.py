"""The kernel's recovery of an ext3 journal leaves the bytes that e2fsck's leaves.

Logs are made of the difference of two states of an image, by sluice/crash/logwriter.py and by
debugfs, an outside writer. Each is recovered by `e2fsck -E journal_only -p` and by a mount of ours.

A log has transactions: a descriptor, which says where each block belongs (its home), the blocks'
new contents, and a commit block. A revoke says that older copies of a block must not be replayed.
The fixture `states` has an image in both states; `begin` copies the earlier one, a test writes a
log into it, `recover_both` recovers it in both ways and compares the results, and `expect_after`
expects the later state. Blocks from 11000 on are free in both states.
"""

import random
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluice.crash.logwriter import MAGIC, SUPER_1, SUPER_AT, Image, Transaction
from sluice.host.limits import HANG_S
from sluice.host.paths import MKFS, NATIVE

pytestmark = pytest.mark.native
TOOL = NATIVE / "ext2_tool"
BEFORE = "mkdir /d\nwrite /d/old 20000 1\nwrite /keep 9000 2\nmany /d 40 name\n"
AFTER = """write /d/new 300000 3
truncate /d/old 5000
rm /d/name7
mkdir /d/sub
mv /keep /d/sub/kept
"""


def run(*words: str | Path, script: str = "", check: int = 0) -> str:
    """Run a program with this input. Returns what it prints; a status above `check` is a
    failure."""
    done = subprocess.run(
        [str(word) for word in words],
        input=script.encode(),
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    said = done.stdout.decode() + done.stderr.decode()
    assert 0 <= done.returncode <= check, f"{words}: {done.returncode}\n{said}"
    return said


@dataclass(frozen=True)
class States:
    """An image with an empty journal in two states, and the blocks in which they differ."""

    before: Path
    after: Path
    changed: dict[int, bytes]


def make_states(folder: Path, block: str = "1K", journal: str = "1M") -> States:
    """Return an image in two states: after the commands BEFORE, and after AFTER, too."""
    before, after = folder / "before", folder / "after"
    size = 1024 * int(block[:-1])
    run(MKFS, "-b", block, "-s", "12M", "-J", journal, before)
    run(TOOL, before, script=BEFORE)
    shutil.copy(before, after)
    run(TOOL, after, script=AFTER)
    old, new = Image(before), Image(after)
    numbers = range(1 + SUPER_AT // size, len(old.data) // size)
    changed = {n: new.block(n) for n in numbers if old.block(n) != new.block(n)}
    assert len(changed) > 20
    return States(before, after, changed)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> States:
    """Return the two states of an image with blocks of 1 KiB and a journal of 1024 blocks."""
    return make_states(tmp_path_factory.mktemp("states"))


def body(path: Path) -> bytes:
    """Return all bytes except those of the superblock, in which a mount also changes times."""
    data = path.read_bytes()
    return data[:SUPER_AT] + data[SUPER_AT + 1024 :]


def recover_both(path: Path, check: int = 0) -> str:
    """Recover copies of an image in both ways, and compare them. Returns what the mount said."""
    theirs, ours = path.with_suffix(".theirs"), path.with_suffix(".ours")
    shutil.copy(path, theirs)
    shutil.copy(path, ours)
    run("e2fsck", "-E", "journal_only", "-p", theirs, check=check)
    said = run(TOOL, ours)
    assert "journal replayed" in said
    assert body(ours) == body(theirs)
    assert not Image(ours).word(SUPER_AT + 96) & 4  # the feature needs_recovery
    return said


def split(changed: dict[int, bytes], parts: int) -> list[Transaction]:
    """Return transactions that share the changed blocks evenly."""
    homes = list(changed)
    return [Transaction({h: changed[h] for h in homes[i::parts]}) for i in range(parts)]


def expect_after(states: States, path: Path) -> None:
    """Expect that the recovered image has the later state."""
    image, after = Image(path.with_suffix(".ours")), Image(states.after)
    assert all(image.block(n) == after.block(n) for n in states.changed)
    assert "LOST" not in run("e2fsck", "-fn", image.path, check=0)


def begin(states: States, tmp_path: Path) -> Image:
    """Return a copy of the earlier state, whose journal is empty."""
    return Image(Path(shutil.copy(states.before, tmp_path / "image")))


# ---- whole logs ----


@pytest.mark.parametrize("block", ["1K", "2K", "4K", "8K"])
def test_whole_transactions_are_replayed(tmp_path: Path, block: str) -> None:
    if block == "8K":  # e2fsck takes it, if not all kernels of Linux
        states = make_states(tmp_path, block, "8M")
    else:
        states = make_states(tmp_path, block, {"1K": "1M", "2K": "2M", "4K": "4M"}[block])
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 3))
    said = recover_both(image.save())
    assert f"3 transactions, {len(states.changed)} blocks" in said
    expect_after(states, image.path)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("start", [1, 5, 1000, 1020, 1023])
@pytest.mark.parametrize("sequence", [0, 1, 2**31 - 2, 2**32 - 2])
def test_a_log_goes_round_its_ring_and_its_numbers(
    states: States, tmp_path: Path, start: int, sequence: int
) -> None:
    """The journal is a ring of 1024 blocks, and its log may begin near the end. The transactions'
    numbers (sequence) also begin again with 0 after 2^32 - 1. After the recovery the journal is
    empty, and its next number is greater than that of the last of the five transactions."""
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 5), start, sequence)
    recover_both(image.save())
    expect_after(states, image.path)
    left = Image(image.path.with_suffix(".ours"))
    assert left.get("start") == 0 and left.get("sequence") == (sequence + 6) % 2**32


def stale(changed: dict[int, bytes]) -> dict[int, bytes]:
    """Return other contents, zeros, for the same blocks."""
    return {home: bytes(len(data)) for home, data in changed.items()}


def test_the_last_copy_of_a_block_wins(states: States, tmp_path: Path) -> None:
    """The log has an older copy of each block before the right one."""
    image = begin(states, tmp_path)
    image.write_log([Transaction(stale(states.changed)), Transaction(states.changed)])
    recover_both(image.save())
    expect_after(states, image.path)


@pytest.mark.parametrize("with_uuid", [True, False])
@pytest.mark.parametrize("marks_last", [True, False])
def test_a_full_descriptor_is_followed_by_another(
    states: States, tmp_path: Path, with_uuid: bool, marks_last: bool
) -> None:
    """A transaction has more blocks than one descriptor can name, twice its room. The last entry of
    a descriptor has a mark; a full descriptor may be without. An entry has 8 bytes, the header 12,
    and a UUID 16."""
    image = begin(states, tmp_path)
    room = (image.block_bytes - 12 - (16 if with_uuid else 0)) // 8
    free = [n for n in range(11000, 11000 + 2 * room) if n not in image.where]
    blocks = {n: bytes([n % 251]) * image.block_bytes for n in free}
    image.write_log([Transaction(blocks, with_uuid=with_uuid, marks_last=marks_last)])
    assert f"1 transactions, {2 * room} blocks" in recover_both(image.save())


def test_a_block_that_begins_with_the_magic_is_as_it_was(states: States, tmp_path: Path) -> None:
    """The journal's own blocks begin with a magic number. A block that happens to begin with it is
    stored without it, and the recovery puts it back."""
    image = begin(states, tmp_path)
    block = struct.pack(">II", MAGIC, 7) * (image.block_bytes // 8)
    image.write_log([Transaction({11000: block, 11001: bytes(image.block_bytes)})])
    recover_both(image.save())
    assert Image(image.path.with_suffix(".ours")).block(11000) == block


def test_a_commit_block_alone_is_a_transaction(states: States, tmp_path: Path) -> None:
    """Two of the four transactions change no block."""
    image = begin(states, tmp_path)
    image.write_log([Transaction(), *split(states.changed, 2), Transaction()])
    assert "4 transactions" in recover_both(image.save())
    expect_after(states, image.path)


@pytest.mark.parametrize(
    "fields", [{"type": SUPER_1, "users": 0}, {"first": 7}, {"blocks": 512}, {"users": 0}]
)
def test_other_superblocks_are_obeyed(
    states: States, tmp_path: Path, fields: dict[str, int]
) -> None:
    """The journal's superblock may have version 1, another first block, or fewer blocks."""
    image = begin(states, tmp_path)
    image.set(**fields)
    image.write_log(split(states.changed, 3), start=image.get("blocks") - 4)
    recover_both(image.save())
    expect_after(states, image.path)


def test_an_empty_log_is_recovered_too(states: States, tmp_path: Path) -> None:
    """Nothing is replayed; the next transaction gets the following number."""
    image = begin(states, tmp_path)
    image.write_log([])
    image.set(start=0, sequence=41)
    assert "0 transactions, 0 blocks" in recover_both(image.save())
    assert Image(image.path.with_suffix(".ours")).get("sequence") == 42


# ---- transactions that do not count ----


@pytest.mark.parametrize(
    "last",
    [{"committed": False}, {"commit_off_by": 1}, {"commit_off_by": -1}, {"marks_last": False}],
    ids=str,
)
def test_what_was_not_committed_is_not_replayed(
    states: States, tmp_path: Path, last: dict[str, int]
) -> None:
    """A transaction is not whole: its commit block is missing or has another number, or its
    descriptor has no mark. Neither this transaction nor what follows is replayed."""
    image = begin(states, tmp_path)
    odd = Transaction(stale(states.changed), **last)
    image.write_log([*split(states.changed, 2), odd, *split(states.changed, 1)])
    assert "2 transactions" in recover_both(image.save())
    expect_after(states, image.path)


def test_a_log_of_other_numbers_is_not_replayed(states: States, tmp_path: Path) -> None:
    """The superblock waits for transaction 6; the log begins with number 7."""
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 2), sequence=7)
    image.set(sequence=6)
    assert "0 transactions" in recover_both(image.save())


# ---- revokes ----


@pytest.mark.parametrize("incompat", [0, 1])
@pytest.mark.parametrize("of", [0, 1, 2])
def test_a_revoke_drops_what_is_not_newer(
    states: States, tmp_path: Path, of: int, incompat: int
) -> None:
    """Block 11000 is in the first and the last of three transactions, and 11001 in the first two.
    Transaction `of` revokes both. incompat: whether the superblock says that there are revokes."""
    image = begin(states, tmp_path)
    one, two, three = (bytes([n]) * image.block_bytes for n in (1, 2, 3))
    three_of_them = [
        Transaction({11000: one, 11001: one, 11002: one}),
        Transaction({11003: two, 11001: two}),
        Transaction({11000: three, 11004: three}),
    ]
    three_of_them[of].revokes = (11000, 11001, 9999)
    image.set(incompat=incompat)
    image.write_log(three_of_them)
    recover_both(image.save())
    ours = Image(image.path.with_suffix(".ours"))
    assert (ours.block(11000) == three) == (of < 2)
    assert (ours.block(11001) == two) == (of < 1)


def test_revokes_of_what_was_not_committed_do_not_count(states: States, tmp_path: Path) -> None:
    """The second transaction revokes all blocks of the first one, but has no commit block."""
    image = begin(states, tmp_path)
    homes = tuple(states.changed)
    odd = Transaction(revokes=homes, committed=False)
    image.write_log([Transaction(states.changed), odd])
    recover_both(image.save())
    expect_after(states, image.path)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 18, 20, 22])
def test_only_whole_numbers_of_a_revoke_count(states: States, tmp_path: Path, count: int) -> None:
    """count: the length that the block of revokes claims, in bytes: a header of 16, and 4 for each
    block number."""
    image = begin(states, tmp_path)
    last = Transaction(revokes=(11000, 11001), revoked_bytes=count)
    image.write_log([Transaction({11000: b"x" * 1024, 11001: b"y" * 1024}), last])
    recover_both(image.save())


# ---- logs that are refused ----


def expect_refused(image: Image, why: str) -> None:
    """Expect that a mount says why, and changes nothing."""
    image.save()
    before = image.path.read_bytes()
    said = run(TOOL, image.path)
    assert f"the journal cannot be replayed: {why}" in said and "run e2fsck" in said
    assert "mount: -" in said
    assert image.path.read_bytes() == before


def test_a_revoke_that_is_longer_than_its_block_is_refused(states: States, tmp_path: Path) -> None:
    """The block of revokes says that 1028 of its 1024 bytes are in use."""
    image = begin(states, tmp_path)
    last = Transaction(revokes=(11000,), revoked_bytes=1028)
    image.write_log([*split(states.changed, 2), last])
    expect_refused(image, "a block of revokes has a wrong length")


def test_a_home_past_the_end_is_refused(states: States, tmp_path: Path) -> None:
    image = begin(states, tmp_path)
    # The file system has 12288 blocks.
    image.write_log([*split(states.changed, 2), Transaction({12288: bytes(1024)})])
    expect_refused(image, "a block has its home past the file system")


@pytest.mark.parametrize(
    "fields",
    [{"type": 2}, {"block_bytes": 2048}, {"blocks": 1025}, {"first": 1024}, {"start": 1024}],
    ids=str,
)
def test_a_wrong_superblock_is_refused(
    states: States, tmp_path: Path, fields: dict[str, int]
) -> None:
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 2))
    image.set(**fields)
    expect_refused(image, "its superblock makes no sense")


@pytest.mark.parametrize("fields", [{"incompat": 2}, {"incompat": 0x11}, {"ro_compat": 1}], ids=str)
def test_features_that_are_not_handled_are_refused(
    states: States, tmp_path: Path, fields: dict[str, int]
) -> None:
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 2))
    image.set(**fields)
    expect_refused(image, "it has features that are not handled")


def test_a_log_that_tells_of_damage_is_replayed_and_mounted_for_reading(
    states: States, tmp_path: Path
) -> None:
    """The journal's superblock has a field for an error that was found. -30 is "read-only"."""
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 2))
    image.set(error=1)
    image.save()
    said = run(TOOL, image.path, script="create /x\nstat /d/new\n")
    assert "read-only: damage was found before" in said and "create: -30" in said
    assert "size 300000" in said


# ---- logs of disks that do not say needs_recovery ----


def forgotten(states: States, tmp_path: Path, **fields: int) -> Image:
    """Return a saved image whose log has two old transactions, without needs_recovery."""
    shutil.copy(states.after, tmp_path / "image")
    image = Image(tmp_path / "image")
    image.write_log(split(stale(states.changed), 2), start=1020, sequence=7)
    image.needs_recovery(False)
    image.set(**fields)
    image.save()
    return image


@pytest.mark.parametrize("delays", [0, 1, 2], ids=["sync", "none", "journal"])
def test_a_log_without_needs_recovery_is_emptied_before_the_disk_is_written(
    states: States, tmp_path: Path, delays: int
) -> None:
    """The disk is mounted without a replay, because it does not say needs_recovery. If the old log
    stayed, e2fsck -y would replay it over what is newer. The next transaction gets a number above
    those of the old log, 7 and 8, so that the old ones are never taken for new ones."""
    path = forgotten(states, tmp_path).path
    said = run(TOOL, f"delays={delays}", path, script="write /d/newer 50000 9\nsync\n")
    assert "journal emptied" in said and "older than the disk: 2" in said
    emptied = Image(path)
    assert emptied.get("start") == 0 and emptied.get("sequence") >= 7 + 2 + 1
    assert run("e2fsck", "-fy", path).count("Pass") == 5
    shown = run(TOOL, path, script="verify /d/newer 0 50000 9\nverify /d/new 0 300000 3\n")
    assert "journal" not in shown


def test_a_disk_for_reading_only_keeps_such_a_log(states: States, tmp_path: Path) -> None:
    """The log of a disk that was not unmounted can be replayed in memory only; the disk stays as it
    was."""
    path = forgotten(states, tmp_path).path
    before = path.read_bytes()
    root = Path(shutil.copy(states.before, tmp_path / "root"))
    said = run(TOOL, root, path, script="mkdir /mnt\nmount /mnt ro\nstat /mnt/d/new\n")
    assert "size 300000" in said and "emptied" not in said
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"block_bytes": 2048}, "its superblock makes no sense"),
        ({"incompat": 0x11}, "it has features that are not handled"),
    ],
    ids=str,
)
def test_what_cannot_be_emptied_is_mounted_for_reading(
    states: States, tmp_path: Path, fields: dict[str, int], why: str
) -> None:
    """fields: of the journal's superblock; why: what the kernel says. Its files can be read
    only."""
    path = forgotten(states, tmp_path, **fields).path
    before = path.read_bytes()
    said = run(TOOL, path, script="create /x\nstat /d/new\n")
    assert f"read-only: the journal cannot be emptied: {why}: run e2fsck" in said
    assert "create: -30" in said and "size 300000" in said
    assert path.read_bytes() == before


# ---- an outside writer, and power cuts ----


def test_a_log_of_debugfs_is_replayed(states: States, tmp_path: Path) -> None:
    """debugfs writes a transaction: jo opens the journal, jw writes blocks and revokes, jc closes
    it."""
    image = begin(states, tmp_path)
    lines = ["jo"]
    for i, (home, data) in enumerate(states.changed.items()):
        (tmp_path / f"b{i}").write_bytes(data)
        lines.append(f"jw -b {home} {tmp_path / f'b{i}'}")
    lines += ["jw -r 11000,11001", "jc"]
    run("debugfs", "-w", image.path, script="\n".join(lines) + "\n")
    recover_both(image.path)
    expect_after(states, image.path)


def test_a_power_cut_during_recovery_loses_nothing(states: States, tmp_path: Path) -> None:
    image = begin(states, tmp_path)
    image.write_log(split(states.changed, 3))
    image.save()
    run(TOOL, "log=1", "seed=5", image.path, script=f"cuts 40 {tmp_path}\ncrash\n")
    cuts = [*tmp_path.glob("cut.*"), *tmp_path.glob("torn.*")]
    assert len(cuts) > 20
    for cut in cuts:
        run("e2fsck", "-E", "journal_only", "-p", cut, check=1)
        got, after = Image(cut), Image(states.after)
        assert all(got.block(n) == after.block(n) for n in states.changed), cut.name


# ---- what the kernel appends ----

APPEND = NATIVE / "append_tool"
HOMES, SOURCES = 11600, 11000  # the first blocks' homes, and where their contents are taken from


def append(image: Image, parts: list[tuple[list[int], list[int]]], at: int, cut: int = 0) -> str:
    """Have the kernel append transactions to a log that begins at block `at` of the journal. Each
    has the blocks HOMES + i, with the contents of SOURCES + i, and revokes. cut: after how many
    writes the power is cut. Returns what the tool prints."""
    numbers = [len(image.where), *image.where]
    for blocks, revokes in parts:
        pairs = [n for i in blocks for n in (HOMES + i, SOURCES + i)]
        numbers += [len(blocks), *pairs, len(revokes), *(HOMES + i for i in revokes)]
    image.set(start=at, sequence=9)
    image.needs_recovery()
    ring = (image.block_bytes, 1, image.get("blocks"), at, 9, cut)
    words = [str(word) for word in (image.save(), *ring)]
    return run(APPEND, *words, script="\n".join(map(str, numbers)))


def put_sources(image: Image) -> None:
    """Give 300 blocks contents of their own. Every seventh begins with the journal's magic."""
    for i in range(300):
        data = bytes([i % 250 + 1]) * image.block_bytes
        at = (SOURCES + i) * image.block_bytes
        head = struct.pack(">I", MAGIC) if i % 7 == 0 else b""
        image.data[at : at + len(data)] = head + data[len(head) :]


def brought_home(path: Path) -> set[int]:
    """Return the numbers i of the blocks whose contents are at their homes."""
    image = Image(path)
    return {i for i in range(300) if image.block(HOMES + i) == image.block(SOURCES + i)}


@pytest.mark.parametrize("at", [1, 700, 1023])
def test_what_the_kernel_appends_is_recovered(states: States, tmp_path: Path, at: int) -> None:
    """A transaction has blocks that it writes, and blocks that it revokes: those are not copied
    home, unless a later transaction writes them. at: the ring's block where the log begins."""
    image = begin(states, tmp_path)
    put_sources(image)
    parts = [([*range(250)], []), ([], []), ([250, 251], [3, 4, 251]), ([3], [5])]
    said = append(image, parts, at)
    # Of the 1,023 blocks of the ring, each transaction takes its blocks, and one for each of its
    # descriptors, revokes and its commit.
    taken = (250 + 3 + 1) + 1 + (2 + 3) + (1 + 3)
    assert f"{1023 - taken} free" in said
    assert "4 transactions" in recover_both(image.path)
    assert brought_home(image.path.with_suffix(".ours")) == {*range(251)} - {4, 5}


def test_a_transaction_without_room_writes_nothing(states: States, tmp_path: Path) -> None:
    image = begin(states, tmp_path)
    put_sources(image)
    said = append(image, [([*range(300)], [])] * 4, 1)
    # A transaction of 300 blocks takes 304, so the fourth does not fit; -28 is "no space".
    assert said.count("append: -28") == 1 and f"{1023 - 3 * 304} free" in said


def test_a_cut_while_the_kernel_appends_leaves_whole_transactions(
    states: States, tmp_path: Path
) -> None:
    """The second transaction revokes block 0. homes: which blocks are at their homes if none, one,
    two or three transactions are whole."""
    parts = [([0, 1, 2], []), ([3], [0]), ([0, 4], [])]
    ends = (5, 5 + 4, 5 + 4 + 4)  # writes after which each counts
    homes = [set(), {0, 1, 2}, {1, 2, 3}, {0, 1, 2, 3, 4}]
    for cut in range(1, ends[-1] + 2):
        image = begin(states, tmp_path)
        put_sources(image)
        append(image, parts, 1020, cut)
        recover_both(image.path)
        whole = sum(cut - 1 >= end for end in ends)
        assert brought_home(image.path.with_suffix(".ours")) == homes[whole], cut


@pytest.mark.parametrize("seed", range(3))
def test_damaged_logs_end_in_no_panic(states: States, tmp_path: Path, seed: int) -> None:
    """One to five bytes of the journal's blocks are changed, its superblock and the first blocks of
    the log more often than others."""
    dice = random.Random(seed)
    for _ in range(25):
        image = begin(states, tmp_path)
        image.write_log(split(states.changed, 4), start=dice.choice((1, 900)))
        for _ in range(dice.randrange(1, 6)):
            at = image.where[dice.choice((0, 0, 1, 2, 3, dice.randrange(60)))] * image.block_bytes
            at += dice.choice((dice.randrange(80), dice.randrange(image.block_bytes)))
            image.data[at] = dice.randrange(256)
        run(TOOL, "quiet=1", "save=0", image.save(), script="write /after 3000 1\n")
