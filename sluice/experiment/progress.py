"""The progress of a command that makes runs: a bar on a terminal, otherwise a line for each run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sluice.experiment.runner import Report, Step


def counted(count: int, what: str) -> str:
    """A number of things: "1 run", "2 runs"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def step_line(step: Step) -> str:
    """A line about one run, for a log."""
    name = f"{step.run.experiment} {step.run.name}"
    if step.error:
        return f"FAILED {name}"
    return f"{name}: " + ("made before" if step.resumed else f"{step.host_s:.1f} s")


def bar(console: Console) -> Progress:
    """A bar on the terminal, which disappears when it is full."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True)


@contextmanager
def reporting(what: str, total: int) -> Iterator[Report]:
    """Show how many of the runs are done."""
    console = Console()
    if not console.is_terminal:
        yield lambda step: print(step_line(step), flush=True)
        return
    with bar(console) as progress:
        task = progress.add_task(what, total=total)

        def report(step: Step) -> None:
            if step.resumed:  # it took no time, so the estimate must not count it
                progress.update(task, total=progress.tasks[task].total - 1)
                return
            progress.advance(task)

        yield report


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show on a terminal how many of `total` things are done. Call the result for each of them."""
    console = Console()
    if not console.is_terminal:
        yield lambda: None
        return
    with bar(console) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)
