"""Shows on a terminal what a verb is doing, in a line that disappears; elsewhere nothing.

It loads nothing, so that gdb's prompt is there soon; a bar is in sluice/experiment/progress.py.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_step(words: str) -> Iterator[Callable[[str], None]]:
    """Show a line on standard error until the end of the context. Yields the function that replaces
    its words."""
    if not sys.stderr.isatty():
        yield lambda words: None
        return

    def show(words: str) -> None:
        """Replace the words of the line."""
        print(f"\033[K{words}", end="\r", file=sys.stderr, flush=True)

    show(words)
    try:
        yield show
    finally:
        show("")
