"""Result files of long runs are the same bytes each time, also under another QEMU.

QEMU_OTHER names that QEMU; grade/other_qemu.sh fetches one.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from grade.experiment import runner
from grade.experiment.__main__ import EXPERIMENTS
from grade.experiment.load import load

TIMES = 5
LOOPS = 2


@contextmanager
def busy_host() -> Iterator[None]:
    """Programs that keep the host's cores from QEMU."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def result_file(folder: Path, arm: str) -> bytes:
    """What one trial of 10,000 reads writes."""
    experiment = load(EXPERIMENTS / "mogul-4.1-fast.toml")
    [run] = [r for r in experiment.runs if r.arm == arm and r.variables["seed"] == 1]
    outcome = runner.execute(experiment, [run], 1, lambda step: None, folder)
    assert outcome.errors == {}
    return (folder / experiment.name / "results.jsonl").read_bytes()


def test_a_long_run_gives_the_same_bytes_many_times_at_once_beside_busy_loops(tmp_path: Path):
    with busy_host(), ThreadPoolExecutor(TIMES) as pool:
        files = pool.map(lambda i: result_file(tmp_path / str(i), "delayed+AIPU"), range(TIMES))
        texts = list(files)
    assert texts[0].count(b"\n") == 1
    assert len(set(texts)) == 1, f"of {TIMES} runs {len(set(texts))} are different"


@pytest.mark.parametrize("arm", ["delayed+PU", "delayed+AIPU"])
def test_another_qemu_gives_the_same_bytes(tmp_path: Path, monkeypatch, arm: str):
    other = os.environ.get("QEMU_OTHER")
    if not other:
        pytest.skip("QEMU_OTHER= names no other QEMU (grade/other_qemu.sh fetches one)")
    one = result_file(tmp_path / "one", arm)
    monkeypatch.setenv("QEMU", other)
    assert result_file(tmp_path / "other", arm) == one
