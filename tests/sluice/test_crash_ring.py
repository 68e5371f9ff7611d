"""The crash laboratory with long workloads, whose transactions go round a short log.

A checkpoint writes blocks home, so that the log's space can be used again. The operations `hold`
and `drop` keep a file open and close it.
"""

from collections.abc import Callable, Iterator, Sequence

import pytest
from log_ring import (
    RING_FAULTS,
    SETUP,
    RingLaboratory,
    count_rounds,
    long_workload,
    sample_cuts,
)

from sluice.crash.cuts import Cut
from sluice.crash.disk_events import Event
from sluice.crash.faults import Fault, plant
from sluice.crash.laboratory import Laboratory
from sluice.crash.oracle import promise_of
from sluice.crash.workloads import find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


def sample_every_third(events: Sequence[Event]) -> Callable[[Cut], bool]:
    """Return a check that is true of every third cut; only these are judged."""
    return lambda cut: cut.number % 3 == 0


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory whose log is short."""
    with RingLaboratory(SETUP, promise_of("prefix"), tear_older=True) as made:
        yield made


def test_a_long_workload_goes_round_the_log(laboratory: Laboratory) -> None:
    """More than 80 transactions need at least two checkpoints."""
    commits, checkpoints = count_rounds(laboratory.record(long_workload(1)))
    assert commits > 80
    assert checkpoints >= 2


def test_no_cut_among_checkpoints_loses_anything(laboratory: Laboratory) -> None:
    outcome = laboratory.try_workload(long_workload(1), sample=sample_cuts)
    assert not outcome.failures
    assert outcome.images > 50


@pytest.mark.parametrize("fault", RING_FAULTS, ids=lambda fault: fault.name)
def test_each_planted_fault_of_a_checkpoint_is_found(laboratory: Laboratory, fault: Fault) -> None:
    planted = plant(fault, laboratory.base.disk)
    workload = find_workload(fault.workload)
    assert laboratory.try_workload(workload, planted, most=1, sample=sample_cuts).failures


@pytest.mark.parametrize(
    "text",
    [
        "hold /f; unlink /f; sync; grow 5000 7; sync; creat /n; append /n 9000 8; fsync /n; drop",
        "hold /f; rename /h /f; sync; grow 3000 7; drop; fsync /f",
    ],
)
def test_a_file_without_a_name_is_gone_after_a_cut(laboratory: Laboratory, text: str) -> None:
    """A file is open while its last name is removed, or replaced."""
    outcome = laboratory.try_workload(find_workload(text), sample=sample_every_third)
    assert not outcome.failures
    assert outcome.images > 20
