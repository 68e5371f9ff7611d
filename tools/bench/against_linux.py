"""`make bench LINUX=1`: the speeds of Sluice and of a Linux guest, and their ratios."""

import argparse
import sys

from sluice.host.interrupt import stoppable
from tools.bench import beside
from tools.bench.debian import Missing


def main() -> int:
    """Measure both. The exit status is 1 where Linux is not to be had."""
    options = argparse.ArgumentParser(prog="make bench LINUX=1", description=__doc__)
    options.add_argument("--rounds", type=int, default=5, help="how often each line is measured")
    try:
        beside.show(options.parse_args().rounds)
    except Missing as why:
        print(f"no Linux guest: {why}; nothing was measured", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(stoppable(main, "nothing was measured; what has been fetched is kept"))
