"""The interface of a run that can be made again: a run of an experiment (stored_run.py) or of a
grading."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sluice.experiment.records import JobLine
from sluice.system.guest import Guest
from sluice.system.qemu import Config
from sluice.system.requests import Request
from sluice.system.trace import Event


class Recorded(Protocol):
    """The trace's content: events, the oldest first, and completed requests in the order of
    queueing."""

    @property
    def events(self) -> list[Event]: ...
    @property
    def requests(self) -> list[Request]: ...


class Made(Protocol):
    """A run that was made, and its trace.

    trace: the trace file; rr: the path of QEMU's record of the run, which may not exist yet; lost:
    how many events, the first ones, the trace file lacks; phys: the trace's address in the
    machine's memory; records: for how many events there is room; log: how many moves of its disks
    the machine keeps; jobs: what the load's jobs printed, if that is known.
    """

    @property
    def trace(self) -> Path: ...
    @property
    def recording(self) -> Recorded: ...
    @property
    def rr(self) -> Path: ...
    @property
    def kernel(self) -> Path: ...
    @property
    def lost(self) -> int: ...
    @property
    def phys(self) -> int: ...
    @property
    def records(self) -> int: ...
    @property
    def log(self) -> int: ...

    @property
    def jobs(self) -> Sequence[JobLine]: ...

    def number(self, index: int) -> int:
        """Return the number of an event, from its index in recording.events."""

    def machine(self, folder: Path) -> Config:
        """Return the machine that makes the run. Files that the machine needs are made in the
        folder."""

    def repeat(self, config: Config, guest: Guest, console: Path) -> None:
        """Make the run once more, on this machine. Raises RunFailed."""
