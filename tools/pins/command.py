"""Pin the Python packages anew: write the file of each group in tools/requirements.

    .venv/bin/python -m tools.pins.command                       # after a change of pyproject.toml
    .venv/bin/python -m tools.pins.command --upgrade numpy rich  # to newer versions of these

Versions stay as they are unless pyproject.toml or --upgrade asks for others. It needs uv, which is
in no group: `pip install uv` in an environment of your own puts it on PATH.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sluice.host.interrupt import run_interruptible
from sluice.host.paths import ROOT
from tools.pins.lock import FOLDER, PROJECT, all_pins, group_files, groups

OLDEST = "3.11"  # Python, of Debian 12


def compile_lock(upgrade: list[str]) -> str:
    """Return the lock that uv makes from pyproject.toml.

    Versions of the groups' files stay, except those of the packages in `upgrade`.
    """
    line = ["uv", "pip", "compile", PROJECT.name, "--quiet", "--universal", "--generate-hashes"]
    line += ["--no-header", "--no-emit-index-url", "--python-version", OLDEST]
    line += [f"--group={group}" for group in groups()]
    line += [f"--upgrade-package={name}" for name in upgrade]
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder) / "lock.txt"
        lock.write_text("".join(all_pins().values()), encoding="utf-8")
        line += ["--output-file", str(lock)]
        subprocess.run(line, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        return lock.read_text(encoding="utf-8")


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="python -m tools.pins.command", description=__doc__)
    options.add_argument("--upgrade", nargs="+", default=[], help="packages to be raised")
    choice = options.parse_args()
    if not shutil.which("uv"):
        print("uv is missing, which makes the lock: type `pip install uv`", file=sys.stderr)
        return 2
    for group, text in group_files(compile_lock(choice.upgrade)).items():
        (FOLDER / f"{group}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run_interruptible(main))
