"""Makes the runs of experiments that are not made yet, several at a time.

In build/experiments/NAME:
    results.jsonl    a line for each good run, in the file's order
    host.jsonl       of each run made: host, its seconds, QEMU, when; or why it failed
    console/         what each run's console showed
    runs/            the results by key, from which a later call resumes

Dask workers make them (grade/host/workers.py): on this machine, or wherever a scheduler's
workers are. A worker gets a run and gives its result and console back. It makes images
and machines of its own tree, and refuses a run whose key it comes to is another one, or
whose code is, before it makes the run or after: so a result is the same whoever made it,
and none is kept that a kernel made which was built meanwhile. The workers of this machine
use a snapshot (grade/host/snapshot.py), in which nothing is built. What a worker that dies was
at goes to another.
"""

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from distributed import Future, KilledWorker, as_completed

from grade.host.paths import ROOT
from grade.host.workers import workers
from grade.measure import run as runs
from grade.measure.files import CACHE, FOLDER, forget, hash_file, hash_of, write_whole
from grade.measure.known import kernel_hash
from grade.measure.run import RunFailed
from grade.measure.schema import Experiment, Run

Report = Callable[["Step"], None]
# What makes a result of a run.
CODE = ("grade/host/*.py", "grade/machine/*.py", "grade/measure/*.py")


class OtherTree(Exception):
    """A worker stands in another tree; says which."""


@dataclass(frozen=True)
class Job:
    """What a worker gets."""

    run: Run
    key: str
    code: str


@dataclass(frozen=True)
class Made:
    """What a worker gives: a result, or an error."""

    result: dict | None
    error: str
    console: str
    host_s: float
    host: str
    qemu: str


@dataclass(frozen=True)
class Step:
    """One run is done: made, failed, or there already."""

    run: Run
    host_s: float
    error: str = ""
    resumed: bool = False


@dataclass
class Outcome:
    """Results in the order of the runs, errors by run, and how many results were made now."""

    results: list[dict] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    made: int = 0


# ---- in a worker ----


@cache
def qemu_version() -> str:
    """What QEMU calls itself."""
    name = os.environ.get("QEMU", "qemu-system-riscv64")
    done = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


@cache
def code_hash() -> str:
    """Of the code that makes runs, as it was when first asked."""
    paths = sorted(path for pattern in CODE for path in ROOT.glob(pattern))
    return hash_of({str(path.relative_to(ROOT)): hash_file(path) for path in paths})


def check_tree(job: Job, when: str) -> None:
    """Raise OtherTree unless this process, with what is built now, makes what the job wants."""
    forget()
    kernel_hash.cache_clear()
    if (code_hash(), runs.key(job.run)) != (job.code, job.key):
        raise OtherTree(
            f"the worker in {ROOT} on {socket.gethostname()} {when}: update that tree to the "
            "commit that you have here, run make in it, start its workers anew, and then this "
            "command"
        )


def make_one(job: Job) -> Made:
    """Make one run."""
    check_tree(job, "has another tree, or built otherwise")
    result, error, host_s = None, "", 0.0
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="console-") as folder:
        console = Path(folder) / "console"
        try:
            result, host_s = runs.make(job.run, console)
        except RunFailed as failed:
            error = str(failed)
        said = console.read_text(errors="replace")
    check_tree(job, "had its tree built anew while it made a run")
    return Made(result, error, said, host_s, socket.gethostname(), qemu_version())


# ---- here ----


