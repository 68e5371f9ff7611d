"""How long a mount takes after a cut, by what the journal's log has.

The time is that of the requests which e2fsck makes when it replays the log, on a model of a drive.
LOG is the log's range of bytes in recordings made by hand. Mounted(blocks, ms) is a mount with so
many blocks of the log in use.
"""

import subprocess
from pathlib import Path

import pytest

from sluice.crash.checker import E2FSCK
from sluice.crash.checker_time import has_strace, list_requests, parse_calls, time_requests
from sluice.crash.disk_events import Event
from sluice.crash.log_faults import HEAD, MAGIC, SUPERBLOCK
from sluice.crash.machine import Setup
from sluice.crash.recovery_times import (
    MOST_MS,
    Mounted,
    follow_log,
    is_in_limits,
    list_rows,
    log_range,
    measure_mounts,
)
from sluice.crash.replayed_disk import LogLaboratory, fit_setup
from sluice.host.paths import ROOT
from sluice.twin import engine

BLOCK = 4096
LOG = range(10 * BLOCK, 20 * BLOCK)


def write(block: int, blocks: int = 1, kind: int = 0) -> Event:
    """Return a write; kind: of the log's block that it begins with."""
    head = HEAD.pack(MAGIC, kind, 1) if kind else b""
    return Event("write", at=block * BLOCK, data=head.ljust(blocks * BLOCK, b"\0"))


def test_what_is_in_use_of_a_log_is_what_was_written_since_its_superblock() -> None:
    """Blocks outside the log do not count."""
    events = [write(11, 3), write(5, 2), Event("flush"), write(14), write(10, 1, SUPERBLOCK)]
    assert list(follow_log([*events, write(15, 2)], LOG, BLOCK)) == [3, 3, 3, 4, 0, 2]


def test_rows_have_the_mean_and_the_worst() -> None:
    """Mounted(blocks, ms): rows are by the number of blocks in the log, and have how many, mean,
    worst."""
    rows = list_rows([Mounted(0, 100), Mounted(1, 200), Mounted(63, 300), Mounted(64, 500)])
    assert rows == [
        ["0", "1", "100", "100"],
        ["1 to 63", "2", "250", "300"],
        ["64 to 127", "1", "500", "500"],
    ]


def test_a_line_of_strace_is_a_request() -> None:
    """(R or W, first sector, sectors). Other files, and reads of nothing, are no requests."""
    text = """pread64(3</a/disk>, "\\0\\1"..., 1024, 1024) = 1024
pread64(3</etc/other>, "x", 4096, 0) = 4096
pwrite64(4</a/disk>, "c)\\0, 9", 4096, 8192) = 4096
pread64(3</a/disk>, "", 1024, 9000000) = 0
+++ exited with 0 +++"""
    assert list(parse_calls(text, Path("/a/disk"))) == [("R", 2, 2), ("W", 16, 8)]


def test_a_mount_that_takes_too_long_is_noticed() -> None:
    """One millisecond above the limit."""
    assert is_in_limits([Mounted(0, MOST_MS)])
    assert not is_in_limits([Mounted(0, MOST_MS + 1)])


@pytest.mark.native
@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="this host cannot run the twin")
def test_a_mount_takes_longer_with_more_in_the_log() -> None:
    """100 blocks more take more than 100 ms more."""
    mounted = sorted(measure_mounts(cuts=12), key=lambda one: one.blocks)
    assert is_in_limits(mounted)
    assert mounted[-1].blocks > mounted[0].blocks + 100
    assert mounted[-1].ms > mounted[0].ms + 100


@pytest.mark.native
@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="this host cannot run the twin")
def test_the_page_has_what_is_measured() -> None:
    """The book's table. Its times of e2fsck are those of version 1.47.0."""
    text = (ROOT / "book/pages/questions/journal.md").read_text()
    table = text[text.index("| blocks in the log |") :].partition("\n\n")[0]
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    found = list_rows(measure_mounts())
    assert [row[:4] for row in shown] == [row[:4] for row in found]
    said = subprocess.run([E2FSCK, "-V"], capture_output=True, text=True, check=True).stderr
    if has_strace() and "e2fsck 1.47.0 " in said:  # the page names this version
        assert shown == found


@pytest.mark.native
@pytest.mark.skipif(not has_strace(), reason="strace is not installed")
def test_the_requests_of_e2fsck_are_those_of_its_replay(tmp_path: Path) -> None:
    """Each sector that e2fsck changes is in one of its writes, and it reads the log."""
    with LogLaboratory(fit_setup(Setup())) as laboratory:
        disk = laboratory.base.disk
    path = tmp_path / "disk"
    path.write_bytes(disk)
    requests = list_requests(path, "-E", "journal_only", "-p")
    after = path.read_bytes()
    changed = [at for at in range(0, len(disk), 512) if disk[at : at + 512] != after[at : at + 512]]
    written = {
        s for kind, first, count in requests if kind == "W" for s in range(first, first + count)
    }
    assert {at // 512 for at in changed} <= written
    log = log_range(disk)
    assert any(kind == "R" and first * 512 in log for kind, first, _ in requests)
    # All requests take longer than the first nine.
    assert time_requests(requests, "rz58", tmp_path) > time_requests(requests[:9], "rz58", tmp_path)
