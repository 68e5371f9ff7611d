"""Who is stopped as stuck: a machine that does nothing, not one that the host keeps waiting.

watchdog.process_activity(pid) returns a process's processor time in clock ticks, and whether it is
busy: it runs, could run, or waits for a disk. `asleep` is a process that sleeps.
"""

import os
import subprocess
import time
from collections.abc import Iterator

import pytest

from grade.engine import watchdog
from sluice.host.limits import HANG_S


@pytest.fixture
def asleep() -> Iterator[subprocess.Popen]:
    """Yield a process that sleeps."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def wait_until(is_true) -> None:
    """Wait until this returns true."""
    end_s = time.monotonic() + HANG_S
    while not is_true():
        assert time.monotonic() < end_s


def test_a_process_that_computes_is_seen_to_and_one_that_sleeps_is_not(
    asleep: subprocess.Popen,
) -> None:
    """A process that has ended counts as not busy."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as process:
        wait_until(
            lambda: (
                watchdog.process_activity(process.pid)[1]
                and watchdog.process_activity(process.pid)[0] > 0
            )
        )
        process.kill()
        process.wait()
        assert watchdog.process_activity(process.pid) == (0, False)
    wait_until(lambda: not watchdog.process_activity(asleep.pid)[1])


def test_a_process_may_end_while_it_is_being_looked_at(
    monkeypatch: pytest.MonkeyPatch, asleep: subprocess.Popen
) -> None:
    """The folder in /proc exists when it is looked for, and is gone when it is read."""

    def gone(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(os, "scandir", gone)
    assert watchdog.process_activity(asleep.pid) == (0, False)


@pytest.mark.parametrize("busy", [True, False])
def test_only_one_that_does_not_even_wait_for_the_host_is_stopped(
    asleep: subprocess.Popen, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    """The process's time stands still. It is stopped after IDLE_S, unless it is busy."""
    monkeypatch.setattr(watchdog, "LOOK_S", 0.001)
    monkeypatch.setattr(watchdog, "IDLE_S", 0.1)
    monkeypatch.setattr(watchdog, "process_activity", lambda pid: (7, busy))
    with watchdog.watch_in_context(asleep) as watching:
        if busy:
            time.sleep(1)
            assert not watching.stopped
        else:  # a look takes long on a host with much to do, and counts as 2 * LOOK_S at most
            wait_until(lambda: watching.stopped)


def test_one_that_neither_ends_nor_gets_stuck_is_stopped_in_the_end(
    asleep: subprocess.Popen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After HANG_S, which is 0.1 s here."""
    monkeypatch.setattr(watchdog, "LOOK_S", 0.001)
    monkeypatch.setattr(watchdog, "HANG_S", 0.1)
    monkeypatch.setattr(watchdog, "process_activity", lambda pid: (7, True))
    with watchdog.watch_in_context(asleep) as watching:
        assert asleep.wait() < 0
    assert "not done after" in watching.stopped
