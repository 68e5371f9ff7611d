"""A graded run, to be made again under gdb: `make replay RUN=build/grade/elevator/runs/long`.

The grader has kept in the run's folder what it takes (rerun_files.py).
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
from sluice.experiment.files import hash_of
from sluice.experiment.run import RunFailed
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system import trace
from sluice.system.guest import Guest
from sluice.system.qemu import Config, start
from sluice.system.requests import Request, pair
from sluice.system.trace import Event


class NoReplay(Exception):
    """A folder that has no run which can be made again; the text says why."""


@dataclass(frozen=True)
class Recorded:
    """What the trace shows."""

    events: Sequence[Event]

    @cached_property
    def requests(self) -> list[Request]:
        """Completed requests, in the order of queueing."""
        return sorted(pair(self.events).done, key=lambda request: request.number)


@dataclass(frozen=True)
class Remade:
    """A graded run (sluice/debug/origin.py)."""

    folder: Path
    config: Config
    log: int
    lost: int
    phys: int
    records: int

    @property
    def trace(self) -> Path:
        return self.folder / TRACE_FILE

    @property
    def kernel(self) -> Path:
        return self.config.kernel

    jobs = ()  # a lab's tests print no such lines

    @property
    def rr(self) -> Path:
        return self.folder / f"rr-{hash_of(runner.qemu_version())[:8]}"

    @cached_property
    def recording(self) -> Recorded:
        return Recorded(trace.load(self.trace)[1])

    def number(self, index: int) -> int:
        return self.lost + index

    def machine(self, _: Path) -> Config:
        return self.config

    def again(self, config: Config, guest: Guest, console: Path) -> None:
        """Make the run on this machine, however it ends: its trace tells whether it is the same."""
        with console.open("wb") as out:
            qemu = start(config, guest, stdin=subprocess.DEVNULL, stdout=out)
            try:
                qemu.wait(HANG_S)
            except subprocess.TimeoutExpired:
                qemu.kill()
                qemu.wait()
                raise RunFailed(f"it has not ended within {HANG_S} s") from None


def read(folder: Path) -> Remade:
    """The run in a folder. Raises NoReplay."""
    path = folder if folder.is_absolute() else ROOT / folder
    try:
        config, log = launch.read(path)
        about = json.loads((path / ABOUT).read_text(encoding="utf-8"))
        lost, _ = trace.load(path / TRACE_FILE)
    except FileNotFoundError as error:
        raise NoReplay(
            f"RUN={folder}: there is no {Path(error.filename).name}: give the folder of a run that "
            "`make grade LAB=` has made; a run that needs QEMU's own disks cannot be replayed"
        ) from None
    except (KeyError, ValueError) as error:
        raise NoReplay(f"RUN={folder}: damaged: {error}; make it again by `make grade`") from None
    gone = [str(p) for p in (config.kernel, *(d.image for d in config.disks)) if not p.exists()]
    if gone:
        raise NoReplay(f"RUN={folder}: {gone[0]} is gone; make it again by `make grade`")
    return Remade(path, config, log, lost, about["phys"], about["records"])
