"""Gives each machine in virtual time a processor of its own.

QEMU's threads share a lock that is not fair. If two of them run on two processors, the one that
polls a device's register (a console that accepts no more) keeps the other from the lock for ever.
On one processor they take turns. Where a device of QEMU moves a disk's data, one processor is also
faster: to wake a thread there is a context switch, and to wake it on a sleeping processor takes an
interrupt, which made such a run take twice as long. So a machine takes a processor that no other
machine has, in this program or another. If all are taken, it runs on any of them.

A lock is the name of an abstract Unix socket (unix(7)). It belongs to the machine as long as a
process has the socket open, and leaves nothing behind.
"""

import os
import socket

NAME = "\0sluice processor {}"


def claim_processor() -> tuple[set[int], socket.socket | None]:
    """Return the processors to run on, and a lock: one free processor with its lock, or all
    processors of this thread and None."""
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


def bind_to_processors(processors: set[int]) -> None:
    """Bind this child, before exec, to these processors, without preemption of a thread when
    another wakes up."""
    os.sched_setaffinity(0, processors)
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
