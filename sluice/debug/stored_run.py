"""A run's trace, made once and kept.

The folder build/traces/KEY has:

    trace       the trace file (sluice/system/trace.py)
    server      the trace file of the server, if the run has one
    console     what the console showed
    about.json  where in the machine's memory the trace lay, for how many records it had room,
                the lines of the jobs, and the first two also of the server
    rr-*        a QEMU's record of the run, if it has been debugged: from this QEMU replays it

KEY is the run's (run.py): the configuration, the kernel and the images determine it,
so a trace that is found is the trace of this run. The newest KEPT are kept. A folder comes into its
place, and goes from it, whole: it is made, and deleted, in build/traces/under-way.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.experiment import run as runs
from sluice.experiment import runner
from sluice.experiment.files import hash_value
from sluice.experiment.records import JobLine
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import Run
from sluice.experiment.two_machines import SERVER_MARK, SERVER_MEMORY, server_run
from sluice.export import recording
from sluice.export.recording import Recording
from sluice.host.paths import BUILD, KERNEL
from sluice.host.scratch import BASE, scratch_folder
from sluice.system import devtext, trace
from sluice.system.guest import Guest
from sluice.system.qemu import Config

FOLDER = BUILD / "traces"
KEPT = 16
ABOUT = "about.json"
KEY_LETTERS = 32


@dataclass(frozen=True)
class Kept:
    """A run and its trace. Events are numbered from 0 at power-on; the first `lost` events are
    missing, because newer ones have overwritten them."""

    run: Run
    recording: Recording
    trace: Path
    lost: int
    phys: int  # the address of the trace in the machine's memory
    records: int  # how many records the trace has room for
    server: "Kept | None" = None  # the server's machine, whose clock is this one's
    title: str = ""  # of the run, if it is no experiment's

    kernel = KERNEL
    log = 0  # of the disks' moves, none is kept

    @property
    def jobs(self) -> Sequence[JobLine]:
        """The lines of the run's jobs."""
        return self.recording.jobs

    @property
    def rr(self) -> Path:
        """The path of the record that this version of QEMU made of the run. Another version cannot
        replay it."""
        return self.trace.with_name(f"rr-{hash_value(runner.qemu_version())[:8]}")

    def machine(self, folder: Path) -> Config:
        """Return the machine that makes the run. Its root disk's image is made in the folder."""
        return runs.build_machine(self.run, folder)

    def repeat(self, config: Config, guest: Guest, console: Path) -> None:
        """Make the run once more, on this machine. Raises RunFailed."""
        ended = runs.boot_run(self.run, config, guest, console)
        why = runs.failure_reason(self.run, ended)
        if why:
            raise RunFailed(runs.describe_failure(why, ended))

    def number(self, index: int) -> int:
        """Return the number of an event, from its index in recording.events."""
        return self.lost + index


def save_trace(said: str, memory: Path, out: Path) -> dict[str, int]:
    """Write the trace in a machine's memory to a file. said: its console. Returns what ABOUT says
    of the trace."""
    phys = devtext.parse_stat(runs.split_readings(said)["stat1"])["trace.phys"][0]
    trace.save(memory, phys, out)
    return {"phys": phys, "records": trace.ring_capacity(memory, phys)}


def record_run(run: Run, folder: Path, results: Path) -> None:
    """Make the run, and the folder that holds its trace. Raises RunFailed."""
    stored = runner.stored_result(results / run.experiment, run, runs.result_key(run))
    with scratch_folder(FOLDER / BASE) as new:
        part, memory = new / "run", new / "memory"
        part.mkdir()
        result, _ = runs.make_run(run, part / "console", memory)
        recording.expect_equal(result, stored)
        said = (part / "console").read_text(encoding="utf-8").replace("\r", "")
        here, _, there = said.partition(SERVER_MARK)
        about: dict[str, object] = {"jobs": result["jobs"]}
        about |= save_trace(here, memory, part / "trace")
        if there:
            of_server = memory.with_name(memory.name + SERVER_MEMORY)
            about["server"] = save_trace(there, of_server, part / "server")
        (part / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        try:
            part.rename(folder)
        except OSError:
            if not (folder / ABOUT).exists():  # another process has made the same
                raise


def remove_old_traces() -> None:
    """Remove all traces except the newest KEPT."""
    found = [path for path in FOLDER.iterdir() if (path / ABOUT).exists()]
    old = sorted(found, key=lambda path: path.stat().st_mtime)[:-KEPT]
    with scratch_folder(FOLDER / BASE) as away:
        for path in old:
            with suppress(FileNotFoundError):  # another process has forgotten it
                path.rename(away / path.name)


def load_kept(
    run: Run, file: Path, said: str, about: dict[str, int], jobs: Sequence[JobLine]
) -> Kept:
    """Return one machine of a run, from its trace file, its console and what ABOUT says of it."""
    lost, events = trace.load(file)
    made = recording.recording_from_console(run, said, jobs, lambda _: (lost, events))
    return Kept(run, made, file, lost, about["phys"], about["records"])


def find_or_record(run: Run, results: Path) -> Kept:
    """Return the run with its trace, which is made if it does not exist.

    results: the folder of experiments' results. A stored result of the run must be equal to the new
    one. Raises RunFailed.
    """
    folder = FOLDER / runs.result_key(run)[:KEY_LETTERS]
    if not (folder / ABOUT).exists():
        record_run(run, folder, results)
        remove_old_traces()
    folder.touch()
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    said = (folder / "console").read_text(encoding="utf-8").replace("\r", "")
    here, _, there = said.partition(SERVER_MARK)
    server = None
    if there:
        server = load_kept(server_run(run), folder / "server", there, about["server"], [])
    kept = load_kept(run, folder / "trace", here, about, about["jobs"])
    return replace(kept, server=server)
