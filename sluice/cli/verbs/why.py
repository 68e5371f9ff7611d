"""sluice why: what a read of an experiment's run waited for."""

from pathlib import Path
from typing import Annotated

import typer

from sluice.cli import options
from sluice.cli.verb import DRIVES, Needs, needs_of_engine, verb


def explain(
    name: str, number: int | None, size: str, which: str, folder: Path, engine: str
) -> bool:
    """Print what a read waited for, and how to see it. Returns true."""
    from sluice.cli.verbs.debug import load_run
    from sluice.debug.chain import Explainer
    from sluice.debug.instant import event_numbers, read_number, reads
    from sluice.debug.narrative import explain_read, explain_remote_read
    from sluice.debug.remote import RemoteExplainer
    from sluice.experiment.selection import find_experiment_file
    from sluice.experiment.service import is_remote

    kept = load_run(name, size, number, folder, engine)
    place = read_number(kept, which)
    read = reads(kept)[place - 1]
    chosen = "" if size == options.FULL else f" --size={size}"
    run = f"{find_experiment_file(name).stem}{chosen} --run={kept.run.number}"
    if is_remote(kept.run, read.disk):
        print(explain_remote_read(RemoteExplainer(kept), place, read))
        print(f"\nTo see both machines on one axis: sluice theatre {run}")
        return True
    print(explain_read(Explainer(kept), place, read))
    event = event_numbers(kept, read)["queued"]
    print(f"\nTo see the machine when it is queued: sluice debug {run} --at=event:{event}")
    return True


@verb(
    needs_of_engine(Needs(("run",), ("all", *DRIVES))),
    "sluice why mogul-4.1-fast --size quick --run 11 --read longest",
    "the run's trace is kept, if it was made",
    options.check_run,
)
def why(
    name: options.ExperimentName,
    run: options.Run = None,
    size: options.Size = options.FULL,
    read: Annotated[
        str,
        typer.Option(
            metavar="READ",
            help="Which read: longest, its number, or a time as 12.345s at which it waits.",
        ),
    ] = "longest",
    folder: options.Folder = None,
    engine: options.Engine = options.MACHINE,
) -> int:
    """Say what a read waited for, in milliseconds that add up to its response time."""
    from sluice.debug.instant import BadInstant
    from sluice.experiment import commandline
    from sluice.experiment.files import FOLDER

    return commandline.exit_status(
        lambda: explain(name, run, size, read, folder or FOLDER, engine), (BadInstant,)
    )
