"""A host whose processors have other work."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOOPS = 2


@contextmanager
def busy_host() -> Iterator[None]:
    """Run programs that keep the host's cores from QEMU."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
