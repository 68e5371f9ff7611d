"""A run's trace, made once and kept, in build/traces/KEY:

    trace       the trace file (sluice/system/trace.py)
    console     what the console showed
    about.json  where in the machine's memory the trace lay, for how many records it had room,
                and the lines of the jobs
    rr-*        a QEMU's record of the run, if it has been debugged: from this QEMU replays it

KEY is the run's (run.py): the configuration, the kernel and the images determine it,
so a trace that is found is the trace of this run. The newest KEPT are kept. A folder comes into its
place, and goes from it, whole: it is made, and deleted, in build/traces/under-way.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment import runner
from sluice.experiment.files import hash_of
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import Run
from sluice.export import recording
from sluice.export.recording import Recording
from sluice.host.paths import BUILD, KERNEL
from sluice.host.scratch import BASE, scratch
from sluice.system import devtext, trace
from sluice.system.guest import Guest
from sluice.system.qemu import Config

FOLDER = BUILD / "traces"
KEPT = 16
ABOUT = "about.json"
KEY_LETTERS = 32


@dataclass(frozen=True)
class Kept:
    """A run with its trace. Events are numbered from 0, from power-on; `lost` of them are not
    there, the first ones, because newer ones have overwritten them."""

    run: Run
    recording: Recording
    trace: Path
    lost: int
    phys: int  # the address of the trace in the machine's memory
    records: int  # that it has room for

    kernel = KERNEL
    log = 0  # of the disks' moves, none is kept

    @property
    def jobs(self) -> Sequence[dict]:
        return self.recording.jobs

    @property
    def rr(self) -> Path:
        """Where this QEMU's record of the run is, if there is one. Another cannot replay it."""
        return self.trace.with_name(f"rr-{hash_of(runner.qemu_version())[:8]}")

    def machine(self, folder: Path) -> Config:
        """The machine that makes the run; the image of its root disk is made in the folder."""
        return runs.machine(self.run, folder)

    def again(self, config: Config, guest: Guest, console: Path) -> None:
        """Make the run on this machine. Raises RunFailed."""
        ended = runs.boot(self.run, config, guest, console)
        why = runs.failure(self.run, ended)
        if why:
            raise RunFailed(runs.told(why, ended))

    def number(self, index: int) -> int:
        """The number of an event, from its place in recording.events."""
        return self.lost + index


def make(run: Run, folder: Path, results: Path) -> None:
    """Make the run, and the folder with its trace. Raises RunFailed."""
    stored = runner.stored(results / run.experiment, run, runs.key(run))
    with scratch(FOLDER / BASE) as new:
        part, memory = new / "run", new / "memory"
        part.mkdir()
        result, _ = runs.make(run, part / "console", memory)
        recording.check_equal(result, stored)
        said = (part / "console").read_text(encoding="utf-8").replace("\r", "")
        phys = devtext.stat(runs.readings(said)["stat1"])["trace.phys"][0]
        trace.save(memory, phys, part / "trace")
        about = {"phys": phys, "records": trace.room(memory, phys), "jobs": result["jobs"]}
        (part / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        try:
            part.rename(folder)
        except OSError:
            if not (folder / ABOUT).exists():  # another process has made the same
                raise


def forget_old() -> None:
    """Remove all traces but the newest."""
    found = [path for path in FOLDER.iterdir() if (path / ABOUT).exists()]
    old = sorted(found, key=lambda path: path.stat().st_mtime)[:-KEPT]
    with scratch(FOLDER / BASE) as away:
        for path in old:
            with suppress(FileNotFoundError):  # another process has forgotten it
                path.rename(away / path.name)


def keep(run: Run, results: Path) -> Kept:
    """The run with its trace, which is made if it is not there.

    results: the folder of experiments' results; a stored result must be that of the run. Raises
    RunFailed.
    """
    folder = FOLDER / runs.key(run)[:KEY_LETTERS]
    if not (folder / ABOUT).exists():
        make(run, folder, results)
        forget_old()
    folder.touch()
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    said = (folder / "console").read_text(encoding="utf-8").replace("\r", "")
    lost, _ = trace.load(folder / "trace")
    made = recording.of_console(run, said, about["jobs"], lambda _: trace.load(folder / "trace"))
    return Kept(run, made, folder / "trace", lost, about["phys"], about["records"])
