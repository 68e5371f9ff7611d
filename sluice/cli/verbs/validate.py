"""sluice validate repeat: compare the results of several ways to make runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, Needs, verb

QUICK = "quick"


def program(word: str) -> str:
    """Return a program's path, absolute, or its name, which is looked up in PATH."""
    return str(options.absolute(Path(word))) if "/" in word else word


def programs(words: list[str]) -> list[str]:
    """Return the paths or names of several programs."""
    return [program(word) for word in words]


def describe_failure(error: Exception) -> str:
    """Return what was wrong; of a program that cannot be started, its name first."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def check_repeat(values: dict[str, Any]) -> None:
    """Raise BadParameter if there is no such size, or the page is to show a part of the runs."""
    options.check_size(values)
    if values["page"] and values["draw"]:
        raise typer.BadParameter("the page shows whole experiments", param_hint="--draw")


@verb(
    Needs(("run",), ("all", *DRIVES, "twin")),
    "sluice validate repeat mogul-4.1-fast --size quick",
    "runs that are done are kept in build/repeat; the same command goes on",
    check_repeat,
)
def repeat(
    name: options.ExperimentsName = options.ALL,
    size: options.Size = QUICK,
    qemu: Annotated[
        list[str],
        typer.Option(
            metavar="PROGRAM",
            help="Another QEMU, a path or a program; tools/other_qemu.sh fetches one.",
            callback=options.value_callback(programs),
        ),
    ] = [],  # noqa: B006
    compiler: Annotated[
        list[str],
        typer.Option(
            metavar="PREFIX",
            help="Another compiler, as riscv64-unknown-elf-; tools/other_compiler.sh fetches one.",
            callback=options.value_callback(programs),
        ),
    ] = [],  # noqa: B006
    twin: Annotated[bool, typer.Option(help="Compare the twin, too.")] = True,
    page: Annotated[
        bool, typer.Option("--page", help="Put how far compilers move times into the book's page.")
    ] = False,
    draw: Annotated[
        int,
        typer.Option(**options.number("Make so many runs of each experiment, drawn by --seed.")),
    ] = 0,
    seed: Annotated[int, typer.Option(**options.number("The seed of the drawn runs."))] = 1,
    jobs: options.Jobs = options.JOBS,
    folder: options.NewFolder = None,
) -> int:
    """Make experiments with two engines, and with other QEMUs and compilers, and compare all bytes
    of the results."""
    from subprocess import CalledProcessError

    from sluice.experiment import commandline
    from sluice.experiment import repeat as ways
    from sluice.experiment.selection import load_experiments

    def compare_ways() -> bool:
        """Make the experiments in each of the chosen ways, and compare the results."""
        chosen = ways.choose_ways(qemu, compiler, twin)
        experiments = load_experiments(name, size)
        drawn = ways.Draw(draw, seed)
        return ways.execute(experiments, chosen, folder or ways.FOLDER, jobs, page, drawn)

    return commandline.exit_status(compare_ways, (OSError, CalledProcessError), describe_failure)
