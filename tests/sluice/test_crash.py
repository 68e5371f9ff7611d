"""The crash laboratory: the twin's record of a disk, cuts, the model, the judges, and the command.

A workload is a list of operations such as `creat /n; fsync /n`; SETUP has made the files /f, /h,
/d/g and others before it. The laboratory records the disk's writes and flushes (its events), cuts
the power at each moment, mounts what is left, and compares it with the model (History): what a
Promise says must not be lost. A planted fault changes the recorded events, to see that a judge
notices. A few thousand cuts are tried here; `sluice crash run` tries as many as one wants.
"""

import json
import signal
import struct
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from sluice.crash import campaign_run, campaign_table
from sluice.crash.campaign_run import iterate_tasks
from sluice.crash.crews import CONTEXT, Task, serve_tasks
from sluice.crash.cuts import Base, Image, choose, iterate_cuts, tear_in_halves, tears
from sluice.crash.disk_events import SECTOR, Event, parse_events
from sluice.crash.ext2 import Damaged, read_tree
from sluice.crash.faults import FAULTS, Fault, Planter, plant
from sluice.crash.judge import USE
from sluice.crash.laboratory import Laboratory, Outcome
from sluice.crash.machine import Setup, apply_writes
from sluice.crash.operations import BadOperation, parse_operation, parse_operations, pattern
from sluice.crash.oracle import Found, History, Promise, check_contents
from sluice.crash.story import format_story, reduce_workload, tell, tell_cut
from sluice.crash.workloads import ALPHABET, SETUP, all_workloads, find_workload, random_workload
from sluice.system import image
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory with the usual setup."""
    with Laboratory(Setup()) as made:
        yield made


def try_text(laboratory: Laboratory, text: str, fault: Fault | None = None) -> Outcome:
    """Return the outcome of all cuts of a workload, with a fault planted if there is one."""
    planted = plant(fault, laboratory.base.disk) if fault else None
    return laboratory.try_workload(find_workload(text), planted)


# ---- operations and the model ----


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("creta /n", "there is no operation 'creta'"),
        ("creat", "creat takes 1 words (path)"),
        ("creat n", "the path 'n' must begin with /"),
        ("truncate /f -1", "'-1' is no number"),
    ],
)
def test_what_is_no_operation_is_refused_by_what_is_wrong(text: str, said: str) -> None:
    """The message repeats the whole operation."""
    with pytest.raises(BadOperation) as refused:
        parse_operation(text)
    assert said in str(refused.value)
    assert text in str(refused.value)


@pytest.mark.parametrize("name", ["", "99", "0+", "3+99", ";"])
def test_a_workload_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(BadOperation):
        find_workload(name)


def test_workloads_are_named_counted_and_drawn_the_same_each_time() -> None:
    """All workloads of one and of two operations are counted by ALPHABET, the list of operations;
    others are drawn by a seed."""
    singles, pairs = list(all_workloads(1)), list(all_workloads(2))
    assert len(singles) == len(ALPHABET)
    assert len({pair.name for pair in pairs}) == len(ALPHABET) ** 2
    assert find_workload(pairs[77].name) == pairs[77]
    assert random_workload(5) == random_workload(5)
    assert len({random_workload(seed).name for seed in range(50)}) > 40
    again = find_workload("; ".join(map(str, pairs[77].operations)))
    assert again.operations == pairs[77].operations


def test_the_model_and_the_kernel_agree_on_which_operations_fail(laboratory: Laboratory) -> None:
    """Renames into missing folders, links to folders and the like. An operation that fails in one
    and not in the other is a failure of the outcome."""
    for text in (
        "rename /d /d/n; rename /f /nowhere/n; rename /d/hard /h; rename /f /e",
        "rename /e /f; rename /d /e; mkdir /f; rmdir /d; unlink /e; link /d /n",
        "creat /f; symlink text /n; creat /n; truncate /e 5; write /e 0 5 1; fsync /e",
    ):
        assert not try_text(laboratory, text).failures


def test_a_pattern_tells_a_tag_and_a_place() -> None:
    """pattern(offset, size, tag) is the data that workloads write: each sector differs, and so do
    tags."""
    whole = pattern(0, 4 * SECTOR, 1)
    assert len(set(whole[::SECTOR])) == 4
    assert pattern(700, 900, 1) == whole[700:1600]
    assert pattern(0, 10, 1) != pattern(0, 10, 2)


def history_of(text: str) -> History:
    """Return the model's history of a workload after SETUP."""
    return History(parse_operations(text), History(SETUP))


