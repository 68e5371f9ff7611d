"""Check a kernel with a submission in it after it has been linked.

The kernel is compared with the staff's own objects and kernel, which were built without any
submission:

- It has the same segments and sections, of the same kinds, in the same order, and the same entry.
- Machine mode's pages (.boot: code, tables, constants) are the same to the bit as in the object of
  entry.S, with the addresses of this kernel put in. Their symbols have the same offsets as in
  entry.S.
- It contains every object of the staff's as it was assembled, except for the addresses that the
  linker puts in.
- Each global symbol exists once.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.code import elf
from grade.code.elf import ALLOC, Elf, Section
from grade.trust.archive import Refused
from sluice.host.paths import BUILT, KERNEL, TREE

BOOT = ".boot"
MACHINE = BUILT / "kernel/entry.S.o"
OURS = ("kernel/**/*.o", "policies/*/*.o", "drives/**/*.o")
NOT_OURS = "ksyms.o"  # the table of symbols, which each linking makes anew
ADDRESS = 2  # R_RISCV_64
WORD = struct.Struct("<Q")
# The number of bytes that the linker writes, for each type of relocation in objects of C and
# entry.S.
WIDTHS = {2: 8, 16: 4, 17: 4, 18: 8, 19: 8, 23: 4, 24: 4, 25: 4, 35: 4, 39: 4, 44: 2, 45: 2}
WIDEST = 8
# Symbols of the first and the last word that machine mode writes in its pages.
TRACE_FIRST, TRACE_LAST = "trace_at", "trace_on_phys"
MOVE_LOG = "move_log"


def refusal(what: str) -> Refused:
    """Return the exception for something wrong with a kernel."""
    return Refused(f"the kernel with these files in it {what}: plain C cannot cause that")


def machine_pages(kernel: Elf) -> Section:
    """Return the section with the pages of machine mode."""
    return kernel.section(BOOT)


def machine_word_range(kernel: Elf) -> tuple[int, int]:
    """Return the range of addresses that machine mode writes in its pages.

    The addresses are physical: the first, and the one after the last.
    """
    return kernel.global_symbol(TRACE_FIRST).value, kernel.global_symbol(
        TRACE_LAST
    ).value + WORD.size


def move_log_end(kernel: Elf) -> int:
    """Return the physical address of machine mode's word that holds the end of the log of moves."""
    return kernel.global_symbol(MOVE_LOG).value


# ---- the whole ----


def section_kinds(kernel: Elf) -> list[tuple[object, ...]]:
    """Return the kinds of segments and sections of a kernel, in order."""
    loaded = [(s.type, s.flags, s.align) for s in kernel.segments]
    return [*loaded, *((s.name, s.type, s.flags) for s in kernel.sections if s.flags & ALLOC)]


def check_shape(kernel: Elf, ours: Elf) -> None:
    """Raise Refused unless a kernel has the shape of ours.

    Its kind, entry, flags, segments and sections are the same, and its segments are in order and do
    not overlap.
    """
    if (kernel.kind, kernel.flags) != (ours.kind, ours.flags):
        raise refusal("is another kind of program than the solution's")
    if kernel.entry != ours.entry:
        raise refusal(f"begins at {kernel.entry:#x}, not at {ours.entry:#x}")
    if section_kinds(kernel) != section_kinds(ours):
        raise refusal("has other segments or sections than the solution's")
    end = 0
    for segment in (s for s in kernel.segments if s.type == elf.LOADED):
        if segment.phys < end or segment.file_bytes > segment.memory_bytes:
            raise refusal("has segments that overlap")
        end = segment.phys + segment.memory_bytes


Name = tuple[str, int]  # name and binding: a local and a global symbol may share a name


def name_addresses(kernel: Elf) -> dict[Name, set[int]]:
    """Return the addresses of each name: of a local one there may be several.

    Raises Refused for a global name that exists twice.
    """
    counted = Counter((s.name, s.binding) for s in kernel.names)
    wrong = [name for (name, binding), times in counted.items() if binding and times > 1]
    if wrong:
        raise refusal(f"has {wrong[0]!r} twice")
    places: dict[Name, set[int]] = {}
    for symbol in kernel.names:
        places.setdefault((symbol.name, symbol.binding), set()).add(symbol.value)
    return places


# ---- the staff's part of it ----


@dataclass(frozen=True)
class Part:
    """A section of one of the staff's objects.

    data: its contents. filled: the places that the linker fills in, each with its width. names: the
    offsets of the names in it.
    """

    about: str
    data: bytes
    filled: tuple[tuple[int, int], ...]
    names: dict[Name, int]

    def blank_addresses(self, data: bytes) -> bytes:
        """Return the data with zeros in the places that the linker fills in."""
        made = bytearray(data)
        for at, width in self.filled:
            made[at : at + width] = bytes(width)
        return bytes(made)


