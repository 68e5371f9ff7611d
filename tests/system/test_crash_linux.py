"""The crash laboratory's workloads in a Linux guest: what its disks' logs say, and what the judges
find in them. It needs the guest's kernel: where that has not been fetched, nothing is tried.

One guest runs three workloads on ext4, each on a disk whose writes and flushes are recorded as
events (the fixture `recorded`). `base` is the disk with which each workload begins. The judges make
the disk as a power cut at some event would leave it, and say what is wrong with it.
"""

from pathlib import Path

import pytest
from trees import make

from sluice.crash.disk_events import Event
from sluice.crash.ext2 import read_tree
from sluice.crash.machine import apply_writes
from sluice.crash.oracle import History
from sluice.crash.workloads import SETUP, Workload, find_workload
from sluice.host.paths import ROOT
from sluice.twin import engine
from tools.bench import debian
from tools.crash_linux.base import make_base
from tools.crash_linux.judging import Judging
from tools.crash_linux.linux_guest import parse_mount, record_workloads

MOUNT = parse_mount("ext4 -o data=writeback,nodelalloc")
# fsync and sync confirm what was written before them.
CONFIRMED = find_workload("append /f 6000 10; fsync /f; rename /f /n; link /h /e/n; sync")
# The append's blocks are in the commit for /n, and nothing has waited for their data.
DELAYED = find_workload("append /f 6000 10; creat /n; fsync /n")
# Some operations of this workload fail: /d is not empty, for one.
REFUSED = find_workload("rmdir /d; creat /f; write /n 0 5 1; symlink t /s; truncate /h 100")


@pytest.fixture(scope="module")
def base() -> bytes:
    """Return the disk with which each workload begins."""
    if not debian.FOLDER.exists():
        pytest.skip("Linux has not been fetched here: `sluice crash linux` does so")
    if refused := engine.host_refusal_reason():
        pytest.skip(refused)
    return make_base(MOUNT.has_journal)


@pytest.fixture(scope="module")
def recorded(base: bytes, tmp_path_factory: pytest.TempPathFactory) -> dict[Workload, list[Event]]:
    """Return the writes of Linux in one boot."""
    make(ROOT, "SETUP=no", "build/guest/crashcases", "build/guest/crashops")
    folder: Path = tmp_path_factory.mktemp("guest")
    work = (CONFIRMED, DELAYED, REFUSED)
    return record_workloads(debian.get_kernel(), MOUNT, base, work, folder)


def test_linux_does_what_the_model_says(base: bytes, recorded: dict[Workload, list[Event]]) -> None:
    """The program is the one that runs on Sluice: results, names and contents are the model's."""
    for workload, events in recorded.items():
        history = History(workload.all_operations(), History(SETUP))
        returned = [event for event in events if event.kind == "returned"]
        assert [event.error == 0 for event in returned] == history.results
        tree = read_tree(apply_writes(base, events))
        assert history.shows_names(tree, len(history.operations))
        for path, (kind, node) in history.names[-1].at.items():
            if kind == "f":
                assert tree[path].data == history.files[node].data[-1][1], path


def test_fsync_waits_for_two_flushes_of_its_commit(
    recorded: dict[Workload, list[Event]],
) -> None:
    """An fsync writes the data and the log's copies of metadata, flushes, writes the commit block
    of 8 sectors, and flushes again. Operation 2 is the fsync."""
    events = recorded[CONFIRMED]
    (began,) = (i for i, e in enumerate(events) if e.kind == "began" and e.mark == 2)
    (ended,) = (i for i, e in enumerate(events) if e.kind == "returned" and e.mark == 2)
    kinds = [event.kind for event in events[began + 1 : ended]]
    assert kinds[-3:] == ["flush", "write", "flush"]
    assert kinds.count("flush") == 2
    assert events[ended - 2].sectors() == 8


def test_the_judges_find_stale_bytes_and_nothing_confirmed_is_lost(
    base: bytes, recorded: dict[Workload, list[Event]]
) -> None:
    """With data=writeback a block's number may be committed before its data are written. Then a
    file shows what the block held before: stale bytes."""
    with Judging(base) as judging:
        counts = {w: judging.count(w, events, 150) for w, events in recorded.items()}
    assert counts[DELAYED].kinds["stale"] > 0
    for count in counts.values():
        assert not count.wrong and count.cuts == 150
        assert not {"asks", "unclean", "names", "synced", "size"} & set(count.kinds)
