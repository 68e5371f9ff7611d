"""sluice export: a run's trace as files for other tools."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, Needs, verb

if TYPE_CHECKING:
    from sluice.export.recording import Recording


def list_formats() -> list[str]:
    """Return the formats of files that a trace is exported to, and `all`."""
    return [*options.modules("export/formats"), options.ALL]


def check_export(values: dict[str, Any]) -> None:
    """Raise BadParameter if there is nothing to export."""
    if not values["name"] and not values["list_"]:
        raise typer.BadParameter("give an experiment; --list lists them")
    check = options.check_size if values["list_"] else options.check_run
    check(values)


def describe_recording(recording: "Recording") -> str:
    """Return lines that say what was recorded."""
    run, seconds = recording.run, (recording.end_ns - recording.start_ns) / 1e9
    lines = [
        f"{run.experiment} run {run.number}, {run.name}: "
        f"{len(recording.requests)} requests in {seconds:.1f} s of virtual time"
    ]
    if recording.unfinished:
        lines.append(
            f"{recording.unfinished} more requests were not finished at its end, and are left out"
        )
    if recording.lost:
        lines.append(
            f"{recording.lost} events were overwritten by newer ones, so the beginning may be "
            "missing: raise trace_k in [machine] of the experiment's file"
        )
    return "\n".join(lines)


def print_formats() -> bool:
    """Print the formats and the experiments. Returns true."""
    from sluice.experiment.aligned import format_table
    from sluice.experiment.load import load
    from sluice.export.writing import find_formats
    from sluice.host.experiments import experiment_files

    rows = [[name, module.ABOUT] for name, module in find_formats().items()]
    print("\n".join(format_table(rows, heads=0, words=(1,))))
    for path in experiment_files():
        print(f"{path.stem}: {len(load(path).runs)} runs")
    return True


def print_runs(name: str, size: str) -> bool:
    """Print the runs of an experiment. Returns true."""
    from sluice.experiment.load import load
    from sluice.experiment.selection import find_experiment_file, list_runs

    list_runs(load(find_experiment_file(name), size))
    return True


def export_run(
    name: str, number: int | None, size: str, format: str, out: Path | None, folder: Path
) -> bool:
    """Make a run and write its trace as files. Returns true."""
    from sluice.experiment.load import load
    from sluice.experiment.progress import show_activity
    from sluice.experiment.selection import find_experiment_file, select_run
    from sluice.export.recording import repeat_and_record
    from sluice.export.writing import find_formats, write_files
    from sluice.host.out import expect_folder
    from sluice.host.paths import BUILD

    experiment = load(find_experiment_file(name), size)
    formats = find_formats()
    chosen = formats if format == options.ALL else {format: formats[format]}
    run = select_run(experiment, number)
    out = out or BUILD / "exports" / f"{experiment.name}-{run.number:03}"
    expect_folder(out)
    with show_activity(f"{run.experiment} run {run.number}, {run.name}"):
        recording = repeat_and_record(run, folder)
    lines = write_files(recording, chosen, out)
    print(describe_recording(recording))
    print("\n".join([f"in {out}:", *lines]))
    return True


@verb(
    Needs(("run",), ("all", *DRIVES)),
    "sluice export mogul-4.1-fast --size quick --run 11 --format csv",
    "no file was written",
    check_export,
)
def export(
    name: options.ExperimentName = "",
    run: options.Run = None,
    size: options.Size = options.FULL,
    format: Annotated[
        str,
        typer.Option(
            metavar="|".join(list_formats()),
            help="The format of the files.",
            **options.completes("format", list_formats),
        ),
    ] = options.ALL,
    out: options.Out = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List formats and experiments, or an experiment's runs.")
    ] = False,
    folder: options.Folder = None,
) -> int:
    """Write a run's trace as files for other tools."""
    from sluice.experiment import commandline
    from sluice.experiment.files import FOLDER

    def list_or_export() -> bool:
        """Print what there is to export, if asked to, or export a run."""
        if list_:
            return print_runs(name, size) if name else print_formats()
        return export_run(name, run, size, format, out, folder or FOLDER)

    return commandline.exit_status(list_or_export)
