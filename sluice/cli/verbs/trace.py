"""sluice trace: look at a trace, ask for its miss ratios, and make one."""

from pathlib import Path
from typing import Annotated

import typer

from sluice.cli import options
from sluice.cli.verb import NONE, Needs, verb

OF_TRACES = Needs(("sweep",), (), NONE)
OF_CURVES = Needs(("sweep",), ("twin",))
MOST_SEED = (1 << 63) - 1
REQUESTS = 11_233_411  # sluice/trace/generate.py


def formats() -> list[str]:
    """Return the formats of traces."""
    return options.modules("trace/formats")


TraceFile = Annotated[
    Path, typer.Argument(**options.existing_path("TRACE", "A file of a trace, packed or not."))
]
Format = Annotated[
    str,
    typer.Option(
        metavar="FORMAT",
        help=f"The trace's format, if the file does not tell: {', '.join(formats())}.",
        **options.completes("format", formats),
    ),
]
Columns = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="The columns of a CSV or Parquet file: time,op,offset,size, or "
        "time=ts,write=is_write,sector=lba,sectors=3,disk=dev.",
    ),
]
TimeUnit = Annotated[
    str,
    typer.Option(
        metavar="s|ms|us|ns|ps|100ns|10ms",
        help="The unit of the times, where the format leaves it open.",
        show_default="guessed, and told",
    ),
]
BadLines = Annotated[
    str,
    typer.Option(
        metavar="SHARE",
        help="How many of the lines may be left out because they cannot be read, as 0.1%.",
        show_default="none",
    ),
]


Warmup = Annotated[
    str,
    typer.Option(
        metavar="REQUESTS|SHARE|TIME",
        help="What fills the cache before anything counts: 10000, 10% or 24h.",
    ),
]


@verb(OF_TRACES, "sluice trace look hm_0.csv.gz")
def look(
    trace: TraceFile,
    format: Format = "",
    columns: Columns = "",
    time_unit: TimeUnit = "",
    bad_lines: BadLines = "",
    count: options.Count = None,
) -> int:
    """Say what format a trace has, and what is in it: its requests, sizes, disks and times."""
    from sluice.experiment import commandline
    from sluice.experiment.trace_disk import show_passed
    from sluice.host.printing import print_filled
    from sluice.trace import look as looking
    from sluice.trace import reader
    from sluice.trace.errors import BadTraceFile
    from sluice.trace.format_words import format_word

    def show() -> bool:
        """Print the trace's format, and what is in it."""
        word = format_word(format, columns, time_unit, bad_lines)
        print_filled(reader.describe_format(trace, word))
        with show_passed(f"reading {trace.name}", "requests") as seen:
            lines = looking.look(trace, word, count, seen)
        print_filled(lines)
        return True

    return commandline.exit_status(show, (BadTraceFile,))


@verb(OF_CURVES, "sluice trace curve hm_0.csv.gz --sample 0.01 --exact", "nothing was made")
def curve(
    trace: TraceFile,
    format: Format = "",
    columns: Columns = "",
    time_unit: TimeUnit = "",
    bad_lines: BadLines = "",
    count: options.Count = None,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="PERCENTS",
            help="Sizes of the table, in percent of the blocks that the trace touches.",
            show_default="0.1 to 100",
        ),
    ] = "",
    warmup: Warmup = "",
    sample: Annotated[
        str,
        typer.Option(
            metavar="RATE|BLOCKS",
            help="Sample the blocks with a rate, as 0.01, or so many of them, as 8192.",
        ),
    ] = "",
    exact: Annotated[
        bool, typer.Option("--exact", help="Make the exact curve beside that of a sample.")
    ] = False,
    no_optimum: Annotated[
        bool, typer.Option("--no-optimum", help="Leave Belady's optimum out.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(**options.output_file("A file for the curves, .csv or .parquet.")),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(**options.output_file("A file for the picture, .svg.")),
    ] = None,
    folder: options.NewFolder = None,
) -> int:
    """Print the miss ratios of a trace by the cache's size: LRU's, exact or sampled, and the
    optimum's."""
    from sluice.blocks.batch import FOLDER
    from sluice.blocks.miss_curve import CurveFailed
    from sluice.experiment import commandline
    from sluice.host.printing import print_filled
    from sluice.sweep import curve as curves
    from sluice.sweep.ranges import BadSweep
    from sluice.trace import reader
    from sluice.trace.errors import BadTraceFile
    from sluice.trace.format_words import format_word

    def make() -> bool:
        """Make the curves, their files and their picture."""
        word = format_word(format, columns, time_unit, bad_lines)
        print_filled(reader.describe_format(trace, word))
        return curves.execute(
            curves.CurveRequest(
                trace, word, count, sizes, warmup, sample, exact, not no_optimum, out, picture,
                folder or FOLDER,
            )
        )  # fmt: skip

    return commandline.exit_status(make, (BadTraceFile, BadSweep, CurveFailed))


@verb(OF_TRACES, "sluice trace generate week.csv.zst", "nothing was made")
def generate(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to be made; .gz, .bz2, .xz or .zst at its end says how it is packed.",
            callback=options.value_callback(options.replaceable_file),
        ),
    ],
    requests: Annotated[
        int, typer.Option(**options.count_of("How many requests the week has."))
    ] = REQUESTS,
    seed: Annotated[int, typer.Option(**options.number("Which week is drawn.", 0, MOST_SEED))] = 1,
) -> int:
    """Make a trace of a week of one server, with the figures of prn_1 of MSR Cambridge, and in
    that trace's format."""
    from sluice.experiment import commandline
    from sluice.experiment.trace_disk import show_passed
    from sluice.trace import generate as generating
    from sluice.trace.errors import BadTraceFile

    def make() -> bool:
        """Write the trace, and print where."""
        with show_passed(f"writing {out.name}", "requests") as seen:
            generating.write_trace(out, requests, seed, seen)
        print(out)
        return True

    return commandline.exit_status(make, (BadTraceFile,))
