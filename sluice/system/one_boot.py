"""`sluice run`: boot in virtual time, run shell commands, show what they print, power off.

The machine has a fresh root disk each time, and its clock counts instructions and modelled disk
time. So a run takes less time than it tells of, and the same commands print the same figures on
every computer. The exit status is that of the last command.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from sluice.host.paths import BUILD
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start

FOLDER = BUILD / "run"
OF_NO_MATTER = "icount sleep disabled and no active timers"  # QEMU says so while disks work


def config(args: str, commands: str, size_mb: int, memory: str, folder: Path) -> Config:
    """Return the machine; its root disk is made in the folder."""
    content = Content(rc=commands + "\n", size=f"{size_mb}M")
    disk = image.make_image(folder / "disk.img", content)
    return Config((Disk(disk),), memory=memory, args=args, lab=True)


def execute(commands: str, args: str, memory: str, disk_mib: int) -> int:
    """Run the commands. Returns the status of the last one."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    machine = config(args, commands, disk_mib, memory, FOLDER)
    how: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with machine.guest() as guest, start(machine, guest, **how) as process:
        assert process.stderr
        for line in process.stderr:
            if OF_NO_MATTER not in line:
                print(line, end="", file=sys.stderr)
        process.wait()
        guest.verify()
    return process.returncode
