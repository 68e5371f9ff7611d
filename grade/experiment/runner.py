"""Makes the runs of an experiment that are not made yet, several at a time.

In build/experiments/NAME:
    results.jsonl    a line for each good run, in the file's order
    host.jsonl       of each run made: host seconds, QEMU, when; or why it failed
    console/         what each run's console showed
    runs/            the results by key, from which a later call resumes
"""

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from grade.experiment import run as runs
from grade.experiment.files import FOLDER, write_whole
from grade.experiment.run import RunFailed
from grade.experiment.schema import Experiment, Run

Report = Callable[["Step"], None]


@dataclass(frozen=True)
class Step:
    """One run is done: made, failed, or there already."""

    run: Run
    host_s: float
    error: str = ""
    resumed: bool = False


@dataclass
class Outcome:
    """Results in the order of the runs; errors by run."""

    results: list[dict] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)
    made: int = 0


@cache
def qemu_version() -> str:
    """What QEMU calls itself."""
    name = os.environ.get("QEMU", "qemu-system-riscv64")
    done = subprocess.run([name, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def to_line(value: dict) -> str:
    """A line of JSON, always the same for the same value."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


def note(folder: Path, step: Step) -> None:
    """Keep what the host has to say about a run."""
    row = {
        "run": step.run.name,
        "host_s": round(step.host_s, 3),
        "qemu": qemu_version(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "error": step.error,
    }
    with (folder / "host.jsonl").open("a") as out:
        out.write(to_line(row))


def make_one(folder: Path, run: Run, key: str) -> Step:
    """Make one run and keep its result."""
    try:
        result, host_s = runs.make(run, folder / "console" / f"{run.number:03}_{run.name}.txt")
    except RunFailed as error:
        return Step(run, 0, str(error))
    write_whole(folder / "runs" / f"{key}.json", to_line(result))
    return Step(run, host_s)


def stored(folder: Path, key: str) -> dict | None:
    """The result of an earlier call, if there is one."""
    path = folder / "runs" / f"{key}.json"
    return json.loads(path.read_text()) if path.exists() else None


def execute(
    experiment: Experiment, only: list[Run], jobs: int, report: Report, base: Path = FOLDER
) -> Outcome:
    """Make the given runs of the experiment; report tells of each as it is done."""
    folder = base / experiment.name
    for name in ("console", "runs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    outcome = Outcome()
    keys = {run.number: runs.key(run) for run in experiment.runs}
    with ThreadPoolExecutor(jobs) as pool:
        made: list[Future[Step]] = []
        for run in only:
            if stored(folder, keys[run.number]):
                report(Step(run, 0, resumed=True))
            else:
                made.append(pool.submit(make_one, folder, run, keys[run.number]))
        try:
            for future in as_completed(made):
                step = future.result()
                note(folder, step)
                if step.error:
                    outcome.errors[step.run.name] = step.error
                outcome.made += 1
                report(step)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    found = [stored(folder, keys[run.number]) for run in experiment.runs]
    outcome.results = [result for result in found if result]
    write_whole(folder / "results.jsonl", "".join(map(to_line, outcome.results)))
    return outcome
