"""The exit status of a command that loads experiments or makes runs.

Such a command ends through exit_status(), which prints what was wrong.
"""

import sys
from collections.abc import Callable

from sluice.experiment.result import BadResult
from sluice.experiment.run import RunFailed
from sluice.experiment.runner import OtherTree
from sluice.experiment.schema import BadExperiment
from sluice.host.out import BadOut
from sluice.host.workers import NoWorkers

WRONG = (BadExperiment, BadOut, BadResult, NoWorkers, OtherTree)


def exit_status(
    do: Callable[[], bool],
    wrong: tuple[type[Exception], ...] = (),
    describe: Callable[[Exception], object] = str,
) -> int:
    """Run a command. Returns its exit status: 0 if `do` returns true, 1 if it returns false or
    raises RunFailed, 2 if it raises one of WRONG or `wrong`. The exception's text, made by
    `describe`, goes to stderr."""
    refused: tuple[type[Exception], ...] = (RunFailed, *WRONG, *wrong)
    try:
        return 0 if do() else 1
    except refused as error:
        print(describe(error), file=sys.stderr)
        return 1 if isinstance(error, RunFailed) else 2
