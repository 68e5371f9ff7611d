"""Where things are in the tree and in build/."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
KERNEL = BUILD / "kernel" / "kernel.elf"
DEBUG_KERNEL = BUILD / "debug" / "kernel" / "kernel.elf"
MKFS = BUILD / "mkfs" / "mkfs"
ROOT_FOLDER = BUILD / "root"
NATIVE = BUILD / "native"
