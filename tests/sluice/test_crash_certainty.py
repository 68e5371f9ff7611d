"""From which event on a loss was certain: against all continuations, and for planted faults.

A failure is a cut that loses something. Its loss is certain from the first event after which no
continuation (another choice of pending writes, at that moment or later) saves it; `escape` is a
continuation that still could, just before. A write is pending until the next flush. A way is a
moment and the pending writes that reached the platters. The first tests draw small recordings and
compare with trying everything.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random

import pytest

from sluice.crash.certainty import Certainty, Continuations, changed_sectors, find_certainty
from sluice.crash.cuts import Base, Cut, Platters
from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.faults import FAULTS, plant
from sluice.crash.laboratory import Failure, Laboratory
from sluice.crash.machine import Setup, apply_writes
from sluice.crash.oracle import History
from sluice.crash.story import tell
from sluice.crash.workloads import find_workload
from sluice.twin import engine

SECTORS = 16


def draw_events(rng: Random) -> list[Event]:
    """Draw writes of one sector, flushes, and an operation that returns."""
    kinds = [rng.choice(["write", "write", "write", "flush"]) for _ in range(rng.randrange(3, 8))]
    events = [
        Event(kind, at=SECTOR * rng.randrange(3), data=bytes([i + 1]) * SECTOR)
        if kind == "write"
        else Event(kind)
        for i, kind in enumerate(kinds)
    ]
    return [Event("began", mark=0), *events, Event("returned", mark=0)]


def pending_at(events: Sequence[Event], moment: int) -> list[int]:
    """Return the numbers of the writes that are still pending after the event `moment`."""
    flushes = [i for i in range(moment + 1) if events[i].kind == "flush"]
    first = max(flushes, default=-1)
    return [i for i in range(first + 1, moment + 1) if events[i].kind == "write"]


def iterate_ways(
    events: Sequence[Event], moment: int, fixed: set[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each way at a moment: the moment and a choice of pending writes that has at least the
    fixed ones."""
    pending = pending_at(events, moment)
    for size in range(len(pending) + 1):
        for chosen in combinations(pending, size):
            if fixed & set(pending) <= set(chosen):
                yield moment, chosen


def find_by_force(events: Sequence[Event], cut: Cut, lost: set[tuple[int, tuple[int, ...]]]) -> int:
    """Return the first event from which all ways up to the cut lose something."""
    for event in range(cut.after):
        fixed = {n for n in cut.chosen if n <= event}
        moments = range(event, cut.after + 1)
        if all(way in lost for moment in moments for way in iterate_ways(events, moment, fixed)):
            return event
    return cut.after


@pytest.mark.parametrize("seed", range(60))
def test_the_first_certain_event_is_that_of_all_continuations(seed: int) -> None:
    """Which ways lose something is drawn, and the cut is one of them. find_certainty() is compared
    with a search of all ways: the first certain event, the escape, and a later way without loss."""
    rng = Random(seed)
    events = draw_events(rng)
    every = [way for moment in range(len(events)) for way in iterate_ways(events, moment, set())]
    harm = rng.random()
    lost = {way for way in every if rng.random() < harm} | {rng.choice(every)}
    after, chosen = rng.choice(sorted(lost))
    cut = Cut(after, chosen)

    def saves(cut: Cut, _: object) -> bool:
        return (cut.after, cut.chosen) not in lost

    found = Continuations(Base(bytes(SECTORS * SECTOR)), events, cut, True, saves)
    certain = found.find_certainty()
    assert found.exact
    assert certain.first == find_by_force(events, cut, lost)
    if certain.escape:
        way = certain.escape.cut
        assert (way.after, way.chosen) not in lost
        assert certain.first - 1 <= way.after <= after
        # What the cut had written before, and was still pending then, is there in the escape, too.
        written_before = {n for n in chosen if n < certain.first}
        assert written_before & set(certain.escape.pending) <= set(way.chosen)
    else:
        assert certain.first == 0
    # Later cuts that lose nothing, and that have all that the cut had of what is pending then.
    later = [
        (at, there)
        for at, there in every
        if at > after
        and (at, there) not in lost
        and set(chosen) & set(pending_at(events, at)) <= set(there)
    ]
    assert (certain.later is None) == (not later)


