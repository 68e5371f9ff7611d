"""The kernel's event trace, read out of the memory file of a machine (kernel/trace.h)."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grade.paths import ROOT

MEMORY_START = 0x80000000  # physical, of QEMU's virt machine
HEADER = struct.Struct("<QQQQ")
RECORD = struct.Struct("<QQQIHH")
MAGIC = 0x6563617274736C75
WRITE = 1 << 63


def event_names() -> list[str]:
    """The events by number, from the kernel's own table."""
    text = (ROOT / "kernel" / "trace.h").read_text()
    return re.findall(r"^    X\((\w+), ", text, re.M)


@dataclass(frozen=True)
class Event:
    """One record: block is a sector for disk requests; write tells those of writes."""

    time_ns: int
    name: str
    disk: int
    block: int
    pid: int
    argument: int
    write: bool


def memory_options(path: Path, memory: str) -> tuple[str, ...]:
    """QEMU's options that keep the machine's memory in a file."""
    backend = f"memory-backend-file,id=memory,size={memory},mem-path={path},share=on"
    return ("-object", backend, "-machine", "memory-backend=memory")


def read(path: Path, ring_phys: int) -> tuple[int, Iterator[Event]]:
    """How many events were lost, and those there are, the oldest first.

    ring_phys: the gauge trace.phys of the run.
    """
    names = event_names()
    with path.open("rb") as file:
        file.seek(ring_phys - MEMORY_START)
        magic, records, written, _ = HEADER.unpack(file.read(HEADER.size))
        if magic != MAGIC:
            raise ValueError(f"{path}: no trace at {ring_phys:#x}: was trace_k= given?")
        data = file.read(min(records, written) * RECORD.size)
    lost = max(0, written - records)

    def events() -> Iterator[Event]:
        for i in range(lost, written):
            row = RECORD.unpack_from(data, i % records * RECORD.size)
            time_ns, block, argument, pid, event, disk = row
            yield Event(
                time_ns, names[event], disk, block, pid, argument & ~WRITE, bool(argument & WRITE)
            )

    return lost, events()
