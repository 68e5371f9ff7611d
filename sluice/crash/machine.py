"""The machine of the laboratory: a resident twin that has booted, and does workloads on an image.

disk0 has the program crashops as its init; disk1 gets a workload's text; disk2 is the file system
that is watched.
"""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from sluice.crash.operations import MOUNTED, TEXT_BYTES, Operation, describe, machine_text
from sluice.crash.recording import BadRecording, Event, parse_events
from sluice.host.paths import BUILT
from sluice.system import image
from sluice.system.qemu import Config, Disk
from sluice.twin.engine import PROGRAMS, TWIN
from sluice.twin.resident import Put, Resident

PROGRAM = "crashops"
MEMORY = "32M"
WATCHED = 2  # the disk whose events are kept
LIMIT_S = 60  # of the host's time, for a workload
MEMORY_FOLDER = Path("/dev/shm")


@dataclass(frozen=True)
class Setup:
    """A machine's boot arguments, and its disk: its size and the size of its blocks."""

    args: str = ""
    size: str = "512K"
    block: str = "4K"
    twin: Path = TWIN


@dataclass(frozen=True)
class Done:
    """A workload that the machine has done: the events of its disk, and what the console showed."""

    status: int
    console: str
    events: list[Event]


def memory_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a new folder, in memory where the host has such a place."""
    return tempfile.TemporaryDirectory(
        prefix="sluice-crash-", dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None
    )


class CrashMachine:
    """A context manager: the machine, and a folder in memory for its files."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def __enter__(self) -> "CrashMachine":
        self.kept = memory_folder()
        self.folder = Path(self.kept.name)
        try:
            self._start()
        except BaseException:
            self.kept.cleanup()
            raise
        return self

    def _start(self) -> None:
        """Make the disks and start the resident."""
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "init").symlink_to(PROGRAMS / PROGRAM)
        files = {
            "/bin/init": (BUILT / "programs" / "bin" / PROGRAM).read_bytes(),
            f"{MOUNTED}/empty": b"",
        }
        make = {"programs": False, "block": self.setup.block}
        root = image.make_image(self.folder / "root", image.Content(files, size="2M", **make))
        empty = image.make_image(self.folder / "disk", image.Content(size=self.setup.size, **make))
        text = self.folder / "text"
        text.write_bytes(bytes(TEXT_BYTES))
        self.empty = empty.read_bytes()
        self.watched = self.folder / "events"
        disks = (root, text, empty)
        config = Config(tuple(map(Disk, disks)), memory=MEMORY, lab=True, args=self.setup.args)
        self.guest = config.guest(log=0)
        self.resident = Resident(
            self.guest,
            watch=(WATCHED, self.watched),
            boot=config.charged_arguments(),
            twin=self.setup.twin,
            programs=programs,
        )
        try:
            self.resident.__enter__()
        except BaseException:
            self.guest.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.resident.close()
        self.guest.close()
        self.kept.cleanup()

    def do(self, disk: bytes, operations: Sequence[Operation]) -> Done:
        """Do operations on a disk. Returns what happened. Raises TwinDied if the machine did not
        boot."""
        text = machine_text(operations)
        puts = (Put(1, 0, text), Put(2, 0, disk))
        trial = self.resident.trial("", puts, LIMIT_S)
        return Done(trial.status, trial.console, parse_events(self.watched.read_bytes()))

    def record(self, disk: bytes, operations: Sequence[Operation]) -> list[Event]:
        """Do operations on a disk. Returns the events. Raises BadRecording if the machine did not come
        to their end."""
        done = self.do(disk, operations)
        if done.status or not done.events or done.events[-1].kind != "end":
            said = done.console.strip()
            raise BadRecording(f"{describe(operations)}: status {done.status}: {said}")
        return done.events


def apply_writes(disk: bytes, events: Iterable[Event]) -> bytes:
    """Return a disk after all writes of these events."""
    after = bytearray(disk)
    for event in events:
        if event.kind == "write":
            after[event.at : event.at + len(event.data)] = event.data
    return bytes(after)
