"""Runs made by resident twins (sluice/twin/resident.py): the figures of run.make_run, at a fraction
of its cost.

Runs that differ only in their boot arguments and in words of their scripts share a resident twin.
Its disks are laid out once, with a filler in the place of each script; each run's own scripts, as
long as the fillers, are put there. So the disks are, to the byte, those that mkfs makes for the
run.

The trials of a sweep are without their traces. So there are no series, and what is measured takes
a few milliseconds. Other runs have the trace, and results as those of a plain twin to the byte.
"""

import mmap
import os
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import shake_256
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment.files import hash_value, write_atomically
from sluice.experiment.records import ConsoleFigures, RunResult
from sluice.experiment.run import Ended, RunFailed
from sluice.experiment.schema import Run
from sluice.host.interrupt import stopped
from sluice.host.paths import BUILD
from sluice.host.quoting import descriptor_path
from sluice.host.scratch import scratch_folder
from sluice.system import devtext, image
from sluice.system.guest import Guest
from sluice.system.qemu import Config, Disk
from sluice.twin import engine
from sluice.twin.resident import Put, Resident, TwinDied

CONSOLES = BUILD / "consoles"  # of runs whose time was up
IDLE = 4  # residents that wait for runs: each has the data of its disks in memory


@dataclass(frozen=True)
class Measured:
    """A run's figures, in the form of a result, and the processor seconds that it cost the host."""

    figures: ConsoleFigures
    cpu_s: float


@dataclass
class Ready:
    """A resident twin that is ready for a run."""

    kind: str
    resident: Resident
    guest: Guest  # the memory from which it has read its disks at its first run
    places: dict[str, int]  # the offset of each script on its root disk
    trace: Path | None  # the file in which a run leaves its trace
    rest: ExitStack

    def close(self) -> None:
        """End the twin, and free its memory."""
        self.rest.close()


def resident_key(run: Run, traced: bool = False) -> str:
    """Return a hash that is equal for runs that can share a resident twin."""
    lengths = {path: len(text.encode()) for path, text in runs.guest_scripts(run).items()}
    config = run.config
    disks = [config["root"], config["data"], config["block"], config["memory"]]
    return hash_value([lengths, disks, config.get("trace"), engine.twin_hash(), traced])


def filler_text(path: str, length: int) -> str:
    """Return a text of this length that occurs nowhere else on the disk."""
    return b64encode(shake_256(path.encode()).digest(length))[:length].decode()


def find_filler(image_of_root: Path, wanted: bytes) -> int:
    """Return the offset of the filler on the disk. Raises RunFailed unless it occurs exactly
    once."""
    with (
        image_of_root.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as disk,
    ):
        at = disk.find(wanted)
        if at < 0 or disk.find(wanted, at + 1) >= 0:
            raise RunFailed("the root disk does not have its scripts in one piece each")
        return at


def build_root_disk(run: Run, folder: Path) -> tuple[Path, dict[str, int]]:
    """Return a root disk that has fillers in place of the scripts, and the fillers' offsets by
    path."""
    texts = runs.guest_scripts(run)
    wanted = {path: filler_text(path, len(text.encode())) for path, text in texts.items()}
    made = image.make_image(folder / "root.img", runs.content(run, "root", wanted))
    return made, {path: find_filler(made, text.encode()) for path, text in wanted.items()}


def lay_out_memory(run: Run) -> tuple[Guest, dict[str, int]]:
    """Return memory with the disks of runs like this one, and the offset of each script on the
    first disk."""
    with scratch_folder(runs.UNDER_WAY) as folder:
        root, places = build_root_disk(run, folder)
        disks = (Disk(root), *runs.other_disks(run))
        machine = Config(disks, memory=run.config["memory"], lab=True)
        why = engine.refusal_reason(machine, run.config["commands"])
        if why:
            raise RunFailed(f"the twin cannot make this run: {why}")
        return machine.guest(), places


def start_resident(run: Run, trace: Path | None = None) -> Ready:
    """Return a new resident twin for runs like this one. trace: a file to which each run writes its
    trace."""
    with ExitStack() as stack:
        guest, places = lay_out_memory(run)
        stack.enter_context(guest)
        resident = stack.enter_context(Resident(guest, trace=trace))
        kind = resident_key(run, bool(trace))
        return Ready(kind, resident, guest, places, trace, stack.pop_all())


