"""`make run`: boot in virtual time, run the shell commands of DO=, show what they print, power off.

The machine has a fresh root disk each time, and its clock counts instructions and modelled disk
time. So a run takes less time than it tells of, and the same commands print the same figures on
every computer. The exit status is that of the last command.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from sluice.host.interrupt import stoppable
from sluice.host.paths import BUILD
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start

FOLDER = BUILD / "run"
OF_NO_MATTER = "icount sleep disabled and no active timers"  # QEMU says so while disks work


def config(args: str, commands: str, size_mb: int, memory: str, folder: Path) -> Config:
    """The machine; its root disk is made in the folder."""
    content = Content(rc=commands + "\n", size=f"{size_mb}M")
    disk = image.make(folder / "disk.img", content)
    return Config((Disk(disk),), memory=memory, args=args, lab=True)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="sluice.cli.run", description=__doc__)
    parser.add_argument("--do", required=True, help="commands of the shell")
    parser.add_argument("--args", default="", help="boot arguments")
    parser.add_argument("--fs-mb", type=int, default=64, help="size of the root disk in MiB")
    parser.add_argument("--mem", default="128M", help="memory")
    return parser.parse_args()


def main() -> int:
    """Run the commands. Returns the status of the last one."""
    choice = arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    machine = config(choice.args, choice.do, choice.fs_mb, choice.mem, FOLDER)
    how = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with machine.guest() as guest, start(machine, guest, **how) as process:
        for line in process.stderr:
            if OF_NO_MATTER not in line:
                print(line, end="", file=sys.stderr)
        process.wait()
        guest.verify()
    return process.returncode


if __name__ == "__main__":
    sys.exit(stoppable(main, "the machine was stopped"))
