"""Runs made by resident twins (sluice/twin/resident.py): the figures of run.make, at a fraction of
its cost.

Runs that differ only in their boot arguments and in words of their scripts share a resident twin.
Its disks are laid out once, with a filler in the place of each script; each run's own scripts, as
long as the fillers, are put there. So the disks are, to the byte, those that mkfs makes for the
run.

The trace is not read. So there are no series, and what is measured takes a few milliseconds.
"""

import mmap
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment.files import hash_of, write_whole
from sluice.experiment.run import Ended, RunFailed
from sluice.experiment.schema import Run
from sluice.host.paths import BUILD
from sluice.host.scratch import scratch
from sluice.system import devtext, image
from sluice.system.guest import Guest
from sluice.system.qemu import Config, Disk
from sluice.twin import engine
from sluice.twin.resident import Put, Resident, TwinDied

DISKS = ("root", "data", "block", "memory")  # what disks depend on, in a run's configuration
CONSOLES = BUILD / "consoles"  # of runs whose time was up
IDLE = 4  # residents that wait for runs: each has the data of its disks in memory


@dataclass(frozen=True)
class Measured:
    """A run's figures, as a result has them, and what it cost the host: seconds of processor."""

    figures: dict
    cpu_s: float


@dataclass
class Ready:
    """A resident twin, and where on its root disk each script is."""

    kind: str
    resident: Resident
    places: dict[str, int]
    rest: ExitStack

    def close(self) -> None:
        self.rest.close()


def kind_of(run: Run) -> str:
    """A hash that is equal for runs that can share a resident twin."""
    lengths = {path: len(text.encode()) for path, text in runs.scripts(run).items()}
    parts = [run.config[name] for name in DISKS]
    return hash_of([lengths, parts, run.config.get("trace"), engine.twin_hash()])


def filler(path: str, length: int) -> str:
    """So many letters, which are nowhere else on the disk."""
    return b64encode(shake_256(path.encode()).digest(length))[:length].decode()


def place_of(image_of_root: Path, wanted: bytes) -> int:
    """Where on the disk the filler is. Raises RunFailed if it is not in one place."""
    with (
        image_of_root.open("rb") as file,
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as disk,
    ):
        at = disk.find(wanted)
        if at < 0 or disk.find(wanted, at + 1) >= 0:
            raise RunFailed("the root disk does not have its scripts in one piece each")
        return at


def root_disk(run: Run, folder: Path) -> tuple[Path, dict[str, int]]:
    """A root disk with fillers, and where they are."""
    texts = runs.scripts(run)
    wanted = {path: filler(path, len(text.encode())) for path, text in texts.items()}
    made = image.make(folder / "root.img", runs.content(run, "root", wanted))
    return made, {path: place_of(made, text.encode()) for path, text in wanted.items()}


def laid_out(run: Run) -> tuple[Guest, dict[str, int]]:
    """Memory with the disks of runs like this one, and where on the first each script is."""
    with scratch(runs.UNDER_WAY) as folder:
        root, places = root_disk(run, folder)
        disks = (Disk(root), *runs.others(run))
        machine = Config(disks, memory=run.config["memory"], lab=True)
        why = engine.refusal(machine, run.config["commands"])
        if why:
            raise RunFailed(f"the twin cannot make this run: {why}")
        return machine.guest(), places


def started(run: Run, trace: Path | None = None) -> Ready:
    """A resident twin for runs like this one. trace: a file in which each leaves its trace."""
    with ExitStack() as stack:
        guest, places = laid_out(run)
        stack.enter_context(guest)
        resident = stack.enter_context(Resident(guest, trace=trace))
        return Ready(kind_of(run), resident, places, stack.pop_all())


class Pool:
    """Residents that no thread uses at the moment, the last used last."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[Ready] = []

    def _take(self, kind: str) -> Ready | None:
        with self.lock:
            found = next((ready for ready in self.idle if ready.kind == kind), None)
            if found:
                self.idle.remove(found)
        return found

    def _give(self, ready: Ready) -> None:
        with self.lock:
            self.idle.append(ready)
            old = self.idle.pop(0) if len(self.idle) > IDLE else None
        if old:
            old.close()

    @contextmanager
    def taken(self, run: Run) -> Iterator[Ready]:
        """A resident for the run, kept for others if this one leaves it whole."""
        ready = self._take(kind_of(run))
        if ready and ready.resident.process.poll() is not None:  # it was killed, idle
            ready.close()
            ready = None
        ready = ready or started(run)
        try:
            yield ready
        except BaseException:
            ready.close()
            raise
        self._give(ready)


@cache
def pool() -> Pool:
    """The residents of this process."""
    return Pool()


def made(ready: Ready, run: Run) -> Ended:
    """Make the run with this resident. Raises RunFailed if that ends, or takes too long."""
    puts = [Put(0, ready.places[path], text.encode()) for path, text in runs.scripts(run).items()]
    try:
        found = ready.resident.trial(
            run.config["args"], run.config["cpu_shift"], puts, run.host_limit_s
        )
    except TwinDied as error:
        why = f"the twin ended, or took more than {run.host_limit_s} s (host_limit_s): {error}"
        raise RunFailed(why) from None
    return Ended(found.status, found.console.replace("\r", ""), "", found.cpu_s)


def ended(run: Run) -> Ended:
    """Make the run to its end. Raises RunFailed if the twin cannot, or takes too long."""
    with pool().taken(run) as ready:
        return made(ready, run)


def measure(run: Run) -> Measured:
    """Make the run. Returns its figures. Raises RunFailed."""
    done = ended(run)
    why = runs.failure(run, done)
    if not why:
        try:
            return Measured(runs.figures(runs.readings(done.console)), done.host_s)
        except devtext.BadText as error:
            why = str(error)
    where = runs.all_in(kept(run, done.console)) if runs.time_is_up(done) else ""
    raise RunFailed(runs.told(why, done) + where)


def kept(run: Run, console: str) -> Path:
    """The file with the console of a run that failed. A later failure of it writes the same."""
    CONSOLES.mkdir(parents=True, exist_ok=True)
    path = CONSOLES / f"{hash_of(run.config)[:16]}.txt"
    write_whole(path, console)
    return path
