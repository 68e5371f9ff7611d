"""^C at a command: the command ends with status 130 and says what is kept, without a traceback.

The first ^C unwinds the command, which removes what it has begun. A second one kills it.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.resource_tracker import ensure_running

INTERRUPT = {signal.SIGINT}
STATUS = 128 + signal.SIGINT  # what a shell says of a program that ^C ended
NOTHING = "nothing was done"
stopped = threading.Event()  # for threads that wait for a program: ^C was typed


def first(number: int, frame: object) -> None:
    """Handle the first ^C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    stopped.set()
    raise KeyboardInterrupt


@contextmanager
def held_back() -> Iterator[None]:
    """Delay a ^C until the end of the context. Processes and threads begun in it get none."""
    ensure_running()  # multiprocessing's helper, whose start would let ^C through again
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)


def stoppable(main: Callable[[], int | None], kept: str = NOTHING) -> int:
    """Run a command. Returns its exit status. kept: the line after ^C, unless the exception has
    one."""
    signal.signal(signal.SIGINT, first)
    try:
        return main() or 0
    except KeyboardInterrupt as stop:
        print(f"\nstopped: {str(stop) or kept}", file=sys.stderr)
        return STATUS