def start_traced_resident(run: Run) -> Ready:
    """Return a new resident twin for runs like this one, with a file in memory for their traces."""
    file = os.memfd_create("trace of a twin")
    try:
        os.truncate(file, 1)  # an empty file cannot be mapped
        ready = start_resident(run, Path(descriptor_path(file)))
    except BaseException:
        os.close(file)
        raise
    ready.rest.callback(os.close, file)
    return ready


class Pool:
    """The residents that no thread uses at the moment, the most recently used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[Ready] = []

    def _take_idle(self, kind: str) -> Ready | None:
        """Return an idle resident of this kind, which is then in use, or None."""
        with self.lock:
            found = next((ready for ready in self.idle if ready.kind == kind), None)
            if found:
                self.idle.remove(found)
        return found

    def _return_idle(self, ready: Ready) -> None:
        """Take back a resident. Closes the oldest one if more than IDLE are idle."""
        with self.lock:
            self.idle.append(ready)
            old = self.idle.pop(0) if len(self.idle) > IDLE else None
        if old:
            old.close()

    @contextmanager
    def borrow(self, run: Run, traced: bool = False) -> Iterator[Ready]:
        """Lend a resident for the run. Yields it, and keeps it for later runs if this one raises
        nothing. traced: it has a file for the run's trace."""
        ready = self._take_idle(resident_key(run, traced))
        if ready and ready.resident.process.poll() is not None:  # it was killed, idle
            ready.close()
            ready = None
        start = start_traced_resident if traced else start_resident
        ready = ready or start(run)
        try:
            yield ready
        except BaseException:
            ready.close()
            raise
        self._return_idle(ready)


@cache
def resident_pool() -> Pool:
    """Return this process's pool of residents."""
    return Pool()


def run_trial(ready: Ready, run: Run) -> Ended:
    """Make the run with this resident. Returns how it ended. Raises RunFailed if the twin dies or
    takes too long."""
    puts = [
        Put(0, ready.places[path], text.encode()) for path, text in runs.guest_scripts(run).items()
    ]
    try:
        args = runs.charged_arguments(run)
        found = ready.resident.trial(args, puts, run.host_limit_s)
        ready.guest.close()  # idle residents would have their disks in memory twice
    except TwinDied as error:
        why = f"the twin ended, or took more than {run.host_limit_s} s (host_limit_s): {error}"
        raise RunFailed(why) from None
    return Ended(found.status, found.console.replace("\r", ""), "", found.cpu_s)


def run_to_end(run: Run) -> Ended:
    """Make the run to its end. Returns how it ended. Raises RunFailed if the twin cannot make it or
    takes too long."""
    with resident_pool().borrow(run) as ready:
        return run_trial(ready, run)


def measure_run(run: Run) -> Measured:
    """Make the run. Returns its figures. Raises RunFailed."""
    done = run_to_end(run)
    why = runs.failure_reason(run, done)
    if not why:
        try:
            figures = runs.parse_figures(run, runs.split_readings(done.console))
            return Measured(figures, done.host_s)
        except devtext.BadText as error:
            why = str(error)
    where = runs.console_note(keep_console(run, done.console)) if runs.watchdog_fired(done) else ""
    raise RunFailed(runs.describe_failure(why, done) + where)


def make_run(run: Run, console: Path) -> tuple[RunResult, float] | None:
    """Make the run, with its trace. Returns its result and the host's seconds, or None if there was
    no resident for it or it died: a plain twin then says why. Raises RunFailed.

    console: gets what the console showed.
    """
    with ExitStack() as stack:
        try:
            ready = stack.enter_context(resident_pool().borrow(run, traced=True))
            began_s = time.monotonic()
            ended = replace(run_trial(ready, run), host_s=time.monotonic() - began_s)
        except RunFailed:
            if stopped.is_set():
                raise
            return None
        assert ready.trace
        write_atomically(console, ended.console)
        try:
            return runs.build_run_result(run, ended, ready.trace), ended.host_s
        except RunFailed as error:
            raise RunFailed(runs.describe_failure(str(error), ended)) from None


def keep_console(run: Run, console: str) -> Path:
    """Write the console of a failed run to a file. Returns the file's path, which is the same for
    each failure of that run."""
    CONSOLES.mkdir(parents=True, exist_ok=True)
    path = CONSOLES / f"{hash_value(run.config)[:16]}.txt"
    write_atomically(path, console)
    return path
