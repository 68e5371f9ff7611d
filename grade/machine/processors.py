"""A processor of its own for a machine in virtual time.

At each timer and each command of a disk one of QEMU's threads hands over to another and
waits. On one processor that is a switch; between two it is an interrupt to one that sleeps,
which was measured to make a run take twice as long. So a machine takes a processor that no
other has, here or in another program, and has its threads go by turns there. Without one
to take it goes wherever there is room.

A lock is the name of an abstract Unix socket (unix(7)): it is the machine's as long as a
process has the socket open, and leaves nothing behind.
"""

import os
import socket

NAME = "\0sluice processor {}"


def take() -> tuple[set[int], socket.socket | None]:
    """The processors to go on: one, with its lock, or all of this thread's."""
    allowed = os.sched_getaffinity(0)
    for processor in sorted(allowed):
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(NAME.format(processor))
        except OSError:
            lock.close()
        else:
            return {processor}, lock
    return allowed, None


def go_by_turns(processors: set[int]) -> None:
    """In the child, before exec: go on these, and do not push a thread aside on waking."""
    os.sched_setaffinity(0, processors)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
