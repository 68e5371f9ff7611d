"""`sluice book`: build the book as a site in build/book/, which opens offline.

With --full it first measures what the book shows, as `sluice results store` does.
"""

import json
import subprocess
import sys

from book.ext import build, inventory
from book.ext.build import BOOK, BadBook
from sluice.experiment.progress import show_activity
from sluice.host.paths import ROOT

STORE = "sluice.cli.verbs.results:store"  # the verb `sluice results store`


def store_experiment(name: str, jobs: int) -> int:
    """Make the runs of an experiment and store their results.

    Returns the exit status of `sluice results store`; if a signal ended it, 128 and the
    signal, as a shell does.
    """
    values = {"name": name, "jobs": jobs}
    line = [sys.executable, "-m", "sluice.cli.work", STORE, json.dumps(values)]
    status = subprocess.run(line).returncode
    return status if status >= 0 else 128 - status


def store_all(jobs: int) -> int:
    """Store the results of all experiments.

    Returns 0; or 1 if an expectation failed; or the exit status of an experiment that could not be
    measured, after which no other is measured.
    """
    unexpected = []
    for one in inventory.list_experiments():
        status = store_experiment(one.name, jobs)
        if status > 1:
            why = f"signal {status - 128} ended it" if status > 128 else "see above"
            print(f"sluice book: {one.name} could not be measured: {why}", file=sys.stderr)
            return status
        unexpected += [one.name] if status else []
    if unexpected:
        names = ", ".join(unexpected)
        print(f"sluice book: an expectation failed in {names}: see above", file=sys.stderr)
    return 1 if unexpected else 0


def make_book(full: bool, jobs: int) -> int:
    """Build the book. full: measure first. jobs: runs at a time. Returns the exit status."""
    status = store_all(jobs) if full else 0
    if status > 1:
        return status
    try:
        with show_activity("building the book"):
            build.build_in_own_folder()
    except BadBook as error:
        print(f"sluice book: the book was not built:\n{error}", file=sys.stderr)
        return 1
    print(f"the book: {BOOK.relative_to(ROOT)}/index.html")
    return status