def test_names_are_those_before_or_after_the_operation_under_way() -> None:
    """check(found, n, ...): n operations have returned; True if another is under way. Under the
    promise "sync" all that has returned must be there; under "prefix", any earlier state may be."""
    start = {"/n": Found("f", 5)} | {
        path: Found(kind, node) for path, (kind, node) in History(SETUP).names[-1].at.items()
    }
    found = start | {"/f": Found("f", start["/f"].inode, pattern(0, 5000, 1))}
    whole = {
        path: replace(one, data=contents(path)) if one.kind == "f" else one
        for path, one in found.items()
    }
    made = history_of("creat /n; unlink /n")
    # what is found on the disk: without /n, and with an empty /n
    without = {path: one for path, one in whole.items() if path != "/n"}
    present = whole | {"/n": Found("f", 99)}
    sync, prefix = Promise("sync"), Promise("prefix")
    assert not made.check(without, 0, True, sync)[0]
    assert not made.check(present, 0, True, sync)[0]
    assert not made.check(present, 1, True, sync)[0]
    assert "no /n" in made.check(without, 1, False, sync)[0][0]
    assert not made.check(without, 1, False, prefix)[0]
    assert "there is /n" in made.check(present, 2, False, sync)[0][0]


def contents(path: str) -> bytes:
    """Return the data that SETUP writes to a file."""
    made = History(SETUP)
    kind, node = made.names[-1].at.get(path, ("", 0))
    return made.files[node].data[-1][1] if kind == "f" else b""


def test_two_names_of_one_file_lead_to_one_inode() -> None:
    """`/n` is a link to /f, and must have its inode."""
    made = history_of("link /f /n")
    names = {path: kind for path, (kind, _) in made.names[-1].at.items()}
    apart = {
        path: Found(kind, i, contents("/f" if path == "/n" else path))
        for i, (path, kind) in enumerate(names.items())
    }
    apart["/d/hard"] = replace(apart["/d/hard"], inode=apart["/h"].inode)
    assert "links or kinds differ" in made.check(apart, 1, False, Promise())[0][0]
    apart["/n"] = replace(apart["/n"], inode=apart["/f"].inode)
    assert not made.check(apart, 1, False, Promise())[0]


@pytest.mark.parametrize(
    ("data", "wrong", "stale"),
    [
        (b"a" * 1000, "", 0),
        (b"b" * 1000, "", 0),
        (b"a" * 500 + b"b" * 500, "", 0),
        (b"a" * 999, "its size is 999", 0),
        (b"a" * 500 + b"c" * 500, "its bytes from 0 on", 0),
        (b"\0" * 1000, "its bytes from 0 on", 0),
        (b"b" * 1000 + b"b" * 1024, "", 0),
        # the sectors from 512, 1024 and 1536 on; the last one is cut off by the file's end
        (b"b" * 1000 + b"?" * 1024, "", 512 + 512 + 488),
    ],
)
def test_a_byte_is_one_that_was_there(data: bytes, wrong: str, stale: int) -> None:
    """The file had 1000 bytes `a`, then 1000 bytes `b`, and in the last two cases 2024 bytes `b`.
    wrong: what the judge says of these data; stale: how many bytes are in sectors that have some
    from another file's old blocks. No case has stale bytes where a promise excludes them."""
    window = [b"a" * 1000, b"b" * 1000] + ([b"b" * 2024] if len(data) > 1000 else [])
    text, n = check_contents(data, window, Promise())
    assert wrong in text if wrong else not text
    assert n == stale
    if stale:
        assert check_contents(data, window, Promise(stale=False))[0]


# ---- the twin's record, and cuts ----


def test_the_record_has_writes_flushes_and_operations_in_order(laboratory: Laboratory) -> None:
    """An fsync ends with a flush. The recorded writes give the disk with the file's data."""
    events = laboratory.record(find_workload("write /f 0 4096 5; fsync /f"))
    kinds = [event.kind for event in events]
    began = [i for i, event in enumerate(events) if event.kind == "began"]
    fsync = kinds[began[2] : began[3]]  # the events of the operation with number 2
    assert fsync[0] == "began"
    assert fsync[-2:] == ["flush", "returned"]
    assert kinds[-1] == "end"
    assert [e.time_ns for e in events] == sorted(e.time_ns for e in events)
    disk = apply_writes(laboratory.base.disk, events)
    assert read_tree(disk)["/f"].data[:4096] == pattern(0, 4096, 5)