def read_parts(path: Path) -> Iterator[Part]:
    """Yield the sections of an object that have contents and names."""
    made = elf.read(path)
    for number, section in enumerate(made.sections):
        if not section.flags & ALLOC or section.type != elf.PROGBITS:
            continue
        kinds = (elf.VARIABLE, elf.FUNCTION)
        inside = [s for s in made.names if s.section == number]
        wanted = [s for s in inside if s.kind in kinds or s.binding == elf.GLOBAL]
        names = {(s.name, s.binding): s.value for s in wanted}
        filled = ((r.offset, WIDTHS.get(r.type, WIDEST)) for r in made.relocations(number))
        if names:
            about = f"{section.name} of {path.relative_to(BUILT)}"
            yield Part(about, section.data, tuple(filled), names)


@cache
def cached_parts(path: Path, _changed_ns: int) -> tuple[Part, ...]:
    """Return the sections of an object file; the file is read again only after it has changed."""
    return tuple(read_parts(path))


def loaded_bytes(kernel: Elf, address: int, size: int) -> bytes:
    """Return the bytes loaded at an address; fewer if they are not all in one section."""
    for section in kernel.sections:
        at = address - section.address
        if section.flags & ALLOC and section.data and 0 <= at < section.size:
            return section.data[at : at + size]
    return b""


def check_part(kernel: Elf, part: Part, places: dict[Name, set[int]]) -> None:
    """Raise Refused unless the staff's section is in the kernel where all its names are.

    places: the addresses of each name in the kernel; local names may have several. A section that
    has no name in the kernel was left out by the linker.
    """
    # Each address of a name says where the section would begin. All names must agree.
    found = [{place - at for place in places[n]} for n, at in part.names.items() if n in places]
    starts = set.intersection(*found) if found else set()
    wanted = part.blank_addresses(part.data)
    for start in starts:
        data = loaded_bytes(kernel, start, len(part.data))
        if len(data) == len(part.data) and part.blank_addresses(data) == wanted:
            return
    if found:
        raise refusal(f"has something else where {part.about} should be")


def is_used(path: Path) -> bool:
    """Return True if the source of an object still exists, so that linking uses the object."""
    source = TREE / path.relative_to(BUILT).with_suffix("")
    return source.suffix == ".S" or source.with_suffix(".c").exists()


def check_staff_objects(kernel: Elf, theirs: Set[str]) -> None:
    """Raise Refused unless all objects of the staff's are in the kernel unchanged.

    theirs: the sources of the other objects.
    """
    places = name_addresses(kernel)
    left_out = {BUILT / Path(source).with_suffix(".o") for source in theirs}
    for path in (path for pattern in OURS for path in sorted(BUILT.glob(pattern))):
        if path not in left_out and path.name != NOT_OURS and is_used(path):
            for part in cached_parts(path, path.stat().st_mtime_ns):
                check_part(kernel, part, places)


# ---- machine mode ----


def expected_machine_pages(kernel: Elf, ours: Elf) -> bytes:
    """Return machine mode's pages as in our kernel, with this kernel's addresses put in."""
    made = elf.read(MACHINE)
    number = made.sections.index(made.section(BOOT))
    data = bytearray(machine_pages(ours).data)
    for relocation in made.relocations(number):
        symbol = made.symbols[relocation.symbol]
        if relocation.type == ADDRESS and symbol.section == elf.UNDEFINED:
            value = kernel.global_symbol(symbol.name).value + relocation.addend
            WORD.pack_into(data, relocation.offset, value)
    return bytes(data)


def check_machine(kernel: Elf, ours: Elf) -> None:
    """Raise Refused unless machine mode is the staff's."""
    theirs, pages = machine_pages(kernel), machine_pages(ours)
    same = (theirs.address, theirs.size) == (pages.address, pages.size)
    if not same or theirs.data != expected_machine_pages(kernel, ours):
        raise refusal("has other code or data in machine mode's pages")
    if machine_word_range(kernel) != machine_word_range(ours):
        raise refusal("has the words of the trace at other addresses")


def check_kernel(data: bytes, theirs: Set[str]) -> None:
    """Raise Refused unless a linked kernel is ours except for the objects of these sources."""
    try:
        kernel, ours = elf.parse(data), elf.read(KERNEL)
        check_shape(kernel, ours)
        check_machine(kernel, ours)
        check_staff_objects(kernel, theirs)
    except elf.BadElf as error:
        raise refusal(f"is no kernel of this linker ({error})") from None
