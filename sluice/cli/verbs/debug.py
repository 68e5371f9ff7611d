"""sluice debug: make a run again and stop it at one instant, in gdb.

The run is one of an experiment, or one that `sluice lab grade` has made. `sluice lab recheck` makes
a whole grade again.
"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.status_line import show_step
from sluice.cli.verb import GRADING, LESS, WHOLE, Needs, verb

if TYPE_CHECKING:
    from grade.engine.rerun import Remade
    from sluice.debug.stored_run import Kept


def needs_of_debug(values: dict[str, Any]) -> Needs:
    """Return what is needed to make a run again; an experiment's needs no twin."""
    snapshot = WHOLE if values.get("graded") else LESS
    return Needs(("grade", "gdb"), ("all", *GRADING), snapshot)


def check_one(values: dict[str, Any]) -> None:
    """Raise BadParameter unless either an experiment or a graded run is named."""
    if bool(values["name"]) == bool(values["graded"]):
        raise typer.BadParameter("give either an experiment, or the folder of a graded run")
    options.check_run(values)


def load_run(
    name: str, size: str, number: int | None, folder: Path, engine: str = options.MACHINE
) -> "Kept":
    """Return a run of an experiment with its trace. engine: what makes the run, if its trace is not
    kept. Raises BadExperiment and RunFailed."""
    from sluice.debug.stored_run import find_or_record
    from sluice.experiment.load import load
    from sluice.experiment.selection import choose_engine, find_experiment_file, select_run

    experiment = choose_engine(load(find_experiment_file(name), size), engine)
    run = select_run(experiment, number)
    with show_step(f"{run.experiment} run {run.number}, {run.name} ..."):
        return find_or_record(run, folder)


def expect_one_machine(name: str, size: str) -> None:
    """Raise BadExperiment if an experiment's runs have a server, too."""
    from sluice.experiment.load import load
    from sluice.experiment.schema import BadExperiment
    from sluice.experiment.selection import find_experiment_file

    if "server" in load(find_experiment_file(name), size).runs[0].config:
        raise BadExperiment(
            f"{name}: gdb stops one machine, and these runs have two: `sluice why {name}` and "
            f"`sluice theatre {name}` show both"
        )


def load_graded(folder: Path) -> "Remade":
    """Return a graded run, to be made again. Raises BadExperiment if that cannot be done."""
    from sluice.experiment.schema import BadExperiment
    from sluice.host.paths import CLONE

    if not CLONE:
        raise BadExperiment(
            "a graded run is made again in a clone: an installed package has no labs"
        )
    from grade.engine import rerun

    try:
        return rerun.read_run(folder)
    except rerun.NoRerun as error:
        raise BadExperiment(str(error)) from None


@verb(
    needs_of_debug,
    "sluice debug mogul-4.1-fast --size quick --run 11 --at read:longest",
    "the machine was ended; the run's trace is kept",
    check_one,
)
def debug(
    name: options.ExperimentName = "",
    run: options.Run = None,
    size: options.Size = options.FULL,
    at: Annotated[
        str,
        typer.Option(
            metavar="INSTANT",
            help="Where it stops: a time as 12.345s, read:longest, read:17 or event:48211.",
        ),
    ] = "read:longest",
    do: options.GdbCommands = None,
    gdb_options: Annotated[
        str, typer.Option(metavar="OPTIONS", help="Options of an editor for the gdb it opens.")
    ] = "",
    graded: Annotated[
        Path | None,
        typer.Option(
            **options.existing_path(
                "FOLDER", "The folder of a run that was graded, instead of an experiment's."
            )
        ),
    ] = None,
    folder: options.Folder = None,
) -> int:
    """Make a run again and stop it at one instant, in gdb."""
    from sluice.debug import stop
    from sluice.debug.instant import BadInstant, find
    from sluice.experiment.files import FOLDER
    from sluice.experiment.run import RunFailed
    from sluice.experiment.schema import BadExperiment

    commands = None if do is None else [command.strip() for command in do.split(";")]
    try:
        if not graded:
            expect_one_machine(name, size)
        kept: Any = load_graded(graded) if graded else load_run(name, size, run, folder or FOLDER)
        return stop.debug(kept, find(kept, at), commands, shlex.split(gdb_options))
    except (BadExperiment, BadInstant, stop.Differs, RunFailed) as error:
        print(error, file=sys.stderr)
        return 1 if isinstance(error, stop.Differs | RunFailed) else 2
