"""Compile a submission's files, and link their objects with the staff's.

- A file is compiled beside the headers and nothing else, in the sandbox. The sandbox hands out the
  preprocessed text, and then the object. Nothing else that the compiler writes is used.
- The kernel is linked in a second sandbox, from objects only: those of the staff's tree, and those
  of the submission, which have been checked. No text of the submission is there.
- The commands are the tree's own: that of its kernel's objects (build/kernel.command), and make.
"""

import os
import re
import shlex
import shutil
import subprocess
from functools import cache
from pathlib import Path

from grade.code.objects import PREFIX
from grade.trust import sandbox
from grade.trust.archive import Refused
from grade.trust.sourcefile import Expanded, read_expanded
from grade.trust.untrusted_text import make_printable
from sluice.host.fault import HostFault
from sluice.host.paths import BUILT, TREE

COMMAND = BUILT / "kernel.command"
KERNEL = "build/kernel/kernel.elf"
LIMIT_S = 300  # wall-clock time, which only an overloaded host reaches (see CPU_S)
# GCC's message when a program that it called was killed.
KILLED = re.compile(r"^[^\s:]+: (?:fatal )?error: Killed signal", re.M)
MOST_SAID = 4000  # longest message of the compiler, in characters
MOST_EXPANDED = 8 << 20  # bytes
STDIN = "<stdin>"
OWN = ("cc1", "as", "collect2", "ld")  # programs that the compiler calls by paths of its own
LINKING = ("make", "awk", "cmp", "cp", "grep", "mkdir", "nproc", "sed")
COMPILE = 'cd "$TREE" && "$@" -o "$WORK/made.o" && exec cat "$WORK/made.o"'
LINK = (
    'cp -a "$TREE"/* "$WORK" && cd "$WORK" && make --silent SETUP=no LOCK=held'
    f' KCC="$1" KCFLAGS="$2" TOOLPREFIX="$3" {KERNEL} >&2 && exec cat {KERNEL}'
)


class BuildFailed(Exception):
    """The error for a kernel that does not build; the text is the compiler's."""


def compile_command() -> list[str]:
    """Return the compiler and its flags, as used for the kernel's objects, without -Werror."""
    return [word for word in shlex.split(COMMAND.read_text(encoding="utf-8")) if word != "-Werror"]


def find_program(name: str) -> Path:
    """Return the path of a program of this machine. Raises HostFault if it is missing."""
    path = shutil.which(name)
    if not path:
        raise HostFault(f"this machine has no {name}: run make")
    return Path(path)


@cache
def query_compiler(*words: str) -> str:
    """Return the compiler's answer to a question about itself."""
    line = [compile_command()[0], *words]
    return subprocess.run(
        line, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout.strip()


@cache
def needed_programs(*names: str) -> frozenset[Path]:
    """Return the paths of the compiler, everything that it calls, a shell, and these programs."""
    own = [query_compiler(f"-print-prog-name={name}") for name in OWN]
    paths = [find_program(name) for name in (compile_command()[0], "sh", "cat", *names)]
    return frozenset([*paths, *(Path(os.path.normpath(find_program(name))) for name in own)])


@cache
def compiler_folders() -> frozenset[Path]:
    """Return the compiler's own folder in a set; the set is empty if the folder is unknown."""
    install = re.search(r"^install: (.*)$", query_compiler("-print-search-dirs"), re.M)
    return frozenset({Path(install[1]).resolve()}) if install else frozenset()


def run_in_sandbox(
    command: list[str],
    tree: sandbox.Apart,
    names: tuple[str, ...] = (),
    most: int = sandbox.FILE_BYTES,
) -> bytes:
    """Run a command in the sandbox with the tree and return its output.

    Raises BuildFailed, and HostFault if this machine had no time or no memory for it.
    """
    try:
        made = sandbox.run_command(
            command, tree, needed_programs(*names), compiler_folders(), LIMIT_S, most
        )
    except sandbox.TooLong:
        raise HostFault(
            f"the compiler or linker was not done after {LIMIT_S} s: this machine has too much "
            "else to do"
        ) from None
    if made.status and KILLED.search(made.text):
        raise HostFault("something killed the compiler: this machine has too little memory free")
    if made.status:
        raise BuildFailed(make_printable(made.text[-MOST_SAID:]) or f"it ended with {made.status}")
    return made.data


def preprocess(file: str, tree: sandbox.Apart) -> Expanded:
    """Return a file of the tree after the preprocessor. Raises BuildFailed and Refused."""
    data = run_in_sandbox([*compile_command(), "-E", file], tree, most=MOST_EXPANDED)
    try:
        return read_expanded(file, data.decode())
    except UnicodeDecodeError:
        raise Refused(f"{file}: not UTF-8 after its macros are expanded") from None


@cache
def preprocess_headers(headers: tuple[str, ...]) -> Expanded:
    """Return these headers of this tree, preprocessed in this order in an otherwise empty file."""
    text = "".join(f'#include "{header}"\n' for header in headers)
    line = [*compile_command(), "-E", "-x", "c", "-"]
    made = subprocess.run(
        line, cwd=TREE, input=text, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return read_expanded(STDIN, made.stdout)


def compile_file(file: str, tree: sandbox.Apart, warnings: tuple[str, ...] = ()) -> bytes:
    """Compile a file of the tree and return its object. Raises BuildFailed.

    warnings: the names of those that are errors.
    """
    errors = [f"-Werror={name}" for name in warnings]
    return run_in_sandbox(
        ["sh", "-c", COMPILE, "sh", *compile_command(), *errors, "-c", file], tree
    )


def link_kernel(tree: sandbox.Apart) -> bytes:
    """Link the kernel of a tree that has all objects and return it. Raises BuildFailed."""
    variables = COMMAND.read_text(encoding="utf-8").removesuffix("\n").split(" ", 1)
    names = (*LINKING, f"{PREFIX}nm", f"{PREFIX}ld")
    return run_in_sandbox(["sh", "-c", LINK, "sh", *variables, PREFIX], tree, names)
