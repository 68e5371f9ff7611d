"""The sources are laid out as the checked-in settings say."""

import subprocess
import sys
from pathlib import Path

import pytest

from sluice.host.paths import ROOT

BIN = Path(sys.executable).parent
FOLDERS = [
    "kernel",
    "kernel/*",
    "policies/*",
    "drives",
    "drives/*",
    "user",
    "user/*",
    "mkfs",
    "tests/native",
    "tests/native/*",
    "sluice/programs",
    "tools/bench/guest",
]
PYTHON = ("sluice", "grade", "book", "tools", "tests")
SOURCES = sorted(p for f in FOLDERS for p in ROOT.glob(f + "/*.[ch]"))


def run(*words: str | Path) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run make format\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_c_sources_are_formatted(folder: str) -> None:
    sources = [p for p in SOURCES if p.parent.match(f"{ROOT}/{folder}")]
    run(BIN / "clang-format", "--dry-run", "--Werror", *sources)


def test_python_sources_are_formatted_and_clean() -> None:
    run(BIN / "ruff", "format", "--no-cache", "--check", *PYTHON)
    run(BIN / "ruff", "check", "--no-cache", *PYTHON)


def test_the_top_level_stays_as_it_is() -> None:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    top = {line.split("/")[0] for line in done.stdout.splitlines()}
    shown = {name for name in top if not name.startswith(".")}
    assert shown == {
        *("README.md", "ARCHITECTURE.md", "LICENSE", "Makefile"),
        "CHANGELOG.md",  # what a course that pins a version looks for
        *("CONTRIBUTING.md", "CITATION.cff"),
        *("kernel", "user", "mkfs", "policies", "drives"),
        *("sluice", "experiments", "results", "grade", "book", "tests", "tools", "pyproject.toml"),
        "findings",  # what surprised us in the tools of the field: scripts, outside all tests
    }
