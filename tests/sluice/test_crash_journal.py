"""The crash laboratory with order=journal: planted faults of the log are found, and no cut of some
workloads loses anything.

LOG_FAULTS change the recorded writes, so that a judge must notice a loss. The promise "prefix" is
that any earlier state may be left, but nothing that an fsync has confirmed is lost. tear_older: a
write that is not the last one may be torn, too.
"""

from collections.abc import Iterator

import pytest

from sluice.crash.faults import Fault, plant
from sluice.crash.laboratory import Laboratory
from sluice.crash.log_faults import LOG_FAULTS, faults_for
from sluice.crash.machine import Setup
from sluice.crash.oracle import check_contents, promise_of
from sluice.crash.workloads import find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)
SETUP = Setup("order=journal", journal="4M")
LONG = ("no-barrier", "no-revoke")  # take 500 cuts each: `sluice crash run --journal` tries them
QUICK = [fault for fault in LOG_FAULTS if fault.name not in LONG]


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    """Return a laboratory whose disk has a journal."""
    with Laboratory(SETUP, promise_of("prefix"), tear_older=True) as made:
        yield made


@pytest.mark.drawn(4)
@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
def test_each_planted_fault_of_a_log_is_found(laboratory: Laboratory, fault: Fault) -> None:
    """The fault changes what was recorded, and some cut then loses something."""
    planted = plant(fault, laboratory.base.disk)
    workload = find_workload(fault.workload)
    assert planted(laboratory.record(workload)) != laboratory.record(workload)
    assert laboratory.try_workload(workload, planted, most=1).failures


@pytest.mark.parametrize("fault", [fault for fault in LOG_FAULTS if fault.of_older])
def test_only_an_older_torn_write_shows_that_a_commit_block_went_beside_its_log(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Without tearing older writes, these faults are not found."""
    monkeypatch.setattr(laboratory, "tear_older", False)
    planted = plant(fault, laboratory.base.disk)
    assert not laboratory.try_workload(find_workload(fault.workload), planted).failures


@pytest.mark.parametrize("fault", LOG_FAULTS, ids=lambda fault: fault.name)
def test_each_fault_changes_what_was_written(laboratory: Laboratory, fault: Fault) -> None:
    events = laboratory.record(find_workload(fault.workload))
    assert plant(fault, laboratory.base.disk)(events) != events


@pytest.mark.parametrize(
    "text",
    [
        "rename /d/g /n; fsync /n",  # what is fsynced is in the log after a cut
        "unlink /f; creat /n; append /n 9000 10",
    ],
)
def test_no_cut_under_a_journal_loses_anything(laboratory: Laboratory, text: str) -> None:
    outcome = laboratory.try_workload(find_workload(text))
    assert not outcome.failures
    assert outcome.cuts > 150


def test_an_ordering_journal_shows_no_zeros_for_data() -> None:
    """window: the contents that the file had, old and new. The file has its new size already, and
    zeros in the place of the new data. That is right under the promise of order=sync, and wrong
    under that of a journal (prefix) that writes data first."""
    window = [b"a" * 5000, b"a" * 5000 + b"b" * 6000]
    early = (b"a" * 5000).ljust(11000, b"\0")
    assert check_contents(early, window, promise_of("sync"))[0] == ""
    assert "from 8192 on were never there" in check_contents(early, window, promise_of("prefix"))[0]


def test_zeros_of_a_shorter_file_may_reach_the_disk_before_its_size() -> None:
    """The file was cut from 9000 to 5000 bytes. The rest of the block to 8192 is zeroed on the
    disk, while the size and the last 808 bytes are still the old ones."""
    window = [b"a" * 9000, b"a" * 5000]
    early = (b"a" * 5000).ljust(8192, b"\0") + b"a" * 808
    assert check_contents(early, window, promise_of("prefix"))[0] == ""


def test_which_faults_are_planted_depends_on_the_order() -> None:
    """faults_for(setup, has a volatile cache): a drive without such a cache cannot show all of
    them."""
    assert faults_for(SETUP, True, tear_older=True) == list(LOG_FAULTS)
    assert {fault.name for fault in LOG_FAULTS} - {
        fault.name for fault in faults_for(SETUP, True)
    } == {"commit-beside-torn"}
    assert 0 < len(faults_for(SETUP, False)) < len(LOG_FAULTS)
    assert "name-first" in {fault.name for fault in faults_for(Setup(journal="4M"), True)}
