"""Runs made by a Dask cluster: the same bytes, whoever makes them and whoever dies.

A scheduler hands runs to workers, which are processes. The `experiment` has five runs. `dask`
starts Dask's own commands, as the guide has it, and `scheduler` is one with two workers.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import Client, LocalCluster
from small_experiment import random_reads

from sluice.experiment import files, runner
from sluice.experiment import run as runs
from sluice.experiment.load import load
from sluice.experiment.runner import OtherTree, Outcome, Step
from sluice.experiment.schema import Experiment
from sluice.host import workers
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT

FILE = random_reads(
    "who makes a run does not matter", 2000, seeds=5, more='[plot]\ncolumns = ["read.mean_ms"]\n'
)


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    """Return an experiment of five runs."""
    path = tmp_path / "five.toml"
    path.write_text(FILE)
    return load(path)


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Yield a function that starts `dask` with these words, until the test's end."""
    started = []
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def start(
        *words: str, program: Path = ROOT / ".venv/bin/dask", extra: dict[str, str] | None = None
    ) -> subprocess.Popen:
        """Start a program of Dask, whose output goes to a file."""
        with (tmp_path / f"dask-{len(started)}.txt").open("wb") as log:
            process = subprocess.Popen(
                [program, *words],
                cwd=tmp_path,
                env=env | (extra or {}),
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    yield start
    for process in reversed(started):
        process.terminate()
        process.wait()


@pytest.fixture
def scheduler(dask: Callable[..., subprocess.Popen], tmp_path: Path) -> str:
    """Return the address of a scheduler with two workers, started as people do."""
    where = tmp_path / "scheduler.json"
    dask("scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={where}")
    for name in "ab":
        dask(
            *("worker", f"--scheduler-file={where}", f"--name={name}", "--nthreads=1"),
            *("--no-nanny", "--no-dashboard", f"--local-directory={tmp_path}"),
        )
    with Client(scheduler_file=str(where), timeout=HANG_S) as client:
        client.wait_for_workers(2, timeout=HANG_S)
        return client.scheduler.address


def make(experiment: Experiment, folder: Path, scheduler: str = "", report=None) -> Outcome:
    """Make the experiment's runs, two at a time, or on the workers of the Dask scheduler at this
    address. The results are kept in the folder."""
    report = report or (lambda step: None)
    return runner.execute(experiment, experiment.runs, 2, report, folder, scheduler)


def test_a_cluster_makes_the_same_bytes_and_goes_on_when_a_worker_is_killed(
    experiment: Experiment, scheduler: str, tmp_path: Path
) -> None:
    """A worker is killed after the first step. The results are those that this process makes
    alone."""
    killed: list[int] = []

    def kill_one_at_work(step: Step) -> None:
        """Kill a worker that has a run, once."""
        if killed:
            return
        with Client(scheduler) as client:
            pids = client.run(os.getpid)
            busy = [address for address, tasks in client.processing().items() if tasks]
        killed.append(pids[busy[0]])
        os.kill(killed[0], signal.SIGKILL)

    outcome = make(experiment, tmp_path / "there", scheduler, kill_one_at_work)
    assert killed
    assert (outcome.errors, outcome.made) == ({}, 5)
    assert make(experiment, tmp_path / "here").made == 5
    lines, consoles = (
        [sorted((tmp_path / where / "five").glob(files)) for where in ("there", "here")]
        for files in ("results.jsonl", "console/*")
    )
    for one, other in zip(*lines, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert [len(shown) for shown in consoles] == [5, 5]
    notes = (tmp_path / "there/five/host.jsonl").read_text().splitlines()
    assert {json.loads(note)["host"] for note in notes} == {os.uname().nodename}
    assert make(experiment, tmp_path / "there", scheduler).made == 0


def test_a_worker_in_another_tree_makes_nothing(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job has hashes of the run's inputs and of the code; a worker whose own hashes differ
    refuses it."""
    run = experiment.runs[0]
    job = runner.Job(run, runs.result_key(run), runner.code_hash())
    runner.expect_same_tree(job, "is right")
    for other in (replace(job, key="0"), replace(job, code="0")):
        with pytest.raises(OtherTree, match="has another tree"):
            runner.make_one(other)
    # The code changes when the five jobs have their hashes.
    hashes = iter(["here"] * 5 + ["there"] * 5)
    monkeypatch.setattr(runner, "code_hash", lambda: next(hashes))
    with pytest.raises(OtherTree):
        make(experiment, tmp_path)
    assert not list(tmp_path.rglob("*.json"))


def test_a_run_beside_which_the_kernel_was_built_is_not_kept(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's hash changes while the run is made."""
    really_make = runs.make_run

    def build_and_make(*words: object) -> tuple[dict, float]:
        monkeypatch.setattr(runs, "kernel_hash", lambda: "of the new kernel")
        return really_make(*words)

    monkeypatch.setattr(runs, "make_run", build_and_make)
    with pytest.raises(OtherTree, match="built anew while it made a run"):
        runner.execute(experiment, experiment.runs[:1], 1, lambda step: None, tmp_path, "")
    assert not list(tmp_path.rglob("*.json"))


def test_a_worker_that_outlives_a_build_sees_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hash of mkfs is computed again for each job."""
    mkfs = tmp_path / "mkfs"
    monkeypatch.setattr(files, "MKFS", mkfs)
    hashes = []
    for text in ("one", "other"):
        mkfs.write_text(text)
        files.clear_hashes()
        hashes.append(files.hash_mkfs())
    monkeypatch.undo()
    files.clear_hashes()
    assert len({*hashes, files.hash_mkfs()}) == 3


def test_a_cluster_that_is_not_there_or_is_empty_is_named(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody listens at port 1; `nonsense` and `x` are no addresses."""
    monkeypatch.setattr(workers, "CONNECT_S", 0.5)
    nobody = "127.0.0.1:1"
    for address in (f"tcp://{nobody}", f"tls://{nobody}", f"ws://{nobody}", "nonsense://x", "x"):
        with pytest.raises(workers.NoWorkers, match=f"no scheduler at {address}: ."):
            make(experiment, tmp_path, address)
    left = [one for one in gc.get_objects() if type(one) is Client and one.status != "closed"]
    assert not left, "they close themselves at any time, and hang where another one is starting"
    monkeypatch.undo()
    monkeypatch.setattr(workers, "WAIT_S", 0.5)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(workers.NoWorkers, match="has no workers"),
    ):
        make(experiment, tmp_path, empty.scheduler_address)


@pytest.mark.parametrize("said", [True, False])
def test_a_worker_whose_locale_is_not_utf_8_is_refused_unless_it_is_told(
    said: bool, dask: Callable[..., subprocess.Popen], tmp_path: Path, monkeypatch
) -> None:
    """The worker's locale has ASCII, which Python otherwise changes to UTF-8 by itself. said:
    PYTHONUTF8=1 is set."""
    where = tmp_path / "scheduler.json"
    words = ("--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={where}")
    dask("scheduler", *words)
    narrow = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": str(int(said))}
    words = (f"--scheduler-file={where}", "--nthreads=1", "--no-nanny", "--no-dashboard")
    dask("worker", *words, f"--local-directory={tmp_path}", extra=narrow)
    with Client(scheduler_file=str(where), timeout=HANG_S) as client:
        client.wait_for_workers(1, timeout=HANG_S)
        address = client.scheduler.address
    if said:
        with workers.open_workers(1, address) as client:
            assert client.submit(str, 1).result() == "1"
        return
    why = r"the worker at tcp://\S+ reads files as ascii, .*: start it with PYTHONUTF8=1"
    with pytest.raises(workers.NoWorkers, match=why), workers.open_workers(1, address):
        pass


def test_a_scheduler_that_does_not_find_our_code_is_told_what_to_do(
    dask: Callable[..., subprocess.Popen], tmp_path: Path
) -> None:
    """This scheduler cannot import our code, as if another Python had started it."""
    foreign, where = tmp_path / "dask", tmp_path / "scheduler.json"
    foreign.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"sys.path[:] = [path for path in sys.path if path not in ('', {str(ROOT)!r})]\n"
        "from dask.__main__ import main\nmain()\n"
    )
    foreign.chmod(0o755)
    words = ("--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={where}")
    dask("scheduler", *words, program=foreign)
    with Client(scheduler_file=str(where), timeout=HANG_S) as client:
        address = client.scheduler.address
    with (
        pytest.raises(workers.NoWorkers, match=r"does not find grade/: start it by the \.venv"),
        workers.open_workers(1, address),
    ):
        pass


def test_a_result_is_told_under_the_names_that_the_file_has_now(tmp_path: Path) -> None:
    """The arm and a variable are renamed after the runs were made. The runs are the same, so none
    is made again."""
    path = tmp_path / "five.toml"
    for arm, variable in (("only", "seed"), ("sole", "start")):
        path.write_text(FILE.replace('"only"', f'"{arm}"').replace("seed", variable))
        # The option `seed` of iogen keeps its name.
        path.write_text(path.read_text().replace(f" {variable}={{", " seed={"))
        outcome = make(load(path), tmp_path)
    assert outcome.made == 0
    assert {(row["arm"], *row["variables"]) for row in outcome.results} == {("sole", "start")}


def test_workers_that_say_nothing_for_hours_are_not_given_up() -> None:
    """Workers say nothing while ^Z stops them. With Dask's usual limit of five minutes they were
    given up: their results were lost, and the remaining runs were never made."""
    with workers.open_workers(1) as client:
        assert client.cluster.scheduler.worker_ttl is None


THREADS = """\
import sys
from sluice.host import workers
with workers.open_threads(2) as pool:
    futures = [pool.submit(int, text, pure=False) for text in ("7", "seven")]
    assert {*workers.iterate_completed(futures)} == {*futures}
    assert workers.take_result(futures[0]) == 7
    try:
        workers.take_result(futures[1])
    except ValueError as error:
        print(error)
print("distributed" in sys.modules)
"""


def test_threads_give_results_and_errors_and_need_no_dask() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "invalid literal for int() with base 10: 'seven'\nFalse\n", done.stderr
