"""sluice experiment run, list, report: make an experiment's runs, and show the results."""

from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, NONE, RUNS, Needs, verb

DEFAULT = "mogul-4.1"  # the beginning of the names that are run if none is given
REPORT = Needs(("report",), ("all", *DRIVES), RUNS)
MACHINE = "machine"


def needs_of(values: dict[str, Any]) -> Needs:
    """Return what is needed to make runs. The twin is built even if no run turns out to be its."""
    return REPORT.adding("twin") if values.get("engine") != MACHINE else REPORT


@verb(
    needs_of,
    "sluice experiment run mogul-4.1-fast --size quick",
    check=options.check_size,
)
def run(
    name: options.ExperimentsName = DEFAULT,
    run: options.Run = None,
    size: options.Size = "",
    engine: options.AnyEngine = "auto",
    policy: Annotated[
        str,
        typer.Option(
            "--with",
            metavar="POLICY",
            help="One more policy, which is measured beside those of the experiment.",
            **options.completes("policy", options.policies),
        ),
    ] = "",
    jobs: options.Jobs = options.JOBS,
    scheduler: options.Scheduler = "",
    folder: options.NewFolder = None,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Print the figures, and write no page.")
    ] = False,
) -> int:
    """Make an experiment's runs, show its results and write its report. Runs that have been made
    are not made again. Without a size: full, and quick for all."""
    from sluice.experiment import commandline
    from sluice.experiment.files import FOLDER
    from sluice.experiment.selection import choose_engine, load_experiments
    from sluice.report.session import Request, make_experiments

    def run_asked() -> bool:
        """Make the runs of the experiments that are named."""
        loaded = load_experiments(name, size or None, policy)
        asked = [choose_engine(experiment, engine) for experiment in loaded]
        request = Request(run, jobs, scheduler, folder or FOLDER, with_report=not no_report)
        return make_experiments(asked, request)

    return commandline.exit_status(run_asked)


def needs_of_list(values: dict[str, Any]) -> Needs:
    """Return what is needed to list runs; experiments are listed from their files."""
    return REPORT if values["name"] else Needs(("report",), (), NONE)


@verb(needs_of_list, "sluice experiment list mogul-4.1-fast --size quick", check=options.check_size)
def list_(name: options.ExperimentsName = "", size: options.Size = "") -> int:
    """List the experiments, each with what it claims; or the runs of some, with their numbers."""
    from sluice.experiment import commandline
    from sluice.experiment.selection import list_experiments, list_runs, load_experiments

    def show() -> bool:
        """Print the experiments, or the runs of those that are named."""
        if not name:
            list_experiments()
        for experiment in load_experiments(name, size or None) if name else []:
            list_runs(experiment)
        return True

    return commandline.exit_status(show)


@verb(
    REPORT,
    "sluice experiment report mogul-4.1-fast --size quick",
    "the reports named above are written; the results are as before",
    options.check_size,
)
def report(
    name: options.ExperimentsName = DEFAULT,
    size: options.Size = "",
    folder: options.Folder = None,
) -> int:
    """Write the report of results that have been made; for several experiments, their comparison
    too."""
    from sluice.experiment import commandline
    from sluice.experiment.files import FOLDER
    from sluice.experiment.selection import load_experiments
    from sluice.report.session import write_reports

    return commandline.exit_status(
        lambda: write_reports(load_experiments(name, size or None), folder or FOLDER)
    )
