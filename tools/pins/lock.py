"""Reads a lock that uv made, and divides its packages into the files of tools/requirements.

uv makes the lock from pyproject.toml: one version of each package for all groups, for every Python
from 3.11 on, and the sums of all its files. It notes at each package which others, or which groups,
ask for it; so what a group needs follows from the lock. The groups' files have all pins of the
lock, so the lock itself is not kept. They name no package index, and Debian 12's pip can install
from them.

A group that builds on `run` (tools/setup.sh) is installed next to it, and its file leaves out what
`run` has.
"""

import re
import tomllib
from dataclasses import dataclass

from sluice.host.paths import ROOT

FOLDER = ROOT / "tools" / "requirements"
PROJECT = ROOT / "pyproject.toml"
BASE = "run"
ON_BASE = ("report", "sweep", "book", "test")  # the groups that build on it
PACKAGE = re.compile(r"^([\w.-]+)==(\S+)[^\n]*\n(?:    [^\n]+\n)+", re.M)
ASKING = re.compile(r"^    #(?: via)? +(\S.*)$", re.M)  # who asks for a package
HEAD = """\
# What the group {group} of pyproject.toml needs{less}.
# Made by: .venv/bin/python -m tools.pins.command
"""


@dataclass(frozen=True)
class Pin:
    """A package of the lock: its name, its version, and the lines that pip reads.

    asking: what requires it: packages, and groups as "sluice (pyproject.toml:GROUP)".
    """

    name: str
    version: str
    lines: str
    asking: frozenset[str]


def groups() -> dict[str, list[str]]:
    """Return the requirements of each group, as pyproject.toml has them."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))["dependency-groups"]


def read(text: str) -> list[Pin]:
    """Return the packages of a lock's text, in its order."""
    pins = []
    for found in PACKAGE.finditer(text):
        lines = [line for line in found[0].splitlines() if "    #" not in line]
        asking = frozenset(ASKING.findall(found[0]))
        pins.append(Pin(found[1], found[2], "\n".join(lines) + "\n", asking))
    return pins


def list_needed(pins: list[Pin], group: str) -> set[str]:
    """Return the names of all packages that a group needs, directly or not."""
    names, more = set(), {f"sluice (pyproject.toml:{group})"}
    while more:
        more = {pin.name for pin in pins if pin.asking & more} - names
        names |= more
    return names


def group_files(text: str) -> dict[str, str]:
    """Return the text of each group's file, by the group, made from the lock's text."""
    pins = read(text)
    base = list_needed(pins, BASE)
    files = {}
    for group in groups():
        names = list_needed(pins, group) - (base if group in ON_BASE else set())
        head = HEAD.format(group=group, less=f" and {BASE} has not" if group in ON_BASE else "")
        files[group] = head + "".join(pin.lines for pin in pins if pin.name in names)
    return files


def all_pins() -> dict[str, str]:
    """Return the lines of each package in the groups' files, by its name."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt")))
    return {found[1]: found[0] for text in texts for found in PACKAGE.finditer(text)}
