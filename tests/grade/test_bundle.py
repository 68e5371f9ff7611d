"""The archive for Gradescope: set up and called as Gradescope does, elsewhere than /autograder.

`archive` is the archive of the lab readahead. `autograder` is Gradescope's folder after its setup,
which has the folders source (the unpacked archive), submission and results.
"""

import json
import os
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from forms import complaints

from grade.course import bundle
from grade.definition.lab import BadLab, find_lab
from grade.engine import tree
from grade.engine.formats import gradescope
from sluice.host.paths import ROOT

LAB = find_lab("readahead")  # whose machines do little


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive's path."""
    path = tmp_path_factory.mktemp("bundle") / "autograder.zip"
    bundle.write_bundle(LAB, path)
    return path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack with modes and times, as unzip does. The upper half of a member's attributes is its
    mode on Unix."""
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            path = Path(opened.extract(info, folder))
            path.chmod(info.external_attr >> 16 & 0o777)
            when = time.mktime((*info.date_time, 0, 0, -1))
            os.utime(path, (when, when))


def run_from_archive(
    line: list[str | Path], folder: Path, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a script of the archive to its end, without what make puts into the environment."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        line, cwd=folder, env=clean | env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def autograder(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return Gradescope's folder after its setup. The tools, the tree's .venv and what it built are
    there. apt-get is replaced by a script that only notes its words."""
    tmp_path = tmp_path_factory.mktemp("gradescope")
    root = tmp_path / "autograder"
    unpack(archive, root / "source")
    inside = root / "source" / bundle.TREE
    (inside / ".venv").symlink_to(ROOT / ".venv")
    left_out = ("fresh", "experiments", "grade", "class", "root", "*.img", "*.sock")
    skip = shutil.ignore_patterns(*left_out)
    shutil.copytree(ROOT / "build", inside / "build", ignore=skip)
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    apt.chmod(0o755)
    path = f"{apt.parent}:{os.environ['PATH']}"
    done = run_from_archive([root / "source/setup.sh"], root, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "python3-venv" in (tmp_path / "asked").read_text()
    shutil.copy2(root / "source/run_autograder", root)
    return root


def grade_submission(root: Path, files: dict[str, str]) -> dict:
    """Return what Gradescope reads after a submission of these files."""
    shutil.rmtree(root / "submission", ignore_errors=True)
    for name, text in files.items():
        path = root / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = run_from_archive([root / "run_autograder"], root, AUTOGRADER=str(root))
    assert not done.returncode, done.stderr
    path = root / "results/results.json"
    assert not complaints(gradescope, path)
    return json.loads(path.read_text())


def test_nobody_but_its_owner_reads_the_graders_tree(autograder: Path) -> None:
    """The hidden tests are there, and other users have no access."""
    hidden = autograder / "source/sluice/grade/labs/readahead/hidden"
    assert hidden.is_dir() and (autograder / "source").stat().st_mode & 0o077 == 0


def test_gradescope_gets_results_of_a_submission_whatever_it_is(autograder: Path) -> None:
    """Right, not C, and without the lab's file. If the grader itself fails, no result is
    written."""
    good = {file: tree.pristine_text(file) for file in LAB.files}
    assert grade_submission(autograder, good)["score"] == 100
    wrong = grade_submission(autograder, dict.fromkeys(LAB.files, "nonsense"))
    assert wrong["score"] == 0 and "build failed" in wrong["output"]
    none = grade_submission(autograder, {"notes.txt": "sorry"})
    assert none["score"] == 0 and "refused" in none["output"]
    (autograder / "source/lab").write_text("nonesuch\n")
    failed = run_from_archive(
        [autograder / "run_autograder"], autograder, AUTOGRADER=str(autograder)
    )
    assert failed.returncode and "The grader failed" in failed.stderr
    # this file would be taken for a score
    assert not (autograder / "results/results.json").exists()


def test_the_archive_is_whole_and_the_same_again(archive: Path, tmp_path: Path) -> None:
    """Writing it twice gives equal bytes. What is built is left out."""
    bundle.write_bundle(LAB, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
    assert {"setup.sh", "run_autograder", "lab"} <= names
    assert {f"sluice/{f}" for f in ("Makefile", "kernel/main.c", "tools/setup.sh")} <= names
    assert not [name for name in names if "/build/" in name or "/.venv/" in name or ".git/" in name]


def test_a_bad_request_for_one_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadLab, match=r"ends in \.zip"):
        bundle.write_bundle(LAB, tmp_path / "autograder.tar")
    assert not list(tmp_path.iterdir())
