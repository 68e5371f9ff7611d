"""`make experiment`: make an experiment's runs, show the results, and write the report.

E= names an experiment, or the beginning of several names, or all. SIZE= chooses a size, N= one run
of it. JOBS= is the number of runs at a time, SCHEDULER= the address of a Dask cluster that makes
them. WITH= names a policy that is measured beside those of the experiment. ENGINE=twin has the twin
make the runs, in a fraction of the time; its results are kept apart, under NAME@twin. LIST=1 lists
experiments or, with E=, runs. Runs that have been made already are not made again.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path

from sluice.experiment import commandline, expect, findings, result, runner, summary
from sluice.experiment.progress import counted, counting, reporting
from sluice.experiment.runner import Outcome
from sluice.experiment.schema import MACHINE_ENGINE as MACHINE
from sluice.experiment.schema import TWIN, Experiment
from sluice.experiment.selection import (
    DEFAULT,
    asked_for,
    chosen,
    list_experiments,
    list_runs,
    on_twin,
)
from sluice.experiment.verdict import NOT_SO, Verdict
from sluice.host.interrupt import INTERRUPT, held_back, stoppable
from sluice.report.comparison.write import write_comparison
from sluice.report.write import write_report

Judged = tuple[Experiment, list[Verdict]]


@contextmanager
def drawing() -> Iterator[Executor]:
    """A process that draws pages, so that this one can go on to start runs. ^C ends it silently."""
    with ProcessPoolExecutor(1, get_context("spawn"), end_silently) as aside:
        try:
            yield aside
        except BaseException:
            aside.shutdown(wait=False, cancel_futures=True)
            raise


def end_silently() -> None:
    """Let ^C end the process that draws. It gets no ^C until this call."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT)


def drawn(aside: Executor, draw: Callable[..., Path], *what: object) -> Future[Path]:
    """Have the process draw. The first call starts it, and no ^C may interrupt the start."""
    with held_back():
        return aside.submit(draw, *what)


def show(experiment: Experiment, outcome: Outcome, folder: Path) -> list[Verdict]:
    """Print the results. Returns the verdicts on them."""
    print(f"\n{summary.text(experiment, outcome.results)}\n")
    for name, error in outcome.errors.items():
        print(f"FAILED {name}: {error}")
    failed = f", {len(outcome.errors)} failed" if outcome.errors else ""
    where = f"; results in {folder / 'results.jsonl'}" if outcome.results else ""
    print(f"{counted(outcome.made, 'run')} made{failed}{where}", flush=True)
    return expect.judge(experiment, outcome.results)


def show_findings(judged: list[Judged], asked: int) -> None:
    """Print how many findings of each paper agree with ours, and which expectations are not met.
    asked: how many experiments there are, of which some may not be done."""
    verdicts = [verdict for _, of_one in judged for verdict in of_one]
    lines = findings.table(findings.of_verdicts(verdicts))
    failed = [(one, v) for one, of_one in judged for v in of_one if v.failed]
    lines += [f"{NOT_SO}  {one.name}: {verdict.says}" for one, verdict in failed]
    if any(run.on_twin for one, _ in failed for run in one.runs):
        lines.append("The twin's times are a little off: leave ENGINE=twin away to be sure")
    if lines and len(judged) < asked:
        lines.append(f"these are of {len(judged)} of {asked} experiments")
    if lines:
        print("\n" + "\n".join(lines), flush=True)


def show_pages(experiments: list[Experiment], pages: list[Future[Path]]) -> None:
    """Print the path of each page when it is written: reports, and the comparison of all."""
    with counting("reports", len(pages)) as count:
        for page in pages:
            kind = "comparison" if len(experiments) > 1 and page is pages[-1] else "report"
            print(f"{kind}: {page.result()}", flush=True)
            count()


