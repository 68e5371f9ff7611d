"""Starts the command `sluice`. In a clone whose .venv lacks the packages for it, they are installed
first."""

import os
import subprocess
import sys

from sluice.host.clone import is_clone
from sluice.host.paths import ROOT

TRIED = "SLUICE_SET_UP"  # set in the environment if the packages were installed just now

try:
    from sluice.cli.main import main
except ModuleNotFoundError:
    if not is_clone() or TRIED in os.environ:
        raise
    if subprocess.run(["sh", "tools/setup.sh", "run"], cwd=ROOT, stdout=2).returncode:
        sys.exit(1)
    line = [sys.executable, "-P", "-m", "sluice.cli", *sys.argv[1:]]
    os.execve(sys.executable, line, os.environ | {TRIED: "1"})

os.environ.pop(TRIED, None)
main()
