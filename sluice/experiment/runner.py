"""Makes those runs of experiments that have not been made yet, several at a time.

In build/experiments/NAME:
    results.jsonl    a line for each good run, in the file's order
    host.jsonl       for each run made: host, its seconds, which QEMU, when; or why it failed
    console/         what each run's console showed
    runs/            the results by key, from which a later call resumes

Workers make the runs (sluice/host/workers.py): threads here, or Dask's in a scheduler's cluster. A
worker gets a run, and returns its result and console. It makes images and machines from its own
tree. Before and after a run it compares the key that it computes, and its code, with those of the
caller, and refuses the run if they differ. So a result does not depend on the worker, and no result
is kept of a kernel that was built meanwhile. The workers of this machine use a snapshot
(sluice/host/snapshot.py), in which nothing is built. If a worker dies, another one makes its run.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sluice.experiment import run as runs
from sluice.experiment.catalogue import kernel_hash
from sluice.experiment.files import FOLDER, clear_hashes, hash_value, write_atomically
from sluice.experiment.records import RunResult
from sluice.experiment.run import UNDER_WAY, RunFailed
from sluice.experiment.schema import Experiment, Run
from sluice.host.hashes import hash_file
from sluice.host.paths import PACKAGE, ROOT
from sluice.host.scratch import scratch_folder
from sluice.host.version import version_line
from sluice.host.workers import WorkersDied, iterate_completed, open_threads, take_result
from sluice.system.qemu import program
from sluice.twin.engine import twin_hash

if TYPE_CHECKING:
    from distributed import Future

Report = Callable[["Step"], None]
# The code that makes a result.
CODE = (
    *("sluice/host/*.py", "sluice/system/*.py", "sluice/experiment/*.py", "sluice/twin/*.py"),
    *("sluice/trace/*.py", "sluice/trace/formats/*.py", "sluice/network/*.py"),
)


class OtherTree(Exception):
    """The error for a worker with another tree; the text says which tree."""


@dataclass(frozen=True)
class Job:
    """A run that a worker is to make, with the caller's key and code hash."""

    run: Run
    key: str
    code: str


@dataclass(frozen=True)
class Made:
    """A worker's answer: a result, or an error."""

    result: RunResult | None
    error: str
    console: str
    host_s: float
    host: str
    qemu: str


@dataclass(frozen=True)
class Step:
    """The progress report of one run: it was made, it failed, or its result existed already."""

    run: Run
    host_s: float
    error: str = ""
    resumed: bool = False


@dataclass
class Outcome:
    """Results in the order of the runs, errors by run, and how many results were made by this
    call."""

    results: list[RunResult] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    made: int = 0


# ---- in a worker ----


@cache
def qemu_version() -> str:
    """Return the line in which QEMU says its version."""
    return version_line(program())


@cache
def code_hash() -> str:
    """Return the hash of the code that makes runs, as it was at the first call."""
    home = PACKAGE.parent
    paths = sorted(path for pattern in CODE for path in home.glob(pattern))
    return hash_value({str(path.relative_to(home)): hash_file(path) for path in paths})


def expect_same_tree(job: Job, when: str) -> None:
    """Raise OtherTree unless this process, with what is built now, has the job's key and code
    hash."""
    clear_hashes()
    kernel_hash.cache_clear()
    twin_hash.cache_clear()
    if (code_hash(), runs.result_key(job.run)) != (job.code, job.key):
        raise OtherTree(
            f"the worker in {ROOT} on {socket.gethostname()} {when}: update that tree to the "
            "commit that you have here, run make in it, start its workers anew, and then this "
            "command"
        )


def make_one(job: Job) -> Made:
    """Make one run. Returns the answer. Raises OtherTree."""
    expect_same_tree(job, "has another tree, or built otherwise")
    result, error, host_s = None, "", 0.0
    with scratch_folder(UNDER_WAY) as folder:
        console = folder / "console"
        try:
            result, host_s = runs.make_run(job.run, console)
        except RunFailed as failed:
            error = str(failed)
        said = console.read_text(errors="replace", encoding="utf-8")
    expect_same_tree(job, "had its tree built anew while it made a run")
    qemu = "" if job.run.uses_twin else qemu_version()
    return Made(result, error, said, host_s, socket.gethostname(), qemu)


# ---- here ----


def to_line(value: Mapping[str, object]) -> str:
    """Return a value as a line of JSON. Equal values give equal lines."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


def write_note(folder: Path, run: Run, made: Made) -> None:
    """Append the host's notes about a run to host.jsonl."""
    row = {
        "run": run.name,
        "host": made.host,
        "host_s": round(made.host_s, 3),
        "qemu": made.qemu,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "error": made.error,
    }
    with (folder / "host.jsonl").open("a", encoding="utf-8") as out:
        out.write(to_line(row))


