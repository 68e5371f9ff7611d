"""Stop a machine that will not end: it is stuck, far too slow, or floods its console.

In virtual time the clock jumps over times in which nothing computes. So a machine is stuck if for
IDLE_S it has neither used the host's processor, nor waited for the processor or for a disk of the
host: all its processes wait, and no timer runs. On a busy or slow host a machine waits for the
processor, so it is not stuck. A time in which this program itself was stopped (^Z) does not count.
"""

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sluice.host.limits import HANG_S

IDLE_S = 10
LOOK_S = 1
BUSY = "RD"  # states of a thread: runs or would run, waits for a disk


def process_activity(pid: int) -> tuple[int, bool]:
    """Return a process's processor time in clock ticks, and True if one of its threads is busy.

    A thread is busy if it runs, could run, or waits for a disk. Returns (0, False) for a process
    that has ended. Source: proc(5), stat.
    """
    ticks, busy = 0, False
    try:
        threads = list(Path(f"/proc/{pid}/task").glob("*/stat"))
    except OSError:  # the process ended while its folder was being opened
        return 0, False
    for thread in threads:
        try:
            fields = thread.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
        busy |= fields[0] in BUSY
    return ticks, busy


@dataclass
class Watch:
    """The state of a watched process. `stopped` says why it was stopped; empty if it was not."""

    process: subprocess.Popen[bytes]
    full: Callable[[], bool]  # returns True once the console is full
    over: threading.Event = field(default_factory=threading.Event)
    stopped: str = ""
    of_host: str = ""  # the same words if no kernel can be the cause; otherwise empty

    def watch_process(self) -> None:
        """Check the process every LOOK_S until it is over, and kill it if it will not end."""
        # Seconds of watching so far, and the same number when the machine last computed.
        looked_s = moved_s = 0.0
        last_s, seen = time.monotonic(), -1
        while not self.over.wait(LOOK_S):
            now_s, (used, busy) = time.monotonic(), process_activity(self.process.pid)
            looked_s, last_s = looked_s + min(now_s - last_s, 2 * LOOK_S), now_s
            if busy or used != seen:
                seen, moved_s = used, looked_s
            if looked_s - moved_s >= IDLE_S:
                self.stopped = (
                    "it was stuck: all processes wait, and nothing that could wake them comes"
                )
            elif looked_s >= HANG_S:
                self.stopped = self.of_host = f"a machine was not done after {HANG_S} s"
            elif self.full():
                self.stopped = "it flooded the console"
            if self.stopped:
                self.process.kill()
                return


@contextmanager
def watch_in_context(
    process: subprocess.Popen[bytes], full: Callable[[], bool] = bool
) -> Iterator[Watch]:
    """Enter a context in which a process is watched.

    full: returns True when its console is full.
    """
    watch = Watch(process, full)
    thread = threading.Thread(target=watch.watch_process, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.over.set()
        thread.join()
