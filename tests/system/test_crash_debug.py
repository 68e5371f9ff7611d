"""`sluice crash debug`: gdb stops where the last disk command before a power cut is issued.

The crash laboratory records what a workload does to the disk as a list of events: operations that
begin and return, writes, and flushes. A cut is a number: it stands for a power cut behind one of
these events (cut.after).
"""

import re
import subprocess

import pytest

from sluice.crash.debugger import count_commands, last_command
from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.faults import Planter
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.story import format_story, tell_cut
from sluice.crash.workloads import find_workload
from sluice.host.paths import TREE
from sluice.twin import engine

HANG_S = 120
needs_twin = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


def run_sluice(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run `sluice crash debug` with these words."""
    line = [str(TREE / "bin" / "sluice"), "crash", "debug", *words]
    return subprocess.run(
        line, capture_output=True, encoding="utf-8", timeout=HANG_S, check=False, cwd=TREE
    )


def test_commands_of_the_disk_are_counted_up_to_the_cut() -> None:
    """A write and a flush are commands; the beginning, the return and the end of an operation are
    not. last_command is the index of the last command up to the cut, or -1."""
    kinds = ["began", "write", "flush", "returned", "began", "write", "end"]
    events = [Event(kind) for kind in kinds]
    assert [count_commands(events, after) for after in range(7)] == [0, 1, 2, 2, 2, 3, 3]
    assert [last_command(events, after) for after in range(7)] == [-1, 1, 2, 2, 2, 5, 5]


@needs_twin
@pytest.mark.parametrize(
    ("text", "args", "block", "operation", "caller"),
    [
        ("creat /n", "", "4K", 1, "make_at"),
        ("append /f 6000 1; fsync /f", "drive=cheetah4lp drive_volatile=1", "1K", 2, ""),
    ],
)
def test_gdb_stops_where_the_last_write_before_the_cut_is_issued(
    text: str, args: str, block: str, operation: int, caller: str
) -> None:
    """operation: which operation of the workload made the write. caller: a function that the stack
    must have, if the drive takes the write at once."""
    with Laboratory(Setup(args, block=block)) as laboratory:
        workload = find_workload(text)
        events = laboratory.record(workload)
        cuts = [cut for cut, _ in laboratory.iterate_cuts(events)]
        writes = Planter(laboratory.base.disk, events).writes(operation)
        cut = next(cut for cut in cuts if cut.after == writes[-1])
        story = format_story(tell_cut(laboratory, workload, cut.number), laboratory)
    assert f"sluice crash debug '{workload.name}' --cut {cut.number}" in story
    options = ["--args", args] * bool(args) + ["--block", block]
    done = run_sluice(text, "--cut", str(cut.number), *options, "--do", "print sector; backtrace")
    assert done.returncode == 0, done.stderr
    assert f"Stopped at event {cut.after} (write of" in done.stdout
    (sector,) = re.findall(r"\$1 = (\d+)", done.stdout)
    assert int(sector) == events[cut.after].at // SECTOR
    assert not caller or f" {caller} (" in done.stdout


@needs_twin
def test_a_cut_that_does_not_exist_is_refused() -> None:
    done = run_sluice("creat /n", "--cut", "5000", "--do", "backtrace")
    assert done.returncode == 2
    assert "the workload has cuts 0 to" in done.stderr
