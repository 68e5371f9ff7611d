"""The kernel's event trace (kernel/measure/trace.h): read from a machine's memory, kept in files.

A trace file is the ring in order, all little-endian: `TRACE_FILE` (the magic bytes, how many
records follow, how many older ones the ring has lost), then the records, the oldest first, laid out
as the kernel's struct trace_record.
"""

import mmap
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, overload

from sluice.host.paths import ROOT
from sluice.system.guest import MEMORY_START

if TYPE_CHECKING:
    import numpy as np  # loaded where it is used: what only starts machines does without it

RING = struct.Struct("<QQQQ")
# The fields of a record and their types, for which struct and NumPy have the same letters.
FIELDS = {"time_ns": "Q", "block": "Q", "argument": "Q", "pid": "I", "number": "H", "disk": "H"}
RECORD = struct.Struct("<" + "".join(FIELDS.values()))
AT_ONCE = 1 << 10  # records that are decoded together: a reader may stop early
MAGIC = 0x6563617274736C75
PAGE = 4096  # at whose beginning the kernel reserves memory
WRITE = 1 << 63
TRACE_FILE = struct.Struct("<16sQQ")
FILE_MAGIC = b"sluice trace 1\n\0"


class BadTrace(ValueError):
    """The error for a place where there is no trace; the text says what is there."""


class Event(NamedTuple):
    """One event of the trace. Of a disk request, block is a sector, and write is true for a
    write."""

    time_ns: int
    name: str
    disk: int
    block: int
    pid: int
    argument: int
    write: bool


@cache
def event_names() -> tuple[str, ...]:
    """Return the names of events by number, from the kernel's own table."""
    text = (ROOT / "kernel" / "measure" / "trace.h").read_text(encoding="utf-8")
    return tuple(re.findall(r"^    X\((\w+), ", text, re.M))


def read_ring(path: Path, ring_phys: int) -> tuple[int, bytes]:
    """Return how many records were lost, and the bytes of the others, the oldest first. Raises
    BadTrace."""
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
        oldest = at + written % records * RECORD.size  # the next to be overwritten
        return written - records, memory[oldest : at + records * RECORD.size] + memory[at:oldest]


