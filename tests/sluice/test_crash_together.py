"""Workloads in which several processes fsync at once: no cut loses what an fsync has confirmed.

An operation with a number (`2: fsync /f`) is made by that process. TEXT has two processes with a
file each. Each process has a history of its own in the model; an event's mark is the operation's
number, counted from the mount.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sluice.crash.disk_events import Event
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.operations import parse_operation, parse_operations
from sluice.crash.oracle import History, promise_of
from sluice.crash.together import follow_workers, histories_of_workers, workload_together
from sluice.crash.workloads import SETUP, find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)
TEXT = (
    "mkdir /p1; mkdir /p2; 1: creat /p1/a; 1: append /p1/a 3000 1; 1: fsync /p1/a;"
    "2: creat /p2/a; 2: append /p2/a 5000 2; 2: fsync /p2/a"
)
EACH_CUT = 30  # of each workload's cuts, one in so many is judged


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory whose drive takes time, so that processes wait for each other."""
    args = "order=journal drive=cheetah4lp drive_volatile=1"  # without a drive no process waits
    setup = Setup(args, block="1K", journal="1M")
    with Laboratory(setup, promise_of("prefix"), tear_older=True) as made:
        yield made


def find_return(events: list[Event], mark: int) -> int:
    """Return the place of the event at which an operation returned."""
    return next(i for i, e in enumerate(events) if e.kind == "returned" and e.mark == mark)


def find_begin(events: list[Event], mark: int) -> int:
    """Return the place of the event at which an operation began."""
    return next(i for i, e in enumerate(events) if e.kind == "began" and e.mark == mark)


def test_an_operation_says_which_process_does_it() -> None:
    """Without a number it is process 0."""
    one = parse_operation("2: fsync /f")
    assert (one.name, one.worker, str(one)) == ("fsync", 2, "2: fsync /f")
    assert one.line() == "2: fsync /mnt/f"
    assert parse_operation("fsync /f").worker == 0


def test_processes_are_at_work_at_once(laboratory: Laboratory) -> None:
    """Both fsyncs have begun before one of them returns."""
    events = laboratory.record(find_workload(TEXT))
    marks = [5, 8]  # after mount, mkdir and mkdir
    assert max(find_begin(events, m) for m in marks) < min(find_return(events, m) for m in marks)


@pytest.mark.parametrize("seed", range(3))
def test_no_cut_among_processes_that_fsync_loses_anything(
    laboratory: Laboratory, seed: int
) -> None:
    """A random workload, of which every 30th cut is judged."""
    sample = lambda events: lambda cut: cut.number % EACH_CUT == seed  # noqa: E731
    outcome = laboratory.try_workload(workload_together(seed), keep_cuts=True, sample=sample)
    assert not outcome.failures
    assert len(outcome.tried) > 200


def test_an_fsync_that_returns_before_its_commit_is_found(laboratory: Laboratory) -> None:
    """Two such returns are planted, one at a time: the return of the process that commits, and the
    return of the process that shares the commit."""
    workload = find_workload(TEXT)
    for mark in (5, 8):

        def plant(events: list[Event], mark: int = mark) -> list[Event]:
            """Move the return of an fsync to right behind its begin, so it confirms too early."""
            early = events[find_return(events, mark)]
            rest = [event for event in events if event is not early]
            at = find_begin(rest, mark) + 1
            return [*rest[:at], early, *rest[at:]]

        assert laboratory.try_workload(workload, plant, most=1).failures, mark


def test_an_fsync_of_one_process_confirms_the_names_of_all() -> None:
    """The first process calls fsync when the second has made one name, and not the other. settled:
    how many operations are confirmed. An fsync that fails confirms nothing."""
    operations = parse_operations("1: creat /p1/a; 1: fsync /p1/a; 2: creat /p2/a; 2: creat /p2/b")
    events = [Event("began", mark=0), Event("returned", mark=0)]
    events += [Event("began", mark=2), Event("returned", mark=2), Event("began", mark=1)]
    events += [Event("began", mark=3), Event("returned", mark=3), Event("returned", mark=1)]
    *_, before, after = follow_workers(operations, events)
    assert [state.settled for state in before] == [0, 0]
    assert [state.settled for state in after] == [1, 1]
    assert [state.returned for state in after] == [2, 2]
    failed = [*events[:-1], replace(events[-1], error=5)]
    assert [state.settled for state in list(follow_workers(operations, failed))[-1]] == [0, 0]


def test_a_process_is_judged_by_its_own_operations() -> None:
    """Process 1 has /p1, and nothing of process 2."""
    operations = parse_operations(TEXT)
    histories = histories_of_workers(operations, History(SETUP))
    assert {"/p1", "/p1/a"} <= histories[1].names[-1].at.keys()
    assert not {"/p2", "/p2/a"} & histories[1].names[-1].at.keys()
    assert all(all(history.results) for history in histories.values())
