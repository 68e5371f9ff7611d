"""gdb on the twin, stopped where the kernel gives a cut's last command to the watched disk.

The twin does the workload under gdb as it did it for the recording: it finds the workload on its
standard input, and makes the trial in a child, which gdb follows. The stop is in the function
that the linker puts between the kernel and its driver (sluice/twin/watch.c), so the stack leads
from the system call to the write. Events are counted from the trial on: reads are none.
"""

import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sluice.crash.disk_events import Event
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import TEXT_DISK
from sluice.crash.operations import machine_text
from sluice.crash.workloads import Workload
from sluice.host.paths import TREE
from sluice.system.qemu import die_with_parent

OF_DISK = ("write", "flush", "faulted")
STOP = "__wrap_ramdisk_do if r == 'sluice/twin/watch.c'::watched && watched && kind != COMMAND_READ"


def count_commands(events: Sequence[Event], after: int) -> int:
    """Return how many commands had reached the disk when the power went after this event."""
    return sum(event.kind in OF_DISK for event in events[: after + 1])


def last_command(events: Sequence[Event], after: int) -> int:
    """Return the number of the last event by then that is a command of the disk, or -1."""
    return max((i for i in range(after + 1) if events[i].kind in OF_DISK), default=-1)


def write_request(laboratory: Laboratory, workload: Workload) -> Path:
    """Write what the resident twin reads to do a workload: one trial. Returns the file."""
    machine = laboratory.machine
    text = machine_text(workload.all_operations())
    at = machine.resident.places[TEXT_DISK][0]
    path = machine.folder / "request"
    head = f"1 {machine.boot} {machine.resident.table}\n{at} {len(text)}\n"
    path.write_bytes(head.encode() + text)
    return path


def list_commands(line: Sequence[str], request: Path, commands: int) -> list[str]:
    """Return the commands that bring gdb to the disk's command of this number, from 1."""
    words = " ".join(shlex.quote(word) for word in line[1:])
    return [
        "set confirm off",
        "set pagination off",
        "set follow-fork-mode child",
        "set print thread-events off",
        "set print inferior-events off",
        f"break {STOP}",
        f"ignore 1 {commands - 1}",
        f"run {words} < {shlex.quote(str(request))} > /dev/null 2>&1",
    ]


def gdb_line(program: str, script: Path, commands: Sequence[str] | None) -> list[str]:
    """Return the command line of gdb. commands: gdb executes these and ends; None opens gdb for a
    person."""
    line = [os.environ.get("GDB", "gdb-multiarch"), "-q"]
    line += ["-batch", "-nx"] if commands is not None else []
    line += ["-x", str(script)]
    for command in commands or ():
        line += ["-ex", command]
    return [*line, program]


def debug_cut(
    laboratory: Laboratory,
    workload: Workload,
    events: Sequence[Event],
    after: int,
    words: str,
    commands: Sequence[str] | None = None,
) -> int:
    """Open gdb where the last command before a cut goes to the disk. words: what that command is.
    Returns gdb's exit status."""
    request = write_request(laboratory, workload)
    number = count_commands(events, after)
    line = laboratory.machine.resident.line
    script = laboratory.machine.folder / "gdb"
    said = words.replace("\\", "\\\\")
    script.write_text(
        "\n".join([*list_commands(line, request, number), f"echo {said}\\n"]) + "\n",
        encoding="utf-8",
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(
            gdb_line(line[0], script, commands),
            cwd=TREE,
            env=os.environ | {"SHELL": "/bin/sh"},
            check=False,
            preexec_fn=prepare_gdb,
        ).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def prepare_gdb() -> None:
    """Have gdb take ^C, and end with the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    die_with_parent()
