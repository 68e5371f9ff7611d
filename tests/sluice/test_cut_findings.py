"""The findings of another file system's cuts, sorted into kinds; and the comparison with Linux, as
far as no guest is needed. tests/system/test_crash_linux.py has the guest.

A workload runs on a file system, the power is cut, and the tree that is left is compared with the
model's history. A moment is a number of operations, of which the setup's come first. Kinds of
findings: `names` (the tree is of no moment), `synced` (what fsync confirmed is lost), `size`,
`zeros` and `stale` (contents that no version had: STALE is the byte of a removed file), `replaced`,
`unclean` and `asks` (e2fsck asks a question). A mode is a mount of Linux with the kinds that it
must or must never show.
"""

from pathlib import Path

import pytest
from whole import WHOLE

from sluice.crash.campaign_table import PAGE
from sluice.crash.cut_findings import KINDS, Findings, strange_pieces
from sluice.crash.cuts import Base, Cut, iterate_cuts, tears
from sluice.crash.disk_events import SECTOR, BadRecording, Event
from sluice.crash.ext2 import Reader, read_tree
from sluice.crash.oracle import Found, FoundTree, History
from sluice.crash.workloads import SETUP, find_workload
from sluice.twin import engine
from tools.crash_linux import command, linux_table
from tools.crash_linux.base import STALE, fill_free, make_base
from tools.crash_linux.judging import Count, Judging, draw_cuts
from tools.crash_linux.linux_guest import (
    MOST_DISKS,
    Mount,
    make_disk,
    parse_mount,
    share_workloads,
    split_log,
)
from tools.crash_linux.modes import CLASSIC, MODES, find_mode, list_workloads

twin = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


# ---- kinds of findings ----


def tree_at(history: History, moment: int, **contents: bytes) -> FoundTree:
    """Return the tree of a moment with the files' last contents until then. contents: replaces
    those of files in the root."""
    found = {}
    for path, (kind, node) in history.names[moment].at.items():
        versions = history.files[node].data if kind == "f" else []
        data = [data for done, data in versions if done <= moment]
        own = contents.get(path.lstrip("/"), data[-1] if data else b"")
        found[path] = Found(kind, node, own)
    return found


def make_findings(history: History) -> Findings:
    """Return the findings of a workload, in which an inode's number is that of its node in the
    model."""
    return Findings(history, tree_at(history, 0))


def kinds(text: str, shown: int, returned: int, **contents: bytes) -> set[str]:
    """Return the kinds of findings of a cut. shown: the moment whose tree is left; returned: how
    many operations had returned."""
    history = History(find_workload(text).all_operations(), History(SETUP))
    tree = tree_at(history, shown, **contents)
    return make_findings(history).kinds(tree, Cut(0, (), returned=returned))


F = History(SETUP).files[History(SETUP).names[-1].at["/f"][1]].data[-1][1]  # what /f has at first


@pytest.mark.parametrize(
    ("text", "shown", "returned", "found"),
    [
        ("creat /n; unlink /h; sync", 1, 3, set()),
        ("creat /n; unlink /h; sync", 2, 4, {"names"}),
        ("creat /n; fsync /n", 1, 3, {"names", "synced"}),
        ("creat /n; fsync /f", 1, 3, set()),  # fsync confirms its own file
        ("unlink /h; creat /n; fsync /n", 3, 4, set()),
        # the operation between came after the file's last change
        ("creat /n; unlink /h; fsync /n", 2, 4, set()),
        ("creat /n; unlink /h; link /n /e/n; fsync /n", 2, 5, {"names"}),
        ("mkdir /n; fsync /n", 1, 3, {"names"}),
    ],
)
def test_names_are_those_of_a_moment_since_their_files_own_fsync(
    text: str, shown: int, returned: int, found: set[str]
) -> None:
    """found: the kinds. Names may be those of an earlier moment, but not of one before a sync, or
    before an fsync of the file itself."""
    assert kinds(text, shown, returned) == found


def test_what_fsync_confirmed_is_kept_under_one_of_its_names() -> None:
    """A rename after the fsync may or may not be seen."""
    text = "append /f 3000 9; fsync /f; rename /f /n"
    assert kinds(text, 3, 4) == set()
    assert kinds(text, 3, 3, f=F) == {"synced", "size"}
    assert kinds(text, 3, 3, f=F + b"\0" * 3000) == {"synced", "zeros"}
    history = History(find_workload(text).all_operations(), History(SETUP))
    tree = tree_at(history, 4)
    del tree["/n"]
    assert make_findings(history).kinds(tree, Cut(0, (), returned=3)) == {"names", "synced"}


