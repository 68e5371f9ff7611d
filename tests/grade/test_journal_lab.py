"""The lab journal: its answers are read with care, and its stories are those of the events.

An answer is a list of operations and the number of writes after which a power cut loses something
(RIGHT is the right one). A Recording has a run's events. A cut is judged in the ways in which a
drive's cache may lose writes; a story tells a loss.
"""

from pathlib import Path

import pytest

from grade.engine import tree
from grade.engine.assertions import Wrong
from grade.engine.scenario import Run, Scenario
from grade.labs.journal.judging import Loss, each_cut, list_ways, number_writes, tell
from grade.labs.journal.operations import Recording, group_operations, parse
from grade.labs.journal.question import ANSWER, parse_answer
from sluice.crash.cuts import Cut
from sluice.crash.disk_events import Event
from sluice.crash.log_faults import COMMIT, DESCRIPTOR, HEAD, MAGIC
from sluice.crash.oracle import History
from sluice.crash.write_log import format_log, parse_log
from sluice.system import image
from sluice.system.image import Content

BLOCK = 4096
RIGHT = "operations: mkdir /d; sync\nwrites: 11\n"

# ---- answers ----


def test_an_answer_is_operations_and_a_number() -> None:
    answer = parse_answer(f"# mine\n\n{RIGHT}")
    assert (len(answer.operations), answer.writes) == (2, 11)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "lines `operations"),
        ("operations: ?\nwrites: ?\n", "no answer yet"),
        (RIGHT + "writes: 12\n", "lines `operations"),
        (RIGHT + "more: 1\n", "lines `operations"),
        ("operations: sync\nwrites: 0\n", "whole number from 1"),
        ("operations: sync\nwrites: 1e3\n", "whole number from 1"),
        ("operations: reboot\nwrites: 1\n", "no operation 'reboot'"),
        ("operations: hold /a\nwrites: 1\n", "one of creat"),
        ("operations: mkdir /$(poweroff)\nwrites: 1\n", "paths of at most 4 names"),
        ("operations: mkdir /../d\nwrites: 1\n", "paths of at most 4 names"),
        ("operations: creat /a; append /a 99999999 1\nwrites: 1\n", "an append of 1 to"),
        ("operations: unlink /a\nwrites: 1\n", "operations that succeed"),
        ("operations: umount /; sync\nwrites: 1\n", "umount as the last"),
        ("operations: " + "sync; " * 20 + "\nwrites: 1\n", "1 to 12 operations"),
        ("operations: " + "x" * 3000, "letters"),
    ],
)
def test_an_answer_that_cannot_be_tried_is_told(text: str, says: str) -> None:
    """says: words of the message."""
    with pytest.raises(Wrong) as refused:
        parse_answer(text)
    assert says in str(refused.value)


def test_the_right_answer_is_found_where_the_sources_are_a_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grading takes sources from a snapshot of the tree, which has no lab's own folder."""
    monkeypatch.setattr(tree, "TREE", tmp_path)
    assert parse_answer(tree.pristine_text(ANSWER)) == parse_answer(RIGHT)


# ---- cuts and stories ----


def log_block(kind: int, number: int) -> bytes:
    """Return a block of the log of this kind, in this transaction."""
    return HEAD.pack(MAGIC, kind, number).ljust(BLOCK, b"\0")


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a disk with an empty journal."""
    path = tmp_path_factory.mktemp("disk") / "disk.img"
    content = Content(programs=False, size="5M", options=("--journal", "4M"))
    return image.make_image(path, content).read_bytes()


def recording_of(disk: bytes, *events: Event) -> Recording:
    """Return a recording of `mkdir /d; sync` with these events."""
    operations = parse("mkdir /d; sync")
    run = Run(Scenario("s", ""), Path(), None)
    return Recording(run, operations, disk, list(events), History(operations))


def test_a_write_is_cut_in_the_ways_in_which_a_cache_may_lose_others() -> None:
    """A way is (writes that are there, torn write or -1, its sectors). After a flush there is
    nothing to lose."""
    written = [Event("write", at=BLOCK * i, data=bytes(BLOCK)) for i in range(4)]
    assert list_ways(written, 3, [0, 1, 2, 3]) == [
        ((3,), -1, ()),
        ((0, 1, 2, 3), -1, ()),
        ((1, 2, 3), -1, ()),
        ((0, 1, 3), -1, ()),
        ((0, 1, 2, 3), 3, (0, 1, 2, 3)),
    ]
    assert list_ways([*written, Event("flush")], 4, []) == []
    assert list_ways([*written, Event("returned")], 4, [1]) == [((), -1, ()), ((1,), -1, ())]


def test_what_a_flush_covers_is_never_lost(disk: bytes) -> None:
    """The power is cut after the last event. If a flush came after the write, the disk has it.
    Without the flush, the write may be lost or not."""
    new = Event("write", at=len(disk) - BLOCK, data=b"x" * BLOCK)
    flushed = recording_of(disk, new, Event("flush"), Event("returned", mark=0))
    last = [left for _, left in each_cut(flushed, lambda cut: cut.after == 2, volatile=True)]
    assert [left.bytes()[-BLOCK:] for left in last] == [new.data]
    pending = recording_of(disk, new, Event("returned", mark=0))
    last = [left for _, left in each_cut(pending, lambda cut: cut.after == 1, volatile=True)]
    assert {left.bytes()[-BLOCK:] for left in last} == {new.data, bytes(BLOCK)}


def test_a_story_names_the_blocks_of_the_log_and_what_was_lost(disk: bytes) -> None:
    """The commit block is there, and the descriptor was lost. Without a volatile cache nothing is
    lost."""
    log = next(
        at
        for at in range(0, len(disk), BLOCK)
        if HEAD.unpack_from(disk, at)[:2] == (MAGIC, 4)  # the log's superblock
    )
    events = [
        Event("began", mark=0),
        Event("write", at=log + BLOCK, data=log_block(DESCRIPTOR, 7)),
        Event("write", at=log + 2 * BLOCK, data=log_block(COMMIT, 7)),
    ]
    seen = recording_of(disk, *events)
    said = tell(seen, Loss(Cut(2, (2,)), "no /d", volatile=True)).splitlines()
    assert said == [
        "In the simplest, found: no /d",
        "mkdir /d",
        "    write: log: descriptor of transaction 7  <- was still in the drive's cache: lost",
        "    write: log: commit block of transaction 7",
        "    *** here the power goes ***",
    ]
    assert number_writes(seen) == [
        "mkdir /d",
        "  1: log: descriptor of transaction 7",
        "  2: log: commit block of transaction 7",
    ]
    durable = tell(seen, Loss(Cut(2, (2,)), "no /d", volatile=False))
    assert "lost" not in durable


def test_directories_in_a_row_are_one_command() -> None:
    """The workload's script makes them by one mkdir."""
    assert group_operations(parse("creat /a; mkdir /b; mkdir /c; sync; sync")) == [
        [0],
        [1, 2],
        [3],
        [4],
    ]


# ---- the log of writes ----


def test_a_log_of_writes_is_read_as_it_was_written() -> None:
    events = [
        Event("write", at=1024, data=b"a" * 1024),
        Event("flush"),
        Event("write", at=0, data=b"b" * 512),
    ]
    marks = [Event("began"), Event("end")]
    assert parse_log(format_log([*events, *marks])) == events
