"""Read ELF files strictly: objects and kernels that a stranger has influenced.

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
from typing import Any, NamedTuple

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
UNDEFINED, ABSOLUTE = 0, 0xFFF1  # a symbol may have these in the place of a section's number


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
    """A place in a section that the linker patches.

    The linker writes at this offset a value that it computes from symbol + addend by the type's
    formula.
    """

    offset: int
    type: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class Elf:
    """The contents of an ELF file that was read and checked."""

    data: bytes
    kind: int
    entry: int
    flags: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]

    def _symbols(self, labels: bool) -> Iterator[Symbol]:
        """Yield the symbols; with `labels` also those with info 0, which are plain labels."""
        tables = [section for section in self.sections if section.type == SYMTAB]
        if len(tables) != 1:
            raise BadElf(f"{len(tables)} symbol tables")
        names = string_table(self.sections, tables[0].link)
        for name, info, other, section, value, size in iter_rows(SYMBOL, tables[0]):
            if info or labels:
                yield Symbol(
                    name_at(names, name), value, size, info & 15, info >> 4, other, section
                )

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """All symbols, in the order of their numbers. The first symbol is the empty one."""
        return tuple(self._symbols(True))

    @cached_property
    def names(self) -> tuple[Symbol, ...]:
        """The symbols except local labels, because debug information has very many labels."""
        return tuple(self._symbols(False))

    def relocations(self, number: int) -> Iterator[Relocation]:
        """Yield the relocations of the section with that number."""
        for table in self.sections:
            if table.type == RELA and table.info == number:
                for offset, kind, symbol, addend in iter_rows(RELOCATION, table):
                    yield Relocation(offset, kind, symbol, addend)

    def global_symbol(self, name: str) -> Symbol:
        """Return the only global symbol of that name.

        Raises BadElf if there are several or none.
        """
        found = [s for s in self.names if s.name == name and s.binding == GLOBAL]
        if len(found) != 1:
            raise BadElf(f"{len(found)} global symbols are called {name}, not one")
        return found[0]

    def section(self, name: str) -> Section:
        """Return the only section of that name. Raises BadElf if there are several or none."""
        found = [section for section in self.sections if section.name == name]
        if len(found) != 1:
            raise BadElf(f"{len(found)} sections of the name {name}")
        return found[0]


def iter_rows(row: struct.Struct, table: Section) -> Iterator[tuple[Any, ...]]:
    """Return an iterator over the rows of a section that holds a table. Raises BadElf."""
    if table.entry_bytes != row.size or len(table.data) % row.size:
        raise BadElf(f"{table.name}: rows of {table.entry_bytes} bytes in {len(table.data)}")
    return row.iter_unpack(table.data)


def string_table(sections: tuple[Section, ...] | list[Section], number: int) -> bytes:
    """Return the contents of a string table. Raises BadElf."""
    if number >= len(sections) or sections[number].type != STRTAB:
        raise BadElf(f"section {number} is no table of strings")
    data = sections[number].data
    if not data or data[0] or data[-1]:
        raise BadElf("a table of strings does not begin and end with a zero byte")
    return data


def name_at(names: bytes, at: int) -> str:
    """Return the name at this offset of a string table. Raises BadElf."""
    if at >= len(names):
        raise BadElf("a name outside its table")
    try:
        return names[at : names.index(0, at)].decode()
    except UnicodeDecodeError:
        raise BadElf("a name that is no text") from None


def slice_file(data: bytes, offset: int, size: int) -> bytes:
    """Return `size` bytes of the file from `offset`. Raises BadElf if they lie outside."""
    if offset > len(data) or size > len(data) - offset:
        raise BadElf("contents outside the file")
    return data[offset : offset + size]


def read_sections(data: bytes, offset: int, count: int, names: int) -> tuple[Section, ...]:
    """Return the sections that the table at this offset describes. Raises BadElf.

    names: the number of the section that holds the names of sections.
    """
    table = slice_file(data, offset, count * SECTION.size)
    found = []
    for _, kind, flags, address, at, size, link, info, align, entry in SECTION.iter_unpack(table):
        inside = b"" if kind in (0, NOBITS) else slice_file(data, at, size)
        row = ("", kind, flags, address, at, size, link, info, align, entry, inside)
        found.append(Section(*row))
    if not found or any(found[0][1:]):
        raise BadElf("the first section is not the empty one")
    text = string_table(found, names)
    offsets = [row[0] for row in SECTION.iter_unpack(table)]
    named = [s._replace(name=name_at(text, at)) for s, at in zip(found, offsets, strict=True)]
    return tuple(named)


def expect_disjoint(places: list[tuple[int, int]]) -> None:
    """Raise BadElf if two of the (offset, size) ranges overlap in the file."""
    end = 0
    for offset, size in sorted(place for place in places if place[1]):
        if offset < end:
            raise BadElf("contents within one another")
        end = offset + size


def parse(data: bytes) -> Elf:
    """Parse the contents of an ELF file and return the checked file. Raises BadElf."""
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
    table = slice_file(data, segments_at, segments * SEGMENT.size) if segments else b""
    found = tuple(Segment(*row) for row in SEGMENT.iter_unpack(table))
    places = [(s.offset, len(s.data)) for s in sections]
    places += [(0, HEADER.size), (segments_at, len(table)), (sections_at, count * SECTION.size)]
    expect_disjoint(places)
    return Elf(data, kind, entry, flags, found, sections)


def read(path: Path) -> Elf:
    """Read and parse an ELF file. Raises BadElf with the file's name."""
    try:
        return parse(path.read_bytes())
    except BadElf as error:
        raise BadElf(f"{path.name}: {error}") from None