def to_line(value: dict) -> str:
    """A line of JSON, always the same for the same value."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


def note(folder: Path, run: Run, made: Made) -> None:
    """Keep what the host has to say about a run."""
    row = {
        "run": run.name,
        "host": made.host,
        "host_s": round(made.host_s, 3),
        "qemu": made.qemu,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "error": made.error,
    }
    with (folder / "host.jsonl").open("a") as out:
        out.write(to_line(row))


def keep(folder: Path, job: Job, made: Made) -> Step:
    """Write what a worker gave."""
    console = folder / "console" / f"{job.run.number:03}_{job.run.name}.txt"
    write_whole(console, made.console)
    note(folder, job.run, made)
    if made.error:
        return Step(job.run, made.host_s, f"{made.error}\n    (all of it: {console})")
    write_whole(folder / "runs" / f"{job.key}.json", to_line(made.result))
    return Step(job.run, made.host_s)


def stored(folder: Path, run: Run, key: str) -> dict | None:
    """The result of an earlier call, if there is one, under the names that the run has now."""
    path = folder / "runs" / f"{key}.json"
    if not path.exists():
        return None
    names = {"experiment": run.experiment, "arm": run.arm, "variables": run.variables}
    return json.loads(path.read_text()) | names


def made_of(future: Future) -> Made:
    """What a worker gave; if each that tried has died, that. Raises OtherTree."""
    try:
        return future.result()
    except KilledWorker as error:
        return Made(None, f"the workers died: {error}", "", 0, "", "")


@dataclass
class Batch:
    """The runs asked for of one experiment, and how far they are."""

    experiment: Experiment
    folder: Path
    keys: dict[int, str]
    todo: list[Job] = field(default_factory=list)
    left: int = 0  # of them
    outcome: Outcome = field(default_factory=Outcome)


def begin(experiment: Experiment, only: list[Run], base: Path, report: Report) -> Batch:
    """Know what is to be made, and the images for it; report what is there already."""
    folder = base / experiment.name
    for name in ("console", "runs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    batch = Batch(experiment, folder, {run.number: runs.key(run) for run in experiment.runs})
    for run in only:
        key = batch.keys[run.number]
        if stored(folder, run, key):
            report(Step(run, 0, resumed=True))
        else:
            batch.todo.append(Job(run, key, code_hash()))
    batch.left = len(batch.todo)
    return batch


def take(batch: Batch, job: Job, made: Made) -> Step:
    """One of its runs is done."""
    step = keep(batch.folder, job, made)
    if step.error:
        batch.outcome.errors[step.run.name] = step.error
    else:
        batch.outcome.made += 1
    batch.left -= 1
    return step


def end(batch: Batch) -> Outcome:
    """Write the results that there are."""
    found = [stored(batch.folder, run, batch.keys[run.number]) for run in batch.experiment.runs]
    outcome = batch.outcome
    outcome.results = [result for result in found if result]
    write_whole(batch.folder / "results.jsonl", "".join(map(to_line, outcome.results)))
    return outcome


def execute_all(
    asked: list[tuple[Experiment, list[Run]]],
    jobs: int,
    report: Report,
    base: Path = FOLDER,
    scheduler: str = "",
) -> Iterator[Outcome]:
    """Make the given runs of each experiment: an outcome each, in order, as soon as it is there.

    All runs wait in one queue, so the workers are busy to its end, also while the caller does
    something with an outcome. report tells of each run as it is done. jobs: how many at a time
    on this machine; scheduler: the address of a cluster's, instead.
    """
    batches = [begin(experiment, only, base, report) for experiment, only in asked]
    with ExitStack() as stack:
        given: dict[Future, tuple[Batch, Job]] = {}
        if any(batch.todo for batch in batches):
            client = stack.enter_context(workers(jobs, scheduler, threads=True))
            for batch in batches:
                for job in batch.todo:
                    given[client.submit(make_one, job, pure=False)] = (batch, job)
            stack.callback(client.cancel, list(given))
        done = as_completed(given) if given else iter(())
        waiting = list(batches)
        try:
            while waiting:
                while waiting[0].left:
                    future = next(done)
                    report(take(*given[future], made_of(future)))
                yield end(waiting.pop(0))
        finally:  # after ^C: what is done by now
            for batch in waiting:
                end(batch)


def execute(
    experiment: Experiment,
    only: list[Run],
    jobs: int,
    report: Report,
    base: Path = FOLDER,
    scheduler: str = "",
) -> Outcome:
    """Make the given runs of one experiment."""
    (outcome,) = execute_all([(experiment, only)], jobs, report, base, scheduler)
    return outcome