def test_a_machine_does_each_workload_as_if_it_were_the_first(laboratory: Laboratory) -> None:
    """A workload's record is the same after a workload with many more events, and by a machine that
    has done no other."""
    workload, machine = find_workload("unlink /f"), laboratory.machine
    before = laboratory.record(workload), machine.watched.read_bytes()
    machine.change_disk(laboratory.base.disk, USE)
    assert (laboratory.record(workload), machine.watched.read_bytes()) == before
    with Laboratory(Setup()) as another:
        assert another.record(workload) == before[0]


def test_the_reader_agrees_with_debugfs(laboratory: Laboratory, tmp_path: Path) -> None:
    """read_tree() reads an ext2 image; debugfs, which e2fsprogs has, reads the same contents."""
    events = laboratory.record(find_workload("write /f 60000 100 7; symlink text /n"))
    path = tmp_path / "disk.img"
    path.write_bytes(apply_writes(laboratory.base.disk, events))
    tree = read_tree(path.read_bytes())
    for name in ("/f", "/d/g", "/h", "/d/hard"):
        assert image.read_file(path, name) == tree[name].data
    assert tree["/n"].data == b"text"
    assert tree["/h"].inode == tree["/d/hard"].inode
    image.check_image(path)


def test_the_reader_refuses_what_cannot_be_right(laboratory: Laboratory) -> None:
    """Fields of /f's inode are overwritten: its kind, its first block, its size. A disk of 100
    bytes is too short."""
    planter = Planter(laboratory.base.disk, [])
    at = planter.place_of("/f")
    for offset, data in ((0, b"\0\0"), (40, b"\xff\xff\xff\7"), (4, b"\xff\xff\xff\x7f")):
        disk = bytearray(laboratory.base.disk)
        disk[at + offset : at + offset + len(data)] = data
        with pytest.raises(Damaged):
            read_tree(disk)
    with pytest.raises(Damaged):
        read_tree(bytes(100))


def writes(*sectors: int, flushes: int = 0) -> list[Event]:
    """Return writes of so many sectors each, with these flushes before the last write. Write i
    begins at sector 8 i and is filled with i + 1."""
    made = [
        Event("write", 0, 8 * SECTOR * i, bytes([i + 1]) * SECTOR * n)
        for i, n in enumerate(sectors)
    ]
    return made[:-1] + [Event("flush")] * flushes + made[-1:]


def test_cuts_leave_each_subset_of_what_was_not_flushed() -> None:
    """Three writes of a sector. With a flush before the last, the first two are always there."""
    base = Base(bytes(64 * SECTOR))

    def first_bytes(image: Image) -> bytes:
        return image.bytes()[:: 8 * SECTOR][:3]  # the first bytes at the places of the three writes

    left = {first_bytes(image) for _, image in iterate_cuts(base, writes(1, 1, 1))}
    subsets = {bytes(values) for values in product((0, 1), (0, 2), (0, 3))}
    assert left == subsets - {bytes(3)}  # nothing is there only before the first write
    *_, (_, last) = iterate_cuts(base, writes(1, 1, 1, flushes=1))
    assert first_bytes(last) == b"\1\2\3"


def test_a_drive_without_a_volatile_cache_loses_no_write_that_has_ended() -> None:
    """Each cut has all writes before it."""
    base = Base(bytes(64 * SECTOR))
    events = [*writes(1, 1, 1), Event("returned")]
    cuts = [image for _, image in iterate_cuts(base, events, volatile=False)]
    left = [image.bytes()[:: 8 * SECTOR][:3] for image in cuts]
    assert left == [b"\1\0\0", b"\1\2\0", b"\1\2\3", b"\1\2\3"]


def test_a_torn_write_leaves_each_number_of_first_sectors() -> None:
    """Of a write of 8 sectors the first n are there; or only the last one. `left` has, for each
    cut, the first byte of each of these sectors: 1 if it was written, 0 if not."""
    base = Base(bytes(64 * SECTOR))
    left = {image.bytes()[: 8 * SECTOR : SECTOR] for _, image in iterate_cuts(base, writes(8))}
    assert {b"\1" * n + bytes(8 - n) for n in range(1, 9)} <= left
    assert bytes(7) + b"\1" in left


