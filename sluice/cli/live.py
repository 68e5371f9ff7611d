"""`make live`: write a page with the kernel in it, compiled to WebAssembly.

In the page a person chooses policies, tunables, a drive and a load, and sees at once what they do.
The page is one file and opens offline.
"""

import sys

from sluice.experiment.files import FOLDER, write_whole
from sluice.host.interrupt import stoppable
from sluice.host.paths import BUILD
from sluice.wasm.assembled import assembled


def main() -> int:
    """Returns the exit status."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    out = BUILD / "live" / "index.html"
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, assembled())
    print(f"live: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(stoppable(main, "no page was written"))
