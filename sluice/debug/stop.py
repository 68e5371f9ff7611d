"""Repeats a run under gdb, stopped at an event.

Three things keep the run the same, to the instruction:

- Nothing is added to the kernel. A watchpoint on the event's place in the trace, which is in the
  machine's memory, costs time of the host only.
- gdb debugs QEMU's replay (-icount rr=replay) of a record of the run. Without that, QEMU sets the
  clock of a machine that gdb stops forward to the next timer, as if the processor were idle, and a
  step of gdb would be without interrupts. (icount_start_warp_timer() in QEMU's sources. It finds no
  processor at work, because the one that there is has stopped.)
- The recorded run must have the trace of the run that was made without a record, and gdb compares
  the trace again whenever it stops (tools/gdb/replay.py). A difference is an error.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from sluice.debug import launch
from sluice.debug.instant import Instant
from sluice.debug.origin import Made
from sluice.experiment.run import UNDER_WAY
from sluice.host.paths import ROOT, TREE
from sluice.host.scratch import scratch_folder
from sluice.system import trace
from sluice.system.qemu import Config

SCRIPT = ROOT / "tools" / "gdb" / "replay.py"
SESSION = "SLUICE_REPLAY"  # the environment's word for the file that tells gdb what to do


class Differs(Exception):
    """The error for a run that did not repeat exactly. The text says where it differs."""


def record(kept: Made, config: Config, folder: Path) -> None:
    """Make the run again while QEMU records it, and keep the record. Raises Differs if the trace is
    not the same, and RunFailed."""
    rr, memory, trace_file = folder / "rr", folder / "recorded", folder / "trace"
    recorded = replace(config, rr=("record", rr))
    with recorded.guest(kept.log, memory) as guest:
        kept.repeat(recorded, guest, folder / "console")
    trace.save(memory, kept.phys, trace_file)
    memory.unlink()
    if trace_file.read_bytes() != kept.trace.read_bytes():
        raise Differs("the run has another trace while QEMU records it: this is an error of QEMU")
    shutil.move(rr, kept.rr)  # which may be on another file system


def session(
    kept: Made, instant: Instant, folder: Path, socket: Path, editor: bool
) -> dict[str, object]:
    """Return the values that gdb's script needs, as JSON has them."""
    return {
        "launch": [sys.executable, "-m", launch.__name__, str(folder)],
        "root": str(ROOT),
        "socket": str(socket),
        "memory": str(folder / launch.MEMORY),
        "console": str(folder / launch.CONSOLE),
        "trace": str(kept.trace),
        "phys": kept.phys,
        "records": kept.records,
        "lost": kept.lost,
        "events": trace.event_names(),
        "at": instant.number,
        "words": instant.words,
        "editor": editor,
    }


def gdb_line(kernel: Path, commands: list[str] | None, options: list[str]) -> list[str]:
    """Return the command line of gdb. commands: gdb executes these and ends; None opens gdb for a
    person."""
    line = [os.environ.get("GDB", "gdb-multiarch"), "-q"]
    line += options if commands is None else ["-batch", "-nx"]
    line += ["-x", str(SCRIPT)]
    for command in commands or []:
        line += ["-ex", command]
    return [*line, str(kernel)]


def debug(
    kept: Made,
    instant: Instant,
    commands: list[str] | None = None,
    options: list[str] | None = None,
) -> int:
    """Open gdb at this event of the run. Returns gdb's exit status.

    commands: gdb executes these and ends. options: of gdb's command line, if an editor starts gdb
    and itself continues to the event. Meanwhile ^C goes to gdb and stops the machine. Raises
    Differs, and RunFailed.
    """
    with (
        scratch_folder(UNDER_WAY) as folder,
        tempfile.TemporaryDirectory(prefix="sluice-") as own,
    ):
        config = kept.machine(folder)
        if not kept.rr.exists():
            record(kept, config, folder)
        launch.write(replace(config, rr=("replay", kept.rr)), folder, kept.log)
        told = folder / "session.json"
        about = session(kept, instant, folder, Path(own) / "gdb.sock", bool(options))
        told.write_text(json.dumps(about), encoding="utf-8")
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            environment = os.environ | {SESSION: str(told)}
            done = subprocess.run(
                gdb_line(kept.kernel, commands, options or []),
                cwd=TREE,
                env=environment,
                check=False,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        finally:
            signal.signal(signal.SIGINT, before)
        return done.returncode