def store_answer(folder: Path, job: Job, made: Made) -> Step:
    """Write a worker's answer to the experiment's folder. Returns the progress report."""
    console = folder / "console" / f"{job.run.number:03}_{job.run.name}.txt"
    write_atomically(console, made.console)
    write_note(folder, job.run, made)
    if made.result is None:
        return Step(job.run, made.host_s, made.error + runs.console_note(console))
    write_atomically(folder / "runs" / f"{job.key}.json", to_line(made.result))
    return Step(job.run, made.host_s)


def stored_result(folder: Path, run: Run, key: str) -> RunResult | None:
    """Return the result of an earlier call, with the names that the run has now, or None."""
    path = folder / "runs" / f"{key}.json"
    if not path.exists():
        return None
    stored: RunResult = json.loads(path.read_text(encoding="utf-8"))
    return {**stored, "experiment": run.experiment, "arm": run.arm, "variables": run.variables}


def worker_answer(future: Future[Made]) -> Made:
    """Return a worker's answer, or an error if all workers that tried died. Raises OtherTree."""
    try:
        return take_result(future)
    except WorkersDied as error:
        return Made(None, f"the workers died: {error}", "", 0, "", "")


@dataclass
class Batch:
    """The requested runs of one experiment, and their progress."""

    experiment: Experiment
    folder: Path
    keys: dict[int, str]
    todo: list[Job] = field(default_factory=list)
    left: int = 0  # runs not done yet
    outcome: Outcome = field(default_factory=Outcome)


def prepare_batch(experiment: Experiment, only: list[Run], base: Path, report: Report) -> Batch:
    """Return the batch of an experiment: the runs that have no result yet.

    This makes the images of all runs of the experiment, because a run's key has their hashes. Runs
    that have a result are reported.
    """
    folder = base / experiment.name
    for name in ("console", "runs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    batch = Batch(experiment, folder, {run.number: runs.result_key(run) for run in experiment.runs})
    for run in only:
        key = batch.keys[run.number]
        if stored_result(folder, run, key):
            report(Step(run, 0, resumed=True))
        else:
            batch.todo.append(Job(run, key, code_hash()))
    batch.left = len(batch.todo)
    return batch


def take_answer(batch: Batch, job: Job, made: Made) -> Step:
    """Write the answer for one run of the batch. Returns the progress report."""
    step = store_answer(batch.folder, job, made)
    if step.error:
        batch.outcome.errors[step.run.name] = step.error
    else:
        batch.outcome.made += 1
    batch.left -= 1
    return step


def finish_batch(batch: Batch) -> Outcome:
    """Write all results that exist. Returns the outcome."""
    found = [
        stored_result(batch.folder, run, batch.keys[run.number]) for run in batch.experiment.runs
    ]
    outcome = batch.outcome
    outcome.results = [result for result in found if result]
    write_atomically(batch.folder / "results.jsonl", "".join(map(to_line, outcome.results)))
    return outcome


def execute_all(
    asked: list[tuple[Experiment, list[Run]]],
    jobs: int,
    report: Report,
    base: Path = FOLDER,
    scheduler: str = "",
) -> Generator[Outcome, None, None]:
    """Make the given runs of each experiment. Yields each outcome, in order, as soon as it is
    complete.

    All runs wait in one queue, so the workers stay busy while the caller handles an outcome.
    report: called for each run that is done; jobs: runs at a time on this machine; scheduler: the
    address of a cluster that makes the runs instead.
    """
    batches = [prepare_batch(experiment, only, base, report) for experiment, only in asked]
    with ExitStack() as stack:
        given: dict[Future[Made], tuple[Batch, Job]] = {}
        done: Iterator[Future[Made]] = iter(())
        if any(batch.todo for batch in batches):
            client = stack.enter_context(open_threads(jobs, scheduler))
            for batch in batches:
                for job in batch.todo:
                    given[client.submit(make_one, job, pure=False)] = (batch, job)
            stack.callback(client.cancel, list(given))
            done = iterate_completed(given)
        waiting = list(batches)
        try:
            while waiting:
                while waiting[0].left:
                    future = next(done)
                    report(take_answer(*given[future], worker_answer(future)))
                yield finish_batch(waiting.pop(0))
        finally:  # after ^C too: keep what is done by now
            for batch in waiting:
                finish_batch(batch)


def execute(
    experiment: Experiment,
    only: list[Run],
    jobs: int,
    report: Report,
    base: Path = FOLDER,
    scheduler: str = "",
) -> Outcome:
    """Make the given runs of one experiment. Returns the outcome."""
    (outcome,) = execute_all([(experiment, only)], jobs, report, base, scheduler)
    return outcome