def test_an_older_write_may_be_torn_beside_whole_newer_ones() -> None:
    """tear_older: also tear a write that is not the last one. Of four sectors the first or the
    second two are left."""
    base = Base(bytes(64 * SECTOR))
    events = [*writes(4, 1, 1), Event("returned")]

    def left(tear_older: bool) -> set[bytes]:
        """Return the first bytes of the disk's sectors after each cut: which write is there."""
        cuts = iterate_cuts(base, events, tear_older=tear_older)
        return {image.bytes()[: 17 * SECTOR : SECTOR] for _, image in cuts}

    newer = bytes(4) + b"\2" + bytes(7) + b"\3"
    first, second = b"\1\1\0\0" + newer, b"\0\0\1\1" + newer
    assert {first, second} <= left(tear_older=True)
    assert not {first, second} & left(tear_older=False)
    assert left(tear_older=False) < left(tear_older=True)


def test_of_many_older_writes_some_are_torn() -> None:
    """Of 30 pending writes some are drawn, five to eight. A write of one sector cannot be torn."""
    base = Base(bytes(640 * SECTOR))
    torn = [cut for cut, _ in iterate_cuts(base, writes(*[2] * 30), tear_older=True)][-40:]
    older = {cut.torn for cut in torn if cut.after == 29 and cut.torn not in (-1, 29)}
    assert 4 < len(older) <= 8
    assert tear_in_halves(1, Random(0)) == []
    assert {(0, 1, 2), (3, 4)} <= set(tear_in_halves(5, Random(0)))


def test_one_of_several_moments_with_the_same_names_may_be_shown() -> None:
    """The names before `creat /t` are those after the rename, although /h is another file then.
    Either file's contents are right, a mix is not."""
    text = "creat /h; write /h 0 900 1; sync; creat /t; write /t 0 300 2; rename /t /h"
    made = History(parse_operations(text))
    old, new = (Found("f", n, pattern(0, size, tag)) for n, size, tag in ((1, 900, 1), (2, 300, 2)))
    for found in (old, new):
        assert made.check({"/h": found}, 6, False, Promise("prefix", stale=False)) == ([], 0)
    mixed = Found("f", 1, pattern(0, 300, 1))
    assert made.check({"/h": mixed}, 6, False, Promise("prefix", stale=False))[0]


def test_the_hash_of_an_image_is_that_of_its_bytes() -> None:
    """Images with the same hash are equal, and others differ. A write of what is there already
    changes no hash."""
    base = Base(bytes(64 * SECTOR))
    events = [*writes(3, 2, 4), Event("flush"), *writes(2, 2)]
    seen: dict[int, bytes] = {}
    for _, left in iterate_cuts(base, events):
        assert seen.setdefault(left.hash, left.bytes()) == left.bytes()
    assert len(set(seen.values())) == len(seen)
    again = Event("write", 0, 0, bytes(SECTOR))  # as it was at first
    assert [left.hash for _, left in iterate_cuts(base, [again])] == [0]


def test_of_many_pending_writes_all_none_and_all_but_one_are_there() -> None:
    """Of 20 writes some subsets are chosen; of 5 all 32 are. tears() gives the ways in which a
    write of so many sectors may be torn."""
    others = list(range(20))
    ways = choose(others, Random(0))
    assert {(), tuple(others)} <= set(ways)
    assert all(tuple(o for o in others if o != other) in ways for other in others)
    assert len(choose(others[:5], Random(0))) == 32
    assert tears(1, Random(0)) == []
    assert all(0 < len(way) < 8 for way in tears(8, Random(0)))


def test_text_that_is_no_mark_is_no_event() -> None:
    """In the console, `@12` marks the begin of operation 12, and `=12 -2` its return with error
    2."""

    def text(said: bytes) -> bytes:
        return struct.pack("<4Q", 2, 0, len(said), 7) + said

    events = parse_events(text(b"ext2: hello\n@1") + text(b"2\n=12 -2\n"))
    assert [(event.kind, event.mark, event.error) for event in events] == [
        ("began", 12, 0),
        ("returned", 12, 2),
    ]


# ---- judges ----


def test_no_cut_of_one_operation_loses_anything(laboratory: Laboratory) -> None:
    """Every fourth workload of one operation is tried."""
    outcomes = [laboratory.try_workload(workload) for workload in list(all_workloads(1))[1::4]]
    assert [failure for outcome in outcomes for failure in outcome.failures] == []
    assert sum(outcome.cuts for outcome in outcomes) > 1500
    assert sum(outcome.images for outcome in outcomes) > 100


