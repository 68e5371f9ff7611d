"""sluice replay: a trace of a real disk under many policies."""

import math
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import Values, verb
from sluice.cli.verbs.sweep import GOES_ON, SWEEP
from sluice.cli.verbs.trace import BadLines, Columns, Format, TimeUnit, Warmup

WAYS, LOOPS = ("refuse", "pack", "fold"), ("open", "closed")
BLOCKS, FILES = "blocks", "files"
# The most requests under way at once, and the options that only one of the two ways has.
MOST_INFLIGHT = {BLOCKS: 1 << 16, FILES: 256}
ONLY = {"fit": FILES, "metrics": FILES} | dict.fromkeys(
    ("out", "hours", "warmup", "optimum", "intervals", "memory"), BLOCKS
)
METRICS = "trace.mean_ms, trace.p99_ms"


def check_scale(text: str) -> str:
    """Return a number above 0, as 2, 0.5 or 1e-3."""
    try:
        good = 0 < float(text) < math.inf
    except ValueError:
        good = False
    if not good:
        raise typer.BadParameter(f"{text}: must be a number above 0, as 2, 0.5 or 1e-3")
    return text


def check_memory(text: str) -> str:
    """Return a size, as 2G or 500M."""
    if not re.fullmatch(r"[1-9][0-9]*[KMG]", text):
        raise typer.BadParameter(f"{text}: must be a size, as 2G or 500M")
    return text


def check_way(values: Values) -> None:
    """Raise BadParameter if an option was given that the chosen way does not have."""
    way, inflight = values["through"], values["inflight"]
    for name, only in ONLY.items():
        if values[name] and way != only:
            raise typer.BadParameter(f"only with --through {only}", param_hint=f"--{name}")
    if values["memory"] and values["scheduler"]:
        raise typer.BadParameter("only without --scheduler", param_hint="--memory")
    if inflight and inflight > MOST_INFLIGHT[way]:
        raise typer.BadParameter(
            f"{inflight}: must be 1 to {MOST_INFLIGHT[way]} with --through {way}",
            param_hint="--inflight",
        )


@verb(
    SWEEP,
    "sluice replay hm_0.csv.gz --policies 'lru|arc|lirs' --sizes '10, 25'",
    GOES_ON,
    check_way,
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
            help="Policies to try, each kind with each: 'lru|arc, sched=clook|sluice'; without it, "
            "every replace policy.",
        ),
    ] = "",
    sizes: Annotated[
        str,
        typer.Option(
            "--sizes",
            "--cache",
            metavar="PERCENTS",
            help="Sizes of the cache in percent of the blocks that the trace touches.",
            show_default="1, 5, 10",
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
            show_default="64; 1 if the format has no times",
            **options.number(
                "How many requests are under way at once, at most.", 1, max(MOST_INFLIGHT.values())
            ),
        ),
    ] = None,
    warmup: Warmup = "",
    optimum: Annotated[
        bool,
        typer.Option(
            "--optimum", help="Also say what the drive would take with the optimum's misses."
        ),
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Print 95 % intervals, too.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            **options.output_file("A file for all figures and their intervals, .csv or .parquet.")
        ),
    ] = None,
    hours: Annotated[
        Path | None,
        typer.Option(
            **options.output_file(
                "A file for the figures of each hour of the trace, .csv or .parquet."
            )
        ),
    ] = None,
    jobs: options.Jobs = options.JOBS,
    memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Memory that replays under way may take together, as 2G.",
            show_default="what this computer has available",
            callback=options.value_callback(check_memory),
        ),
    ] = "",
    scheduler: options.Scheduler = "",
    folder: options.NewFolder = None,
    through: Annotated[
        str,
        typer.Option(
            **options.one_word(
                "way",
                (BLOCKS, FILES),
                "What requests go to: blocks of a disk as large as the trace needs, or files of a "
                "file system in a machine, as a sweep with a page.",
            )
        ),
    ] = BLOCKS,
    fit: Annotated[
        str,
        typer.Option(
            metavar="|".join(WAYS),
            show_default="refuse",
            help="With files: what happens if the trace reaches beyond the drive.",
            **options.completes("way", lambda: WAYS),
        ),
    ] = "",
    metrics: Annotated[
        str,
        typer.Option(
            metavar="METRICS", show_default=METRICS, help="With files: what is to be less."
        ),
    ] = "",
) -> int:
    """Replay a trace of a real disk under many policies: their hits and response times, at several
    sizes of the cache."""
    given = dict(locals())
    return replay_files(given) if through == FILES else replay_blocks(given)


def tell_format(given: dict[str, Any]) -> str:
    """Print what the trace is read as. Returns the word for its format. Raises BadTraceFile."""
    from sluice.host.printing import print_filled
    from sluice.trace import reader
    from sluice.trace.format_words import format_word

    word = format_word(given["format"], given["columns"], given["time_unit"], given["bad_lines"])
    print_filled(reader.describe_format(given["trace"], word))
    return word


def replay_blocks(given: dict[str, Any]) -> int:
    """Replay a trace on the blocks of a disk. Returns the exit status."""
    from sluice.blocks.batch import FOLDER
    from sluice.blocks.miss_curve import CurveFailed
    from sluice.blocks.replayer import ReplayFailed
    from sluice.experiment import commandline
    from sluice.sweep import block_replay
    from sluice.sweep.ranges import BadSweep
    from sluice.trace.errors import BadTraceFile

    def make() -> bool:
        """Make the replay that was asked for. Returns whether all of it succeeded."""
        names = ["trace", "policies", "sizes", "drive", "count", "inflight", "jobs"]
        names += ["memory", "scheduler", "warmup", "optimum", "intervals", "out", "hours"]
        asked = block_replay.BlockReplay(
            **{name: given[name] for name in names},
            format=tell_format(given),
            scale=float(given["scale"]),
            closed=given["loop"] == "closed" if given["loop"] else None,
            folder=given["folder"] or FOLDER,
        )
        return block_replay.execute(asked)

    errors = (BadTraceFile, BadSweep, ReplayFailed, CurveFailed)
    return commandline.exit_status(make, errors, block_replay.describe_error)


def replay_files(given: dict[str, Any]) -> int:
    """Replay a trace in files of a file system, by the twin. Returns the exit status."""
    from sluice.experiment import commandline
    from sluice.sweep import trace_replay
    from sluice.sweep.journal import FOLDER
    from sluice.sweep.ranges import BadSweep
    from sluice.trace.errors import BadTraceFile

    def make() -> bool:
        """Make the replay that was asked for. Returns whether all of it succeeded."""
        names = ("trace", "policies", "drive", "scale", "count", "loop", "inflight", "jobs")
        asked = trace_replay.ReplayRequest(
            **{name: given[name] for name in (*names, "scheduler")},
            format=tell_format(given),
            cache=given["sizes"],
            fit=given["fit"] or WAYS[0],
            metrics=given["metrics"] or METRICS,
            folder=given["folder"] or FOLDER,
        )
        return trace_replay.execute(asked)

    describe = partial(trace_replay.describe_error, path=given["trace"])
    return commandline.exit_status(make, (BadTraceFile, BadSweep), describe)
