"""fdatasync in the crash laboratory: what it writes, what a cut may leave, and what is lost if it
leaves more behind than times. Disks that differ in an empty log only are judged once.

The operation `store` is a write followed by fdatasync. SETUPS are the disks, by the policy of
order: sync, none, or a journal. The model (History) knows names and contents at each moment, which
is a number of operations; to settle is to rule out earlier moments.
"""

import struct

import pytest
from whole import draw_for_each

from sluice.crash.empty_log import INCOMPATIBLE, RECOVER, EmptyLog
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import CrashMachine, Setup
from sluice.crash.oracle import History, Promise, promise_of
from sluice.crash.workloads import SETUP, find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)
JOURNAL = Setup("order=journal", journal="4M")
SETUPS = {"sync": Setup(), "none": Setup("order=none"), "journal": JOURNAL}


def kinds_of_last(laboratory: Laboratory, text: str) -> list[str]:
    """Return the kinds of events of a workload's last operation."""
    workload = find_workload(text)
    mark = len(workload.operations)  # the mount is number 0
    events = laboratory.record(workload)
    at = [
        i for i, one in enumerate(events) if one.kind in ("began", "returned") if one.mark == mark
    ]
    return [event.kind for event in events[at[0] + 1 : at[1]]]


@pytest.mark.parametrize("order", SETUPS)
def test_an_overwrite_and_fdatasync_is_one_write_and_one_flush(order: str) -> None:
    """An overwrite within the file needs no inode on the disk. If the file grows, or by an fsync,
    the inode is written too, and with a journal the log."""
    with Laboratory(SETUPS[order]) as laboratory:
        again = "store /f 0 100 10; store /f 0 100 11"
        assert kinds_of_last(laboratory, again) == ["write", "flush"]
        grows = kinds_of_last(laboratory, "store /f 0 100 10; store /f 4900 200 11")
        fsync = kinds_of_last(laboratory, "store /f 0 100 10; write /f 0 100 11; fsync /f")
        assert len(grows) >= len(fsync) > 2


@pytest.mark.parametrize(
    "text",
    [
        "rename /f /n; fdatasync /n; store /n 0 100 10; store /n 0 100 11",
        "fdatasync /d; creat /d/n; fdatasync /d",
        "creat /n; fdatasync /n; store /n 0 6000 10; unlink /n",
        "store /f 60000 100 10; store /f 52000 100 11; truncate /f 900; store /f 0 900 12",
    ],
)
@pytest.mark.parametrize("order", draw_for_each(["sync", "journal"], 4))
def test_no_cut_loses_what_an_fdatasync_has_confirmed(order: str, text: str) -> None:
    """text: a workload; each of its cuts is judged."""
    promise = promise_of("prefix" if order == "journal" else "sync")
    with Laboratory(SETUPS[order], promise) as laboratory:
        outcome = laboratory.try_workload(find_workload(text), most=1)
    assert not outcome.failures
    assert outcome.cuts > 20


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("creat /n; fdatasync /n", 1),  # the file must be there
        ("creat /n; rename /n /m; fdatasync /m", 1),  # the file is there by one of its names
        ("rename /f /n; fdatasync /n", 0),
        ("mkdir /n; store /f 0 100 1", 0),
        ("creat /n; creat /m; store /n 0 100 1", 1),
        ("creat /n; fsync /n", 2),
        ("fdatasync /d; creat /d/n; fdatasync /d", 3),
    ],
)
def test_an_fdatasync_settles_names_as_when_its_file_was_made(text: str, first: int) -> None:
    """first: the earliest moment whose names a cut may leave."""
    operations = find_workload(text).operations
    history = History(operations, History(SETUP))
    assert history.moments(len(operations), False, Promise("prefix"))[0] == first


def test_an_fdatasync_settles_contents() -> None:
    """After the fdatasync only the written contents are possible; after the next write, two are."""
    operations = find_workload("write /f 0 100 1; fdatasync /f; write /f 0 100 2").operations
    history = History(operations, History(SETUP))
    node = history.names[-1].at["/f"][1]
    assert len(history.window(node, 2, False)) == 1
    assert len(history.window(node, 3, False)) == 2


def test_disks_are_equal_that_differ_in_an_empty_log_only() -> None:
    """The key of a disk leaves out the blocks of a log that is not replayed, 4 MiB without its
    superblock. Other differences, and a log in use, change the key."""
    with CrashMachine(JOURNAL) as machine:
        disk = machine.start_disk()
    log = EmptyLog(disk)
    (low, high), *rest = [(a[1], b[0]) for a, b in zip(log.kept, log.kept[1:], strict=False)]
    # all of the log except its superblock
    assert sum(b - a for a, b in [(low, high), *rest]) == (4 << 20) - 4096
    assert [len(was) for _, was in log.fixed] == [60, 4096]  # its pointers

    def changed(at: int, data: bytes, base: bytes = disk) -> bytes:
        return base[:at] + data + base[at + len(data) :]

    stale = changed(low + 100, b"what was logged")
    assert log.key(stale) == log.key(disk)
    assert log.key(changed(low - 4096 - 100, b"x")) != log.key(disk)
    (features,) = struct.unpack_from("<I", disk, INCOMPATIBLE)
    for at, data in (
        (INCOMPATIBLE, struct.pack("<I", features | RECOVER)),  # it has to be replayed
        (log.super + 28, struct.pack(">I", 1)),  # the log begins somewhere
        (log.fixed[0][0], b"\1"),  # the journal lies elsewhere
        (log.fixed[-1][0] + 8, b"\1"),
    ):
        assert log.key(changed(at, data, stale)) != log.key(changed(at, data))


def test_a_disk_without_a_journal_has_no_log_to_leave_out() -> None:
    """The key is of the whole disk."""
    with CrashMachine(Setup()) as machine:
        log = EmptyLog(disk := machine.start_disk())
    assert log.kept == [(0, len(disk))]
    assert not log.is_empty(disk)
