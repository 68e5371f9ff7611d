"""Stops a machine that will not end by itself: one that is stuck, or slow beyond all reason.

In virtual time the clock jumps over what nobody computes in. So a machine that has not used
the host's processor for IDLE_S is one in which everybody waits and no timer runs.
"""

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

IDLE_S = 10
WALL_S = 300
LOOK_S = 1


def ticks(pid: int) -> int:
    """How long a process has computed, in ticks of the host; see proc(5), stat. 0: it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


@dataclass
class Watch:
    """What is seen of a process; `stopped` says why it was stopped, if it was."""

    process: subprocess.Popen
    over: threading.Event = field(default_factory=threading.Event)
    stopped: str = ""

    def look(self) -> None:
        """Look now and then, until it is over."""
        began_s = moved_s = time.monotonic()
        seen = -1
        while not self.over.wait(LOOK_S):
            now_s, used = time.monotonic(), ticks(self.process.pid)
            if used != seen:
                seen, moved_s = used, now_s
            if now_s - moved_s >= IDLE_S:
                self.stopped = "it was stuck: all waited for what could not come"
            elif now_s - began_s >= WALL_S:
                self.stopped = f"it was not done after {WALL_S} s"
            if self.stopped:
                self.process.kill()
                return


@contextmanager
def watched(process: subprocess.Popen) -> Iterator[Watch]:
    """Watch a process while it is waited for here."""
    watch = Watch(process)
    thread = threading.Thread(target=watch.look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.over.set()
        thread.join()
