"""Define paths: where inputs are, and where commands write.

Sluice is used from a clone of its tree, or from a package that pip installed. Other modules do not
distinguish the two, except for work that only a clone can do.

                 in a clone             installed
    ROOT         the tree               site-packages/sluice/tree (tools/wheel/hook.py)
    TREE         ROOT or a snapshot     ROOT
    BUILD        build/                 sluice-out/ in the user's current folder
    KEPT         build/experiments/     ~/.cache/sluice/kept, by the rules of XDG

- ROOT has experiments, stored results, labs and the host's code, as far as they are there.
- TREE has the kernel's sources and what is built from them. It is the tree, or the snapshot of it
  that a command works on (snapshot.py), which no `make` changes meanwhile.
- BUILD is for what a user asked for: results, reports, pages. SLUICE_OUT names another folder.
- KEPT is a cache of files that can be made again at any time: images of disks, requests of traces,
  work in progress. All versions may share one KEPT, because each file's name has the hash of its
  inputs. SLUICE_CACHE or XDG_CACHE_HOME names another folder, as for tools/setup.sh.
- Nothing is written below ROOT of an installed package. Programs that a command starts use the
  command's BUILD, in any working folder.
"""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
DATA = PACKAGE / "tree"
CLONE = not DATA.is_dir()  # True in a clone of the tree
ROOT = PACKAGE.parent if CLONE else DATA


def cache_folder() -> Path:
    """Return the user's cache for Sluice.

    A relative path in the environment is ignored, as XDG requires.
    """
    for name, below in (("SLUICE_CACHE", ""), ("XDG_CACHE_HOME", "sluice")):
        if Path(os.environ.get(name, "")).is_absolute():
            return Path(os.environ[name]) / below
    return Path("~/.cache/sluice").expanduser()


def kept_folder() -> Path:
    """Return KEPT of an installed package: in the user's cache, or among the results if the user
    has no home that can be written to."""
    wanted = cache_folder() / "kept"
    there = next(path for path in (wanted, *wanted.parents) if path.exists())
    return wanted if os.access(there, os.W_OK | os.X_OK) else BUILD / "kept"


OUT = "SLUICE_OUT"  # environment variable that sets BUILD of an installed package
BUILD = ROOT / "build" if CLONE else Path(os.environ.get(OUT) or "sluice-out").absolute()
KEPT = BUILD / "experiments" if CLONE else kept_folder()
if not CLONE:
    os.environ[OUT] = str(BUILD)
SNAPSHOTS = BUILD / "snapshots"
SNAPSHOT = "SLUICE_SNAPSHOT"  # environment variable with the snapshot to use


def tree_root() -> Path:
    """Return the snapshot that the environment names, if it is this tree's, or else the tree
    itself."""
    named = Path(os.environ.get(SNAPSHOT, ""))
    return named if CLONE and SNAPSHOTS in named.parents else ROOT


TREE = tree_root()
BUILT = TREE / "build"
KERNEL = BUILT / "kernel" / "kernel.elf"
DEBUG_KERNEL = BUILT / "debug" / "kernel" / "kernel.elf"
MKFS = BUILT / "mkfs" / "mkfs"
ROOT_FOLDER = BUILT / "root"
PROGRAMS = BUILT / "programs" / "bin"  # programs that are on a disk only by request
NATIVE = BUILT / "native"
