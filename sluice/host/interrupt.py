"""End a command after ^C or on a full disk, with a line that says what is kept, and without a
traceback.

- The first ^C unwinds the command, which removes what it has begun, and its status is 130. A second
  ^C kills it.
- A disk on which nothing more can be written ends it in the same way, with status 1.
- A terminal that cannot show what is printed, or that is closed, ends nothing (printing.py).
"""

import errno
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.resource_tracker import ensure_running

from sluice.host import printing

INTERRUPT = {signal.SIGINT}
STATUS = 128 + signal.SIGINT  # the status that a shell reports for a program that ^C ended
NOTHING = "nothing was done"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)  # nothing more can be written
stopped = threading.Event()  # for threads that wait for a program: ^C was typed


def handle_first_interrupt(number: int, frame: object) -> None:
    """Handle the first ^C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    stopped.set()
    raise KeyboardInterrupt


@contextmanager
def delay_interrupt() -> Iterator[None]:
    """Delay ^C until the end of the context. Processes and threads that start in the
    context receive no ^C."""
    ensure_running()  # multiprocessing's helper, whose start would let ^C through again
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)


def describe_full(error: OSError) -> str:
    """Return which file could not be written, and why; "" if the error is another one."""
    if isinstance(error, shutil.Error):  # the copying of a folder: (from, to, why) of each file
        whys = [(to, str(why)) for _, to, why in error.args[0]]
        found = [
            f"{to}: {os.strerror(n)}" for n in FULL for to, why in whys if f"[Errno {n}]" in why
        ]
        return found[0] if found else ""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror}" if error.errno in FULL else ""


def run_interruptible(main: Callable[[], int | None], kept: str = NOTHING) -> int:
    """Run a command. Returns its exit status.

    kept: what is printed after ^C, or when the disk is full. An exception's own text comes before
    it; an OSError has that as a note.
    """
    printing.protect_output()
    signal.signal(signal.SIGINT, handle_first_interrupt)
    try:
        status = main() or 0
    except KeyboardInterrupt as stop:
        print(f"\nstopped: {str(stop) or kept}", file=sys.stderr)
        return STATUS
    except OSError as error:
        full = describe_full(error)
        if not full:
            raise
        told = getattr(error, "__notes__", [kept])[0]
        print(f"stopped: {full}; {told}", file=sys.stderr)
        return 1
    if lost := printing.output_trouble():
        print(f"the output is not whole: {lost}", file=sys.stderr)
        return status or 1
    return status
