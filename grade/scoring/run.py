"""What a machine is to do for a test of a lab, and what was seen of it.

A machine has three disks: disk0 with the programs, the data disk, mounted at /data,
and a small one for beacons. The scenario's script reads sector n of the last (`beacon
n`), which puts the moment into the trace: times need no word of the console's.
"""

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grade import image, trace
from grade.scoring.verdict import expect

ROOT_DISK, DATA_DISK, BEACON_DISK = range(3)
BEACON_BYTES = 1 << 20
LAST_BEACON = BEACON_BYTES // 512 - 1
BLOCK_BYTES = 4096
BLOCK_SECTORS = BLOCK_BYTES // 512
FOR_EVER = 2**64
STUCK = 99
EXTENT = re.compile(r"\((\d+)(?:-(\d+))?\):(\d+)")  # blocks of a file, as debugfs has them
RC = f"""mkdir /data && mount disk1 /data || exit
{{watchdog}}
{{script}}
dd if=/dev/disk2 of=/dev/null bs=512 count=1 skip={LAST_BEACON} 2> /dev/null
"""
WATCHDOG = f"(sleep {{}}; poweroff -n {STUCK}) &"
BEACON = "dd if=/dev/disk2 of=/dev/null bs=512 count=1 skip={} 2> /dev/null"
SMALL_DRIVE = "fixed"  # of programs and beacons


@dataclass(frozen=True)
class Scenario:
    """What a machine is to do.

    script: shell commands, with `beacon N` on lines of their own (N from 1); args:
    boot arguments; files: of the root disk; data: of the data disk, made of zeros,
    path to size; at: where in the disk they lie, as mkfs has it; virtual_s: after so long
    it is stuck (0: never; gdb's stops make the clock jump to the next thing to come);
    check: what a policy's own check finds, or a wrong answer, is a panic.
    """

    name: str
    script: str
    args: str = ""
    files: tuple[tuple[str, bytes], ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    at: tuple[tuple[str, str], ...] = ()
    size: str = "16M"
    drive: str = "rz58"
    trace_k: int = 256
    virtual_s: int = 600
    check: bool = True
    logged: bool = False

    def rc(self) -> str:
        script = re.sub(
            r"^beacon (\d+)$", lambda m: BEACON.format(m[1]), self.script.strip(), flags=re.M
        )
        watchdog = WATCHDOG.format(self.virtual_s) if self.virtual_s else ""
        return RC.format(watchdog=watchdog, script=script)

    def drives(self) -> tuple[str, str, str]:
        """Each disk's model."""
        return SMALL_DRIVE, self.drive, SMALL_DRIVE

    def boot_arguments(self) -> str:
        drives = f"drive={SMALL_DRIVE} disk1.drive={self.drive} drive_depth=1 cluster_kb=0"
        return f"{drives} check={self.check:d} trace_k={self.trace_k} {self.args}".strip()


@dataclass(frozen=True)
class Request:
    """A disk request, in nanoseconds of virtual time."""

    disk: int
    sector: int
    sectors: int
    write: bool
    queued_ns: int
    issued_ns: int
    completed_ns: int

    @property
    def response_ms(self) -> float:
        return (self.completed_ns - self.queued_ns) / 1e6


@dataclass(frozen=True)
class Write:
    """The write of one block of a file, by its number there."""

    block: int
    request: Request


@dataclass(frozen=True)
class Run:
    """What was seen of one machine."""

    scenario: Scenario
    folder: Path
    events: list[trace.Event] = field(repr=False)

    @cached_property
    def requests(self) -> list[Request]:
        """All that were completed, in the order of completion."""
        open_: dict[tuple, deque] = defaultdict(deque)
        done = []
        for event in self.events:
            key = (event.disk, event.block, event.write)
            if event.name == "queued":
                open_[key].append([event.argument, event.time_ns, 0])
            elif event.name == "issued" and open_[key]:
                next(row for row in open_[key] if not row[2])[2] = event.time_ns
            elif event.name == "completed" and open_[key]:
                sectors, queued, issued = open_[key].popleft()
                done.append(Request(*key[:2], sectors, key[2], queued, issued, event.time_ns))
        return done

    def data(self, write: bool) -> list[Request]:
        """The data disk's writes or reads, in the order of completion."""
        return [r for r in self.requests if r.disk == DATA_DISK and r.write == write]

    @cached_property
    def beacons(self) -> dict[int, int]:
        """When each beacon was passed."""
        return {
            r.sector: r.queued_ns for r in self.requests if r.disk == BEACON_DISK and not r.write
        }

    def beacon(self, number: int) -> int:
        """When this one was, in nanoseconds; it must have been."""
        expect(number in self.beacons, "the script to go on to its end", "it stopped before")
        return self.beacons[number]

    def sectors(self, path: str) -> dict[int, int]:
        """Of a file on the data disk: its blocks' numbers, by their first sectors."""
        text = image.debugfs(self.folder / "data.after.img", f"stat {path}")
        runs = EXTENT.findall(text)
        return {
            (int(start) + i) * BLOCK_SECTORS: int(first) + i
            for first, last, start in runs
            for i in range(int(last or first) - int(first) + 1)
        }

    def writes_of(self, path: str, start_ns: int = 0, end_ns: int = FOR_EVER) -> list[Write]:
        """The writes of a file's data that were queued in that time, in this order."""
        number = self.sectors(path)
        found = [
            Write(number[r.sector], r)
            for r in self.data(write=True)
            if r.sector in number and start_ns <= r.queued_ns < end_ns
        ]
        return sorted(found, key=lambda write: write.request.queued_ns)

    def contents(self, path: str) -> bytes:
        """What is in a file on the data disk at the end."""
        return image.read(self.folder / "data.after.img", path)
