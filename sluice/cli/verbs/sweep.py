"""sluice sweep: measure an experiment over any numbers that it depends on, by the twin."""

from typing import Annotated

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, Needs, verb

WAYS = ("grid", "random", "quasi", "search")
SWEEP = Needs(("sweep",), ("all", "twin", *DRIVES))
GOES_ON = "all runs so far are kept; the same command goes on from there"


@verb(
    SWEEP,
    "sluice sweep mogul-4.1-fast --size quick --over 'nbuf=256..4096:5' --metrics read.mean_ms",
    GOES_ON,
    options.check_size,
)
def sweep(
    name: options.ExperimentName,
    over: Annotated[
        str,
        typer.Option(
            metavar="RANGES",
            help="What is varied: 'nbuf=256..4096:5:log, sluice.free=50..95, arm=a|b'.",
        ),
    ] = "",
    how: Annotated[
        str,
        typer.Option(
            **options.one_word(
                "way",
                WAYS,
                "Which points: all, random ones, evenly spread ones, or those of a search.",
            )
        ),
    ] = "grid",
    points: Annotated[
        int | None, typer.Option(**options.count_of("How many points; not for a grid."))
    ] = None,
    metrics: options.Metrics = "",
    size: options.Size = options.FULL,
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
    folder: options.NewFolder = None,
) -> int:
    """Measure an experiment over numbers that it depends on, by the twin. Writes a table in Parquet
    and a page, and prints the best points."""
    from sluice.experiment import commandline
    from sluice.sweep import request
    from sluice.sweep.journal import FOLDER
    from sluice.sweep.ranges import BadSweep

    asked = request.SweepRequest(
        name, over, how, points, metrics, size, jobs, scheduler, folder or FOLDER
    )
    return commandline.exit_status(lambda: request.execute(asked), (BadSweep,))
