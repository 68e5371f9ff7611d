"""sluice replay: a trace of a real disk under many policies, by the twin."""

import math
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sluice.cli import options
from sluice.cli.verb import verb
from sluice.cli.verbs.sweep import GOES_ON, SWEEP
from sluice.cli.verbs.trace import BadLines, Columns, Format, TimeUnit

WAYS, LOOPS, MOST_INFLIGHT = ("refuse", "pack", "fold"), ("open", "closed"), 256


def check_scale(text: str) -> str:
    """Return a number above 0, as 2, 0.5 or 1e-3."""
    try:
        good = 0 < float(text) < math.inf
    except ValueError:
        good = False
    if not good:
        raise typer.BadParameter(f"{text}: must be a number above 0, as 2, 0.5 or 1e-3")
    return text


@verb(
    SWEEP,
    "sluice replay hm_0.csv.gz --policies 'replace=lru|arc' --cache '10, 25'",
    GOES_ON,
)
def replay(
    trace: Annotated[
        Path,
        typer.Argument(
            **options.existing_path("TRACE", "A file of any format that --format names.")
        ),
    ],
    format: Format = "",
    columns: Columns = "",
    time_unit: TimeUnit = "",
    bad_lines: BadLines = "",
    policies: Annotated[
        str,
        typer.Option(
            metavar="POLICIES",
            help="Policies to try, each with each: 'replace=lru|arc, sched=clook|sluice'; "
            "without it, every policy in the place of the usual one of its kind.",
        ),
    ] = "",
    cache: Annotated[
        str,
        typer.Option(
            metavar="PERCENTS",
            help="Sizes of the cache in percent of the blocks that the trace reads, as '10, 25'; "
            "without it, 4,096 buffers.",
        ),
    ] = "",
    drive: options.Drive = "cheetah4lp",
    scale: Annotated[
        str,
        typer.Option(
            metavar="NUMBER",
            help="How many times as fast requests come.",
            callback=options.value_callback(check_scale),
        ),
    ] = "1",
    count: options.Count = None,
    fit: Annotated[
        str,
        typer.Option(
            **options.one_word("way", WAYS, "What happens if the trace reaches beyond the drive.")
        ),
    ] = "refuse",
    loop: Annotated[
        str,
        typer.Option(
            metavar="|".join(LOOPS),
            help="Keep the trace's times, or send a request when one is done.",
            show_default="open if the format has times",
            **options.completes("loop", lambda: LOOPS),
        ),
    ] = "",
    inflight: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=1,
            max=MOST_INFLIGHT,
            help="How many requests are under way at once, at most.",
            show_default="64; 1 if the format has no times",
        ),
    ] = None,
    metrics: options.Metrics = "trace.mean_ms, trace.p99_ms",
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
    folder: options.Folder = None,
) -> int:
    """Replay a trace of a real disk under many policies, by the twin, and draw their Pareto
    front."""
    from sluice.experiment import commandline
    from sluice.sweep import trace_replay
    from sluice.sweep.journal import FOLDER
    from sluice.sweep.ranges import BadSweep
    from sluice.trace import reader
    from sluice.trace.errors import BadTraceFile
    from sluice.trace.words import format_word

    def make() -> bool:
        word = format_word(format, columns, time_unit, bad_lines)
        print("\n".join(reader.describe_format(trace, word)), flush=True)
        asked = trace_replay.ReplayRequest(
            trace, word, policies, cache, drive, scale, count, fit, loop, inflight, metrics, jobs,
            scheduler, folder or FOLDER,
        )  # fmt: skip
        return trace_replay.execute(asked)

    describe = partial(trace_replay.describe_error, path=trace)
    return commandline.exit_status(make, (BadTraceFile, BadSweep), describe)
