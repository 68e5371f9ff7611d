"""Check what a submission's objects register with the kernel.

Headers gather rows of many files into tables: policies, counters, histograms, devices. The kernel
trusts each row. So the rows are checked in the object, as bytes and relocations, because a source
can hide what it registers:

- A policy's file registers one policy, of its folder's kind, under its own name. So no policy takes
  the place of another. Its table is constant, so it stays what was checked.
- The table has any hooks of its kind. Other fields change what the kernel promises or does, so a
  submission may set only those that the solution sets or that lab.toml lists (`fields`). A policy
  asks for memory by a variable of its own file, which holds a function of the file and nothing
  else.
- No address in the submission points into the table of all policies.
- Names and words are short and printable: they go to the console.
- A file of the kernel registers the solution's counters and histograms. It may add others, under
  names that no other file uses. It may add no device. For each row the file also registers its own
  name: row n of the table belongs to name n.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.code import elf, rowlayout
from grade.code.elf import ALLOC, EXEC, WRITE, Elf, Relocation
from grade.code.rowlayout import Field
from grade.definition.lab import Lab
from grade.trust import compiler
from grade.trust.archive import Refused
from grade.trust.sourcefile import is_policy, is_shared, object_path
from sluice.host.paths import BUILT

POINTER, POINTER_BYTES = 2, 8  # R_RISCV_64
MOST_TEXT = 200  # characters of a name or a description
# The field of a table that points to a policy_memory, and that structure's field for the function.
MEMORY, BYTES = "memory", "bytes"
POLICIES, FILES = "policies", "policy_files"
# Sections of the kernel's rows: the offset of a row's name, and whether it is a pointer to the
# name.
NAMED = {"stats": (0, False), "histograms": (0, False), "devices": (8, True)}
WHAT = {"stats": "counter", "histograms": "histogram", "devices": "device"}
FILES_OF = {"stats": "stat_files", "histograms": "histogram_files", "devices": "device_files"}


@dataclass(frozen=True)
class Place:
    """A place in an object: the number of a section, and an offset."""

    section: int
    offset: int


@dataclass(frozen=True)
class Image:
    """A part of a section: its bytes, and the relocations in it by their offsets there."""

    data: bytes
    filled: dict[int, Relocation]


def read_image(made: Elf, at: Place, size: int) -> Image:
    """Return this many bytes of an object. Raises BadElf if they are not all there."""
    section = made.sections[at.section]
    data = section.data[at.offset : at.offset + size]
    if len(data) != size:
        raise elf.BadElf(f"a row outside {section.name}")
    inside = (
        (r.offset - at.offset, r)
        for r in made.relocations(at.section)
        if at.offset <= r.offset < at.offset + size
    )
    return Image(data, dict(inside))


def pointer_target(made: Elf, relocation: Relocation | None) -> Place | None:
    """Return the place in the object that a pointer leads to, or None."""
    if relocation is None or relocation.type != POINTER:
        return None
    symbol = made.symbols[relocation.symbol]
    at = symbol.value + relocation.addend
    inside = 0 < symbol.section < len(made.sections)
    return Place(symbol.section, at) if inside and at >= 0 else None


def read_text(made: Elf, place: Place | None) -> str:
    """Return the text at a place in constant data; empty if there is no short, printable one."""
    if place is None or made.sections[place.section].flags & (WRITE | EXEC):
        return ""
    data = made.sections[place.section].data[place.offset : place.offset + MOST_TEXT + 1]
    text, end, _ = data.partition(b"\0")
    if not end or not text.isascii() or not text.decode().isprintable():
        return ""
    return text.decode()


def iter_rows(made: Elf, section: str, size: int = POINTER_BYTES) -> Iterator[Image]:
    """Yield the rows that an object registers in a section. Raises BadElf."""
    for number, found in enumerate(made.sections):
        if found.name == section:
            for at in range(0, found.size, size):
                yield read_image(made, Place(number, at), size)


# ---- policies ----


def policy_table(made: Elf, pointer: Image, size: int, file: str) -> Image:
    """Return the table of a policy. Raises Refused if it is not constant."""
    place = pointer_target(made, pointer.filled.get(0))
    if place is None:
        raise Refused(
            f"{file} registers a policy whose table is not its own: define the table here"
        )
    section = made.sections[place.section]
    if section.flags & (ALLOC | WRITE | EXEC) != ALLOC:
        raise Refused(
            f"{file}: the table of its policy may change while it runs:"
            " make it `static const struct policy`"
        )
    return read_image(made, place, size)


def is_set(table: Image, field: Field) -> bool:
    """Return True if a field of a table is not zero."""
    inside = range(field.offset, field.offset + field.size)
    return any(table.data[at] or at in table.filled for at in inside)


def field_value(table: Image, field: Field) -> int:
    """Return the value of a field."""
    return int.from_bytes(table.data[field.offset : field.offset + field.size], "little")


def policy_kind(table: Image, fields: dict[str, Field]) -> str:
    """Return the kind of a policy, as a word."""
    number = field_value(table, fields["kind"])
    return rowlayout.kinds()[number] if number < len(rowlayout.kinds()) else f"unknown ({number})"


def needs_permission(name: str, kind: str) -> bool:
    """Return True if a policy may set this field only if the lab allows it.

    Such a field belongs to this kind, or to all kinds but not to COMMON. The caller allows hooks.
    """
    return name.startswith(f"{kind}.") if "." in name else name not in rowlayout.COMMON


def fields_set(path: Path) -> set[str]:
    """Return the fields that the tables in one of our objects set.

    Hooks, and fields that every policy may set, are left out.
    """
    size, fields = rowlayout.table_layout(tuple(compiler.compile_command()))
    made = elf.read(path)
    tables = [policy_table(made, pointer, size, path.name) for pointer in iter_rows(made, POLICIES)]
    return {
        name
        for table in tables
        for name, field in fields.items()
        if not field.hook
        and needs_permission(name, policy_kind(table, fields))
        and is_set(table, field)
    }


def allowed_fields(file: str, lab: Lab) -> set[str]:
    """Return the fields, apart from hooks, that the table of a policy may set."""
    solution = object_path(BUILT, lab.new.get(file, file))
    return set(lab.fields) | (fields_set(solution) if solution.exists() else set())


def check_pointer(file: str, made: Elf, table: Image, field: Field) -> None:
    """Raise Refused unless a hook leads to code of the file, or to a function of others."""
    relocation = table.filled.get(field.offset)
    value = field_value(table, field)
    if relocation is None and not value:
        return
    place = pointer_target(made, relocation)
    own_code = place is not None and bool(made.sections[place.section].flags & EXEC)
    others = relocation is not None and made.symbols[relocation.symbol].section == elf.UNDEFINED
    if value or not (own_code or others):
        raise Refused(f"{file}: .{field.name} of its policy is no function: name one of this file")


def check_memory(file: str, made: Elf, table: Image, field: Field) -> None:
    """Raise Refused if .memory is set, but not as the kernel needs it.

    It must point to a variable of this file that has a function of this file in .bytes and zeros
    elsewhere: the kernel calls the function and sets the rest.
    """
    if not is_set(table, field):
        return
    size, fields = rowlayout.memory_layout(tuple(compiler.compile_command()))
    place = pointer_target(made, table.filled.get(field.offset))
    section = made.sections[place.section] if place else None
    room = len(section.data) if section and section.flags & (WRITE | EXEC) == WRITE else 0
    if field_value(table, field) or place is None or place.offset + size > room:
        raise Refused(
            f"{file}: .{MEMORY} of its policy leads to no variable of this file with a .{BYTES}:"
            " make it `static struct policy_memory`"
        )
    asked = read_image(made, place, size)
    code = pointer_target(made, asked.filled.get(fields[BYTES].offset))
    if code is None or not made.sections[code.section].flags & EXEC:
        raise Refused(
            f"{file}: .{BYTES} of its policy's .{MEMORY} is no function of this file: name one"
        )
    if any(asked.data) or len(asked.filled) > 1:
        raise Refused(f"{file}: its policy's .{MEMORY} sets more than .{BYTES}: remove the rest")


def check_fields(file: str, made: Elf, table: Image, fields: dict[str, Field], lab: Lab) -> None:
    """Raise Refused for a field that the lab does not ask for."""
    kind = policy_kind(table, fields)
    allowed = {*rowlayout.COMMON, *allowed_fields(file, lab)}
    known: set[int] = set()
    for name, field in fields.items():
        if "." in name and not name.startswith(f"{kind}."):
            continue
        known |= set(range(field.offset, field.offset + field.size))
        if field.hook:
            check_pointer(file, made, table, field)
        elif is_set(table, field) and name not in allowed:
            raise Refused(
                f"{file}: its policy sets .{name}, which this lab does not ask for:"
                " remove this line"
            )
    check_memory(file, made, table, fields[MEMORY])
    odd = [at for at in range(len(table.data)) if at not in known]
    if any(table.data[at] or at in table.filled for at in odd):
        raise Refused(
            f"{file}: its policy sets a field that the kind {kind} does not have: remove it"
        )


def check_no_table_access(file: str, made: Elf) -> None:
    """Raise Refused if anything leads into the table of all policies: only the kernel walks it."""
    tables = {n for n, s in enumerate(made.sections) if s.name in (POLICIES, FILES)}
    for number, section in enumerate(made.sections):
        for relocation in made.relocations(number) if section.flags & ALLOC else ():
            if made.symbols[relocation.symbol].section in tables:
                raise Refused(
                    f"{file} looks into the table of all policies, from {section.name}: a policy"
                    " has no use for the others: remove this"
                )


def check_policy(file: str, made: Elf, lab: Lab) -> None:
    """Raise Refused unless a policy's file registers only the policy that its path names."""
    size, fields = rowlayout.table_layout(tuple(compiler.compile_command()))
    _, folder, base = file.split("/")
    stem = base.removesuffix(".c")
    found = [policy_table(made, pointer, size, file) for pointer in iter_rows(made, POLICIES)]
    names = []
    for table in found:
        name = read_text(made, pointer_target(made, table.filled.get(fields["name"].offset)))
        names.append(f"{policy_kind(table, fields)}/{name or '?'}")
    if names != [f"{folder}/{stem}"]:
        raise Refused(
            f"{file} registers {', '.join(sorted(names)) or 'no policy'}; a file registers one"
            f" policy, of its folder's kind and under its own name: {folder}/{stem}"
        )
    if [
        read_text(made, pointer_target(made, row.filled.get(0))) for row in iter_rows(made, FILES)
    ] != [file]:
        raise Refused(f"{file} registers its policy from another file: use POLICY() in this file")
    if not read_text(made, pointer_target(made, found[0].filled.get(fields["about"].offset))):
        raise Refused(
            f"{file}: .about of its policy is not a line of 1 to {MOST_TEXT} printable characters"
        )
    check_fields(file, made, found[0], fields, lab)
    check_no_table_access(file, made)


