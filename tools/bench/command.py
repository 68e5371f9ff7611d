"""`make bench`: the system's speeds, then the promised speeds, each with its target."""

import argparse
import sys

from sluice.host.interrupt import stoppable
from tools.bench import real_time, targets


def main() -> None:
    """Measure both, and print each table when it is done."""
    options = argparse.ArgumentParser(prog="make bench", description=__doc__)
    options.add_argument("--repeats", type=int, default=5, help="boots for each measurement")
    choice = options.parse_args()
    real_time.show(choice.repeats)
    targets.show()


if __name__ == "__main__":
    sys.exit(stoppable(main, "tables that are not printed above are lost"))
