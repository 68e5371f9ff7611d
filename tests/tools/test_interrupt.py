"""^C (an interrupt) at a command: it ends with status 130, without a traceback, and says what is
kept. STATUS is 130.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import command_modules
import pytest
from typed import LINE, call, work

from grade.engine import grading
from sluice.experiment.runner import Outcome
from sluice.experiment.verdict import Verdict
from sluice.host.interrupt import STATUS, delay_interrupt, run_interruptible
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.report import session

RUNS = """
claim = "a run is kept"
source = "this test"
[machine]
nbuf = 100
virtual_limit_s = 100000
[machine.data]
drive = "rz58"
size = "16M"
files = {"/read" = "4M"}
[[arms]]
name = "only"
[workload]
commands = "iogen seed={seed} name=read rw=randread filename=/data/read nr={reads}"
[sweep]
reads = [100, 1000000]
seed = [1]
[plot]
columns = ["read.p99_ms"]
histogram = "read"
"""


def start_command(words: list[str | Path]) -> subprocess.Popen[str]:
    """Return a command in a group of its own, as a shell starts it."""
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=ROOT, start_new_session=True, **both
    )


def interrupt_command(process: subprocess.Popen[str]) -> str:
    """Return all that the command prints once ^C has been typed; it must end as it should."""
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=HANG_S)[0]
    assert "Traceback" not in said
    assert process.returncode == STATUS, said
    return said


def test_an_experiment_says_what_is_kept_and_goes_on_from_there(tmp_path: Path) -> None:
    """The experiment has a short run and a very long one. The interrupt comes in the long one. The
    second time, the short run is not made again."""
    path = tmp_path / "runs.toml"
    path.write_text(RUNS)
    values = {"name": str(path), "jobs": 1, "no_report": True, "folder": tmp_path}
    words = ["sluice.host.snapshot", *work("experiment:run", **values)]
    for shown in (" s\n", "made before\n"):
        process = start_command(words)
        assert process.stdout is not None
        assert process.stdout.readline().endswith(shown)
        said = interrupt_command(process)
        where = tmp_path / "runs"
        assert f"1 of 2 runs is done and kept in {where}; the same command goes on" in said
        assert len((where / "results.jsonl").read_text().splitlines()) == 1
    assert "failed" not in (where / "host.jsonl").read_text()


def test_an_interrupt_of_the_process_that_draws_ends_the_command() -> None:
    """The process gets ^C before it reads what it is to draw, which is longer than a pipe holds."""
    text = (
        "import os, signal, multiprocessing\n"
        "from sluice.report.session import drawing_process\n"
        "with drawing_process() as drawer:\n"
        "    page = drawer.draw(len, bytes(1 << 20))\n"
        "    for child in multiprocessing.active_children():\n"
        "        os.kill(child.pid, signal.SIGINT)\n"
        "    raise KeyboardInterrupt\n"
    )
    line = [sys.executable, "-c", text]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


def test_findings_of_experiments_that_are_done_are_counted_after_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Findings that are not met are counted, too; the twin does not have the last word on them."""
    names = ("first", "second", "third")
    experiments = [SimpleNamespace(name=n, is_approximate=True) for n in names]
    errors = {"first": {}, "second": {"second b": "no disk"}}
    holds = {"first": True, "second": False}

    def made(*_: object) -> Iterator[tuple[object, Outcome]]:
        """Yield the outcome of two experiments, and then be interrupted."""
        for one in experiments[:2]:
            yield one, Outcome([], errors[one.name], 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "make_runs", made)
    monkeypatch.setattr(
        session,
        "print_results",
        lambda one, *_: [Verdict("it is so", holds[one.name], "", paper="Bach 1986, 3: it is")],
    )
    monkeypatch.setattr(session, "interrupt_note", lambda *_: "some are kept")
    request = session.Request(folder=Path("/none"), with_report=False)
    with pytest.raises(KeyboardInterrupt, match="some are kept"):
        session.make_experiments(experiments, request)
    said = capsys.readouterr().out
    assert re.search(r"^Bach 1986 +1 +0 +0 +0 +1 +0 +1 of 2$", said, re.M)
    assert "\nNOT SO  second: it is so\n" in said
    assert "leave --engine=twin away" in said
    assert "these are of 2 of 3 experiments" in said
    assert said.endswith("FAILED second b: no disk\n")


def test_a_class_ends_with_its_workers_and_leaves_no_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """^C while a class is scored: the command says what is kept, and its temporary files are
    gone."""
    samples = [*LINE, "lab", "samples", "elevator", f"--out={tmp_path / 'in'}"]
    subprocess.run(samples, cwd=ROOT, check=True, timeout=HANG_S)
    words = [*LINE[2:], "lab", "class", "elevator", "--jobs=1"]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    process = start_command([*words, f"{tmp_path / 'in'}", f"--out={tmp_path / 'out'}"])
    assert process.stdout is not None
    # The first submission is refused before any machine runs. If the host has no namespaces, the
    # command says so before.
    assert any("refused" in line for line in process.stdout)
    said = interrupt_command(process)
    assert f"1 of 3 submissions are scored and kept in {tmp_path / 'out'}; the same command" in said
    assert {path.name for path in temporary.iterdir()} <= {"dask-scratch-space"}


def test_a_grading_that_is_stopped_says_how_to_begin_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nonce is the number from which a grading draws its runs."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "grade_submission", stop)
    with pytest.raises(KeyboardInterrupt, match=r"no results.* with NONCE=\w+ begins it anew"):
        call("lab", "grade", "elevator", f"--out={tmp_path}")


@pytest.mark.parametrize("path", command_modules.PATHS, ids=command_modules.module)
def test_every_command_can_be_stopped(path: Path) -> None:
    assert re.search(r"^    sys\.exit\(\s*run_interruptible\(main", path.read_text(), re.M)


def test_a_command_that_is_stopped_says_what_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """An interrupt may bring words with it; otherwise those of the command are printed."""

    def stop(*words: str) -> None:
        raise KeyboardInterrupt(*words)

    before = signal.getsignal(signal.SIGINT)
    try:
        assert run_interruptible(stop, "all is as it was") == STATUS
        assert run_interruptible(lambda: stop("two are kept"), "all is as it was") == STATUS
        assert (run_interruptible(lambda: None), run_interruptible(lambda: 2)) == (0, 2)
    finally:
        signal.signal(signal.SIGINT, before)
    said = capsys.readouterr().err
    assert said == "\nstopped: all is as it was\n\nstopped: two are kept\n"


def test_an_interrupt_waits_for_the_end_of_what_must_not_be_disturbed() -> None:
    done = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job behind & ignores it
    try:
        with pytest.raises(KeyboardInterrupt), delay_interrupt():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # no other thread may get it
            done.append("the rest of it")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done
