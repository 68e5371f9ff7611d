"""Paths of the tree: where inputs are, and where results go.

TREE has the kernel's sources and what is built from them. It is this tree, or the snapshot of it
that a command works on (snapshot.py), which no `make` changes meanwhile. Results, the labs and the
host's code are those of ROOT.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"  # where results go
SNAPSHOTS = BUILD / "snapshots"
SNAPSHOT = "SLUICE_SNAPSHOT"  # the environment's word for the one to be used


def tree() -> Path:
    """The snapshot that the environment names, if it is this tree's, else the tree itself."""
    named = Path(os.environ.get(SNAPSHOT, ""))
    return named if SNAPSHOTS in named.parents else ROOT


TREE = tree()
BUILT = TREE / "build"
KERNEL = BUILT / "kernel" / "kernel.elf"
DEBUG_KERNEL = BUILT / "debug" / "kernel" / "kernel.elf"
MKFS = BUILT / "mkfs" / "mkfs"
ROOT_FOLDER = BUILT / "root"
PROGRAMS = BUILT / "programs" / "bin"  # those that are on no disk but by request
NATIVE = BUILT / "native"
