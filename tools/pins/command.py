"""Pin the Python packages anew: write tools/requirements/lock.txt and the file of each group.

    .venv/bin/python -m tools.pins.command                       # after a change of pyproject.toml
    .venv/bin/python -m tools.pins.command --upgrade numpy rich  # to newer versions of these
    .venv/bin/python -m tools.pins.command --offline             # only the groups' files

Versions stay as they are unless pyproject.toml or --upgrade asks for others. It needs uv, which is
in no group: `pip install uv` in an environment of your own puts it on PATH.
"""

import argparse
import shutil
import subprocess
import sys

from sluice.host.interrupt import run_interruptible
from sluice.host.paths import ROOT
from tools.pins.lock import FOLDER, LOCK, PROJECT, group_files, groups

OLDEST = "3.11"  # Python, of Debian 12


def compile_lock(upgrade: list[str]) -> None:
    """Have uv write the lock. upgrade: packages whose versions it may raise."""
    line = ["uv", "pip", "compile", PROJECT.name, "--quiet", "--universal", "--generate-hashes"]
    line += ["--no-header", "--no-emit-index-url", "--python-version", OLDEST]
    line += [f"--group={group}" for group in groups()]
    line += [f"--upgrade-package={name}" for name in upgrade]
    line += ["--output-file", str(LOCK.relative_to(ROOT))]
    subprocess.run(line, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def main() -> int:
    """Run the command. Returns its exit status."""
    options = argparse.ArgumentParser(prog="python -m tools.pins.command", description=__doc__)
    options.add_argument("--upgrade", nargs="+", default=[], help="packages to be raised")
    options.add_argument("--offline", action="store_true", help="leave the lock as it is")
    choice = options.parse_args()
    if not choice.offline:
        if not shutil.which("uv"):
            print("uv is missing, which makes the lock: type `pip install uv`", file=sys.stderr)
            return 2
        compile_lock(choice.upgrade)
    for group, text in group_files(LOCK.read_text(encoding="utf-8")).items():
        (FOLDER / f"{group}.txt").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(run_interruptible(main))
