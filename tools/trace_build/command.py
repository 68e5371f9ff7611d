"""`make measure-build`: compile this kernel under strace, and describe what that does with files.

The description becomes user/load/kbuild/measured.c, from which the load kbuild is made. It differs
from one compiler to another, and CPU times differ from one run to another; what is in the tree was
measured once, so that the load stays the same.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from grade.code.objects import PREFIX
from sluice.host.paths import ROOT, TREE
from tools.trace_build import calls, compilation, figures, processes, table, times

PLACE = ROOT / "user" / "load" / "kbuild" / "measured.c"
HEADER_WORDS = re.compile(r"^#define HEADER_WORDS +(\d+)", re.M)


def tool_version(program: str) -> str:
    """Return the first line that a program prints about its version."""
    said = subprocess.run(
        [program, "--version"], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    return said.stdout.splitlines()[0]


def last_kernel_commit() -> str:
    """Return the last commit that changed the kernel or a policy, or "no commit"."""
    said = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "kernel", "policies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    return said.stdout.strip() or "no commit"


def measure_build() -> str:
    """Compile under strace. Returns the description as C."""
    with tempfile.TemporaryDirectory() as name:
        folder, output = Path(name), Path(name) / "strace.txt"
        compilation.build_under_strace(folder / "traced", output)
        compilation.build_in_process(folder / "timed")
        with output.open(encoding="utf-8") as lines:
            trace = processes.follow_calls(calls.parse_calls(lines))
        with (folder / "timed" / compilation.TIMES).open(encoding="utf-8") as lines:
            timed = times.parse_times(lines)
        found = figures.describe_build(trace, timed, TREE, folder / "traced" / compilation.PROGRAM)
    build = (
        f"Sluice's kernel of {last_kernel_commit()}, {len(found.sources)} sources in C; "
        "flags of the Makefile, preprocessor apart"
    )
    tools = (
        f"{tool_version(PREFIX + 'gcc')}; {tool_version(PREFIX + 'ld')}; {tool_version('strace')}"
    )
    [words] = HEADER_WORDS.findall((PLACE.parent / "kbuild.h").read_text(encoding="utf-8"))
    return table.render_c(found, build, tools, int(words))


def write_measured(out: Path = PLACE) -> int:
    """Measure and write. Returns the exit status."""
    try:
        text = measure_build()
    except (FileNotFoundError, ValueError, subprocess.CalledProcessError) as error:
        print(f"measure-build: {error}", file=sys.stderr)
        return 1
    out.write_text(text, encoding="utf-8")
    print(text.split("*/")[0] + "*/")
    print(f"written: {out}")
    return 0