# ---- the kernel's own tables ----


@cache
def row_bytes(section: str) -> int:
    """Return the length of each row that the staff's objects register in that section.

    If no object registers a row there, or if the rows' lengths differ, it is a pointer's length.
    """
    sizes: set[int] = set()
    for path in sorted((BUILT / "kernel").rglob("*.o")):
        made = elf.read(path)
        sizes |= {
            s.size
            for s in made.names
            if s.kind == elf.VARIABLE
            and s.section < len(made.sections)
            and made.sections[s.section].name == section
        }
    return sizes.pop() if len(sizes) == 1 else struct.calcsize("<Q")


def row_names(made: Elf, section: str) -> list[str]:
    """Return the names of the rows that an object registers in a section; empty for a bad name."""
    at, pointed = NAMED[section]
    found = []
    for row in iter_rows(made, section, row_bytes(section)):
        table = row
        if pointed:
            place = pointer_target(made, row.filled.get(0))
            table = read_image(made, place, at + POINTER_BYTES) if place else row
        found.append(read_text(made, pointer_target(made, table.filled.get(at))))
    return found


@cache
def staff_row_names(section: str) -> dict[str, str]:
    """Return the names of the staff's rows in a section, each with the source that has it."""
    found: dict[str, str] = {}
    for path in sorted((BUILT / "kernel").rglob("*.o")):
        source = path.relative_to(BUILT).with_suffix(".c").as_posix()
        found |= dict.fromkeys(row_names(elf.read(path), section), source)
    return found


