"""`make book`: build the book as a site in build/book/, which opens offline.

FULL=1 first measures what the book shows, as `make results` does. JOBS= is the number of runs at a
time.
"""

import argparse
import subprocess
import sys

from book.ext import build, inventory
from book.ext.build import BOOK, BadBook
from sluice.experiment import commandline
from sluice.host.interrupt import stoppable
from sluice.host.paths import ROOT


def stored(name: str, jobs: int) -> int:
    """Make the runs of an experiment and store their results. Returns the exit status of `make
    results`; if a signal ended it, what a shell says: 128 and the signal."""
    line = [sys.executable, "-m", "sluice.cli.results", f"--jobs={jobs}", "--", name]
    status = subprocess.run(line).returncode
    return status if status >= 0 else 128 - status


def measure(jobs: int) -> int:
    """Store the results of all experiments. Returns 0; 1 if something was not as expected; or the
    exit status of an experiment that could not be measured, the last one."""
    unexpected = []
    for one in inventory.experiments():
        status = stored(one.name, jobs)
        if status > 1:
            why = f"signal {status - 128} ended it" if status > 128 else "see above"
            print(f"make book: {one.name} could not be measured: {why}", file=sys.stderr)
            return status
        unexpected += [one.name] if status else []
    if unexpected:
        names = ", ".join(unexpected)
        print(f"make book: an expectation failed in {names}: see above", file=sys.stderr)
    return 1 if unexpected else 0


def make(choice: argparse.Namespace) -> int:
    """Build the book, after measuring if that was asked for. Returns the exit status."""
    status = measure(choice.jobs) if choice.full else 0
    if status > 1:
        return status
    try:
        build.build_alone()
    except BadBook as error:
        print(f"make book: the book was not built:\n{error}", file=sys.stderr)
        return 1
    print(f"the book: {BOOK.relative_to(ROOT)}/index.html")
    return status


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make book", description=__doc__)
    options.add_argument("--full", action="store_true", help="measure first")
    commandline.add_jobs(options)
    choice = options.parse_args()
    return make(choice)


if __name__ == "__main__":
    sys.exit(stoppable(main, "the book that was there is unchanged"))
