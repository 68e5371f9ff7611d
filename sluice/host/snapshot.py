"""Runs a command on a snapshot of the tree, so that a `make` beside it changes nothing in it.

    .venv/bin/python -m sluice.host.snapshot -m grade.cli.labs grade --lab=elevator
    .venv/bin/python -m sluice.host.snapshot --without-twin -m sluice.cli.debug sched-load

- The snapshot is one copy, made at the start, of everything that the command reads and that `make`
  or people may change: the kernel, its objects, the programs, mkfs, the host's tools, and the
  sources. sluice/host/paths.py leads to it, in this process and, by the environment, in all that
  this process starts: children, threads, and the Dask workers of this machine.
- No copy is of half a build. `make` holds an exclusive lock on the Makefile while it builds, and
  this program holds a shared one while it copies.
- A snapshot is removed when its command ends. If the command was killed, the next one removes it
  (scratch.py).
- A command that needs no twin says so (`--without-twin`): half of what is copied belongs to it.

A Dask worker of a cluster has no snapshot. Before and after its work it checks that what is built
in its tree is what was asked for (grade/course/classroom.py, sluice/experiment/runner.py).
"""

import fcntl
import importlib
import os
import runpy
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sluice.host import paths
from sluice.host.interrupt import stoppable
from sluice.host.scratch import locked, scratch

FOLDERS = (
    *("kernel", "policies", "drives", "user", "mkfs"),
    *("build/kernel", "build/policies", "build/drives", "build/root"),
    *("build/twin", "sluice/twin", "build/live/wasm", "build/programs/bin", "build/guest"),
)
FILES = (*("Makefile", "*.toml", "build/*.command", "build/mkfs/mkfs", "build/native/*_tool"),)
OF_TWIN = ("build/twin", "build/live/wasm")
WITHOUT_TWIN = "--without-twin"
NOT_YOURS = "nothing can be written there: use a tree of your own (git clone it, then make)"
USAGE = f"usage: python -m sluice.host.snapshot [{WITHOUT_TWIN}] -m MODULE [ARGUMENT...]"


@contextmanager
def nobody_builds(root: Path) -> Iterator[None]:
    """Keep every `make` from building in the tree during the context. Waits for one that builds."""
    makefile = root / "Makefile"
    try:
        with locked(makefile, fcntl.LOCK_SH | fcntl.LOCK_NB):
            pass
    except BlockingIOError:
        print(f"waiting for the make that builds in {root}", file=sys.stderr)
    with locked(makefile, fcntl.LOCK_SH):
        yield


def copy(root: Path, target: Path, without: Collection[str] = ()) -> None:
    """Copy what commands read, without some folders. Times are kept: `make` compares them."""
    for name in FOLDERS:
        if name not in without and (root / name).is_dir():
            shutil.copytree(root / name, target / name, symlinks=True)
    for pattern in FILES:
        for path in root.glob(pattern):
            place = target / path.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)


@contextmanager
def taken(root: Path = paths.ROOT, without: Collection[str] = ()) -> Iterator[Path]:
    """Make a snapshot of the tree, without some folders, for the time of the context. Yields its
    folder."""
    with scratch(root / paths.SNAPSHOTS.relative_to(paths.ROOT)) as folder:
        with nobody_builds(root):
            copy(root, folder, without)
        yield folder


def run(module: str, arguments: list[str], without: Collection[str] = ()) -> None:
    """Run a module as a program, as `python -m` does, on a snapshot without some folders."""
    with taken(without=without) as folder:
        os.environ[paths.SNAPSHOT] = str(folder)
        importlib.reload(paths)
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def expect_yours(root: Path) -> None:
    """End the command in a line if this user may not make snapshots of the tree."""
    base = root / paths.SNAPSHOTS.relative_to(paths.ROOT)
    there = next(folder for folder in (base, *base.parents) if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        sys.exit(f"{there}: {NOT_YOURS}")


if __name__ == "__main__":
    less = OF_TWIN if sys.argv[1:2] == [WITHOUT_TWIN] else ()
    words = sys.argv[2:] if less else sys.argv[1:]
    if len(words) < 2 or words[0] != "-m":
        sys.exit(USAGE)
    expect_yours(paths.ROOT)
    sys.exit(stoppable(partial(run, words[1], words[2:], less)))
