"""A resident twin: one process that makes many trials (resident.h).

It has read the disks once. A trial says with which boot arguments it is made, and which bytes of
the disks differ. What it does to memory and disks is gone when it ends.

A resident ends with the thread that started it (die_with_parent), and any thread may use it. So all
residents of a process are started by one thread, which ends with the process.
"""

import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType

from sluice.system.guest import Guest
from sluice.system.qemu import die_with_parent
from sluice.twin.engine import COSTS, PROGRAMS, TWIN


class TwinDied(Exception):
    """The resident twin has ended; the text is what it said."""


@dataclass(frozen=True)
class Put:
    """Bytes of a disk: its number, and where in it they are."""

    disk: int
    at: int
    data: bytes


@dataclass(frozen=True)
class Trial:
    """A trial that has ended: exit status (negative: a signal), console, and what it cost the host
    in seconds of processor and in page faults."""

    status: int
    console: str
    cpu_s: float
    faults: int


@cache
def starter(_: int) -> ThreadPoolExecutor:
    """The thread that starts the residents of the process with this number. A child that is forked
    has another number, and none of its parent's threads."""
    return ThreadPoolExecutor(1, "starts residents")


class Resident:
    """A process that makes trials on these disks, one at a time. A context manager that ends it.

    guest: memory with the disks in it; it may be closed after the first trial. trace: a file in
    which each trial leaves its trace, as trace.read takes it.
    """

    def __init__(self, guest: Guest, costs: Path | None = COSTS, trace: Path | None = None) -> None:
        self.places = list(guest.places)
        self.table = guest.argument()
        line = [str(TWIN), "-p", str(PROGRAMS), "-r", str(self.places[0][0])]
        line += ["-c", str(costs)] if costs else []
        line += ["-t", str(trace)] if trace else []
        self.line = [*line, "-m", str(guest.path)]

    def __enter__(self) -> "Resident":
        self.errors = tempfile.TemporaryFile()  # what it says
        try:
            self.process = starter(os.getpid()).submit(self._started).result()
        except BaseException:
            self.errors.close()
            raise
        return self

    def _started(self) -> subprocess.Popen:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        return subprocess.Popen(self.line, preexec_fn=die_with_parent, **pipes)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it at once, with a trial that it is making. Safe to call twice."""
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):  # of a request that it has not read; the pipe is closed
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def _ask(self, args: str, cpu_shift: int, puts: Sequence[Put]) -> list[int]:
        """Send a trial's request. Returns the numbers of the answer, once it has ended."""
        request = [f"{len(puts)} {cpu_shift} {args} {self.table}\n".encode()]
        for put in puts:
            request.append(f"{self.places[put.disk][0] + put.at} {len(put.data)}\n".encode())
            request.append(put.data)
        try:
            self.process.stdin.write(b"".join(request))
            self.process.stdin.flush()
        except BrokenPipeError:
            return []
        return [int(word) for word in self.process.stdout.readline().split()]

    def trial(
        self, args: str, cpu_shift: int, puts: Sequence[Put] = (), limit_s: float | None = None
    ) -> Trial:
        """Make a trial. cpu_shift: an instruction takes 2^this ns.

        Raises TwinDied if the process ends, or after limit_s of the host's time; a trial that
        panics or ends by a signal is no error.
        """
        watch = threading.Timer(limit_s, self.process.kill) if limit_s else None
        if watch:
            watch.start()
        try:
            answer = self._ask(args, cpu_shift, puts)
            console = self.process.stdout.read(answer[1]) if answer else b""
        finally:
            if watch:
                watch.cancel()
        if not answer or len(console) < answer[1]:
            self.process.wait()
            self.errors.seek(0)
            raise TwinDied(self.errors.read().decode(errors="replace").strip() or "it was killed")
        status, _, cpu_us, faults = answer
        return Trial(status, console.decode(errors="replace"), cpu_us / 1e6, faults)