def made(
    experiments: list[Experiment], choice: argparse.Namespace
) -> Iterator[tuple[Experiment, Outcome]]:
    """Make the runs. Yields each experiment when its own runs are done."""
    asked = [(experiment, asked_for(experiment, choice.run)) for experiment in experiments]
    runs = sum(len(only) for _, only in asked)
    what = experiments[0].name if len(experiments) == 1 else f"{len(experiments)} experiments"
    with (
        reporting(what, runs) as report,
        closing(
            runner.execute_all(asked, choice.jobs, report, choice.folder, choice.scheduler)
        ) as outcomes,
    ):
        yield from zip(experiments, outcomes, strict=True)


def make_and_show(experiments: list[Experiment], choice: argparse.Namespace) -> bool:
    """Make the runs and show each experiment's results. Returns true if no run failed, and no
    expectation without an explanation."""
    judged: list[Judged] = []
    pages, failed = [], []
    try:
        with drawing() as aside, closing(made(experiments, choice)) as outcomes:
            for experiment, outcome in outcomes:
                folder = choice.folder / experiment.name
                judged.append((experiment, show(experiment, outcome, folder)))
                failed += [f"FAILED {name}: {error}" for name, error in outcome.errors.items()]
                if outcome.results and not choice.no_report:
                    pages.append(drawn(aside, write_report, experiment, outcome.results, folder))
            if len(experiments) > 1 and not choice.no_report:
                pages.append(drawn(aside, write_comparison, experiments, choice.folder))
            show_pages(experiments, pages)
    finally:  # after ^C, too: of the experiments that are done
        if len(experiments) > 1:
            show_findings(judged, len(experiments))
            print("\n".join(failed), end="\n" if failed else "", flush=True)
    return not failed and not any(verdict.failed for _, of_one in judged for verdict in of_one)


def kept(experiments: list[Experiment], folder: Path) -> str:
    """A line that says, after ^C, what is kept."""
    files = [folder / experiment.name / "results.jsonl" for experiment in experiments]
    done = sum(len(result.read(path)) for path in files if path.exists())
    runs = sum(len(experiment.runs) for experiment in experiments)
    where = folder / experiments[0].name if len(experiments) == 1 else folder
    are = "is" if done == 1 else "are"
    return (
        f"{done} of {counted(runs, 'run')} {are} done and kept in {where}; "
        "the same command goes on from there"
    )


def do(experiments: list[Experiment], choice: argparse.Namespace) -> bool:
    """Like make_and_show. After ^C, and on a full disk, the exception says what is kept."""
    try:
        return make_and_show(experiments, choice)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(kept(experiments, choice.folder)) from None
    except OSError as error:
        error.add_note(kept(experiments, choice.folder))
        raise


def do_asked(choice: argparse.Namespace) -> bool:
    """List what is asked for, or make it. Returns true if all went well."""
    if choice.list and choice.name == DEFAULT:
        list_experiments()
        return True
    experiments = chosen(choice.name, choice.size, choice.policy)
    if choice.engine == TWIN:
        experiments = [on_twin(experiment) for experiment in experiments]
    if not choice.list:
        return do(experiments, choice)
    for experiment in experiments:
        list_runs(experiment)
    return True


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="make experiment", description=__doc__)
    options.add_argument(
        "name",
        nargs="?",
        default=DEFAULT,
        help="an experiment, the beginning of several names, or all",
    )
    options.add_argument("--run", type=int, help="only the run of this number")
    options.add_argument(
        "--size", help="a size that the experiment has; if not given, full, and quick for `all`"
    )
    commandline.add_workers(options)
    options.add_argument("--with", dest="policy", default="", help="one more policy to measure")
    options.add_argument(
        "--engine",
        choices=(MACHINE, TWIN),
        default=MACHINE,
        help="what makes the runs: QEMU, or the kernel compiled for this host",
    )
    options.add_argument("--list", action="store_true", help="list experiments or runs")
    commandline.add_folder(options)
    options.add_argument("--no-report", action="store_true", help="print numbers only")
    choice = options.parse_args()
    if choice.jobs < 1:
        options.error("--jobs: at least 1")
    return commandline.status(lambda: do_asked(choice))


if __name__ == "__main__":
    sys.exit(stoppable(main))