def test_a_part_that_no_fsync_has_confirmed_may_show_zeros_or_a_removed_file() -> None:
    """The 3000 appended bytes may be missing, without a finding. Zeros and a removed file's bytes
    are findings."""
    text = "append /f 3000 9"
    assert kinds(text, 2, 2) == kinds(text, 2, 2, f=F) == set()
    assert kinds(text, 2, 2, f=F + b"\0" * 3000) == {"zeros"}
    assert kinds(text, 2, 2, f=F + STALE * 3000) == {"stale"}
    assert kinds(text, 2, 2, f=F[:2000]) == {"synced", "size"}
    assert kinds(text, 2, 2, f=F + STALE * 9000) == {"stale", "size"}


def test_a_name_that_a_rename_gave_has_the_whole_old_or_the_whole_new_contents() -> None:
    """An empty file under the name is the finding `replaced`, if the file had contents before the
    rename."""
    text = "creat /n; write /n 0 6000 10; rename /n /f"
    assert kinds(text, 1, 4) == kinds(text, 4, 4) == set()
    assert kinds(text, 4, 4, f=b"") == {"replaced"}
    assert kinds("creat /n; rename /n /f", 3, 3) == set()  # it was empty before
    assert "replaced" not in kinds("creat /n; write /n 0 600 1; rename /n /m", 4, 4, m=b"")


def test_a_name_that_leads_to_another_file_is_of_no_moment() -> None:
    """One of a rename's two directories has reached the disk."""
    history = History(find_workload("rename /f /d/g").all_operations(), History(SETUP))
    start, after = tree_at(history, 0), tree_at(history, 2)
    half = after | {"/d/g": start["/d/g"]}
    assert make_findings(history).kinds(half, Cut(0, (), returned=2)) == {"names", "synced"}
    history = History(find_workload("creat /n; rename /n /f").all_operations(), History(SETUP))
    half = tree_at(history, 3) | {"/f": tree_at(history, 0)["/f"]}
    assert (
        make_findings(history).kinds(half, Cut(0, (), returned=3)) == set()
    )  # as before the creat
    half |= {"/d/n": half["/f"]}
    assert make_findings(history).kinds(half, Cut(0, (), returned=3)) == {"names"}


def test_a_new_files_name_does_not_lead_to_the_file_that_it_has_replaced() -> None:
    """sync has confirmed the new file's name, so the moments before it are none of those that may
    be seen."""
    history = History(
        find_workload("creat /n; sync; rename /n /f").all_operations(), History(SETUP)
    )
    assert make_findings(history).kinds(tree_at(history, 4), Cut(0, (), returned=4)) == set()
    half = tree_at(history, 4) | {"/f": tree_at(history, 0)["/f"]}
    assert make_findings(history).kinds(half, Cut(0, (), returned=4)) == {"names"}


def test_a_byte_behind_the_end_of_each_version_is_strange() -> None:
    """window: a file's versions, of 700 and 1000 bytes. In the second sector, from 512 on, there
    are first zeros that no version has, and then a byte behind the end of both."""
    window = [b"a" * 700, b"a" * 700 + b"b" * 300]
    assert list(strange_pieces(b"a" * 700 + b"b" * 300, window)) == []
    assert list(strange_pieces(b"a" * 700 + b"\0" * 300, window)) == [(512, b"\0" * 300)]
    assert list(strange_pieces(b"a" * 700 + b"b" * 300 + b"c", window)) == [(512, b"c")]


# ---- cuts ----


def test_a_large_write_is_torn_between_blocks() -> None:
    """grain: how many sectors are written at once, here 8."""
    from random import Random

    ways = tears(24, Random(0), grain=8)
    assert all(len(way) % 8 == 0 for way in ways)
    assert {tuple(range(8)), tuple(range(16)), tuple(range(16, 24))} <= set(ways)
    assert tears(8, Random(0), grain=8) == tears(8, Random(0))


def test_the_same_cuts_are_drawn_each_time() -> None:
    """The name of the workload is the seed. 0 draws all cuts."""
    base = Base(bytes(64 * SECTOR))
    events = [Event("write", 0, i * SECTOR, b"1" * SECTOR) for i in range(6)]
    every = list(iterate_cuts(base, events))
    few = draw_cuts(every, 20, "name")
    assert few == draw_cuts(every, 20, "name") != draw_cuts(every, 20, "other")
    numbers = [cut.number for cut, _ in few]
    assert len(few) == 20 and numbers == sorted(numbers)
    assert draw_cuts(every, 0, "name") == every


