"""The writes of a file's blocks, as the trace shows them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from grade.machine.trace import Event
from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_SECTORS, Run, Write

T = TypeVar("T")
PAUSE_NS = 500 * 10**6  # a longer gap is between two scans, which come each second


@dataclass(frozen=True)
class Dirtying:
    """A block of a file became dirty, and was written later, or never."""

    block: int
    dirtied_ns: int
    queued_ns: int | None

    @property
    def age_s(self) -> float:
        return (self.queued_ns - self.dirtied_ns) / 1e9


def dirtyings(run: Run, path: str, start_ns: int, end_ns: int) -> list[Dirtying]:
    """Each time before start_ns that a block of the file became dirty, with writes until end_ns."""
    number = run.sectors(path)
    times: dict[int, list[int]] = {block: [] for block in number.values()}
    for write in run.writes_of(path, end_ns=end_ns):
        times[write.block].append(write.request.queued_ns)
    found = []
    for event in run.events:
        block = number.get(event.block * BLOCK_SECTORS)
        in_time = (
            event.disk == run.data_disk and event.name == "dirtied" and event.time_ns < start_ns
        )
        if in_time and block is not None:
            later = [ns for ns in times[block] if ns >= event.time_ns]
            found.append(Dirtying(block, event.time_ns, min(later, default=None)))
    return found


def expect_written(found: list[Dirtying], most_s: float) -> None:
    """Expect each of these blocks to be written within that time."""
    expect(bool(found), "blocks to become dirty", "none did")
    for one in found:
        expect(
            one.queued_ns is not None, f"block {one.block} to be written", "it was never written"
        )
        expect(
            one.age_s <= most_s,
            f"block {one.block} to be written at most {most_s:g} s after it became dirty",
            f"it was written {one.age_s:.3f} s after",
        )


def scan_by_scan(found: Iterable[tuple[int, T]]) -> list[list[T]]:
    """What comes with times in ns, the oldest first: what a scan did together in a list each."""
    made: list[list[T]] = []
    last_ns = -PAUSE_NS
    for time_ns, one in found:
        if time_ns - last_ns >= PAUSE_NS:
            made.append([])
        made[-1].append(one)
        last_ns = time_ns
    return made


def bursts(writes: list[Write]) -> list[list[Write]]:
    """The writes that were queued together, scan by scan."""
    return scan_by_scan((write.request.queued_ns, write) for write in writes)


def delayed_writes(run: Run, start_ns: int, end_ns: int) -> list[Event]:
    """The events `writing` of all blocks, on any disk, that were dirty until then. The argument is
    the time in ns for which each was dirty."""
    between = (e for e in run.events if start_ns <= e.time_ns < end_ns)
    return [e for e in between if e.name == "writing" and e.argument]


def most_queued(run: Run, start_ns: int, end_ns: int) -> int:
    """The largest number of writes that waited in the data disk's queue in that time."""
    waiting = most = 0
    for event in run.events:
        if event.disk == run.data_disk and event.write and event.time_ns < end_ns:
            waiting += (event.name == "queued") - (event.name == "issued")
            most = max(most, waiting if event.time_ns >= start_ns else 0)
    return most
