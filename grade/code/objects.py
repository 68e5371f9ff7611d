"""The symbols that object files define and use, and the headers that they were made with."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from grade.code import elf
from sluice.host.paths import ROOT

COMPILERS_OWN = frozenset({"memcpy", "memmove", "memset", "memcmp"})  # calls it makes
PREFIX = subprocess.run(
    ["sh", ROOT / "tools" / "find_tool.sh", "prefix"],
    check=True,
    capture_output=True,
    text=True,
    encoding="utf-8",
).stdout.strip()  # of the cross tool chain's programs


@dataclass(frozen=True)
class Symbols:
    """An object's external symbols."""

    defined: frozenset[str]
    undefined: frozenset[str]


def tool(name: str, *words: str | Path) -> str:
    """The output of a program of the cross tool chain."""
    return subprocess.run(
        [PREFIX + name, *words], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def external(file: elf.Elf) -> Symbols:
    """The external symbols of an object that has been read."""
    found = [symbol for symbol in file.names if symbol.binding != elf.LOCAL]
    undefined = frozenset(s.name for s in found if s.section == elf.UNDEFINED)
    return Symbols(frozenset(s.name for s in found if s.section != elf.UNDEFINED), undefined)


def symbols(path: Path) -> Symbols:
    """The external symbols of an object. Raises BadElf."""
    return external(elf.read(path))


def includes(path: Path) -> set[str]:
    """The headers with which an object was compiled, from its .d file: kernel/cache/bio.h, ..."""
    rule = path.with_suffix(".d").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()[0]
    return set(rule.split(":", 1)[1].split())


def declared_functions(header: Path) -> set[str]:
    """Names of the functions that a header declares and does not define."""
    text = re.sub(
        r"/\*.*?\*/|^#.*?[^\\]$", "", header.read_text(encoding="utf-8"), flags=re.S | re.M
    )
    return set(re.findall(r"^(?!static|typedef)\w[\w\s*]*?\b(\w+)\([^;{}]*\);", text, re.M))