# ---- judging ----


@twin
def test_each_free_block_of_the_base_shows_a_removed_file() -> None:
    """The base is the disk with which workloads begin. All its free blocks, more than 1000, are
    filled with STALE."""
    disk = bytearray(make_base(has_journal=False))
    reader, tree = Reader(disk), read_tree(disk)
    used = {b for path in tree for b in reader.blocks_of(reader.inode(tree[path].inode))}
    blocks = [bytes(disk[b * 4096 : (b + 1) * 4096]) for b in range(reader.blocks)]
    assert STALE * 4096 not in [blocks[b] for b in used]
    assert blocks.count(STALE * 4096) > 1000
    again = disk[:]
    fill_free(again)
    assert again == disk
    assert read_tree(make_base(has_journal=True))["/f"].data == tree["/f"].data == F


# The place on the disk of the superblock's state: 0 while the disk is mounted, 1 when it is clean
STATE = 1024 + 58


@twin
def test_a_root_directory_without_its_block_is_found() -> None:
    """e2fsck -p asks about it on a disk that was not unmounted. It believes a disk that is marked
    clean, which the second check of e2fsck finds unclean."""
    base = make_base(has_journal=False)
    with Judging(base) as judging:
        assert judging.judge(base).kinds == frozenset()
        lost = bytearray(base)
        lost[STATE] = 0
        at = Reader(base).inode_place(2)
        lost[at + 40 : at + 44] = bytes(4)  # the root's first block
        assert "asks" in judging.judge(bytes(lost)).kinds
        lost[STATE] = 1
        assert judging.judge(bytes(lost)).kinds == {"unclean"}


@twin
def test_a_block_in_use_that_the_bitmap_calls_free_is_found() -> None:
    base = make_base(has_journal=False)
    reader, tree = Reader(base), read_tree(base)
    with Judging(base) as judging:
        free = bytearray(base)
        free[reader.block_bitmap_place(0)] &= 0xFE
        verdict = judging.judge(bytes(free))
        assert verdict.kinds == {"unclean"}
        assert verdict.tree == tree  # so only e2fsck has found it


@twin
def test_an_fsynced_file_without_its_data_and_a_failed_operation_are_found() -> None:
    base = make_base(has_journal=False)
    reader, tree = Reader(base), read_tree(base)
    with Judging(base) as judging:
        block = reader.blocks_of(reader.inode(tree["/f"].inode))[0] * 4096
        event = Event("write", 0, block, b"\0" * 4096)
        began, done = Event("began", mark=1), Event("returned", mark=1)
        count = judging.count(find_workload("fsync /f"), [began, event, done], 0)
        assert count.cuts - 1 <= count.kinds["synced"]  # one leaves only the block's last sector
        failed = [began, Event("returned", mark=1, error=5)]
        assert "error 5" in judging.count(find_workload("fsync /f"), failed, 0).wrong


CUTS = 60 if WHOLE else 12  # of a workload


@twin
def test_our_own_kernel_shows_what_is_expected_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Sluice's own modes run the classic workloads."""
    work = tuple(find_workload(text) for text in CLASSIC)
    mounts = tuple(mode.mount for mode in MODES if mode.mount.type == "sluice")
    assert command.run_comparison(command.Request(mounts, work, CUTS, 2)) == 0
    said = capsys.readouterr().out
    assert all(f"Sluice  {mount}  {len(CLASSIC)}  " in said for mount in mounts)


def test_what_is_not_as_expected_is_told() -> None:
    """The mode ext4 must show `zeros` and must never show `synced`."""
    workload, expected = find_workload("sync"), find_mode(parse_mount("ext4"))
    assert list(command.Result(expected, "Linux", [Count(workload)]).surprises()) == []
    result = command.Result(expected, "Linux", [Count(workload)] * 2)
    assert next(iter(result.surprises())).startswith("no zeros, which is known of it")
    lost = Count(workload, kinds={"synced": 1, "zeros": 2}, first={"synced": (Cut(0, ()), "")})
    result = command.Result(expected, "Linux", [lost])
    assert list(result.surprises()) == ["synced, which must never be: sync: sync"]
    unlike = Count(workload, kinds={"zeros": 1}, wrong="sync: error 5")
    assert "error 5" in "".join(command.Result(expected, "Linux", [unlike]).surprises())


# ---- modes and disks ----


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "give a type"), ("ext4 data=writeback", "give a type"), ("xfs", "none of ext2, ext3")],
)
def test_what_is_no_mount_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_mount(text)


