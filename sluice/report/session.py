"""Make experiments: their runs, their printed results, and their reports.

- Each experiment's results are printed when its own runs are done. Meanwhile a separate process
  draws the reports.
- After ^C, and on a full disk, a message says which results are kept. The same command then
  continues, because runs that have a result are not made again.
"""

import pickle
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from sluice.experiment import expect, findings, result, runner, summary
from sluice.experiment.files import FOLDER
from sluice.experiment.progress import format_count, show_count, show_steps
from sluice.experiment.run import UNDER_WAY
from sluice.experiment.runner import Outcome
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import select_runs
from sluice.experiment.verdict import NOT_SO, Verdict
from sluice.host.interrupt import INTERRUPT, delay_interrupt
from sluice.host.scratch import scratch_folder
from sluice.report.comparison.write import has_results, write_comparison
from sluice.report.write import write_report

Judged = tuple[Experiment, list[Verdict]]


@dataclass(frozen=True)
class Request:
    """Which runs are made, and how. run: the number of the only run."""

    run: int | None = None
    jobs: int = 1
    scheduler: str = ""
    folder: Path = FOLDER
    with_report: bool = True


@dataclass(frozen=True)
class Drawer:
    """A process that draws pages. What it is to draw goes through files of a folder.

    A long argument would go through a pipe. If ^C ended the process before it had read all of the
    argument, the thread that writes would block for ever, and Python 3.11 waits for that thread.
    """

    process: Executor
    folder: Path

    def draw(self, draw: Callable[..., Path], *what: object) -> Future[Path]:
        """Let the process draw a page.

        Returns a future of the page's path. The first call starts the process, and no ^C may
        interrupt the start.
        """
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            pickle.dump((draw, what), file)
        with delay_interrupt():
            return self.process.submit(draw_page, Path(file.name))


def draw_page(path: Path) -> Path:
    """Draw what a file of Drawer.draw says, and remove the file. Returns the page's path."""
    draw, what = pickle.loads(path.read_bytes())
    path.unlink()
    page: Path = draw(*what)
    return page


@contextmanager
def drawing_process() -> Iterator[Drawer]:
    """Yield a process that draws pages, so that this one can go on to start runs. ^C ends it
    silently."""
    with (
        scratch_folder(UNDER_WAY) as folder,
        ProcessPoolExecutor(1, get_context("spawn"), end_silently) as process,
    ):
        try:
            yield Drawer(process, folder)
        except BaseException:
            process.shutdown(wait=False, cancel_futures=True)
            raise


