"""Builds a kernel of this tree with further files."""

import shutil
import subprocess
from pathlib import Path

from sluice.host.paths import ROOT


def kernel_with(tree: Path, files: dict[str, str]) -> Path:
    """Return the kernel with these sources added, by their paths; tree: an empty folder to build
    in."""
    for folder in (
        "kernel",
        "policies",
        "drives",
        "build/kernel",
        "build/policies",
        "build/drives",
        "tools/rules",
    ):
        shutil.copytree(ROOT / folder, tree / folder)
    for file in ("Makefile", "build/kernel.command", "tools/find_tool.sh"):
        shutil.copy2(ROOT / file, tree / file)
    for path, text in files.items():
        (tree / path).write_text(text)
    made = "build/kernel/kernel.elf"
    line = ["make", "SETUP=no", made]
    done = subprocess.run(line, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tree / made
