"""The writes of a file's blocks, as the trace shows them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from grade.engine.assertions import expect
from grade.engine.scenario import BLOCK_SECTORS, Run, Write
from sluice.system.trace import Event

T = TypeVar("T")
PAUSE_NS = 500 * 10**6  # a longer gap is between two scans, which come each second


@dataclass(frozen=True)
class Dirtying:
    """A block of a file that became dirty, and was written later, or never."""

    run: Run
    block: int
    event: Event  # by which the block became dirty
    write: Write | None

    @property
    def dirtied_ns(self) -> int:
        return self.event.time_ns

    @property
    def age_s(self) -> float:
        return (self.write.request.queued_ns - self.dirtied_ns) / 1e9

    def expect_age(self, least_s: float, most_s: float, expected: str) -> None:
        """Raise Wrong, with the moment, unless the block was written at this age."""
        block = f"block {self.block}"
        never = "it was never written"
        self.run.expect(self.write is not None, f"{block} to be written", never, self.event)
        self.run.expect(
            least_s <= self.age_s <= most_s,
            f"{block} {expected}",
            f"it was written {self.age_s:.3f} s after it became dirty",
            self.write,
        )


def dirtyings(run: Run, path: str, start_ns: int, end_ns: int) -> list[Dirtying]:
    """Return each time before start_ns that a block of the file became dirty.

    Each has the write of its block, if the write came before end_ns.
    """
    block_at_sector = run.sectors(path)
    writes: dict[int, list[Write]] = {block: [] for block in block_at_sector.values()}
    for write in run.writes_of(path, end_ns=end_ns):
        writes[write.block].append(write)
    found = []
    for event in run.events:
        block = block_at_sector.get(event.block * BLOCK_SECTORS)
        if block is None or event.disk != run.data_disk or event.name != "dirtied":
            continue
        if event.time_ns < start_ns:
            later = (w for w in writes[block] if w.request.queued_ns >= event.time_ns)
            found.append(Dirtying(run, block, event, next(later, None)))
    return found


def expect_written(found: list[Dirtying], most_s: float) -> None:
    """Raise Wrong unless each of these blocks was written within that time."""
    expect(bool(found), "blocks to become dirty", "none did")
    for one in found:
        one.expect_age(0, most_s, f"to be written at most {most_s:g} s after it became dirty")


def scan_by_scan(found: Iterable[tuple[int, T]]) -> list[list[T]]:
    """Return what each scan did, in a list each. The next begins after a pause (PAUSE_NS).

    found: what was done, with times in ns, the oldest first.
    """
    made: list[list[T]] = []
    last_ns = -PAUSE_NS
    for time_ns, one in found:
        if time_ns - last_ns >= PAUSE_NS:
            made.append([])
        made[-1].append(one)
        last_ns = time_ns
    return made


def bursts(writes: list[Write]) -> list[list[Write]]:
    """Return the writes that were queued together, scan by scan."""
    return scan_by_scan((write.request.queued_ns, write) for write in writes)


def delayed_writes(run: Run, start_ns: int, end_ns: int) -> list[Event]:
    """Return the events `writing` of all blocks, on any disk, that were dirty until then.

    The argument is the time in ns for which each was dirty.
    """
    between = (e for e in run.events if start_ns <= e.time_ns < end_ns)
    return [e for e in between if e.name == "writing" and e.argument]


def expect_most_queued(run: Run, wanted: int, start_ns: int, end_ns: int, why: str) -> None:
    """Raise Wrong unless the longest queue of writes in that time had `wanted` writes.

    The queue is the data disk's. why: what determines its length. A failure names the moment when
    it was longest first.
    """
    waiting = most = 0
    when = None
    for event in run.events:
        if event.disk == run.data_disk and event.write and event.time_ns < end_ns:
            waiting += (event.name == "queued") - (event.name == "issued")
            if event.time_ns >= start_ns and waiting > most:
                most, when = waiting, event
    expected = f"up to {wanted} writes queued at one time ({why})"
    run.expect(most == wanted, expected, f"{most}", when)


def find_first_over(scans: Iterable[list[T]], most: float) -> T | None:
    """Return the first action beyond `most` in the first scan that did more, or None."""
    return next((scan[int(most)] for scan in scans if len(scan) > most), None)
