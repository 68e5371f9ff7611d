"""The machine of the laboratory: a resident twin that boots and does a workload on an image.

disk0 has the program crashops as its init; disk1 gets a workload's text; disk2 is the file system
that is watched.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from sluice.crash.disk_events import BadRecording, Event, parse_events
from sluice.crash.operations import MOUNTED, TEXT_BYTES, Operation, describe, machine_text
from sluice.host.closing import Closing
from sluice.host.paths import BUILT
from sluice.system import image
from sluice.system.qemu import Config, Disk
from sluice.twin.engine import PROGRAMS, TWIN
from sluice.twin.resident import Put, Resident

PROGRAM = "crashops"
MEMORY = "32M"
TEXT_DISK, WATCHED = 1, 2  # the disk with the workload, and that whose events are kept
LIMIT_S = 600  # of the host's time, for a workload and all of its cuts
MEMORY_FOLDER = Path("/dev/shm")
WIDE = 16  # pieces of two disks that are first compared as a whole, because most are equal


@dataclass(frozen=True)
class Setup:
    """A machine, and its disk."""

    args: str = ""  # boot arguments
    size: str = "256K"  # of the disk
    block: str = "4K"  # the size of its blocks
    inodes: int = 64  # how many the disk has
    twin: Path = TWIN
    journal: str = ""  # the size of the journal on all disks; "": there is none

    def mkfs_options(self) -> tuple[str, ...]:
        """Return more options of mkfs for each disk."""
        return ("--journal", self.journal) if self.journal else ()

    def sizes(self) -> tuple[str, str]:
        """Return the sizes of the root and of the disk that is watched, which has as much room
        beside a journal as without one: the judges fill it."""
        if not self.journal:
            return "2M", self.size
        mib = int(self.journal[:-1])
        return f"{mib + 4}M", f"{mib * 1024 + int(self.size[:-1])}K"


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


class CrashMachine(Closing):
    """A context manager: the machine, with `disk` as the disk that is watched, or an empty one, and
    a folder in memory for files."""

    def __init__(self, setup: Setup, disk: bytes | None = None) -> None:
        self.setup, self.disk = setup, disk

    def __enter__(self) -> "CrashMachine":
        """Make the disks, and start a resident twin whose init is PROGRAM. It records what happens
        to the disk WATCHED in a file."""
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(memory_folder()))
            self.watched = self.folder / "events"
            config = Config(self._make_disks(), memory=MEMORY, lab=True, args=self.setup.args)
            self.boot = config.charged_arguments()
            programs = self.folder / "programs"
            programs.mkdir()
            (programs / "init").symlink_to(PROGRAMS / PROGRAM)
            self.resident = Resident(
                stack.enter_context(config.guest(log=0)),
                watch=(WATCHED, self.watched),
                twin=self.setup.twin,
                programs=programs,
            )
            stack.enter_context(self.resident)
            self.stack = stack.pop_all()
        return self

    def _make_disks(self) -> tuple[Disk, ...]:
        """Make the images of the disks. Returns the disks."""
        program = (BUILT / "programs" / "bin" / PROGRAM).read_bytes()
        files = {"/bin/init": program, f"{MOUNTED}/empty": b""}
        block, options = self.setup.block, self.setup.mkfs_options()
        root_size, size = self.setup.sizes()
        # e2fsck goes through all bits of a group's bitmaps: there are as few as can be.
        group = ("--group", size, "--inode", str(int(size[:-1]) * 1024 // self.setup.inodes))
        root, text, disk = (self.folder / name for name in ("root", "text", "disk"))
        content = image.Content(files, programs=False, size=root_size, block=block, options=options)
        image.make_image(root, content)
        text.write_bytes(bytes(TEXT_BYTES))
        if self.disk is None:
            empty = image.Content(
                programs=False, size=size, block=block, options=(*group, *options)
            )
            self.disk = image.make_image(disk, empty).read_bytes()
        disk.write_bytes(self.disk)
        return tuple(map(Disk, (root, text, disk)))

    def close(self) -> None:
        """End the machine, and remove its files."""
        self.stack.close()

    def start_disk(self) -> bytes:
        """Return what the watched disk is at the beginning of each trial."""
        assert self.disk is not None
        return self.disk

    def run_operations(self, operations: Sequence[Operation], differs: Sequence[Put] = ()) -> Done:
        """Do operations on the disk, which differs from the machine's by these puts. Returns what
        happened. Raises TwinDied if the machine was ended."""
        return self._run(operations, differs)

    def change_disk(self, disk: bytes, operations: Sequence[Operation]) -> tuple[Done, bytes]:
        """Do operations on a disk. Returns what happened, without the writes, and the disk
        afterwards. Raises TwinDied as run_operations does."""
        after = bytearray(disk)
        done = self._run(operations, difference(self.start_disk(), disk), after)
        return done, bytes(after)

    def _run(
        self,
        operations: Sequence[Operation],
        differs: Sequence[Put],
        disk: bytearray | None = None,
    ) -> Done:
        """Do operations. With a disk, what is written goes there and is no event."""
        text = Put(TEXT_DISK, 0, machine_text(operations))
        trial = self.resident.trial(self.boot, (text, *differs))
        return Done(trial.status, trial.console, parse_events(self.watched.read_bytes(), disk))

    def record(self, operations: Sequence[Operation]) -> list[Event]:
        """Do operations on the machine's disk. Returns the events. Raises BadRecording if the
        machine did not come to their end."""
        done = self.run_operations(operations)
        if done.status or not done.events or done.events[-1].kind != "end":
            said = done.console.strip()
            raise BadRecording(f"{describe(operations)}: status {done.status}: {said}")
        return done.events


@contextmanager
def limit_trials(machine: CrashMachine, limit_s: float = LIMIT_S) -> Iterator[None]:
    """End the machine if what is done with it takes longer than this, of the host's time."""
    watch = Timer(limit_s, machine.resident.process.kill)
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def difference(base: bytes, disk: bytes, step: int = 4096) -> list[Put]:
    """Return the puts that make a disk of the base."""
    wide = WIDE * step
    pieces = [
        at
        for start in range(0, len(base), wide)
        if base[start : start + wide] != disk[start : start + wide]
        for at in range(start, min(start + wide, len(base)), step)
    ]
    return [
        Put(WATCHED, at, disk[at : at + step])
        for at in pieces
        if base[at : at + step] != disk[at : at + step]
    ]


def apply_writes(disk: bytes, events: Iterable[Event]) -> bytes:
    """Return a disk after all writes of these events."""
    after = bytearray(disk)
    for event in events:
        if event.kind == "write":
            after[event.at : event.at + len(event.data)] = event.data
    return bytes(after)
