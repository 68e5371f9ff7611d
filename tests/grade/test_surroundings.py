"""Failures of the grader or of its machine, which are never a score.

A failure is ours (the staff's) if the solution fails in the same way: the record's status is then
NOT_SCORED, with the reason, and no platform's file is written. Each test makes one part of the
grader fail.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typed import work

from grade.definition.lab import Lab, find_lab
from grade.engine import evidence, formats, grading, tree, workbench
from grade.engine.record import NOT_SCORED, Record
from grade.trust import compiler, sandbox
from sluice.host.fault import HostFault
from sluice.host.paths import ROOT

LAB = find_lab("elevator")
TESTS = "rise.blocks_here_and_there_are_served_by_rising_sector"


@pytest.fixture
def room() -> Iterator[Path]:
    """Return a folder that every user may enter and write, as pytest's own are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


# ---- failures of ours ----


def graded(folder: Path, lab: Lab = LAB, tests: str = TESTS) -> Record:
    """Return the record of the solution, with a changed source so that it is compiled, and write
    all forms."""
    files = tree.solution_files(lab)
    file = next(iter(files))
    files[file] += "\n"  # the file differs from this tree's, so it is compiled
    record = grading.grade_submission(lab, lambda: files, folder, "7", "make grade", tests)
    formats.write_all(record, folder)
    return record


def expect_no_score(record: Record, folder: Path, why: str) -> None:
    """Check that the failure is ours, for this reason."""
    assert (record.status, record.tests) == (NOT_SCORED, []), record.message
    assert why in record.message
    assert not (folder / "gradescope/results.json").exists()
    assert json.loads((folder / "result.json").read_text())["score"] is None


def test_a_folder_that_the_compilers_user_cannot_enter_is_no_failed_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without namespaces another user compiles, who may not enter this folder."""
    if os.geteuid():
        pytest.skip("only root compiles as another user")
    monkeypatch.setattr(sandbox, "has_namespaces", lambda: False)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(sandbox, "choose_folder", lambda _: str(tmp_path))
    expect_no_score(graded(tmp_path / "out"), tmp_path / "out", "does not start")


def test_without_any_place_for_the_compiler_it_is_said_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only place is a folder that others may not enter."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sandbox, "PLACES", ())
    tmp_path.chmod(0o700)
    with pytest.raises(HostFault, match="set TMPDIR to a folder that every user may enter"):
        sandbox.choose_folder.__wrapped__(str(tmp_path))


@pytest.mark.parametrize("step", ["compile", "link"])
def test_a_step_that_fails_with_the_staffs_own_files_is_ours(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler, or the linker, is replaced by a script that fails as on a full disk."""
    script = "echo No space left on device >&2; exit 1"
    monkeypatch.setattr(compiler, step.upper(), script)
    expect_no_score(graded(tmp_path), tmp_path, "not even the staff's own sources build")


def test_a_killed_compiler_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is that of a compiler that was killed for want of memory."""
    said = "gcc: fatal error: Killed signal terminated program cc1"
    monkeypatch.setattr(compiler, "COMPILE", f"echo '{said}' >&2; exit 1")
    expect_no_score(graded(tmp_path), tmp_path, "too little memory free")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo cannot set up guest memory >&2; exit 1", "cannot set up guest memory"),
        ("kill -KILL $$", "something killed QEMU"),
        ("kill -BUS $$", "signal 7 ended QEMU"),
    ],
    ids=["no start", "killed", "no memory"],
)
def test_a_qemu_that_fails_is_ours(
    script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QEMU is replaced by this script."""
    qemu = tmp_path / "qemu"
    qemu.write_text(f"#!/bin/sh\n{script}\n")
    qemu.chmod(0o755)
    monkeypatch.setenv("QEMU", str(qemu))
    expect_no_score(graded(tmp_path / "out"), tmp_path / "out", why)


def test_a_missing_tool_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QEMU", "no-such-qemu")
    expect_no_score(graded(tmp_path), tmp_path, "no-such-qemu")


def test_what_fails_with_the_solution_too_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`control` is the run of the solution, which decides whose failure it is."""

    def run(bench: workbench.Workbench, *_: object, **__: object) -> None:
        raise KeyError(bench.folder.name)

    monkeypatch.setattr(workbench.Workbench, "run", run)
    expect_no_score(graded(tmp_path), tmp_path, "KeyError: 'control'")


def test_what_fails_with_the_submission_alone_is_the_submissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solution's run (control) works, so the failure costs the student's points."""
    honest = workbench.Workbench.run

    def run(bench: workbench.Workbench, *words: object, **how: object) -> object:
        """Run the machines of the control, which is the solution, as always; fail for others."""
        if bench.folder.name == "control":
            return honest(bench, *words, **how)
        raise KeyError("wild")

    monkeypatch.setattr(workbench.Workbench, "run", run)
    record = graded(tmp_path)
    assert (record.status, record.score) == ("graded", 0) and "wild" in record.tests[0].came


def test_a_tool_that_cannot_run_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool that computes a drive's times."""
    tool = tmp_path / "drive_times_tool"
    tool.write_text("#!/bin/sh\necho 'error while loading libraries' >&2\nexit 127\n")
    tool.chmod(0o755)
    monkeypatch.setattr(evidence, "NATIVE", tmp_path)
    expect_no_score(graded(tmp_path / "out"), tmp_path / "out", "error while loading libraries")


@pytest.mark.skipif(not shutil.which("mount") or bool(os.geteuid()), reason="only root mounts")
def test_a_full_disk_is_one_line_and_no_score(room: Path) -> None:
    """The disk is a small one in memory."""
    out = room / "out"
    out.mkdir()
    mount = f'mount -t tmpfs -o size=300k none {out} && exec "$0" "$@"'
    line = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, sys.executable]
    done = subprocess.run(
        [*line, *work("lab:grade", lab=LAB.name, out=out, test=TESTS)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    assert "No space left on device; free space there" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
