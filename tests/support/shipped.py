"""Load the experiments of this tree, each once in a process.

Loading all of them takes seconds, and several tests need all. These tests belong to one group of
pytest-xdist, GROUP, and so run in one worker. They must not change the experiments.
"""

from functools import cache
from pathlib import Path

from sluice.experiment.load import FULL, load
from sluice.experiment.schema import Experiment

GROUP = "all experiments"


@cache
def of_size(path: Path, size: str) -> Experiment:
    """Return the experiment in a file, in a size. Raises BadExperiment."""
    return load(path, size)


def load_once(path: Path, size: str = FULL) -> Experiment:
    """Return the experiment in a file, in a size. Raises BadExperiment.

    This function passes the size on to the cached function: if it were cached itself, a call
    without a size and a call with FULL would be two entries of the cache.
    """
    return of_size(path, size)
