"""Make a graded run again under gdb: `sluice debug --graded build/grade/elevator/runs/long`.

The grader has kept what this needs in the run's folder (rerun_files.py).
"""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grade.engine.moments import TRACE_FILE
from grade.engine.rerun_files import ABOUT
from sluice.debug import launch
from sluice.experiment import runner
from sluice.experiment.files import hash_value
from sluice.experiment.run import RunFailed
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system import trace
from sluice.system.guest import Guest
from sluice.system.qemu import Config, start
from sluice.system.requests import Request, pair_requests
from sluice.system.trace import Event


class NoRerun(Exception):
    """The error for a folder whose run cannot be made again; the text says why."""


@dataclass(frozen=True)
class Recorded:
    """The events of a trace."""

    events: Sequence[Event]

    @cached_property
    def requests(self) -> list[Request]:
        """Completed requests, in the order of queueing."""
        return sorted(pair_requests(self.events).done, key=lambda request: request.number)


@dataclass(frozen=True)
class Remade:
    """A graded run, as the debugger needs it (sluice/debug/origin.py)."""

    folder: Path
    config: Config
    log: int
    lost: int
    phys: int
    records: int

    @property
    def trace(self) -> Path:
        """The file with the trace."""
        return self.folder / TRACE_FILE

    @property
    def kernel(self) -> Path:
        """The kernel of the run."""
        return self.config.kernel

    jobs = ()  # lines that the jobs of an experiment's load print; a lab's tests have none

    @property
    def rr(self) -> Path:
        """The file of QEMU's recording. Its name contains a hash of QEMU's version."""
        return self.folder / f"rr-{hash_value(runner.qemu_version())[:8]}"

    @cached_property
    def recording(self) -> Recorded:
        """The events of the run."""
        return Recorded(trace.load(self.trace)[1])

    def number(self, index: int) -> int:
        """Return the number of the event with this index in the trace."""
        return self.lost + index

    def machine(self, _: Path) -> Config:
        """Return the machine of the run."""
        return self.config

    def repeat(self, config: Config, guest: Guest, console: Path) -> None:
        """Make the run again on this machine.

        The trace shows whether it is the same run, so the machine may end in any way. Raises
        RunFailed if it does not end.
        """
        with console.open("wb") as out:
            qemu = start(config, guest, stdin=subprocess.DEVNULL, stdout=out)
            try:
                qemu.wait(HANG_S)
            except subprocess.TimeoutExpired:
                qemu.kill()
                qemu.wait()
                raise RunFailed(f"it has not ended within {HANG_S} s") from None


def read_run(folder: Path) -> Remade:
    """Return the run in a folder. Raises NoRerun."""
    path = folder if folder.is_absolute() else ROOT / folder
    try:
        config, log = launch.read(path)
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        lost, _ = trace.load(path / TRACE_FILE)
    except FileNotFoundError as error:
        raise NoRerun(
            f"{folder}: there is no {Path(error.filename).name}: give the folder of a run that "
            "`make grade LAB=` has made; a run that needs QEMU's own disks cannot be made again"
        ) from None
    except (KeyError, ValueError) as error:
        raise NoRerun(f"{folder}: damaged: {error}; make it again by `make grade`") from None
    images = (disk.image for disk in config.disks if disk.image)
    gone = [str(path) for path in (config.kernel, *images) if not path.exists()]
    if gone:
        raise NoRerun(f"{folder}: {gone[0]} is gone; make it again by `make grade`")
    return Remade(path, config, log, lost, about["phys"], about["records"])
