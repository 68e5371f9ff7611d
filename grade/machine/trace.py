"""The kernel's event trace (kernel/measure/trace.h): read from a machine's memory, kept in files.

A trace file is the ring in order, all little-endian: `TRACE_FILE` (the magic bytes, how many
records follow, how many older ones the ring has lost), then the records, the oldest first, laid out
as the kernel's struct trace_record.
"""

import mmap
import re
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from grade.host.paths import ROOT
from grade.machine.guest import MEMORY_START

RING = struct.Struct("<QQQQ")
RECORD = struct.Struct("<QQQIHH")
MAGIC = 0x6563617274736C75
WRITE = 1 << 63
TRACE_FILE = struct.Struct("<16sQQ")
FILE_MAGIC = b"sluice trace 1\n\0"


class BadTrace(ValueError):
    """There is no trace at this place; the text says what is there."""


class Event(NamedTuple):
    """One record. For a disk request, block is a sector, and write is true for a write."""

    time_ns: int
    name: str
    disk: int
    block: int
    pid: int
    argument: int
    write: bool


@cache
def event_names() -> tuple[str, ...]:
    """The events by number, from the kernel's own table."""
    text = (ROOT / "kernel" / "measure" / "trace.h").read_text()
    return tuple(re.findall(r"^    X\((\w+), ", text, re.M))


def ring(path: Path, ring_phys: int) -> tuple[int, bytes]:
    """How many records were lost, and the others as bytes, the oldest first."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        at = ring_phys - MEMORY_START
        if not 0 <= at <= len(memory) - RING.size:
            raise BadTrace(f"{path}: no trace at {ring_phys:#x}: was trace_k= given?")
        magic, records, written, _ = RING.unpack_from(memory, at)
        if magic != MAGIC:
            raise BadTrace(f"{path}: no trace at {ring_phys:#x}: was trace_k= given?")
        at += RING.size
        if written <= records:
            return 0, memory[at : at + written * RECORD.size]
        oldest = at + written % records * RECORD.size
        return written - records, memory[oldest : at + records * RECORD.size] + memory[at:oldest]


def events(data: bytes) -> Iterator[Event]:
    """The events in these records."""
    names = event_names()
    for time_ns, block, argument, pid, number, disk in RECORD.iter_unpack(data):
        yield Event(time_ns, names[number], disk, block, pid, argument & ~WRITE, argument >= WRITE)


def read(path: Path, ring_phys: int) -> tuple[int, Iterator[Event]]:
    """How many events were lost, and the others, the oldest first.

    path: a machine's memory; ring_phys: the gauge trace.phys of the run.
    """
    lost, data = ring(path, ring_phys)
    return lost, events(data)


def astray(path: Path, ring_phys: int) -> int:
    """How many records had a time other than the clock's, as machine mode saw it."""
    with path.open("rb") as file:
        file.seek(ring_phys - MEMORY_START)
        return RING.unpack(file.read(RING.size))[3]


def room(path: Path, ring_phys: int) -> int:
    """How many records the ring in a machine's memory has room for."""
    with path.open("rb") as file:
        file.seek(ring_phys - MEMORY_START)
        return RING.unpack(file.read(RING.size))[1]


def save(memory: Path, ring_phys: int, out: Path) -> None:
    """Write the trace in a machine's memory to a trace file."""
    lost, data = ring(memory, ring_phys)
    head = TRACE_FILE.pack(FILE_MAGIC, len(data) // RECORD.size, lost)
    part = out.with_name(out.name + ".part")
    part.write_bytes(head + data)
    part.replace(out)


def load(path: Path) -> tuple[int, Iterator[Event]]:
    """How many events a trace file has lost, and the others, the oldest first."""
    data = path.read_bytes()
    if len(data) < TRACE_FILE.size or not data.startswith(FILE_MAGIC):
        raise BadTrace(f"{path}: not a trace file")
    _, records, lost = TRACE_FILE.unpack_from(data)
    if len(data) != TRACE_FILE.size + records * RECORD.size:
        raise BadTrace(f"{path}: {len(data)} bytes do not hold the {records} records it tells of")
    return lost, events(memoryview(data)[TRACE_FILE.size :])
