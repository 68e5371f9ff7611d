"""A resident twin: one process that makes many trials (resident.h).

It has read the disks once. A trial says with which boot arguments it is made, and which bytes of
the disks differ. What it does to memory and disks is gone when it ends. A child of the process
makes the trials; after one that ended badly another child does.

A resident ends with the thread that started it (die_with_parent), and any thread may use it. So all
residents of a process are started by one thread, which ends with the process.
"""

import math
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sluice.host.closing import Closing
from sluice.host.interrupt import stopped
from sluice.system.guest import Guest
from sluice.system.qemu import die_with_parent
from sluice.twin.engine import PROGRAMS, TWIN

LOOK_S = 0.5  # how often a thread that waits for a trial looks for its limit and for ^C


class TwinDied(Exception):
    """The error for a resident twin that has ended; the text is its output."""


@dataclass(frozen=True)
class Put:
    """Bytes to write to a disk: the disk's number, the offset, and the data."""

    disk: int
    at: int
    data: bytes


@dataclass(frozen=True)
class Trial:
    """A trial that has ended: exit status (negative: a signal), console, and what it cost the host
    in processor seconds and page faults."""

    status: int
    console: str
    cpu_s: float
    faults: int


@cache
def starter_thread(_: int) -> ThreadPoolExecutor:
    """Return the thread that starts the residents of the process with this number.

    A forked child has another number, and none of its parent's threads.
    """
    return ThreadPoolExecutor(1, "starts residents")


class Resident(Closing):
    """A process that makes trials on these disks, one at a time; a context manager that ends it.

    guest: memory with the disks in it; it may be closed after the first trial. trace: a file to
    which each trial writes its trace, in the form that trace.read takes. watch: a disk, and the
    file to which each trial writes what happened to it (watch.h). twin, programs: other ones than
    this tree's.
    """

    def __init__(
        self,
        guest: Guest,
        costs: Path | None = None,
        trace: Path | None = None,
        watch: tuple[int, Path] | None = None,
        twin: Path = TWIN,
        programs: Path = PROGRAMS,
    ) -> None:
        """Make the command line of the twin. watch: a disk's number, and the file to which the
        disk's events go."""
        self.places = list(guest.places)
        self.table = guest.argument()
        line = [str(twin), "-p", str(programs), "-r", str(self.places[0][0])]
        line += ["-c", str(costs)] if costs else []
        line += ["-t", str(trace)] if trace else []
        line += ["-e", f"{watch[0]}:{watch[1]}"] if watch else []
        line += ["-m", str(guest.path)]
        self.line = line

    def __enter__(self) -> "Resident":
        self.errors = tempfile.TemporaryFile()  # what it says
        try:
            self.process = starter_thread(os.getpid()).submit(self._start_process).result()
        except BaseException:
            self.errors.close()
            raise
        return self

    def _start_process(self) -> subprocess.Popen:
        """Start the process. Returns it."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        return subprocess.Popen(self.line, preexec_fn=die_with_parent, **pipes)

    def close(self) -> None:
        """End the process at once, with a trial that it is making. A second call does nothing."""
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):  # of a request that it has not read; the pipe is closed
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def _request_trial(self, args: str, puts: Sequence[Put], limit_s: float) -> list[int]:
        """Send a trial's request. Returns the numbers of the answer when the trial has ended; none
        if the process has died, which it does after limit_s."""
        request = [f"{len(puts)} {args} {self.table}\n".encode()]
        for put in puts:
            request.append(f"{self.places[put.disk][0] + put.at} {len(put.data)}\n".encode())
            request.append(put.data)
        try:
            self.process.stdin.write(b"".join(request))
            self.process.stdin.flush()
        except BrokenPipeError:
            return []
        self._wait_for_answer(limit_s)
        return [int(word) for word in self.process.stdout.readline().split()]

    def _wait_for_answer(self, limit_s: float) -> None:
        """Wait until there is an answer. Kills the process after limit_s, or after a ^C."""
        until_s = time.monotonic() + limit_s
        answer = select.poll()
        answer.register(self.process.stdout, select.POLLIN)
        while not answer.poll(min(LOOK_S, max(until_s - time.monotonic(), 0)) * 1000):
            if stopped.is_set() or time.monotonic() >= until_s:
                self.process.kill()

    def trial(self, args: str, puts: Sequence[Put] = (), limit_s: float = math.inf) -> Trial:
        """Make a trial. Returns its status, console and cost.

        args: the boot arguments, with charged_ns. Raises TwinDied if the process ends, or
        after limit_s of the host's time. A trial that panics or ends by a signal is no error.
        """
        answer = self._request_trial(args, puts, limit_s)
        console = self.process.stdout.read(answer[1]) if answer else b""
        if not answer or len(console) < answer[1]:
            self.process.wait()
            self.errors.seek(0)
            raise TwinDied(self.errors.read().decode(errors="replace").strip() or "it was killed")
        status, _, cpu_us, faults = answer
        return Trial(status, console.decode(errors="replace"), cpu_us / 1e6, faults)
