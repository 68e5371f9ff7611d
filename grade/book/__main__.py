"""`make book`: build the book as a site in build/book/, which opens offline.

With --full (FULL=1) what it shows is measured anew first, as `make results` does.
"""

import argparse
import os
import subprocess
import sys

from grade.book import build, source


def measure(jobs: int) -> int:
    """Make the runs of all experiments that the book shows and store their results."""
    for name in [one.name for one in source.experiments()]:
        done = subprocess.run([sys.executable, "-m", "grade.results", f"--jobs={jobs}", "--", name])
        if done.returncode:
            print(f"make book: {name} could not be measured", file=sys.stderr)
            return done.returncode
    return 0


def main() -> int:
    options = argparse.ArgumentParser(prog="make book", description=__doc__)
    options.add_argument("--full", action="store_true", help="measure anew first")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time")
    choice = options.parse_args()
    try:
        failed = measure(choice.jobs) if choice.full else 0
    except KeyboardInterrupt:
        print("\nmake book: stopped; results that are stored stay", file=sys.stderr)
        return 130
    return failed or build.main()


if __name__ == "__main__":
    sys.exit(main())