@pytest.mark.drawn(4)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_planted_fault_is_found(laboratory: Laboratory, fault: Fault) -> None:
    """A fault changes the recorded events of its workload, and then a cut loses something."""
    planted = plant(fault, laboratory.base.disk)
    workload = find_workload(fault.workload)
    assert planted(laboratory.record(workload)) != laboratory.record(workload)
    assert laboratory.try_workload(workload, planted, most=1).failures


@pytest.mark.parametrize(
    "text",
    [
        "append /f 8000 1; fsync /f",  # the bitmap on the disk calls the file's new blocks free
        "creat /n; rename /f /n",  # the mount frees an inode that is free in the bitmap already
    ],
)
def test_a_mount_without_e2fsck_trusts_no_summary(laboratory: Laboratory, text: str) -> None:
    """These are faults that the laboratory has found: of claim.c and redo.c."""
    assert not try_text(laboratory, text).failures


# ---- stories ----


def test_a_failure_is_reduced_and_told(laboratory: Laboratory) -> None:
    """A workload of three operations is reduced to one that still fails. The story of a failure
    names its cut, and the command that shows it again."""
    fault = next(fault for fault in FAULTS if fault.name == "flush-lies")

    def no_flushes(events: list[Event]) -> list[Event]:
        return [event for event in events if event.kind != "flush"]

    long = find_workload("truncate /h 5000; unlink /d/g; creat /n")
    short = reduce_workload(laboratory, long, no_flushes)
    assert len(short.operations) == 1
    workload = find_workload(fault.workload)
    planted = plant(fault, laboratory.base.disk)
    story = tell(laboratory, workload, planted)
    assert story
    text = format_story(story, laboratory, " --fault flush-lies")
    for words in ("Lost: unlink /d/g", "directory /d", "here the power goes", "What was found:"):
        assert words in text
    number = int(text.split("--cut ")[1].split()[0])
    assert f"sluice crash show '{workload.name}' --cut {number} --fault flush-lies" in text
    again = tell_cut(laboratory, workload, number, planted)
    assert again.failure == story.failure
    assert again.image == story.image
    with pytest.raises(BadOperation, match="cuts 0 to"):
        tell_cut(laboratory, workload, 10**6)


def test_a_cut_that_loses_nothing_is_told_too(laboratory: Laboratory) -> None:
    """A workload without a failure has no story by itself."""
    story = tell_cut(laboratory, find_workload("creat /n"), 20)
    text = format_story(story, laboratory)
    assert text.startswith("Kept: creat /n")
    assert "all that should be there" in text
    assert tell(laboratory, find_workload("sync")) is None


# ---- the command ----


