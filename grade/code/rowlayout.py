"""Describe the memory layout of a policy's table, struct policy of kernel/policy/policy.h.

The kinds of policies and their fields are read from the header, and the compiler reports the
offsets. Only the fields that every policy may set are named here.
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
# fields that a policy may set in any lab
COMMON = ("kind", "name", "about", "tunables", "counters")
OF_KIND = "_hooks"  # the end of the name of the structure that a kind has in the table
INCLUDED = re.compile(r'^#include "(kernel/policy/\w+\.h)"', re.M)
HOOK = re.compile(r"\(\s*\*\s*(\w+)\s*\)\s*\(")


@dataclass(frozen=True)
class Field:
    """A field of the table: its name (`name`, `write.keeps`), its place, and whether it is a hook.

    offset, size: in bytes, from the beginning of the table.
    """

    name: str
    offset: int
    size: int
    hook: bool


@cache
def header_text() -> str:
    """Return the texts of the header and of the kinds' headers, without their comments."""
    text = (TREE / HEADER).read_text(encoding="utf-8")
    kinds = [(TREE / name).read_text(encoding="utf-8") for name in INCLUDED.findall(text)]
    return re.sub(COMMENT, " ", "\n".join([text, *kinds]), flags=re.S)


@cache
def kinds() -> tuple[str, ...]:
    """Return the kinds of policies in the order of their numbers: update, write, ..."""
    inside = re.search(r"enum policy_kind \{(.*?)\}", header_text(), re.S)
    names = re.findall(r"POLICY_(\w+)", inside[1]) if inside else []
    return tuple(name.lower() for name in names if name != "KINDS")


def structure_fields(structure: str) -> dict[str, bool]:
    """Return the fields of a structure of the header, and for each whether it is a hook."""
    inside = re.search(rf"struct {structure} \{{(.*?)\n\}}", header_text(), re.S)
    found: dict[str, bool] = {}
    for line in re.sub(r"union \{.*?\}", "", inside[1], flags=re.S).split(";") if inside else ():
        hook = HOOK.search(line)
        names = [hook[1]] if hook else re.findall(r"(\w+)\s*(?:,|$)", line.strip())
        found |= dict.fromkeys(names, bool(hook))
    return found


@cache
def table_fields() -> dict[str, bool]:
    """Return all fields of the table, and for each whether it is a hook.

    The name of a kind's field begins with the kind: `write.keeps`.
    """
    found = structure_fields(TABLE)
    for kind in kinds():
        found |= {f"{kind}.{name}": hook for name, hook in structure_fields(kind + OF_KIND).items()}
    return found


def compute_layout(
    structure: str, names: dict[str, bool], command: tuple[str, ...]
) -> tuple[int, dict[str, Field]]:
    """Return the size of a structure of the header in bytes, and its fields with their offsets.

    names: the fields, and for each whether it is a hook. The compiler `command` computes the
    offsets.
    """
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
def table_layout(command: tuple[str, ...]) -> tuple[int, dict[str, Field]]:
    """Return the size of a policy's table in bytes, and its fields.

    command: the compiler of the kernel, and its flags.
    """
    return compute_layout(TABLE, table_fields(), command)


@cache
def memory_layout(command: tuple[str, ...]) -> tuple[int, dict[str, Field]]:
    """Return the size of struct policy_memory in bytes, and its fields.

    A policy asks for memory with this structure. command: as for `table_layout`.
    """
    return compute_layout(MEMORY, structure_fields(MEMORY), command)
