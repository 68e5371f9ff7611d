"""e2fsck that is started once for many runs gives what an e2fsck gives that is started anew.

A ServedChecker (`served`) has an e2fsck for each set of options that waits, and forks for each
run.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sluice.crash import checker
from sluice.crash.checker import Checker, ServedChecker
from sluice.crash.disk_kinds import FILES, JOURNAL, open_laboratory
from sluice.crash.workloads import find_workload
from sluice.host.fault import HostFault
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)

# Comes before served.so: a child asks for a signal at its parent's end when the parent has ended.
LATE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int prctl(int option, ...)
{
    pid_t parent = getppid();
    if (option != PR_SET_PDEATHSIG)
        return syscall(SYS_prctl, option, 0, 0, 0, 0);
    kill(parent, SIGKILL);
    while (getppid() == parent)
        sched_yield();
    return 0;
}
"""
# The options of the runs that judges make
RUNS = (("-E", "journal_only", "-p"), ("-p",), ("-fn",))
MOST_DISKS = 40


def list_disks(kind: str) -> list[bytes]:
    """Return disks that cuts leave, MOST_DISKS at most, and damaged ones: with zeros in places."""
    with open_laboratory(kind, "1K") as laboratory:
        events = laboratory.record(find_workload("mkdir /d/n; rename /f /h; fsync /h"))
        images = {image.hash: image.bytes() for _, image in laboratory.iterate_cuts(events)}
        start = laboratory.base.disk
    left = list(images.values())
    zeros = [start[:at] + bytes(2048) + start[at + 2048 :] for at in (0, 1024, 4096, 8192)]
    return left[:: -(-len(left) // MOST_DISKS)] + zeros


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedChecker]:
    """Yield a checker that serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ExitStack() as stack:
        yield ServedChecker(folder, stack)


def try_disk(checker: Checker, disk: bytes) -> list[tuple[int, str, bytes]]:
    """Return the status of each run, what e2fsck said, and the disk then."""
    checker.write(disk)
    return [(checker.run(*run), checker.message(), checker.path.read_bytes()) for run in RUNS]


@pytest.mark.parametrize("kind", [FILES, JOURNAL])
def test_a_served_run_is_like_one_that_is_started_anew(
    served: ServedChecker, tmp_path: Path, kind: str
) -> None:
    """Status, message and disk are equal, in either order of the disks. The disks have all outcomes
    from clean to repaired."""
    disks, anew = list_disks(kind), Checker(tmp_path)
    found = [try_disk(anew, disk) for disk in disks]
    assert [try_disk(served, disk) for disk in disks] == found
    assert [try_disk(served, disk) for disk in reversed(disks)] == found[::-1]
    assert {status for runs in found for status, _, _ in runs} > {0, 1}
    assert any(disk != after for disk, runs in zip(disks, found, strict=True) for *_, after in runs)


def test_a_served_e2fsck_that_has_ended_is_no_verdict(served: ServedChecker) -> None:
    """The waiting process is killed between two runs."""
    disk = list_disks(FILES)[0]
    try_disk(served, disk)
    pid = served.commands["-p",].pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(HostFault, match="e2fsck -p has ended between two runs"):
        served.run("-p")


def test_an_e2fsck_that_does_not_open_the_disk_is_refused(served: ServedChecker) -> None:
    """With -V it prints its version and ends."""
    served.path.write_bytes(bytes(1 << 19))
    with pytest.raises(HostFault, match="e2fsck -V ended where it should have waited"):
        served.run("-V")


def test_what_is_served_ends_with_its_laboratory(served: ServedChecker) -> None:
    """The process of e2fsck is there until the laboratory is closed. Signal 0 only asks for it."""
    served.path.write_bytes(bytes(1 << 19))
    served.run("-fn")
    pid = served.commands["-fn",].pid
    os.kill(pid, 0)
    served.stack.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_run_does_nothing_if_its_e2fsck_ended_before_the_run_could_ask_for_a_signal(
    served: ServedChecker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, late = tmp_path / "late.c", tmp_path / "late.so"
    source.write_text(LATE, encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", late, source], check=True)
    monkeypatch.setattr(checker, "SERVED", f"{late}:{checker.SERVED}")
    served.path.write_bytes(list_disks(FILES)[0])
    with pytest.raises(HostFault, match="e2fsck -fn has ended between two runs"):
        served.run("-fn")
    command = served.commands["-fn",]
    with pytest.raises(BrokenPipeError):  # when the run has ended, nothing reads the requests
        while True:
            os.write(command.requests, b" ")
    assert os.fstat(command.out).st_size == command.head
