"""Copies of the tree, in which a test may change sources and run make."""

import os
import shutil
import subprocess
from pathlib import Path

from grade.host.limits import HANG_S
from grade.host.paths import ROOT

# Of build/ without what other tests and commands make and remove meanwhile.
SKIPPED = (".git", ".venv", "__pycache__", "experiments", "snapshots", "*.img", "*.sock")


def copy_of_tree(folder: Path) -> Path:
    """The tree as built, times included; .venv is shared."""
    copy = folder / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*SKIPPED), symlinks=True)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


def plain_environment() -> dict[str, str]:
    """Without what an outer make has told its children."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}


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
