"""Compiles a submission's files, and links their objects with the staff's.

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
from grade.trust.sourcefile import Expanded, read_expanded
from grade.trust.submission import Refused
from grade.trust.untrusted_text import printable
from sluice.host.fault import HostFault
from sluice.host.paths import BUILT, TREE

COMMAND = BUILT / "kernel.command"
KERNEL = "build/kernel/kernel.elf"
LIMIT_S = 300  # of a clock: only a machine without time to spare reaches it, see CPU_S
KILLED = re.compile(r"^[^\s:]+: (?:fatal )?error: Killed signal", re.M)  # gcc's, of a part of it
MOST_SAID = 4000  # characters of the compiler's words
MOST_EXPANDED = 8 << 20  # bytes
STDIN = "<stdin>"
OWN = ("cc1", "as", "collect2", "ld")  # which the compiler calls by paths of its own
LINKING = ("make", "awk", "cmp", "cp", "grep", "mkdir", "nproc", "sed")
COMPILE = 'cd "$TREE" && "$@" -o "$WORK/made.o" && exec cat "$WORK/made.o"'
LINK = (
    'cp -a "$TREE"/* "$WORK" && cd "$WORK" && make --silent SETUP=no LOCK=held'
    f' KCC="$1" KCFLAGS="$2" TOOLPREFIX="$3" {KERNEL} >&2 && exec cat {KERNEL}'
)


class BuildFailed(Exception):
    """The kernel does not build; the text is the compiler's."""


def flags() -> list[str]:
    """The compiler and its flags, as they were used for the kernel's objects; but no warning is an
    error."""
    return [word for word in shlex.split(COMMAND.read_text(encoding="utf-8")) if word != "-Werror"]


def found(name: str) -> Path:
    """The path of a program of this machine."""
    path = shutil.which(name)
    if not path:
        raise HostFault(f"this machine has no {name}: run make")
    return Path(path)


@cache
def asked(*words: str) -> str:
    """The compiler's answer to a question about itself."""
    line = [flags()[0], *words]
    return subprocess.run(
        line, capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout.strip()


@cache
def programs(*names: str) -> frozenset[Path]:
    """The compiler, everything that it calls, a shell, and these programs."""
    own = [asked(f"-print-prog-name={name}") for name in OWN]
    paths = [found(name) for name in (flags()[0], "sh", "cat", *names)]
    return frozenset([*paths, *(Path(os.path.normpath(found(name))) for name in own)])


@cache
def folders() -> frozenset[Path]:
    """The compiler's own folder."""
    install = re.search(r"^install: (.*)$", asked("-print-search-dirs"), re.M)
    return frozenset({Path(install[1]).resolve()}) if install else frozenset()


def run(
    command: list[str],
    tree: sandbox.Apart,
    names: tuple[str, ...] = (),
    most: int = sandbox.FILE_BYTES,
) -> bytes:
    """The output of a command that is shut in with the tree. Raises BuildFailed, and HostFault if
    this machine had no time or no memory for it."""
    try:
        made = sandbox.run(command, tree, programs(*names), folders(), LIMIT_S, most)
    except sandbox.TooLong:
        raise HostFault(
            f"the compiler or linker was not done after {LIMIT_S} s: this machine has too much "
            "else to do"
        ) from None
    if made.status and KILLED.search(made.text):
        raise HostFault("something killed the compiler: this machine has too little memory free")
    if made.status:
        raise BuildFailed(printable(made.text[-MOST_SAID:]) or f"it ended with {made.status}")
    return made.data


def expanded(file: str, tree: sandbox.Apart) -> Expanded:
    """A file of the tree after the preprocessor. Raises BuildFailed and Refused."""
    data = run([*flags(), "-E", file], tree, most=MOST_EXPANDED)
    try:
        return read_expanded(file, data.decode())
    except UnicodeDecodeError:
        raise Refused(f"{file}: not UTF-8 once its macros are in place") from None


@cache
def headers_alone(headers: tuple[str, ...]) -> Expanded:
    """These headers of this tree, preprocessed in this order in a file without anything else."""
    text = "".join(f'#include "{header}"\n' for header in headers)
    line = [*flags(), "-E", "-x", "c", "-"]
    made = subprocess.run(
        line, cwd=TREE, input=text, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return read_expanded(STDIN, made.stdout)


def compiled(file: str, tree: sandbox.Apart, warnings: tuple[str, ...] = ()) -> bytes:
    """The object of a file of the tree. warnings: names of those that are errors. Raises
    BuildFailed."""
    errors = [f"-Werror={name}" for name in warnings]
    return run(["sh", "-c", COMPILE, "sh", *flags(), *errors, "-c", file], tree)


def linked(tree: sandbox.Apart) -> bytes:
    """The kernel of a tree that has all objects. Raises BuildFailed."""
    variables = COMMAND.read_text(encoding="utf-8").removesuffix("\n").split(" ", 1)
    names = (*LINKING, f"{PREFIX}nm", f"{PREFIX}ld")
    return run(["sh", "-c", LINK, "sh", *variables, PREFIX], tree, names)