def test_a_campaign_goes_on_where_it_was_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign tries one given workload, random ones by seeds, and faults. Its journal has a line
    for each; the last line is cut off here, so it is tried again."""
    monkeypatch.setattr(campaign_run, "all_workloads", lambda length: [find_workload("49")])
    monkeypatch.setattr(campaign_run, "faults_for", lambda *_: FAULTS[:1])
    asked = campaign_run.CampaignRequest(Setup(), Promise(), seeds=1, jobs=2, folder=tmp_path)
    assert campaign_run.run_campaign(asked)
    first = capsys.readouterr().out
    assert "Nothing was lost." in first
    assert "1 of 1 planted faults found" in first
    (journal,) = tmp_path.glob("*.jsonl")
    lines = journal.read_text().splitlines()
    assert len(lines) == 3
    journal.write_text("\n".join(lines[:2]) + "\n" + lines[2][:20])  # killed within a line
    assert campaign_run.run_campaign(replace(asked, seeds=2))
    assert "2 workloads were tried before" in capsys.readouterr().out
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(rows) == 4
    (summary,) = tmp_path.glob("*.json")
    numbers = json.loads(summary.read_text())
    assert numbers["workloads"] == 3
    assert 0 < numbers["mount_mean_ms"] < numbers["mount_most_ms"]


def test_a_mount_after_a_cut_takes_longer_than_one_of_a_clean_disk(laboratory: Laboratory) -> None:
    """The mount after a cut reads all inodes, and marks the blocks of files (kernel/ext2/claim.c).
    The cut is after both operations."""
    events = laboratory.record(find_workload("creat /n; fsync /n"))
    cuts = [image for cut, image in laboratory.iterate_cuts(events) if cut.returned == 2]
    cut = laboratory.judge.judge(cuts[0].bytes())
    clean = laboratory.judge.judge(laboratory.base.disk)
    assert 0 < clean.mount_ns < cut.mount_ns


def test_a_worker_ends_with_its_pipe_also_if_its_answer_was_not_read() -> None:
    """An answer that was not read gives a reset of the connection, no end of file."""
    before = signal.getsignal(signal.SIGINT)
    ours, theirs = CONTEXT.Pipe()
    theirs.send("an answer")
    ours.close()
    try:
        serve_tasks(theirs, nullcontext, lambda *_: None)
    finally:
        signal.signal(signal.SIGINT, before)
        theirs.close()


def test_a_campaign_with_a_time_adds_to_what_it_tried_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign's time is endless, and its tasks end after two."""
    monkeypatch.setattr(campaign_run, "all_workloads", lambda length: [])
    monkeypatch.setattr(campaign_run, "faults_for", lambda *_: [])
    asked = campaign_run.CampaignRequest(Setup(), Promise(), for_s=1e9, folder=tmp_path)
    for tried in (2, 4):

        def stop(*words: object) -> Iterator[Task]:
            every = iterate_tasks(*words)  # type: ignore[arg-type]
            yield from (next(every) for _ in range(2))

        monkeypatch.setattr(campaign_run, "iterate_tasks", stop)
        assert campaign_run.run_campaign(asked)
        assert f"{tried} workloads," in capsys.readouterr().out
    (journal,) = tmp_path.glob("*.jsonl")
    names = [json.loads(line)["workload"] for line in journal.read_text().splitlines()]
    assert names == [random_workload(seed).name for seed in range(4)]


def test_a_campaign_fails_if_a_planted_fault_is_not_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault is asked for in another workload, which does not show it."""
    blind = replace(FAULTS[0], workload="49")
    monkeypatch.setattr(campaign_run, "faults_for", lambda *_: [blind])
    monkeypatch.setattr(campaign_run, "all_workloads", lambda length: [])
    asked = campaign_run.CampaignRequest(Setup(), Promise(), jobs=1, folder=tmp_path)
    assert not campaign_run.run_campaign(asked)
    assert "NOT FOUND: no-flushes" in capsys.readouterr().out


def test_the_page_has_this_kernels_counts_and_no_loss() -> None:
    """The book's page has a row for each campaign. One of them is made again and must have the same
    counts."""
    rows = campaign_table.read_rows()
    assert len(rows) > 5
    for command, cells in rows.items():
        found, planted = cells[-1].split(" of ")
        assert cells[-2] == "0", command
        assert found == planted, command
    cells = rows[campaign_table.command_of(1, (0, 0, 0), " --args 'write=through'")]
    with Laboratory(Setup("write=through")) as made:
        cuts = images = 0
        for workload in all_workloads(1):
            left = [left.hash for _, left in iterate_cuts(made.base, made.record(workload))]
            cuts, images = cuts + len(left), images + len(set(left))
    assert cells[:3] == [f"{len(ALPHABET)}", f"{cuts:,}", f"{images:,}"]


def test_the_page_tells_the_story_that_the_command_tells(laboratory: Laboratory) -> None:
    """The book quotes the story of the fault name-first."""
    fault = next(fault for fault in FAULTS if fault.name == "name-first")
    planted = plant(fault, laboratory.base.disk)
    story = tell(laboratory, find_workload(fault.workload), planted)
    assert story
    text = format_story(story, laboratory, " --fault name-first")
    assert f"```text\n{text}\n```" in campaign_table.PAGE.read_text()


def test_a_campaigns_row_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """put_row() replaces the row of a command, or adds one at the end."""
    page = tmp_path / "crash.md"
    page.write_text(campaign_table.PAGE.read_text())
    before = campaign_table.read_rows(page)
    command = next(iter(before))
    campaign_table.put_row(command, ["7"] * 6, page)
    campaign_table.put_row("sluice crash run --length 1 --seeds 9", ["8"] * 6, page)
    after = campaign_table.read_rows(page)
    assert after[command] == ["7"] * 6
    assert list(after) == [*before, "sluice crash run --length 1 --seeds 9"]
    (tmp_path / "other.md").write_text("no table")
    with pytest.raises(ValueError, match="no table behind <!-- table: campaigns -->"):
        campaign_table.put_row(command, [], tmp_path / "other.md")
