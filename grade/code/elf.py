"""A strict reader of ELF files, for objects and kernels that a stranger has influenced.

- It accepts what this project's assembler and linker write (64 bits, little-endian, RISC-V) and
  raises BadElf for anything else, where other readers repair or guess: tables of other sizes,
  contents outside the file or within one another, names without an end, two symbol tables.
- So the linker, which reads the same file later, finds nothing in it that this reader has not seen.

Source: System V Application Binary Interface, chapter 4; RISC-V ELF psABI specification.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

IDENT = b"\x7fELF\2\1\1" + bytes(9)  # 64 bits, little-endian, version 1, no ABI of its own
RISCV = 243
OBJECT_FILE, PROGRAM = 1, 2  # kinds of file
HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QIIq")  # the type is the lower half of r_info

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS = 1, 2, 3, 4, 8  # types of sections
WRITE, ALLOC, EXEC, MERGE, STRINGS = 1, 2, 4, 0x10, 0x20  # flags of sections
LOADED = 1  # type of segment
LOCAL, GLOBAL = 0, 1  # bindings
NOTYPE, VARIABLE, FUNCTION, OF_SECTION, OF_FILE = range(5)  # kinds of symbols
UNDEFINED, ABSOLUTE = 0, 0xFFF1  # instead of a section's number


class BadElf(ValueError):
    """The file is not one that the tool chain writes; the text says what is wrong."""


class Section(NamedTuple):
    """A section. data is empty if it has no contents in the file."""

    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_bytes: int
    data: bytes


class Segment(NamedTuple):
    """A loaded segment: permissions (1 execute, 2 write, 4 read), addresses, bytes in the file."""

    type: int
    flags: int
    offset: int
    address: int
    phys: int
    file_bytes: int
    memory_bytes: int
    align: int


class Symbol(NamedTuple):
    """A symbol. section is a section's number, UNDEFINED, or 0xff00 and above: special."""

    name: str
    value: int
    size: int
    kind: int
    binding: int
    visibility: int
    section: int


class Relocation(NamedTuple):
    """The linker puts a value at this offset: what the type makes of symbol + addend."""

    offset: int
    type: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class Elf:
    """A file that was read."""

    data: bytes
    kind: int
    entry: int
    flags: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]

    def _symbols(self, labels: bool) -> Iterator[Symbol]:
        tables = [section for section in self.sections if section.type == SYMTAB]
        if len(tables) != 1:
            raise BadElf(f"{len(tables)} symbol tables")
        names = strings(self.sections, tables[0].link)
        for name, info, other, section, value, size in rows(SYMBOL, tables[0]):
            if info or labels:
                yield Symbol(
                    name_at(names, name), value, size, info & 15, info >> 4, other, section
                )

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """All symbols, by number; the first is the empty one."""
        return tuple(self._symbols(True))

    @cached_property
    def names(self) -> tuple[Symbol, ...]:
        """The symbols without local labels, of which there are many in debug information."""
        return tuple(self._symbols(False))

    def relocations(self, number: int) -> Iterator[Relocation]:
        """The relocations of the section of that number."""
        for table in self.sections:
            if table.type == RELA and table.info == number:
                for offset, kind, symbol, addend in rows(RELOCATION, table):
                    yield Relocation(offset, kind, symbol, addend)

    def named(self, name: str) -> Symbol:
        """The one global symbol of that name. Raises BadElf if there are more or none."""
        found = [s for s in self.names if s.name == name and s.binding == GLOBAL]
        if len(found) != 1:
            raise BadElf(f"{len(found)} global symbols are called {name}, not one")
        return found[0]

    def section(self, name: str) -> Section:
        """The one section of that name. Raises BadElf if there are more or none."""
        found = [section for section in self.sections if section.name == name]
        if len(found) != 1:
            raise BadElf(f"{len(found)} sections of the name {name}")
        return found[0]


def rows(row: struct.Struct, table: Section) -> Iterator[tuple]:
    """The rows of a section that is a table."""
    if table.entry_bytes != row.size or len(table.data) % row.size:
        raise BadElf(f"{table.name}: rows of {table.entry_bytes} bytes in {len(table.data)}")
    return row.iter_unpack(table.data)


def strings(sections: tuple[Section, ...] | list[Section], number: int) -> bytes:
    """The contents of a string table."""
    if number >= len(sections) or sections[number].type != STRTAB:
        raise BadElf(f"section {number} is no table of strings")
    data = sections[number].data
    if not data or data[0] or data[-1]:
        raise BadElf("a table of strings does not begin and end with a zero byte")
    return data


def name_at(names: bytes, at: int) -> str:
    """The name at this place of a string table."""
    if at >= len(names):
        raise BadElf("a name outside its table")
    try:
        return names[at : names.index(0, at)].decode()
    except UnicodeDecodeError:
        raise BadElf("a name that is no text") from None


def part(data: bytes, offset: int, size: int) -> bytes:
    """This part of the file."""
    if offset > len(data) or size > len(data) - offset:
        raise BadElf("contents outside the file")
    return data[offset : offset + size]


def read_sections(data: bytes, offset: int, count: int, names: int) -> tuple[Section, ...]:
    """The sections, from the table at this offset; names: the number of the names' section."""
    table = part(data, offset, count * SECTION.size)
    found = []
    for _, kind, flags, address, at, size, link, info, align, entry in SECTION.iter_unpack(table):
        inside = b"" if kind in (0, NOBITS) else part(data, at, size)
        row = ("", kind, flags, address, at, size, link, info, align, entry, inside)
        found.append(Section(*row))
    if not found or any(found[0][1:]):
        raise BadElf("the first section is not the empty one")
    text = strings(found, names)
    offsets = [row[0] for row in SECTION.iter_unpack(table)]
    named = [s._replace(name=name_at(text, at)) for s, at in zip(found, offsets, strict=True)]
    return tuple(named)


def expect_apart(places: list[tuple[int, int]]) -> None:
    """Raise BadElf if two of the (offset, size) share a byte of the file."""
    end = 0
    for offset, size in sorted(place for place in places if place[1]):
        if offset < end:
            raise BadElf("contents within one another")
        end = offset + size


def parse(data: bytes) -> Elf:
    """The file with these contents. Raises BadElf."""
    if len(data) < HEADER.size:
        raise BadElf("no ELF file")
    fields = HEADER.unpack_from(data)
    ident, kind, machine, version, entry, segments_at, sections_at, flags = fields[:8]
    header_bytes, segment_bytes, segments, section_bytes, count, names = fields[8:]
    if (ident, machine, version) != (IDENT, RISCV, 1):
        raise BadElf("no ELF file of 64 bits for RISC-V")
    if (header_bytes, section_bytes) != (HEADER.size, SECTION.size):
        raise BadElf("an ELF header of another size")
    if segments and segment_bytes != SEGMENT.size:
        raise BadElf("segments of another size")
    sections = read_sections(data, sections_at, count, names)
    table = part(data, segments_at, segments * SEGMENT.size) if segments else b""
    found = tuple(Segment(*row) for row in SEGMENT.iter_unpack(table))
    places = [(s.offset, len(s.data)) for s in sections]
    places += [(0, HEADER.size), (segments_at, len(table)), (sections_at, count * SECTION.size)]
    expect_apart(places)
    return Elf(data, kind, entry, flags, found, sections)


def read(path: Path) -> Elf:
    """A file. Raises BadElf with its name."""
    try:
        return parse(path.read_bytes())
    except BadElf as error:
        raise BadElf(f"{path.name}: {error}") from None
