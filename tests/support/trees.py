"""Copies of the tree, in which a test may change sources and run make."""

import os
import subprocess
from pathlib import Path

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT

# What a copy of the tree leaves out. In build/ this is what other tests and commands make and
# remove meanwhile, and what no command in a copy uses, which is a third of build/.
SKIPPED = (
    ".git",
    ".venv",
    "__pycache__",
    "pycache",
    "./build/experiments",
    "./build/snapshots",
    "./build/linux",
    "./build/debug",
    "./build/native/*_test",
    "./build/other",
    "*.img",
    "*.sock",
)


def copy_of_tree(folder: Path, *without: str) -> Path:
    """Return the tree as built, times included, without these folders of it; .venv is shared."""
    copy = folder / "tree"
    copy.mkdir()
    skipped = [f"--exclude={name}" for name in (*SKIPPED, *(f"./{name}" for name in without))]
    pack = ["tar", "--create", "--format=posix", "--file=-", *skipped, "."]
    with subprocess.Popen(pack, cwd=ROOT, stdout=subprocess.PIPE) as packing:
        unpack = ["tar", "--extract", "--preserve-permissions", "--file=-"]
        subprocess.run(unpack, cwd=copy, stdin=packing.stdout, check=True)
    # 1: of a file something changed meanwhile, such as the number of its names by a snapshot.
    assert packing.returncode in (0, 1)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


SOURCE_FOLDERS = (  # folders with C sources that are built
    *("kernel", "kernel/*", "policies/*", "drives", "drives/*", "mkfs"),
    *("user", "user/*", "user/*/*", "tests/*", "tests/*/*"),
)
OF_TESTS = ("FULL", "LAB", "T")  # variables that choose tests; other commands use them differently


def plain_environment() -> dict[str, str]:
    """Return the environment without variables of an outer make and of this test run.

    A copy of the tree keeps no bytecode, but reads that of Python's packages (conftest.py), which
    are installed without: a command that makes runs would compile them for half of its time.
    """
    told = {k for k in os.environ if k.startswith(("MAKE", "MFLAGS"))} | {*OF_TESTS}
    kept = {k: v for k, v in os.environ.items() if k not in told}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"}


def make(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run make there; what it says, errors included, is in stdout."""
    return subprocess.run(
        ["make", *words],
        stdin=subprocess.DEVNULL,
        timeout=HANG_S,
        cwd=folder,
        env=plain_environment(),
        check=check,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
