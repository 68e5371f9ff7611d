"""Runs a command on a snapshot of the tree, so that a `make` beside it changes nothing in it.

    .venv/bin/python -m grade.host.snapshot -m grade.commands.labs grade --lab=elevator

- The snapshot is one copy, taken at the start, of what the command reads and `make` writes or
  people edit: the kernel, its objects, the programs, mkfs, the host's tools, and the sources.
  grade/host/paths.py leads there, in this process and, by the environment, in all that it starts:
  children, threads, and the Dask workers of this machine.
- No copy is of half a build: `make` holds an exclusive lock on the Makefile while it builds,
  and a shared one is held here while the copy is made, not longer.
- A snapshot is removed when its command ends. If that was killed, the next command removes it:
  a folder in use is locked.

A Dask worker of a cluster has no snapshot: it looks before and after its work whether what is
built in its tree is what was asked for (scoring/classroom.py, measure/runner.py).
"""

import fcntl
import importlib
import os
import runpy
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from grade.host import paths
from grade.host.interrupt import stoppable

FOLDERS = ("kernel", "policies", "user", "mkfs", "build/kernel", "build/policies", "build/root")
FILES = ("Makefile", "*.toml", "build/*.command", "build/mkfs/mkfs", "build/native/*_tool")
USAGE = "usage: python -m grade.host.snapshot -m MODULE [ARGUMENT...]"


@contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """A file or folder is locked in this way (flock(2)); raises BlockingIOError with LOCK_NB."""
    opened = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(opened, how)
        yield
    finally:
        os.close(opened)


@contextmanager
def nobody_builds(root: Path) -> Iterator[None]:
    """While this lasts no `make` builds in the tree; it waits for one that does."""
    makefile = root / "Makefile"
    try:
        with locked(makefile, fcntl.LOCK_SH | fcntl.LOCK_NB):
            pass
    except BlockingIOError:
        print(f"waiting for the make that builds in {root}", file=sys.stderr)
    with locked(makefile, fcntl.LOCK_SH):
        yield


def remove_abandoned(snapshots: Path) -> None:
    """Remove the snapshots whose commands were killed."""
    for folder in snapshots.iterdir():
        try:
            with locked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(folder)
        except BlockingIOError:
            pass  # in use


def copy(root: Path, target: Path) -> None:
    """Copy what commands read, with its times: `make` goes by them."""
    for name in FOLDERS:
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name, symlinks=True)
    for pattern in FILES:
        for path in root.glob(pattern):
            place = target / path.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)


@contextmanager
def taken(root: Path = paths.ROOT) -> Iterator[Path]:
    """A snapshot of the tree, until the end of the context; yields its folder."""
    snapshots = root / paths.SNAPSHOTS.relative_to(paths.ROOT)
    snapshots.mkdir(parents=True, exist_ok=True)
    with locked(snapshots, fcntl.LOCK_EX):  # none is removed between its making and its locking
        remove_abandoned(snapshots)
        folder = Path(tempfile.mkdtemp(dir=snapshots))
        in_use = os.open(folder, os.O_RDONLY)
        fcntl.flock(in_use, fcntl.LOCK_SH)
    try:
        with nobody_builds(root):
            copy(root, folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(in_use)


def run(module: str, arguments: list[str]) -> None:
    """Run a module as a program, as `python -m` does, on a snapshot."""
    with taken() as folder:
        os.environ[paths.SNAPSHOT] = str(folder)
        importlib.reload(paths)
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "-m":
        sys.exit(USAGE)
    sys.exit(stoppable(partial(run, sys.argv[2], sys.argv[3:])))
