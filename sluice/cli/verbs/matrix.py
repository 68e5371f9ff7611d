"""sluice dev matrix: where the replacement policy with the fewest misses is not the quickest."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import verb
from sluice.cli.verbs.sweep import GOES_ON, SWEEP


def check_loads(values: dict[str, Any]) -> None:
    """Raise BadParameter if there is no load."""
    if not values["traces"] and not values["names"]:
        raise typer.BadParameter("give an experiment, or a trace with --trace")


@verb(SWEEP, "sluice dev matrix --trace a.csv.gz --cache '10, 25'", GOES_ON, check_loads)
def matrix(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT...",
            help="Experiments: names, beginnings of names, files or folders.",
            callback=options.value_callback(
                lambda names: [options.check_experiments(n) for n in names]
            ),
            autocompletion=options.beginning(options.experiments),
        ),
    ] = None,
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="PATH",
            help="A trace; may be given several times.",
            callback=options.value_callback(
                lambda paths: [str(options.existing(Path(p))) for p in paths]
            ),
        ),
    ] = None,
    cache: Annotated[
        str,
        typer.Option(
            metavar="PERCENTS", help="Sizes of the cache in percent of the blocks a trace reads."
        ),
    ] = "10, 25, 50",
    others: Annotated[
        str,
        typer.Option(
            "--with", metavar="POLICIES", help="Policies of other kinds: 'prefetch=none|ondemand'."
        ),
    ] = "",
    drive: options.Drive = "cheetah4lp",
    count: options.Count = None,
    out: options.Out = None,
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
    folder: options.NewFolder = None,
) -> int:
    """Find where the replacement policy with the fewest misses loses in milliseconds. Writes a
    table, its figures and a picture."""
    from sluice.experiment import commandline
    from sluice.sweep import matrix as matrices
    from sluice.sweep.journal import FOLDER
    from sluice.sweep.ranges import BadSweep
    from sluice.trace.errors import BadTraceFile

    asked = matrices.MatrixRequest(
        names or [], [Path(one) for one in traces or []], cache, others, drive, count,
        out or matrices.OUT, jobs, scheduler, folder or FOLDER,
    )  # fmt: skip
    return commandline.exit_status(
        lambda: matrices.execute(asked), (BadTraceFile, BadSweep), matrices.describe_error
    )