def check_kernel_rows(file: str, made: Elf) -> None:
    """Raise Refused for a row of the kernel's tables that the lab has no use for."""
    for section, what in WHAT.items():
        names = row_names(made, section)
        pointers = iter_rows(made, FILES_OF[section])
        files = [read_text(made, pointer_target(made, row.filled.get(0))) for row in pointers]
        if files != [file] * len(names):
            raise Refused(
                f"{file} registers {len(names)} {what}s, and its own name beside"
                f" {files.count(file)} of them: use the header's macro for each"
            )
        for name in names:
            other = staff_row_names(section).get(name, "")
            if not name:
                raise Refused(
                    f"{file} registers a {what} whose name is not of 1 to {MOST_TEXT} printable"
                    " characters"
                )
            if names.count(name) > 1 or other not in ("", file):
                whose = other if other not in ("", file) else file
                raise Refused(
                    f"{file} registers the {what} {name}, which is in {whose} too:"
                    " give yours another name"
                )
            if section == "devices" and not other:
                raise Refused(
                    f"{file} registers the {what} {name}, which the lab does not use: remove it"
                )


def check_rows(file: str, made: Elf, lab: Lab) -> None:
    """Raise Refused for a row that the lab does not ask for, or that takes another's name."""
    if is_shared(file):
        return
    if is_policy(file):
        check_policy(file, made, lab)
    else:
        check_kernel_rows(file, made)
