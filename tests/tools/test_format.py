"""The sources are laid out as the checked-in settings say."""

import subprocess
import sys
from pathlib import Path

import pytest
from trees import SOURCE_FOLDERS

from sluice.host.paths import ROOT

pytestmark = pytest.mark.check

BIN = Path(sys.executable).parent
FOLDERS = [*SOURCE_FOLDERS, "sluice/programs", "tools/bench/guest"]
DEEPEST = 4  # folders above a file
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


def tracked_files() -> list[str]:
    """Return the paths of the files that git has."""
    words = ["git", "ls-files", "-z"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def test_no_file_is_more_than_four_folders_deep() -> None:
    assert [path for path in tracked_files() if path.count("/") > DEEPEST] == []


def test_the_top_level_stays_as_it_is() -> None:
    top = {path.split("/")[0] for path in tracked_files()}
    shown = {name for name in top if not name.startswith(".")}
    assert shown == {
        *("README.md", "ARCHITECTURE.md", "LICENSE", "Makefile"),
        "CHANGELOG.md",  # what a course that pins a version looks for
        *("CONTRIBUTING.md", "CITATION.cff"),
        "bin",  # the command sluice
        *("kernel", "user", "mkfs", "policies", "drives"),
        *("sluice", "experiments", "results", "grade", "book", "tests", "tools", "pyproject.toml"),
        "findings",  # what surprised us in the tools of the field: scripts, outside all tests
    }
