"""How far a command is that makes runs: a bar on a terminal, else a line for each run."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from grade.measure.runner import Report, Step


def step_line(step: Step) -> str:
    """One run, for a log."""
    name = f"{step.run.experiment} {step.run.name}"
    if step.error:
        return f"FAILED {name}"
    return f"{name}: " + ("there already" if step.resumed else f"{step.host_s:.1f} s")


@contextmanager
def reporting(what: str, total: int) -> Iterator[Report]:
    """Show how far it is: a bar on a terminal, else a line for each run."""
    console = Console()
    if not console.is_terminal:
        yield lambda step: print(step_line(step), flush=True)
        return
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)

        def report(step: Step) -> None:
            if step.resumed:  # took no time: no ground to estimate from
                progress.update(task, total=progress.tasks[task].total - 1)
                return
            progress.advance(task)

        yield report
