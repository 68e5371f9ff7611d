"""What tests have started ends with the process that runs the tests, however that process ends.

A test ends its programs itself. A worker that is killed cannot do so, and its programs may have
started others (`make qemu-gdb` starts QEMU), which would run for ever. So each process of pytest
has a watcher: a process that waits for the end of that process, and then kills all processes whose
environment has the same mark. Every program that a test starts inherits the mark.
"""

import os
import select
import signal
import sys
import uuid
from contextlib import suppress
from pathlib import Path

MARKS = "SLUICE_TEST_MARKS"  # the marks of the processes of pytest above, the outermost first


def end_with_this_process() -> None:
    """Mark what this process starts from now on. All of it is killed when this process has ended.
    Where the system has no such numbers of processes (Linux has), nothing is marked."""
    if not hasattr(os, "pidfd_open"):
        return
    # What starts later inherits the mark in its environment. A process that outlives this one finds
    # the marked processes by it.
    mark = uuid.uuid4().hex
    env = {name: value for name, value in os.environ.items() if name != MARKS}
    nowhere = [(os.POSIX_SPAWN_OPEN, file, os.devnull, os.O_RDWR, 0) for file in range(3)]
    line = [sys.executable, "-S", __file__, str(os.getpid()), mark]
    os.posix_spawn(sys.executable, line, env, file_actions=nowhere, setsid=True)
    os.environ[MARKS] = f"{os.environ.get(MARKS, '')} {mark}".strip()


def open_marked(number: int, mark: str) -> int | None:
    """Return a file that stands for a process, or None if the process has no such mark."""
    file = -1
    with suppress(OSError):  # it has ended, or is another user's
        file = os.pidfd_open(number)
        if mark.encode() in Path(f"/proc/{number}/environ").read_bytes():
            return file
    if file >= 0:
        os.close(file)
    return None


def end_marked(mark: str) -> None:
    """Kill all processes that have the mark, and those that these start meanwhile."""
    while True:
        numbers = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        found = [file for number in numbers if (file := open_marked(number, mark)) is not None]
        if not found:
            return
        for file in found:
            with suppress(OSError):
                signal.pidfd_send_signal(file, signal.SIGKILL)
        for file in found:
            select.select([file], [], [])  # it has ended
            os.close(file)


def watch(number: int, mark: str) -> None:
    """Wait for the end of a process, the parent of this one, and end what it has started."""
    with suppress(ProcessLookupError):
        file = os.pidfd_open(number)
        if os.getppid() == number:
            select.select([file], [], [])
    end_marked(mark)


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2])
