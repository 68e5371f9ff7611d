"""A machine in virtual time has a processor of the host to itself, as long as one is free.

A machine claims a processor by a lock of an abstract socket's name. claim_processor returns the
processors on which the machine may run, and the lock; None if all are claimed.
"""

import os
from pathlib import Path

import pytest
from conftest import MakeImage

from sluice.system import processors
from sluice.system.qemu import Config, Disk, Machine


@pytest.fixture(autouse=True)
def nobody_else_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have claims use other names, so that those of other tests' machines do not count."""
    monkeypatch.setattr(processors, "NAME", f"\0sluice test {os.getpid()} {{}}")


def test_each_claim_takes_another_processor_and_without_one_left_a_machine_runs_anywhere() -> None:
    """A claim returns the processors that a machine may use, and a lock, or None if none was
    free."""
    allowed = os.sched_getaffinity(0)
    taken = [processors.claim_processor() for _ in allowed]
    assert [len(own) for own, _ in taken] == [1] * len(allowed)
    assert set().union(*(own for own, _ in taken)) == allowed
    assert processors.claim_processor() == (allowed, None)
    last, lock = taken.pop()
    lock.close()
    assert processors.claim_processor()[0] == last
    for _, lock in taken:
        lock.close()


def test_a_machine_keeps_its_processor_until_it_ends(make_image: MakeImage) -> None:
    """All threads of QEMU run on that processor. A machine in real time claims none."""
    disk = Disk(make_image(damaged=True))  # a machine is killed at work
    allowed = os.sched_getaffinity(0)
    with Machine(Config((disk,), lab=True)) as machine:
        machine.wait_prompt()
        pid = machine.process.pid
        (own,) = os.sched_getaffinity(pid)
        threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
        assert len(threads) > 1
        for thread in threads:
            assert os.sched_getaffinity(thread) == {own}
            assert os.sched_getscheduler(thread) == os.SCHED_BATCH
        free, lock = processors.claim_processor()
        assert own not in free or free == allowed
        if lock:
            lock.close()
    assert processors.claim_processor()[0] == {min(allowed)} == {own}
    with Machine(Config((disk,))) as machine:
        assert os.sched_getaffinity(machine.process.pid) == allowed
