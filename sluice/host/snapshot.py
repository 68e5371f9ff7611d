"""Run a command on a snapshot of the tree, so that a `make` at the same time changes nothing for
it.

    .venv/bin/python -m sluice.host.snapshot -m sluice.cli.work sluice.cli.verbs.lab:grade VALUES
    .venv/bin/python -m sluice.host.snapshot --without-twin -m sluice.cli.work HOME VALUES
    .venv/bin/python -m sluice.host.snapshot --for-runs -m sluice.cli.work HOME VALUES

- The snapshot is one copy, made at the start, of everything that the command reads and that `make`
  or people may change: the kernel, its objects, the programs, mkfs, the host's tools, and the
  sources. sluice/host/paths.py has its path, in this process and, through the environment, in
  everything that this process starts: children, threads, and the Dask workers of this machine.
- A build in progress is never copied. `make` holds an exclusive lock on the Makefile while it
  builds, and this program holds a shared lock while it copies.
- A snapshot is removed when its command ends. If the command was killed, the next one removes it
  (scratch.py).
- A command that needs no twin gives `--without-twin`, because the twin is half of the copy. A
  command that makes runs and compiles nothing gives `--for-runs`: it gets the programs, a tenth of
  the files.
- An installed package has no sources and no `make`: there the command reads the package itself.

A Dask worker of a cluster has no snapshot. Before and after its work it checks that the built files
of its tree are the caller's (grade/course/classroom.py, sluice/experiment/runner.py).
"""

import fcntl
import importlib
import os
import runpy
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sluice.host import paths
from sluice.host.interrupt import run_interruptible
from sluice.host.scratch import hold_lock, scratch_folder

FOLDERS = (
    *("kernel", "policies", "drives", "user", "mkfs"),
    *("build/kernel", "build/policies", "build/drives", "build/root"),
    *("build/twin", "sluice/twin", "build/live/wasm", "build/programs/bin", "build/guest"),
)
FILES = (
    *(
        "Makefile",
        "tools/rules/*.mk",
        "sluice/crash/*.c",
        "*.toml",
        "build/*.command",
        "build/mkfs/mkfs",
        "build/mkfs/*.o",
        "build/native/*_tool",
        "build/blocks/replayer",
        "build/blocks/curve",
    ),
)
OF_TWIN = ("build/twin", "build/live/wasm")
RUNS_FOLDERS = ("build/root", "build/twin/bin", "build/programs/bin")
RUNS_FILES = (
    *("build/kernel/kernel.elf", "build/twin/twin", "build/mkfs/mkfs"),
    "build/native/drive_*_tool",
)


@dataclass(frozen=True)
class Parts:
    """What a snapshot has: these folders, and the files of these patterns."""

    folders: tuple[str, ...] = FOLDERS
    files: tuple[str, ...] = FILES


WHOLE = Parts()
WITHOUT_TWIN, FOR_RUNS = "--without-twin", "--for-runs"
OPTIONS = {
    WITHOUT_TWIN: Parts(tuple(name for name in FOLDERS if name not in OF_TWIN)),
    FOR_RUNS: Parts(RUNS_FOLDERS, RUNS_FILES),
}
NOT_YOURS = "nothing can be written there: use a tree of your own (git clone it, then make)"
NOT_THERE = f"nothing can be written there: go to a folder of yours, or give one as {paths.OUT}="
USAGE = (
    f"usage: python -m sluice.host.snapshot [{WITHOUT_TWIN} | {FOR_RUNS}] -m MODULE [ARGUMENT...]"
)


@contextmanager
def hold_off_builds(root: Path) -> Iterator[None]:
    """Keep every `make` from building in the tree during the context. Waits for a `make` that is
    building."""
    makefile = root / "Makefile"
    try:
        with hold_lock(makefile, fcntl.LOCK_SH | fcntl.LOCK_NB):
            pass
    except BlockingIOError:
        print(f"waiting for the make that builds in {root}", file=sys.stderr)
    with hold_lock(makefile, fcntl.LOCK_SH):
        yield


def copy_tree(root: Path, target: Path, parts: Parts = WHOLE) -> None:
    """Copy the files that commands read. Times are kept, because `make` compares them."""
    for name in parts.folders:
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name, symlinks=True)
    for pattern in parts.files:
        for path in root.glob(pattern):
            place = target / path.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)


@contextmanager
def take_snapshot(root: Path = paths.ROOT, parts: Parts = WHOLE) -> Iterator[Path]:
    """Make a snapshot of parts of the tree for the time of the context. Yields its folder."""
    with scratch_folder(root / paths.SNAPSHOTS.relative_to(paths.ROOT)) as folder:
        with hold_off_builds(root):
            copy_tree(root, folder, parts)
        yield folder


def run_module(module: str, arguments: list[str], parts: Parts = WHOLE) -> None:
    """Run a module as a program, as `python -m` does, on a snapshot of parts of the tree."""
    with working_copy(parts):
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


@contextmanager
def working_copy(parts: Parts = WHOLE) -> Iterator[None]:
    """Have this process, and all that it starts, read a snapshot of parts of the tree for the time
    of the context. In an installed package there is nothing to protect, and no snapshot."""
    if not paths.CLONE:
        yield
        return
    with take_snapshot(parts=parts) as folder:
        os.environ[paths.SNAPSHOT] = str(folder)
        importlib.reload(paths)
        yield


def expect_own_tree(root: Path) -> None:
    """End the command with a message of one line if this user may not make snapshots of the tree,
    or may not write the results of an installed package."""
    if paths.CLONE:
        wanted, why = root / paths.SNAPSHOTS.relative_to(paths.ROOT), NOT_YOURS
    else:
        wanted, why = paths.BUILD, NOT_THERE
    nearest = next(folder for folder in (wanted, *wanted.parents) if folder.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        sys.exit(f"{nearest}: {why}")


if __name__ == "__main__":
    parts = OPTIONS.get(sys.argv[1]) if len(sys.argv) > 1 else None
    words = sys.argv[2:] if parts else sys.argv[1:]
    if len(words) < 2 or words[0] != "-m":
        sys.exit(USAGE)
    expect_own_tree(paths.ROOT)
    sys.exit(run_interruptible(partial(run_module, words[1], words[2:], parts or WHOLE)))
