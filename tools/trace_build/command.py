"""`make measure-build`: compile this kernel under strace, and describe what that does with files.

The description becomes user/kbuild/measured.c, from which the load kbuild is made. It differs from
one compiler to another, and CPU times differ from one run to another; what is in the tree was
measured once, so that the load stays the same.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from grade.code.objects import PREFIX
from sluice.host.interrupt import stoppable
from sluice.host.paths import ROOT, TREE
from tools.trace_build import calls, compilation, figures, processes, table, times

PLACE = ROOT / "user" / "kbuild" / "measured.c"
HEADER_WORDS = re.compile(r"^#define HEADER_WORDS +(\d+)", re.M)


def version(program: str) -> str:
    """The first line that a program prints of its version."""
    said = subprocess.run(
        [program, "--version"], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return said.stdout.splitlines()[0]


def commit() -> str:
    """The last commit that changed the kernel or a policy, as far as there is one."""
    said = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "kernel", "policies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    return said.stdout.strip() or "no commit"


def measured() -> str:
    """Compile under strace. Returns the description as C."""
    with tempfile.TemporaryDirectory() as name:
        folder, output = Path(name), Path(name) / "strace.txt"
        compilation.traced(folder / "traced", output)
        compilation.compiled(folder / "timed")
        with output.open(encoding="utf-8") as lines:
            trace = processes.follow(calls.read(lines))
        with (folder / "timed" / compilation.TIMES).open(encoding="utf-8") as lines:
            timed = times.read(lines)
        found = figures.of(trace, timed, TREE, folder / "traced" / compilation.PROGRAM)
    build = (
        f"Sluice's kernel of {commit()}, {len(found.sources)} sources in C; flags of the Makefile, "
        "preprocessor apart"
    )
    tools = f"{version(PREFIX + 'gcc')}; {version(PREFIX + 'ld')}; {version('strace')}"
    [words] = HEADER_WORDS.findall((PLACE.parent / "kbuild.h").read_text(encoding="utf-8"))
    return table.rendered(found, build, tools, int(words))


def main() -> int:
    """Measure and write. Returns the status for the shell."""
    parser = argparse.ArgumentParser(prog="tools.trace_build.command", description=__doc__)
    parser.add_argument("--out", type=Path, default=PLACE, help="the file to write")
    out = parser.parse_args().out
    try:
        text = measured()
    except (FileNotFoundError, ValueError, subprocess.CalledProcessError) as error:
        print(f"measure-build: {error}", file=sys.stderr)
        return 1
    out.write_text(text, encoding="utf-8")
    print(text.split("*/")[0] + "*/")
    print(f"written: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(stoppable(main, "nothing was written"))
