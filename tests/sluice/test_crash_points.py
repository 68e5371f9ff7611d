"""Cuts at persistence points only (sluice/crash/points.py).

A point is the return of an operation that confirms something (CONFIRMS: fsync, sync and the like).
There all writes that have ended are on the disk, so one cut is enough. Faults of order (OF_ORDER)
cannot show there.
"""

from collections.abc import Iterator

import pytest

from sluice.crash.campaign_run import CampaignRequest, list_tasks
from sluice.crash.faults import FAULTS, Fault, plant
from sluice.crash.laboratory import Laboratory
from sluice.crash.log_faults import EVERY_FAULT
from sluice.crash.machine import Setup
from sluice.crash.oracle import Promise
from sluice.crash.points import CONFIRMS, OF_ORDER, end_with_point, sample_points
from sluice.crash.workloads import Workload, find_workload


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory with the usual setup."""
    with Laboratory(Setup()) as made:
        yield made


def test_cuts_are_where_something_is_confirmed_and_all_is_written(laboratory: Laboratory) -> None:
    """The points are after operations 2, 4 and 5 and the mount before them, and the disk there has
    all writes."""
    workload = find_workload("append /f 6000 10; fsync /f; creat /n; through /n 0 900 3; sync")
    events = laboratory.record(workload)
    is_point = sample_points(workload, volatile=True)(events)
    points = [(cut, image) for cut, image in laboratory.iterate_cuts(events) if is_point(cut)]
    assert [(cut.returned, cut.under_way) for cut, _ in points] == [(n, False) for n in (3, 5, 6)]
    for cut, image in points:
        disk = bytearray(laboratory.base.disk)
        for event in events[: cut.after]:
            if event.kind == "write":
                disk[event.at : event.at + len(event.data)] = event.data
        assert image.bytes() == disk


def test_nothing_is_lost_at_the_points(laboratory: Laboratory) -> None:
    workload = find_workload("rename /f /h; fsync /h; append /d/g 300 2; sync")
    outcome = laboratory.try_workload(workload, sample=sample_points(workload, volatile=True))
    assert (outcome.cuts, outcome.failures) == (2, [])


@pytest.mark.drawn(4)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_there_unless_it_is_of_order(laboratory: Laboratory, fault: Fault) -> None:
    """The fault's workload gets an operation that confirms at its end."""
    workload = end_with_point(find_workload(fault.workload))
    planted = plant(fault, laboratory.base.disk)
    sample = sample_points(workload, volatile=True)
    outcome = laboratory.try_workload(workload, planted, most=1, sample=sample)
    assert outcome.cuts
    assert bool(outcome.failures) == (fault.name not in OF_ORDER)


def test_each_workload_of_a_campaign_ends_with_a_point() -> None:
    """A point is the return of an operation that confirms (fsync, sync). Faults of the order of
    writes cannot be seen at points, so no task plants one."""
    tasks = list_tasks(CampaignRequest(Setup(), Promise(), seeds=9, points=True))
    assert all(last_operation(find_workload(task.workload)) in CONFIRMS for task in tasks)
    assert {task.fault for task in tasks} == {"", *(f.name for f in FAULTS)} - OF_ORDER
    assert {fault.name for fault in EVERY_FAULT} > OF_ORDER


def last_operation(workload: Workload) -> str:
    """Return the name of a workload's last operation."""
    return workload.operations[-1].name
