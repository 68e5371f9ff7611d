"""Builds what a wheel of Sluice has besides Python modules. Hatchling calls it (pyproject.toml).

- `make` builds the kernel for RISC-V and for this computer, mkfs, all programs, and the drives'
  models. So the wheel is for this computer's kind of processor, and for any Python.
- What commands read of a clone goes to sluice/tree, at the places that it has in the clone
  (sluice/host/paths.py). A wheel has no kernel/, no labs and no tests.
- An editable install (`pip install -e .`) uses the clone, and the clone builds what it needs.
"""

import os
import platform
import subprocess
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GROUP = "build"  # of tools/setup.sh: compilers
GOALS = ("all", "twin", "build/native/drive_parts_tool")
# Files, and folders with all that is in them.
TAKEN = (
    *("build/kernel/kernel.elf", "build/mkfs/mkfs", "build/root", "build/programs/bin"),
    *("build/twin/twin", "build/twin/bin", "build/twin/served.so"),
    *("build/blocks/replayer", "build/blocks/curve"),
    *("build/native/drive_parts_tool", "build/native/drive_replay_tool"),
    *("CHANGELOG.md", "experiments", "kernel/measure/trace.h", "tools/gdb"),
    *("drives", "policies"),  # whose files' names are those of drives and policies
    "sluice/trace/experiment.toml",
)


def build(root: Path) -> None:
    """Have make build what a wheel needs. Raises CalledProcessError."""
    told = {name for name in os.environ if name.startswith(("MAKE", "MFLAGS"))}
    environment = {name: text for name, text in os.environ.items() if name not in told}
    for line in (["sh", "tools/setup.sh", GROUP], ["make", "SETUP=no", *GOALS]):
        subprocess.run(line, cwd=root, env=environment, stdin=subprocess.DEVNULL, check=True)


class Hook(BuildHookInterface):
    """The hook of a wheel."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Build, and tell Hatchling the files and the kind of wheel."""
        if version == "editable":
            return
        root = Path(self.root)
        build(root)
        build_data["force_include"] |= {str(root / name): f"sluice/tree/{name}" for name in TAKEN}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{platform.machine()}"
