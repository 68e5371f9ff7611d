"""QEMU's log of a disk's writes, read as events: logs made here, and one of Sluice's own disk,
which must be what the twin kept of the same workload.

A log begins with a superblock (HEAD). An entry is a sector with place, length and flags, followed
by the data.
"""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.crash.disk_events import SECTOR, BadRecording, Event
from sluice.crash.machine import MEMORY, PROGRAM, CrashMachine, Setup
from sluice.crash.operations import MOUNTED, TEXT_BYTES, machine_text
from sluice.crash.workloads import SETUP, find_workload
from sluice.crash.write_log import DISCARD, FLUSH, FUA, MAGIC, logged_disk, parse_log
from sluice.host.paths import BUILT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc
from sluice.twin import engine

HEAD = struct.pack("<3QI", MAGIC, 1, 0, SECTOR).ljust(SECTOR, b"\0")
WORKLOAD = "append /f 9000 10; fsync /f; rename /f /n; creat /d/m; unlink /d/g"


def entry(sector: int, data: bytes = b"", flags: int = 0) -> bytes:
    """Return an entry of a log, with its data."""
    head = struct.pack("<4Q", sector, len(data) // SECTOR, flags, 0)
    return head.ljust(SECTOR, b"\0") + data


def test_a_log_is_read_as_writes_and_flushes_in_order() -> None:
    """FUA is a write that is flushed at once, so a flush follows it."""
    one, two = b"1" * SECTOR, b"2" * 3 * SECTOR
    log = HEAD + entry(5, one) + entry(0, flags=FLUSH) + entry(7, two) + entry(5, two, FUA)
    assert parse_log(log) == [
        Event("write", 0, 5 * SECTOR, one),
        Event("flush"),
        Event("write", 0, 7 * SECTOR, two),
        Event("write", 0, 5 * SECTOR, two),
        Event("flush"),
    ]
    # the flag FLUSH means: flush before this write
    assert parse_log(HEAD + entry(9, one, FLUSH))[0] == Event("flush")


def test_a_log_whose_machine_was_killed_is_read_to_its_last_whole_entry() -> None:
    """The log's superblock may be zeros, because it is written last. A byte less than two entries
    is one entry."""
    log = bytes(SECTOR) + entry(5, b"1" * SECTOR) + entry(6, b"2" * SECTOR)
    assert [event.at for event in parse_log(log)] == [5 * SECTOR, 6 * SECTOR]
    assert [event.at for event in parse_log(log[:-1])] == [5 * SECTOR]
    assert parse_log(HEAD) == []


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (b"", "is empty"),
        (b"x" * SECTOR, "does not begin with the superblock"),
        (struct.pack("<3QI", MAGIC, 1, 0, 4096).ljust(SECTOR, b"\0"), "sectors of 4096 bytes"),
        (struct.pack("<3QI", MAGIC, 2, 0, 512).ljust(SECTOR, b"\0"), "does not begin"),
        (HEAD + entry(5, b"1" * SECTOR) + entry(5, flags=DISCARD), "at byte 1536 has flags 0x4"),
        (HEAD + entry(5, flags=64), "at byte 512 has flags 0x40"),
    ],
)
def test_what_is_no_log_is_refused_by_what_is_wrong(log: bytes, said: str) -> None:
    """said: a pattern for the refusal's words."""
    with pytest.raises(BadRecording, match=said):
        parse_log(log)


@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="this host cannot run the twin")
@pytest.mark.parametrize("args", ["drive=fixed", "drive=cheetah4lp drive_volatile=1 write=delayed"])
def test_qemu_logs_what_the_twin_keeps(args: str, tmp_path: Path) -> None:
    """Writes, flushes, their order and their bytes. The drive is a model: without one, QEMU's disk
    answers when the host pleases."""
    operations = (*SETUP, *find_workload(WORKLOAD).all_operations())
    start = image.make_image(tmp_path / "start", Content(programs=False, size="512K"))
    with CrashMachine(Setup(args), start.read_bytes()) as machine:
        events = machine.record(operations)
    kept = [replace(event, time_ns=0) for event in events if event.kind in ("write", "flush")]
    program = (BUILT / "programs" / "bin" / PROGRAM).read_bytes()
    files = {"/bin/init": program, f"{MOUNTED}/empty": b""}
    root = image.make_image(tmp_path / "root", Content(files, programs=False, size="2M"))
    text, log = tmp_path / "text", tmp_path / "log"
    text.write_bytes(machine_text(operations).ljust(TEXT_BYTES, b"\0"))
    disks = (Disk(root), Disk(text), logged_disk(start, log))
    done = run_rc(Config(disks, memory=MEMORY, lab=True, charged=True, args=args))
    assert done.status == 0 and "@end" in done.console
    found = parse_log(log.read_bytes())
    places = [(event.kind, event.at, event.sectors()) for event in found]
    assert places == [(event.kind, event.at, event.sectors()) for event in kept]
    assert found == kept
    assert [event.kind for event in found].count("flush") > 5 < len(found) - 60