def end_silently() -> None:
    """Let ^C end the process that draws. It gets no ^C until this call."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)


def print_results(experiment: Experiment, outcome: Outcome, folder: Path) -> list[Verdict]:
    """Print the results. Returns the verdicts on them."""
    print(f"\n{summary.summary_text(experiment, outcome.results)}\n")
    for name, error in outcome.errors.items():
        print(f"FAILED {name}: {error}")
    failed = f", {len(outcome.errors)} failed" if outcome.errors else ""
    where = f"; results in {folder / 'results.jsonl'}" if outcome.results else ""
    print(f"{format_count(outcome.made, 'run')} made{failed}{where}", flush=True)
    return expect.judge_experiment(experiment, outcome.results)


def print_findings(judged: list[Judged], asked: int) -> None:
    """Print how many findings of each paper agree with ours, and which expectations are not met.
    asked: how many experiments there are, of which some may not be done."""
    verdicts = [verdict for _, of_one in judged for verdict in of_one]
    lines = findings.format_findings(findings.verdict_findings(verdicts))
    failed = [(one, v) for one, of_one in judged for v in of_one if v.is_failed]
    lines += [f"{NOT_SO}  {one.name}: {verdict.says}" for one, verdict in failed]
    if any(one.is_approximate for one, _ in failed):
        lines.append("The twin's times are a little off there: leave --engine=twin away to be sure")
    if lines and len(judged) < asked:
        lines.append(f"these are of {len(judged)} of {asked} experiments")
    if lines:
        print("\n" + "\n".join(lines), flush=True)


def print_pages(experiments: list[Experiment], pages: list[Future[Path]]) -> None:
    """Print the path of each page when it is written: reports, and the comparison of all."""
    with show_count("reports", len(pages)) as count:
        for page in pages:
            kind = "comparison" if len(experiments) > 1 and page is pages[-1] else "report"
            print(f"{kind}: {page.result()}", flush=True)
            count()


def make_runs(
    experiments: list[Experiment], request: Request
) -> Generator[tuple[Experiment, Outcome], None, None]:
    """Make the runs. Yields each experiment when its own runs are done."""
    asked = [(experiment, select_runs(experiment, request.run)) for experiment in experiments]
    runs = sum(len(only) for _, only in asked)
    what = experiments[0].name if len(experiments) == 1 else f"{len(experiments)} experiments"
    with (
        show_steps(what, runs) as report,
        closing(
            runner.execute_all(asked, request.jobs, report, request.folder, request.scheduler)
        ) as outcomes,
    ):
        yield from zip(experiments, outcomes, strict=True)


def make_and_print(experiments: list[Experiment], request: Request) -> bool:
    """Make the runs and print each experiment's results.

    Returns true if no run failed, and each failed expectation has an explanation.
    """
    judged: list[Judged] = []
    pages, failed = [], []
    try:
        with drawing_process() as drawer, closing(make_runs(experiments, request)) as outcomes:
            for experiment, outcome in outcomes:
                folder = request.folder / experiment.name
                judged.append((experiment, print_results(experiment, outcome, folder)))
                failed += [f"FAILED {name}: {error}" for name, error in outcome.errors.items()]
                if outcome.results and request.with_report:
                    pages.append(drawer.draw(write_report, experiment, outcome.results, folder))
            if len(experiments) > 1 and request.with_report:
                pages.append(drawer.draw(write_comparison, experiments, request.folder))
            print_pages(experiments, pages)
    finally:  # after ^C, too: of the experiments that are done
        if len(experiments) > 1:
            print_findings(judged, len(experiments))
            print("\n".join(failed), end="\n" if failed else "", flush=True)
    return not failed and not any(verdict.is_failed for _, of_one in judged for verdict in of_one)


def interrupt_note(experiments: list[Experiment], folder: Path) -> str:
    """Return a line that says, after ^C, what is kept."""
    files = [folder / experiment.name / "results.jsonl" for experiment in experiments]
    done = sum(len(result.read(path)) for path in files if path.exists())
    runs = sum(len(experiment.runs) for experiment in experiments)
    where = folder / experiments[0].name if len(experiments) == 1 else folder
    are = "is" if done == 1 else "are"
    return (
        f"{done} of {format_count(runs, 'run')} {are} done and kept in {where}; "
        "the same command goes on from there"
    )


def make_experiments(experiments: list[Experiment], request: Request) -> bool:
    """Make the runs, print each experiment's results and write its report.

    Returns true if no run failed, and each failed expectation has an explanation. After ^C, and on
    a full disk, the exception says which results are kept.
    """
    try:
        return make_and_print(experiments, request)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupt_note(experiments, request.folder)) from None
    except OSError as error:
        error.add_note(interrupt_note(experiments, request.folder))
        raise


def write_reports(experiments: list[Experiment], folder: Path) -> bool:
    """Write the reports of stored results and, for several experiments, the comparison.

    Of several experiments, those without results are skipped. Returns true.
    """
    several = len(experiments) > 1
    with_results = [e for e in experiments if has_results(e, folder)] if several else experiments
    with show_count("reports", len(with_results) + several) as count:
        for experiment in with_results:
            results = result.read(folder / experiment.name / "results.jsonl")
            print(f"report: {write_report(experiment, results, folder / experiment.name)}")
            count()
        if several:
            print(f"comparison: {write_comparison(experiments, folder)}")
    return True
