"""Cuts at persistence points only, in one order, as CrashMonkey tries them.

A persistence point is the return of an operation that confirms something: fsync, fdatasync, sync,
or a write through the cache (O_SYNC). CrashMonkey (Mohan et al., OSDI 2018) cuts there and nowhere
else, and all that was written until then is on the disk. A campaign of these cuts finds data that
is never written, but not data that is written in a wrong order. It is much shorter, and its speed
can be compared with CrashMonkey's. Each workload ends with a persistence point, as ACE makes them.
"""

from collections.abc import Callable, Sequence

from sluice.crash.cuts import Cut
from sluice.crash.disk_events import Event
from sluice.crash.laboratory import Sample
from sluice.crash.workloads import ALPHABET, Workload, find_workload

CONFIRMS = ("fsync", "fdatasync", "store", "sync", "through")
# Faults that these cuts cannot show. They need a cut between two writes, or a write that is lost.
OF_ORDER = frozenset(
    (
        *("no-flushes", "flush-lies", "fsync-without-flush", "fsync-too-early", "sync-too-early"),
        *("name-first", "old-name-first", "no-intent", "clean-too-early"),
        *("no-barrier", "commit-beside-torn", "home-first", "data-last"),
    )
)
SYNC = ALPHABET.index("sync")


def end_with_point(workload: Workload) -> Workload:
    """Return a workload that ends with a persistence point: with a sync, if it had none there."""
    if workload.operations[-1].name in CONFIRMS:
        return workload
    is_named = "+" in workload.name or workload.name.isdigit()
    return find_workload(workload.name + (f"+{SYNC}" if is_named else "; sync"))


def sample_points(workload: Workload, volatile: bool) -> Sample:
    """Return the sample of a workload's cuts that are at persistence points. volatile: the drive
    has a volatile cache."""
    operations = workload.all_operations()
    points = {mark for mark, op in enumerate(operations) if op.name in CONFIRMS}

    def sample(events: Sequence[Event]) -> Callable[[Cut], bool]:
        """Return a test of a cut: whether it is at a point, with all writes that are pending
        there."""
        pending: list[int] = []
        whole: dict[int, tuple[int, ...]] = {}  # by a point's event: all writes that are pending
        for number, event in enumerate(events):
            if event.kind == "flush" or not volatile:
                pending = []
            if event.kind == "write":
                pending.append(number)
            elif event.kind == "returned" and event.mark in points:
                whole[number] = tuple(pending)
        return lambda cut: whole.get(cut.after) == cut.chosen

    return sample