class Events(Sequence[Event]):
    """Events as the bytes of their records; each is decoded when it is used.

    A grading keeps the traces of all its runs, of a million events and more. An event takes 32
    bytes in this form and 200 as an object.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)

    def __len__(self) -> int:
        return len(self._data) // RECORD.size

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> "Events": ...
    def __getitem__(self, at: int | slice) -> "Event | Events":
        """Return one event, or the events of a slice, whose step must be 1."""
        if isinstance(at, slice):
            first, end, step = at.indices(len(self))
            if step != 1:
                raise ValueError(f"events in steps of {step}")
            return Events(self._data[first * RECORD.size : end * RECORD.size])
        at = range(len(self))[at] * RECORD.size
        time_ns, block, argument, pid, number, disk = RECORD.unpack_from(self._data, at)
        name, is_write = event_names()[number], argument >= WRITE  # its highest bit
        return Event(time_ns, name, disk, block, pid, argument & (WRITE - 1), is_write)

    def __iter__(self) -> Iterator[Event]:
        return map(itemgetter(1), self.select_named(*event_names()))

    def records(self) -> "np.ndarray":
        """Return all events as a structured array with the fields FIELDS; nothing is copied."""
        import numpy as np

        return np.frombuffer(self._data, [(name, f"<{kind}") for name, kind in FIELDS.items()])

    def times_rise(self) -> bool:
        """Return whether no event has a time before that of an earlier event."""
        times_ns = self.records()["time_ns"]
        return bool((times_ns[:-1] <= times_ns[1:]).all())

    def select_named(self, *names: str) -> Iterator[tuple[int, Event]]:
        """Yield the events with these names, each with its number; the others are not decoded.

        Raises ValueError for a name that no event has, and IndexError for a record whose number has
        no name.
        """
        import numpy as np

        known = event_names()
        if strange := set(names) - set(known):
            raise ValueError(f"no event is called {', '.join(sorted(strange))}")
        wanted = np.array([name in names for name in known])
        records = self.records()

        def decode_found(first: int) -> Iterator[tuple[int, Event]]:
            """Return the wanted events among AT_ONCE records from `first` on, with their
            numbers."""
            some = records[first : first + AT_ONCE]
            at = np.flatnonzero(wanted[some["number"]])
            return zip((first + at).tolist(), decode_records(some[at]), strict=True)

        return chain.from_iterable(map(decode_found, range(0, len(records), AT_ONCE)))


def filter_named(events: Iterable[Event], *names: str) -> Iterator[Event]:
    """Yield the events with these names."""
    if isinstance(events, Events):
        return map(itemgetter(1), events.select_named(*names))
    return (event for event in events if event.name in names)


def decode_records(records: "np.ndarray") -> Iterator[Event]:
    """Yield the events of an array of records."""
    time_ns, block, argument, pid, number, disk = (records[name] for name in FIELDS)
    columns = [
        time_ns.tolist(),
        map(event_names().__getitem__, number.tolist()),
        disk.tolist(),
        block.tolist(),
        pid.tolist(),
        (argument & (WRITE - 1)).tolist(),
        (argument >= WRITE).tolist(),
    ]
    rows = zip(*columns, strict=True)
    return map(partial(tuple.__new__, Event), rows)  # Event(...) takes longer


def find_ring(path: Path) -> int:
    """Return the address of the trace in a machine's memory, which begins at a page. Raises
    BadTrace if there is none.

    Programs could forge one; only where nobody would is this enough.
    """
    magic = MAGIC.to_bytes(8, "little")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        at = memory.find(magic)
        while at >= 0 and at % PAGE:
            at = memory.find(magic, at + 1)
    if at < 0:
        raise BadTrace(f"{path}: no trace in this memory: was trace_k= given?")
    return MEMORY_START + at


def read_trace(path: Path, ring_phys: int) -> tuple[int, Events]:
    """Return how many events were lost, and the others, the oldest first.

    path: a machine's memory; ring_phys: the gauge trace.phys of the run. Raises BadTrace.
    """
    lost, data = read_ring(path, ring_phys)
    return lost, Events(data)


def count_wrong_times(path: Path, ring_phys: int) -> int:
    """Return how many records had a time other than the clock's, as machine mode counted them."""
    with path.open("rb") as file:
        file.seek(ring_phys - MEMORY_START)
        wrong: int = RING.unpack(file.read(RING.size))[3]
        return wrong


def ring_capacity(path: Path, ring_phys: int) -> int:
    """Return how many records fit into the ring in a machine's memory."""
    with path.open("rb") as file:
        file.seek(ring_phys - MEMORY_START)
        records: int = RING.unpack(file.read(RING.size))[1]
        return records


def save(memory: Path, ring_phys: int, out: Path) -> None:
    """Write the trace in a machine's memory to a trace file."""
    lost, data = read_ring(memory, ring_phys)
    head = TRACE_FILE.pack(FILE_MAGIC, len(data) // RECORD.size, lost)
    part = out.with_name(out.name + ".part")
    part.write_bytes(head + data)
    part.replace(out)


def load(path: Path) -> tuple[int, Events]:
    """Return how many events a trace file has lost, and the others, the oldest first. Raises
    BadTrace."""
    data = path.read_bytes()
    if len(data) < TRACE_FILE.size or not data.startswith(FILE_MAGIC):
        raise BadTrace(f"{path}: not a trace file")
    _, records, lost = TRACE_FILE.unpack_from(data)
    if len(data) != TRACE_FILE.size + records * RECORD.size:
        raise BadTrace(f"{path}: {len(data)} bytes do not hold the {records} records it tells of")
    return lost, Events(memoryview(data)[TRACE_FILE.size :])