def test_a_torn_write_may_be_what_saves() -> None:
    """Only a write torn into its sectors 0 and 2 saves. A cut that has the whole write can no
    longer become that."""
    base = Base(bytes(SECTORS * SECTOR))
    events = [Event("write", at=0, data=b"\1" * 3 * SECTOR), Event("returned", mark=0)]

    def saves(cut: Cut, _: object) -> bool:
        return cut.sectors == (0, 2)

    certain = Continuations(base, events, Cut(1, (0,)), True, saves).find_certainty()
    assert certain.first == 0  # the cut has the whole write, which so is no longer torn
    certain = Continuations(base, events, Cut(1, ()), True, saves).find_certainty()
    assert certain.first == 1
    assert certain.escape
    assert certain.escape.cut.sectors == (0, 2)


def test_only_sectors_that_a_write_changes_are_torn() -> None:
    """A sector that has the same bytes already cannot show that the write was torn."""
    platters = Platters(Base(bytes(SECTORS * SECTOR)))
    data = b"\1" * SECTOR + bytes(SECTOR) + b"\2" * SECTOR
    platters.write(0, Event("write", at=0, data=data))
    assert changed_sectors(platters, 0) == [0, 2]
    platters.write(1, Event("write", at=SECTOR, data=b"\3" * SECTOR))
    assert changed_sectors(platters, 0) == [0, 1, 2]
    platters.flush()
    platters.write(2, Event("write", at=0, data=data))
    assert changed_sectors(platters, 2) == [1]


def test_what_was_not_tried_whole_is_not_called_exact() -> None:
    """Twelve pending writes have too many subsets to try all."""
    base = Base(bytes(64 * SECTOR))
    events = [Event("write", at=SECTOR * i, data=b"\1" * SECTOR) for i in range(12)]
    found = Continuations(base, events, Cut(11, ()), True, lambda _cut, _image: False)
    assert not found.find_certainty().exact


needs_twin = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory with the usual setup."""
    with Laboratory(Setup()) as made:
        yield made


def certain_of(laboratory: Laboratory, name: str) -> tuple[Certainty, list[Event]]:
    """Return from which event on the loss of a planted fault is certain, and the events."""
    fault = next(fault for fault in FAULTS if fault.name == name)
    planted = plant(fault, laboratory.base.disk)
    story = tell(laboratory, find_workload(fault.workload), planted)
    assert story
    assert story.certain
    return story.certain, story.events


@needs_twin
@pytest.mark.parametrize(
    ("name", "kind", "repaired"),
    [
        ("name-first", "write", True),  # the name; the inode follows
        ("flush-lies", "returned", True),  # what is promised is still in the cache
        ("fsync-without-data", "returned", False),  # what is promised is never written
        ("few-links", "flush", False),  # what is wrong must leave the cache
    ],
)
def test_a_faults_loss_is_certain_where_the_fault_has_its_effect(
    laboratory: Laboratory, name: str, kind: str, repaired: bool
) -> None:
    """kind: of the event from which the loss is certain; repaired: a later event would make it
    good."""
    certain, events = certain_of(laboratory, name)
    assert certain.exact
    assert events[certain.first].kind == kind
    assert bool(certain.later) == repaired


@needs_twin
def test_what_could_still_save_it_does(laboratory: Laboratory) -> None:
    """The continuations that a story tells are judged again, by a laboratory that is new."""
    certain, events = certain_of(laboratory, "name-first")
    fault = next(fault for fault in FAULTS if fault.name == "name-first")
    workload = find_workload(fault.workload)
    history = History(workload.all_operations(), laboratory.start)
    for way in (certain.escape, certain.later):
        assert way
        written = events[: way.cut.after + 1]
        flushes = [i for i, event in enumerate(written) if event.kind == "flush"]
        there = {*range(max(flushes)), *way.cut.chosen}
        disk = apply_writes(laboratory.base.disk, [events[i] for i in sorted(there)])
        verdict = laboratory.judge.judge(disk)
        assert not verdict.wrong
        assert verdict.mounted
        assert history.check(
            verdict.mounted, way.cut.returned, way.cut.under_way, laboratory.promise
        ) == ([], 0)


@needs_twin
def test_a_wrong_result_has_no_event_from_which_it_was_certain(laboratory: Laboratory) -> None:
    """A wrong result without any cut."""
    workload = find_workload("sync")
    events = laboratory.record(workload)
    failure = Failure(workload, Cut(len(events), ()), ("?",))
    assert find_certainty(laboratory, failure, events) is None
