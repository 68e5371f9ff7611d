"""`make replay E=` or RUN=: make a run again and stop it at one instant, in gdb.

E= names an experiment, SIZE= its size, and N= the run; or RUN= is the folder of a run that `make
grade` has made. AT= is the instant: a time of the machine's
clock as 12.345s, read:longest, read:17 or event:48211. DO= are commands of gdb, separated by `;`,
after which it ends; without them, gdb waits for yours.

(`make replay CERTIFICATE=` makes a grade again: grade/cli/labs.py. Both make again what was
made, and compare.)
"""

import argparse
import shlex
import sys
from pathlib import Path

from grade.engine import rerun
from grade.engine.rerun import NoReplay
from sluice.cli.export import BadChoice, choose_run, experiment_file
from sluice.debug.instant import BadInstant, find
from sluice.debug.stop import Differs, debug
from sluice.debug.stored_run import Kept, keep
from sluice.experiment import commandline
from sluice.experiment.load import FULL, load
from sluice.experiment.run import RunFailed
from sluice.experiment.schema import BadExperiment
from sluice.host.interrupt import stoppable


def options(goal: str, about: str | None) -> argparse.ArgumentParser:
    """The command line of a goal that is about one run."""
    parser = argparse.ArgumentParser(prog=f"make {goal}", description=about)
    parser.add_argument("name", nargs="?", help="an experiment, or the beginning of its name")
    parser.add_argument("--run", type=int, help="the number of a run")
    parser.add_argument("--size", default=FULL, help="a size that the experiment has")
    commandline.add_folder(parser)
    return parser


def chosen(choice: argparse.Namespace, number: int | None) -> Kept:
    """The run that the command line means, with its trace."""
    experiment = load(experiment_file(choice.name), choice.size)
    run = choose_run(experiment, number)
    if not sys.stderr.isatty():
        return keep(run, choice.folder)
    print(f"{run.experiment} run {run.number}, {run.name} ...", end="\r", file=sys.stderr)
    kept = keep(run, choice.folder)
    print("\033[K", end="", file=sys.stderr)
    return kept


def main() -> int:
    """Returns the exit status: 2 for a wrong choice, 1 if the run failed or differs."""
    parser = options("replay", __doc__)
    parser.add_argument("--at", default="read:longest", help="the instant")
    parser.add_argument("--do", help="commands of gdb, separated by ;")
    parser.add_argument("--gdb-options", default="", help="of an editor, for the gdb that it opens")
    parser.add_argument("--graded", type=Path, help="the folder of a graded run")
    choice = parser.parse_args()
    commands = None if choice.do is None else [c.strip() for c in choice.do.split(";")]
    try:
        kept = rerun.read(choice.graded) if choice.graded else chosen(choice, choice.run)
        return debug(kept, find(kept, choice.at), commands, shlex.split(choice.gdb_options))
    except (BadChoice, BadExperiment, BadInstant, Differs, NoReplay, RunFailed) as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, Differs | RunFailed) else 2


if __name__ == "__main__":
    sys.exit(stoppable(main, "the machine was ended; the run's trace is kept"))
