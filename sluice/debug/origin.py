"""What a replay needs to know of a run: an experiment's (stored_run.py) or a graded one's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sluice.system.guest import Guest
from sluice.system.qemu import Config
from sluice.system.requests import Request
from sluice.system.trace import Event


class Recorded(Protocol):
    """What the trace shows: events, the oldest first, and completed requests in the order of
    queueing."""

    @property
    def events(self) -> list[Event]: ...
    @property
    def requests(self) -> list[Request]: ...


class Made(Protocol):
    """A run that was made, with its trace.

    trace: the trace file; rr: where QEMU's record of the run is, or is to be; lost: events that the
    trace file lacks, the first ones; phys, records: where the trace lies in the machine's memory,
    and for how many events it has room; log: how many moves of its disks the machine keeps; jobs:
    what the jobs of the load printed, if that is known.
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
    def jobs(self) -> Sequence[dict]: ...

    def number(self, index: int) -> int:
        """The number of an event, from its place in recording.events."""

    def machine(self, folder: Path) -> Config:
        """The machine that makes the run; what it needs may be made in the folder."""

    def again(self, config: Config, guest: Guest, console: Path) -> None:
        """Make the run on this machine. Raises RunFailed."""
