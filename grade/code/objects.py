"""Read the symbols that object files define and use, and the headers that they include."""

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
).stdout.strip()  # prefix of the cross tool chain's programs


@dataclass(frozen=True)
class Symbols:
    """The external symbols of an object file."""

    defined: frozenset[str]
    undefined: frozenset[str]


def run_tool(name: str, *words: str | Path) -> str:
    """Run a program of the cross tool chain and return its output."""
    return subprocess.run(
        [PREFIX + name, *words], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def external_symbols(file: elf.Elf) -> Symbols:
    """Return the external symbols of an object file that has been read."""
    found = [symbol for symbol in file.names if symbol.binding != elf.LOCAL]
    undefined = frozenset(s.name for s in found if s.section == elf.UNDEFINED)
    return Symbols(frozenset(s.name for s in found if s.section != elf.UNDEFINED), undefined)


def read_symbols(path: Path) -> Symbols:
    """Read an object file and return its external symbols. Raises BadElf."""
    return external_symbols(elf.read(path))


def included_headers(path: Path) -> set[str]:
    """Return the headers that an object was compiled with (kernel/cache/bio.h, ...).

    They are read from the object's .d file.
    """
    rule = path.with_suffix(".d").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()[0]
    return set(rule.split(":", 1)[1].split())


def declared_functions(header: Path) -> set[str]:
    """Return the names of the functions that a header declares but does not define."""
    text = re.sub(
        r"/\*.*?\*/|^#.*?[^\\]$", "", header.read_text(encoding="utf-8"), flags=re.S | re.M
    )
    return set(re.findall(r"^(?!static|typedef)\w[\w\s*]*?\b(\w+)\([^;{}]*\);", text, re.M))
