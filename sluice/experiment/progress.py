"""Shows the progress of a command: a bar on a terminal, otherwise a line for each run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from sluice.experiment.runner import Report, Step


def format_count(count: int, what: str) -> str:
    """Return a number of things: "1 run", "2 runs"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def step_line(step: Step) -> str:
    """Return a line about one run, for a log."""
    name = f"{step.run.experiment} {step.run.name}"
    if step.error:
        return f"FAILED {name}"
    return f"{name}: " + ("made before" if step.resumed else f"{step.host_s:.1f} s")


def progress_bar(console: Console) -> Progress:
    """Return a progress bar for the terminal, which disappears when it is full."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True)


@contextmanager
def show_steps(what: str, total: int) -> Iterator[Report]:
    """Show how many of the runs are done. Yields the function to call with each step."""
    console = Console()
    if not console.is_terminal:
        yield lambda step: print(step_line(step), flush=True)
        return
    with progress_bar(console) as progress:
        task = progress.add_task(what, total=total)

        def report(step: Step) -> None:
            """Advance the bar by one run. A run that was made before shortens it instead."""
            if step.resumed:  # it took no time, so the estimate must not count it
                progress.update(task, total=(progress.tasks[task].total or 1) - 1)
                return
            progress.advance(task)

        yield report


@contextmanager
def show_count(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show on a terminal how many of `total` things are done. Yields the function to call for each
    of them."""
    console = Console()
    if not console.is_terminal:
        yield lambda: None
        return
    with progress_bar(console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


@contextmanager
def show_activity(what: str) -> Iterator[None]:
    """Show on a terminal that work goes on whose steps cannot be counted, and for how long."""
    console = Console()
    if not console.is_terminal:
        yield
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield
