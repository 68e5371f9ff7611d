"""Prepare a command in a clone of the repository: install and build what it needs.

- is_clone() is the one place that decides whether there is anything to set up. An installed package
  has no Makefile beside it: it comes with what it needs, so prepare() does nothing there.
- prepare() runs tools/setup.sh and then make, which are quick and silent when all is there. Their
  output goes to standard error, so that a command's own output can be piped.
- environment() has what the Makefile gives to the programs that it starts.
"""

import os
import subprocess
import sys
from collections.abc import Collection

from sluice.host.paths import CLONE, ROOT

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
# Variables that make sets for programs that it starts. A make that is started here must not see
# them.
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")
DEBUG = "build/debug/"  # goals below it are built with DEBUG=1
GIVEN = dict(os.environ)  # before printing.prepare() changes it for this process


def is_clone() -> bool:
    """Return true if this package is part of a clone, which builds what commands need."""
    return CLONE


def find_tool(kind: str) -> str:
    """Return the cross compiler's prefix or the path of gdb, found by tools/find_tool.sh."""
    line = ["sh", "tools/find_tool.sh", kind]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8")
    return done.stdout.strip()


def environment(system_path: bool = False) -> dict[str, str]:
    """Return the environment in which commands work.

    system_path: PATH has only the system's folders, without programs that a person installed (for
    tests).
    """
    path = GIVEN.get("PATH", "") + ":/usr/sbin:/sbin"
    made = GIVEN | {"PATH": SYSTEM_PATH if system_path else path, "PYTHONUTF8": "1"}
    for name in OF_MAKE:
        made.pop(name, None)
    if is_clone():
        made |= {"TOOLPREFIX": find_tool("prefix"), "GDB": find_tool("gdb")}
    made.setdefault("QEMU", "qemu-system-riscv64")
    made.setdefault("HOSTCC", "cc")
    return made


def prepare(
    groups: Collection[str], goals: Collection[str], jobs: int | None, env: dict[str, str]
) -> int:
    """Install groups of tools/setup.sh and build goals of make. Returns the status of the first of
    the two that fails, or 0."""
    if not is_clone():
        return 0
    made = ["make", "--no-print-directory", "SETUP=no", *([f"JOBS={jobs}"] if jobs else [])]
    lines = [["sh", "tools/setup.sh", *groups]] if groups and env.get("SETUP") != "no" else []
    debug = [goal for goal in goals if goal.startswith(DEBUG)]
    plain = [goal for goal in goals if goal not in debug]
    lines += [[*made, *plain]] if plain else []
    lines += [[*made, "DEBUG=1", *debug]] if debug else []
    for line in lines:
        sys.stderr.flush()
        done = subprocess.run(line, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=2)
        if done.returncode:
            return done.returncode
    return 0