def test_a_mode_expects_kinds_that_there_are() -> None:
    """No kind is both required and forbidden, and a mode's text gives the mode back."""
    for mode in MODES:
        assert set(mode.must) | set(mode.never) <= set(KINDS)
        assert not set(mode.must) & set(mode.never)
        assert parse_mount(str(mode.mount)) == mode.mount
    assert find_mode(parse_mount("ext4 -o commit=9")).must == ()
    assert len({w.name for w in list_workloads(3)}) == len(list_workloads(0)) + 3


def test_each_workload_is_on_one_disk() -> None:
    """The workloads are shared out to MOST_DISKS disks."""
    work = list_workloads(0)
    shares = share_workloads(work)
    assert len(shares) == MOST_DISKS
    assert sorted(w.name for share in shares for w in share) == sorted(w.name for w in work)
    assert share_workloads(work[:2]) == [work[:1], work[1:2]]


def test_a_disk_has_its_number_and_a_part_for_each_workload(tmp_path: Path) -> None:
    """The first sector holds the number; then come copies of the base."""
    base = b"b" * 8 * SECTOR
    disk = make_disk(tmp_path / "disk", 3, base, 2).read_bytes()
    assert disk[:SECTOR].startswith(b"3\n") and disk[len(base) :] == 2 * base


PART = 16 * SECTOR


def mark_event(text: str) -> Event:
    """Return the write by which the guest's program reports something."""
    return Event("write", 0, 0, text.encode().ljust(SECTOR, b"\0"))


def test_a_disks_log_is_taken_apart_by_what_the_program_printed() -> None:
    """\\5 begins a workload, @0 and =0 mark an operation's begin and its return with an error, and
    @end ends the workload. Writes get their place within the workload's part."""
    one = Event("write", 0, PART + SECTOR, b"1" * SECTOR)
    two = Event("write", 0, 2 * PART, b"2" * SECTOR)
    log = [
        Event("flush"),
        mark_event("\5"),
        mark_event("@0\n"),
        one,
        Event("flush"),
        mark_event("=0 -17\n"),
    ]
    log += [
        mark_event("@end\n"),
        mark_event("\5"),
        mark_event("@0\n"),
        two,
        mark_event("=0 0\n"),
        mark_event("@end\n"),
    ]
    first, second = split_log(log, PART, 2)
    assert [event.kind for event in first] == ["began", "write", "flush", "returned", "end"]
    assert (first[1].at, first[3].error, second[1].at) == (SECTOR, 17, 0)
    for wrong, said in (
        (log[:-1], "workload 1 of a disk did not come to its end"),
        (log[:7], "1 of 2 workloads"),
        ([*log[:3], two, *log[3:]], "outside of the part"),
        ([*log[:3], mark_event("/f: no space"), *log[3:]], "'/f: no space', which is no mark"),
    ):
        with pytest.raises(BadRecording, match=said):
            split_log(wrong, PART, 2)


# ---- the page ----


def test_the_pages_table_is_that_of_the_modes_and_as_expected() -> None:
    """The book's table has a row for each mode, with its counts of findings."""
    rows = linux_table.read_rows()
    assert list(rows) == [str(mode.mount) for mode in MODES]
    for mode in MODES:
        cells = dict(zip(linux_table.COLUMNS, rows[str(mode.mount)], strict=True))
        assert [kind for kind in mode.never if cells[kind] != "0"] == [], mode.mount
        assert [kind for kind in mode.must if cells[kind] == "0"] == [], mode.mount
        assert int(cells["workloads"]) >= len(list_workloads(0))


def test_a_row_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """A row of a known mount is replaced, a new one is added at the end."""
    copy = tmp_path / "crash.md"
    copy.write_text(PAGE.read_text())
    before = linux_table.read_rows(copy)
    mount, new = MODES[2].mount, Mount("ext4", "commit=9")
    cells = ["Linux", *"0" * (len(linux_table.COLUMNS) - 2)]
    linux_table.put_rows({mount: cells, new: cells}, copy)
    after = linux_table.read_rows(copy)
    assert list(after) == [*dict.fromkeys((*before, str(mount))), str(new)]
    assert after[str(mount)] == ["Linux", f"`{mount}`", *cells[1:]]
    copy.write_text(f"{linux_table.HEAD}\n## Limits\n\nNone.\n")
    linux_table.put_rows({mount: cells}, copy)
    assert list(linux_table.read_rows(copy)) == [str(mount)]
    assert copy.read_text().endswith("|\n\n## Limits\n\nNone.\n")
    copy.write_text("no table")
    with pytest.raises(ValueError, match="no table of Linux"):
        linux_table.put_rows({}, copy)
