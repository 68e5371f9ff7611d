"""sluice run: boot, do some commands of Sluice's shell, and power off."""

import re
from typing import Annotated

import typer

from sluice.cli import options
from sluice.cli.verb import Needs, verb

LEAST_MIB, MOST_MIB = 32, 8192


def check_memory(text: str) -> str:
    """Return an amount of memory that a machine can have, as 128M or 2G."""
    found = re.fullmatch(r"([1-9]\d{0,3})([MG])", text)
    mib = int(found[1]) * (1024 if found[2] == "G" else 1) if found else 0
    if not LEAST_MIB <= mib <= MOST_MIB:
        raise typer.BadParameter(f"{text}: must be memory from 32M to 8G")
    return text


def check_commands(text: str) -> str:
    """Return commands of Sluice's shell, of which there is one at least."""
    if not text.strip(" ;\t\n"):
        raise typer.BadParameter("give a command of Sluice's shell")
    return text


@verb(
    Needs(("machine", "python")),
    "sluice run 'iostat ls; sync'",
    "the machine was stopped",
)
def run(
    commands: Annotated[
        str,
        typer.Argument(
            metavar="COMMANDS",
            help="Commands of Sluice's shell.",
            callback=options.value_callback(check_commands),
        ),
    ],
    args: Annotated[
        str, typer.Option(metavar="ARGS", help="Boot arguments, as 'sched=fcfs nbuf=1000'.")
    ] = "",
    memory: Annotated[
        str,
        typer.Option(
            metavar="32M..8G",
            help="The machine's memory.",
            callback=options.value_callback(check_memory),
        ),
    ] = "128M",
    disk_mib: Annotated[
        int, typer.Option(metavar="MIB", min=1, help="Size of the root disk in MiB.")
    ] = 64,
) -> int:
    """Boot in virtual time, do the commands and power off. Prints the same figures each time."""
    from sluice.system import one_boot

    return one_boot.execute(commands, args, memory, disk_mib)
