"""The table of a policy, struct policy of kernel/policy/policy.h: its fields, and where they lie.

Nothing here names a kind, or a field but those that every policy may set: the header tells them,
and the compiler tells the places.
"""

import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.code import elf
from grade.code.source import COMMENT
from sluice.host.paths import TREE

HEADER = "kernel/policy/policy.h"
TABLE, MEMORY = "policy", "policy_memory"
COMMON = ("kind", "name", "about", "tunables", "counters")  # in any lab
OF_KIND = "_hooks"  # the end of the name of the structure that a kind has in the table
HOOK = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")


@dataclass(frozen=True)
class Field:
    """A field: its name (`name`, `write.keeps`), its place in the table, and if it is a hook."""

    name: str
    offset: int
    size: int
    hook: bool


@cache
def header() -> str:
    """The header without comments."""
    return re.sub(COMMENT, " ", (TREE / HEADER).read_text(encoding="utf-8"), flags=re.S)


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of policies, in the order of their numbers: update, write, ..."""
    inside = re.search(r"enum policy_kind \{(.*?)\}", header(), re.S)
    names = re.findall(r"POLICY_(\w+)", inside[1]) if inside else []
    return tuple(name.lower() for name in names if name != "KINDS")


def members(structure: str) -> dict[str, bool]:
    """The fields of a structure of the header, and whether each is a hook."""
    inside = re.search(rf"struct {structure} \{{(.*?)\n\}}", header(), re.S)
    found: dict[str, bool] = {}
    for line in re.sub(r"union \{.*?\}", "", inside[1], flags=re.S).split(";") if inside else ():
        hook = HOOK.search(line)
        names = [hook[1]] if hook else re.findall(r"(\w+)\s*(?:,|$)", line.strip())
        found |= dict.fromkeys(names, bool(hook))
    return found


@cache
def names() -> dict[str, bool]:
    """All fields of the table, those of a kind with its name before them."""
    found = members(TABLE)
    for kind in kinds():
        found |= {f"{kind}.{name}": hook for name, hook in members(kind + OF_KIND).items()}
    return found


def laid_out(
    structure: str, names: dict[str, bool], command: tuple[str, ...]
) -> tuple[int, dict[str, Field]]:
    """The bytes of a structure of the header, and its fields; each name: whether it is a hook."""
    of = f"struct {structure}"
    places = "".join(
        f"__builtin_offsetof({of}, {name}), sizeof((({of} *)0)->{name}),\n" for name in names
    )
    text = f'#include "{HEADER}"\nconst u64 places[] = {{sizeof({of}),\n{places}}};\n'
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "places.o")
        line = [*command, "-x", "c", "-c", "-o", str(made), "-"]
        subprocess.run(line, cwd=TREE, input=text, text=True, check=True, encoding="utf-8")
        data = elf.read(made).section(".rodata").data
    size, *numbers = (number for (number,) in struct.iter_unpack("<Q", data))
    rows = zip(names.items(), numbers[::2], numbers[1::2], strict=True)
    return size, {name: Field(name, at, n, hook) for (name, hook), at, n in rows}


@cache
def layout(command: tuple[str, ...]) -> tuple[int, dict[str, Field]]:
    """The bytes of a table, and its fields. command: the compiler of the kernel, and its flags."""
    return laid_out(TABLE, names(), command)


@cache
def memory(command: tuple[str, ...]) -> tuple[int, dict[str, Field]]:
    """The same of what a policy's memory is asked for with."""
    return laid_out(MEMORY, members(MEMORY), command)
