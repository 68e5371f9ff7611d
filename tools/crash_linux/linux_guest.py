"""Has a Linux guest do workloads on disks whose writes QEMU logs, and takes the logs apart.

- All workloads are done in one boot (tools/bench/guest/crashcases.c). A disk has a part for each of
  its workloads, with a file system in it that the host has put there; up to eight disks are worked
  on at a time, because a workload mostly waits for Linux's timers.
- What the program prints goes to the first sector of its disk. So it is in the log, between the
  writes of the operation before and of the operation after it.
- Linux's timers run PACE times faster: the age at which dirty pages are written, how often Linux
  looks for them, the journal's commit, and the time that a workload waits at its end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.crash.disk_events import SECTOR, BadRecording, Event, parse_mark
from sluice.crash.operations import TEXT_BYTES, machine_text
from sluice.crash.workloads import Workload
from sluice.crash.write_log import logged_disk, parse_log
from tools.bench import cpio, linux
from tools.bench.debian import Kernel

PACE = 5
MOST_DISKS = 8  # of QEMU's machine
ENQUIRY = "\5"  # what the program prints first
DONE = r"^all workloads are done$"
TYPES = ("ext2", "ext3", "ext4", "sluice")
NO_OPTIONS = "errors=continue"  # mount's own default, in place of none


@dataclass(frozen=True)
class Mount:
    """How a file system is mounted: the type, and the options as one word, or "".

    The type "sluice" is our kernel; its options are boot arguments, with commas between them.
    """

    type: str
    options: str = ""

    @property
    def has_journal(self) -> bool:
        """Whether the file system has a journal."""
        return self.type in ("ext3", "ext4")

    def __str__(self) -> str:
        return f"{self.type} -o {self.options}" if self.options else self.type

    def machine(self, part_bytes: int, count: int) -> bytes:
        """Return the text of the file /machine (tools/bench/guest/crash.h)."""
        words = [word for word in (self.options, "commit=1" if self.has_journal else "") if word]
        options = ",".join(words) or NO_OPTIONS
        return f"{self.type} {options} {part_bytes} {count} {PACE}\n".encode()


def parse_mount(text: str) -> Mount:
    """Return the mount that a text as `ext4 -o data=writeback` says. Raises ValueError."""
    words = text.split()
    if len(words) not in (1, 3) or words[1:2] not in ([], ["-o"]):
        raise ValueError(f"{text!r}: give a type, or a type and options as 'ext4 -o OPTIONS'")
    if words[0] not in TYPES:
        raise ValueError(f"{text!r}: the type {words[0]!r} is none of {', '.join(TYPES)}")
    return Mount(words[0], words[2] if len(words) == 3 else "")


def share_workloads(workloads: Sequence[Workload]) -> list[list[Workload]]:
    """Return the workloads of each disk."""
    shares = [list(workloads[i::MOST_DISKS]) for i in range(MOST_DISKS)]
    return [share for share in shares if share]


def make_disk(path: Path, number: int, base: bytes, count: int) -> Path:
    """Write a disk: its number, and a copy of the file system for each workload."""
    with path.open("wb") as file:
        file.write(f"{number}\n".encode())
        for i in range(count):
            file.seek((i + 1) * len(base))
            file.write(base)
    return path


def iterate_files(
    loaded: dict[str, bytes], mount: Mount, part_bytes: int, shares: Sequence[Sequence[Workload]]
) -> Iterator[cpio.Entry]:
    """Yield the files with which the guest starts (tools/bench/guest/crashcases.c)."""
    program = (linux.PROGRAMS / "crashops").read_bytes()
    yield from linux.archive_entries(loaded, (linux.PROGRAMS / "crashcases").read_bytes())
    yield from map(cpio.folder, ("proc", "sys"))
    yield cpio.file("machine", mount.machine(part_bytes, 0))
    for number, share in enumerate(shares):
        yield from (cpio.folder(f"{number}{name}") for name in ("", "/dev", "/mnt"))
        yield cpio.file(f"{number}/machine", mount.machine(part_bytes, len(share)))
        yield cpio.file(f"{number}/crashops", program, 0o755)
        for i, workload in enumerate(share):
            text = machine_text(workload.all_operations())
            yield cpio.file(f"{number}/w{i}", text + bytes(TEXT_BYTES - len(text)))


def split_log(events: Sequence[Event], part_bytes: int, count: int) -> list[list[Event]]:
    """Return the events of each workload, with places in its own part of the disk.

    Raises BadRecording.
    """
    found: list[list[Event]] = []
    for event in events:
        if event.kind == "write" and event.at == 0:
            text = event.data.rstrip(b"\0").decode(errors="replace")
            if text == ENQUIRY:
                found.append([])
                continue
            mark = parse_mark(text.rstrip("\n"), 0)
            if not mark or not found:
                raise BadRecording(f"the guest printed {text!r}, which is no mark")
            found[-1].append(mark)
        elif found:
            found[-1].append(move_event(event, part_bytes * len(found), part_bytes))
    for i, events_of_one in enumerate(found):
        if not any(event.kind == "end" for event in events_of_one):
            raise BadRecording(f"workload {i} of a disk did not come to its end")
    if len(found) != count:
        raise BadRecording(f"{len(found)} of {count} workloads were begun")
    return found


def move_event(event: Event, start: int, part_bytes: int) -> Event:
    """Return an event of a disk as one of the part that begins there. Raises BadRecording."""
    if event.kind != "write":
        return event
    if not start <= event.at <= event.at + len(event.data) <= start + part_bytes:
        raise BadRecording(f"a write at byte {event.at} is outside of the part at {start}")
    return Event("write", 0, event.at - start, event.data)


def record_workloads(
    kernel: Kernel, mount: Mount, base: bytes, workloads: Sequence[Workload], folder: Path
) -> dict[Workload, list[Event]]:
    """Have Linux do workloads, each on a copy of the base. Returns the events of each.

    Raises BadRecording, or ConsoleError if the guest did not come to its end.
    """
    assert len(base) % SECTOR == 0
    shares = share_workloads(workloads)
    loaded = linux.load_modules(kernel.modules)
    initrd = folder / "initrd"
    initrd.write_bytes(cpio.archive(iterate_files(loaded, mount, len(base), shares)))
    logs = [folder / f"log{i}" for i in range(len(shares))]
    disks = [
        logged_disk(make_disk(folder / f"disk{i}", i, base, len(share)), log)
        for i, (share, log) in enumerate(zip(shares, logs, strict=True))
    ]
    config = linux.LinuxConfig(tuple(disks), memory="512M", kernel=kernel.image, initrd=initrd)
    with linux.LinuxMachine(config) as machine:
        machine.expect(DONE)
        console = machine.wait().console
    if "status" in console:
        raise BadRecording(f"the guest said: {console[-500:]}")
    found: dict[Workload, list[Event]] = {}
    for share, log in zip(shares, logs, strict=True):
        parts = split_log(parse_log(log.read_bytes()), len(base), len(share))
        found |= dict(zip(share, parts, strict=True))
    return found
