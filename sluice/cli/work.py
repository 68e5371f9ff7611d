"""Does the work of a verb whose command line has been read: python -m sluice.cli.work HOME VALUES.

HOME is MODULE:FUNCTION, and VALUES are as sluice/cli/verb.py writes them. This is how a verb runs
on a snapshot of the tree; nobody types it.
"""

import importlib
import sys
from functools import partial

from sluice.cli.verb import read
from sluice.host.interrupt import run_interruptible


def main(home: str, values: str) -> int:
    """Run a verb. Returns its exit status."""
    module, _, name = home.partition(":")
    function = getattr(importlib.import_module(module), name)
    return run_interruptible(partial(function, **read(values)), function.about.kept)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
