"""Run the shell commands that pages show, and return Sluice's answers ({typed}).

The commands of a page are made one script, which a machine in virtual time runs from its /rc: so
the answers are the same at each build, and the machine needs a second of the host. A command that
fails is an error, unless it is written with a `!` before it, as in the shell.
"""

import re
import tempfile
from functools import cache
from pathlib import Path

from sluice.host.paths import ROOT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, ConsoleError, Disk, run_rc

PAGES = ROOT / "book" / "pages"
FENCE = re.compile(r"^```\{typed\}[^\n]*\n(.*?)^```", re.M | re.S)
MACHINE = re.compile(r"^% machine: (.*)$", re.M)  # a comment of a page: its boot arguments
ARGS = "drive=rz58"
LIMIT_S = 120


class Failed(Exception):
    """A command did not do what the page says."""


def page_commands(page: Path) -> list[str]:
    """Return the commands of a page, in order."""
    found = []
    for body in FENCE.findall(page.read_text(encoding="utf-8")):
        lines = [line for line in body.splitlines() if line.strip()]
        found += [line for line in lines if not re.match(r":\w+:", line)]
    return found


def rc_script(typed: list[str]) -> str:
    """Return an /rc that marks where each answer begins and ends."""
    lines = [f"echo @{i} begins\n{line}\necho @{i} ends $?\n" for i, line in enumerate(typed)]
    return "".join(lines)


def page_arguments(page: Path) -> str:
    """Return the boot arguments of a page's machine."""
    found = MACHINE.search(page.read_text(encoding="utf-8"))
    return found[1] if found else ARGS


def run_commands(typed: list[str], args: str = ARGS) -> list[str]:
    """Return what a machine answers to each of these commands. Raises Failed."""
    with tempfile.TemporaryDirectory() as folder:
        root = image.make_image(Path(folder) / "root.img", Content(rc=rc_script(typed), size="64M"))
        try:
            console = run_rc(Config((Disk(root),), args=args, lab=True), LIMIT_S).console
        except ConsoleError as error:
            raise Failed(str(error).splitlines()[0]) from None
    found = []
    for i, line in enumerate(typed):
        told = re.search(rf"^@{i} begins\n(.*?)^@{i} ends (\d+)$", console, re.M | re.S)
        if not told or told[2] != "0":
            said = told[1].strip().splitlines()[-1:] if told else ["nothing"]
            raise Failed(f"`{line}` failed; it said: {' '.join(said)}")
        found.append(told[1])
    return found


@cache
def page_answers(docname: str) -> list[str]:
    """Return what a machine answers to the commands of a page. Raises Failed."""
    page = PAGES / f"{docname}.md"
    return run_commands(page_commands(page), page_arguments(page))
