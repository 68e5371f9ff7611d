"""Make lab runs and find every write of a dirty block in their traces."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from conftest import MakeImage

from sluice.system import devtext, trace
from sluice.system.qemu import Config, Disk, Machine

SIZES = {"/w": "4M", "/x": "4M"} | {f"/r{i}": "1M" for i in range(6)}
FILES = tuple(word for name, size in SIZES.items() for word in ("--file", f"{name}={size}"))
DEFAULTS = {"drive": "rz58", "write": "delayed", "nbuf": "1200", "check": "1", "trace_k": "64"}
TELL = "echo @stat; cat /dev/stat\n"


@dataclass(frozen=True)
class Write:
    """A write of a dirty block: when it was started, and how old the block was."""

    time_s: float
    age_s: float
    owner: int  # its file; 0: metadata of the file system


@dataclass(frozen=True)
class LabRun:
    """A run of a script: its writes, its output, and the counters of /dev/stat at its end."""

    writes: list[Write]
    most_dirty: int  # the most dirty blocks at a time, without those being written
    console: str  # what the script printed
    stat: devtext.Counters

    def of_files(self) -> list[Write]:
        """Return the writes of file data."""
        return [write for write in self.writes if write.owner]

    def of_structure(self) -> list[Write]:
        """Return the writes of the file system's metadata."""
        return [write for write in self.writes if not write.owner]

    def most_in_a_second(self) -> int:
        """Return the largest number of writes of file data within a second."""
        seconds: dict[int, int] = defaultdict(int)
        for write in self.of_files():
            seconds[int(write.time_s)] += 1
        return max(seconds.values())

    def count(self, name: str) -> int:
        """Return a counter of /dev/stat after the script."""
        return self.stat[name][0]


def writes_of(events: Iterable[trace.Event]) -> tuple[list[Write], int]:
    """Return the writes of blocks that were dirty, and the most that were dirty at a time."""
    owners: dict[int, int] = {}
    writes, most = [], 0
    for event in events:
        if event.name == "dirtied":
            owners[event.block] = event.argument
            most = max(most, len(owners))
        elif event.name == "cancelled":
            owners.pop(event.block, None)
        elif event.name == "writing" and event.block in owners:
            owner = owners.pop(event.block)
            writes.append(Write(event.time_ns / 1e9, event.argument / 1e9, owner))
    return writes, most


Lab = Callable[..., LabRun]


def lab_of(make_image: MakeImage) -> Lab:
    """Return a function that makes runs: lab(SCRIPT, "update=ipu nbuf=600") runs the script with
    the files SIZES, and returns its LabRun."""

    def run(script: str, args: str) -> LabRun:
        """Run a script in lab mode with these boot arguments, and return what was written."""
        path = make_image(rc=script + TELL, options=FILES)
        words = DEFAULTS | dict(word.split("=") for word in args.split())
        config = Config(
            (Disk(path),),
            args=" ".join(f"{name}={value}" for name, value in words.items()),
            lab=True,
        )
        with Machine(config) as machine:
            result = machine.wait()
            assert result.status == 0, result.console
            console, text = re.split(r"^@stat\n", result.console, flags=re.M)
            stat = devtext.parse_stat(text)
            lost, events = trace.read_trace(machine.guest.path, stat["trace.phys"][0])
        assert not lost
        return LabRun(*writes_of(events), console, stat)

    return run
