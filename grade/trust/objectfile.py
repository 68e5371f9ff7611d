"""Check an object of a submission before it is linked with the staff's.

The compiler may have been misled, so the object is treated as a hostile file. A strict reader
(grade/code/elf.py) reads it, and it may have only what a C compiler makes here:

- Sections: code in .text, constants in .rodata, data in .data and .bss, each with the type and
  flags that the compiler gives it. Only .text can be executed. There is no constructor, no group,
  and no section that the linker treats specially. Sections in which headers register something
  (`policies`, `stats`, ...) hold whole rows, each a variable; pointers lead to the object's own
  data. What the rows say is checked in registration.py.
- Symbols: plain names, each once; no absolute, weak or common symbol. Global symbols are only those
  that the solution has too. Of others' symbols it uses what policy.h and the headers of
  policies/lib declare, or what the solution uses.
- Instructions: none that reads or writes the processor's state, searched by their bits in
  everything that can be executed.
- Sizes: SIZE_MOST in all, ALIGN_MOST for what must be aligned.
"""

import re
from collections.abc import Iterator

from grade.code import elf
from grade.code.elf import ALLOC, EXEC, MERGE, NOBITS, PROGBITS, STRINGS, WRITE, Elf, Symbol
from grade.code.objects import COMPILERS_OWN, external_symbols
from grade.definition.lab import Lab
from grade.trust.archive import Refused
from grade.trust.registration import check_rows, row_bytes
from grade.trust.sourcefile import (
    allowed_definitions,
    allowed_uses,
    is_policy,
    is_shared,
    policy_functions,
)

SIZE_MOST = 16 << 20
ALIGN_MOST = 64
COMPRESSED = 1  # the file's flags: 16-bit instructions, and calls that pass no floats in registers
ATTRIBUTES = 0x70000003  # type of the section that names the processor

# Code on the stack: what a student must do to avoid it, and how GCC marks it.
INNER = "move a function that is defined inside another function out of it"
STACK_NOTE = ".note.GNU-stack"

# The sections that a C compiler makes: names, and the possible pairs of type and flags.
CODE = {(PROGBITS, ALLOC | EXEC)}
CONSTANTS = {(PROGBITS, ALLOC | more) for more in (0, MERGE, MERGE | STRINGS)}
DATA = {(PROGBITS, ALLOC | WRITE)}
ZEROS = {(NOBITS, ALLOC | WRITE)}
ASIDE = {(PROGBITS, 0), (PROGBITS, MERGE | STRINGS)}
DEBUG = "info|abbrev|aranges|line|str|line_str|rnglists|loclists|frame|ranges|loc"
SECTIONS = {
    r"\.text(\.[\w.]+)?": CODE,
    r"\.s?rodata(\.(str1\.\d+|cst\d+))?": CONSTANTS,
    r"\.s?data": DATA,
    r"\.s?bss": ZEROS,
    rf"\.debug_({DEBUG})|\.comment|\.note\.GNU-stack": ASIDE,
    r"\.riscv\.attributes": {(ATTRIBUTES, 0)},
    r"\.symtab": {(elf.SYMTAB, 0)},
    r"\.strtab|\.shstrtab": {(elf.STRTAB, 0)},
    r"\.rela.+": {(elf.RELA, 0x40)},
}
# The sections in which the headers' macros register: rows of tables, or pointers to tables.
POINTERS = {(PROGBITS, ALLOC), (PROGBITS, ALLOC | WRITE)}
OF_KERNEL = {"stats": DATA, "histograms": DATA, "devices": POINTERS}
OF_KERNEL |= {"stat_files": POINTERS, "histogram_files": POINTERS, "device_files": POINTERS}
OF_POLICY = {"policies": POINTERS, "policy_files": POINTERS}

POINTER = 2  # R_RISCV_64
# Calls, branches, addresses relative to the code's, and jump tables.
RELOCATIONS = frozenset({POINTER, 16, 17, 18, 19, 23, 24, 25, 35, 39, 44, 45})

# Global names, and the compiler's local ones: name.0, name.part.0, .LC1, `.L0 `, $x.
GLOBAL_NAME = re.compile(r"[A-Za-z_]\w*", re.A)
LOCAL_NAME = re.compile(r"[A-Za-z_]\w*(\.(\d+|part|constprop|isra|cold|lto_priv))*", re.A)
LABEL = re.compile(r"\.L[A-Za-z_]*\d+ ?|\$[xd]|\$xrv\w+", re.A)


def refusal(file: str, what: str) -> Refused:
    """Return the exception for something wrong with an object."""
    return Refused(f"{file}: its object {what}; plain C does not compile to that: hand in plain C")


# ---- sections ----


def registration_sections(file: str) -> dict[str, set[tuple[int, int]]]:
    """Return the sections in which an object may register rows, with their types and flags.

    A file of policies/lib has none.
    """
    if is_shared(file):
        return {}
    return OF_POLICY if is_policy(file) else OF_KERNEL


def allowed_section_kinds(file: str, name: str) -> set[tuple[int, int]]:
    """Return the types and flags that a section of this name may have; empty if it is forbidden."""
    if name in registration_sections(file):
        return registration_sections(file)[name]
    return next(
        (kind for names, kind in SECTIONS.items() if re.fullmatch(names, name, re.A)), set()
    )


def check_sections(file: str, made: Elf) -> None:
    """Raise Refused for a section that a C compiler does not make."""
    names = [section.name for section in made.sections[1:]]
    for section in made.sections[1:]:
        name, flags = section.name, section.flags
        if name == STACK_NOTE and flags == EXEC:  # GCC 14's mark of an executable stack
            raise Refused(f"{file} puts code on the stack: {INNER}")
        if (section.type, flags) not in allowed_section_kinds(file, name):
            raise refusal(file, f"has a section {name!r} of type {section.type}, flags {flags:#x}")
        if names.count(name) > 1 or section.address:
            raise refusal(file, f"has a section {name!r} twice or at a fixed address")
        if section.align > ALIGN_MOST or section.align & (section.align - 1):
            raise Refused(
                f"{file}: something in {name} is aligned to {section.align} bytes, more"
                f" than {ALIGN_MOST}: use a smaller alignment"
            )
        if section.type == elf.RELA and names[section.info - 1 :][:1] != [name[len(".rela") :]]:
            raise refusal(file, f"has {name!r} for section {section.info}")
    most = sum(section.size for section in made.sections if section.flags & ALLOC)
    if most > SIZE_MOST:
        raise Refused(
            f"{file}: its code and data take {most} bytes, more than {SIZE_MOST}:"
            " use smaller arrays"
        )


def check_registered(file: str, made: Elf) -> None:
    """Raise Refused unless an object registers whole rows.

    Where a row is a pointer, it must lead to the object's own data.
    """
    for number, section in enumerate(made.sections):
        if section.name not in registration_sections(file):
            continue
        size = row_bytes(section.name)
        rows = sorted(
            (s.value, s.size)
            for s in made.symbols
            if s.section == number and s.kind == elf.VARIABLE
        )
        if rows != [(at, size) for at in range(0, section.size, size)]:
            raise refusal(file, f"registers in {section.name} what is no row of {size} bytes")
        if registration_sections(file)[section.name] is POINTERS:
            check_pointers(file, made, number)


def check_pointers(file: str, made: Elf, number: int) -> None:
    """Raise Refused unless each row of a section is a pointer into the object's own data."""
    section, found = made.sections[number], {}  # found: where a pointer leads to, by its offset
    for relocation in made.relocations(number):
        target = made.symbols[relocation.symbol]
        inside = 0 < target.section < len(made.sections)
        room = made.sections[target.section].size if inside else 0
        at = target.value + relocation.addend
        if relocation.type == POINTER and inside and 0 <= at < room:
            found[relocation.offset] = at
    if sorted(found) != list(range(0, section.size, 8)) or any(section.data):
        raise refusal(file, f"registers in {section.name} what is no pointer to a table of its own")


# ---- symbols ----


def is_plain(symbol: Symbol, made: Elf, file: str) -> bool:
    """Return True if a compiler can have made the symbol."""
    name, kind = symbol.name, symbol.kind
    if kind == elf.OF_FILE:
        return symbol.section == elf.ABSOLUTE and name in (file, file.rsplit("/", 1)[-1])
    if kind == elf.OF_SECTION:
        return symbol.section < len(made.sections) and not (name or symbol.value)
    if symbol.binding == elf.GLOBAL:
        return bool(GLOBAL_NAME.fullmatch(name))
    if kind == elf.NOTYPE:
        return not symbol.size and bool(LABEL.fullmatch(name))
    return bool(LOCAL_NAME.fullmatch(name))


def check_place(file: str, symbol: Symbol, made: Elf) -> None:
    """Raise Refused unless the symbol lies in a section for its kind."""
    if symbol.kind == elf.OF_FILE or symbol.section == elf.UNDEFINED:
        return
    if symbol.section >= len(made.sections):
        raise refusal(file, f"has a symbol {symbol.name!r} that lies in no section")
    section = made.sections[symbol.section]
    outside = symbol.value + symbol.size > section.size
    code = bool(section.flags & EXEC)
    misplaced = code if symbol.kind == elf.VARIABLE else symbol.kind == elf.FUNCTION and not code
    if outside or misplaced:
        raise refusal(file, f"has a symbol {symbol.name!r} outside its section, or in a wrong one")


def check_symbols(file: str, made: Elf, lab: Lab) -> None:
    """Raise Refused for symbols that a C compiler does not make, or that the lab may not have."""
    seen: set[str] = set()
    for symbol in made.symbols[1:]:
        if not symbol.name.isascii():
            raise Refused(f"{file}: the name {symbol.name!r}: use letters from a to z")
        kinds_known = symbol.kind <= elf.OF_FILE and symbol.binding <= elf.GLOBAL
        if not kinds_known or symbol.visibility or not is_plain(symbol, made, file):
            raise refusal(
                file,
                f"has a symbol {symbol.name!r} of kind {symbol.kind},"
                f" binding {symbol.binding}, section {symbol.section}",
            )
        if symbol.name in seen and symbol.kind in (elf.VARIABLE, elf.FUNCTION):
            raise refusal(file, f"has a symbol {symbol.name!r} twice")
        seen.add(symbol.name)
        check_place(file, symbol, made)
    theirs = external_symbols(made)
    check_uses(file, theirs.undefined, lab)
    private = is_policy(file) and not is_shared(file)
    extra = sorted(theirs.defined - (set() if private else allowed_definitions(lab)))
    if extra:
        raise Refused(f"{file} defines {', '.join(extra)} for other files: make it static")


def check_uses(file: str, used: frozenset[str], lab: Lab) -> None:
    """Raise Refused if an object uses symbols of others that it may not use."""
    wrong = sorted(
        used - COMPILERS_OWN - (policy_functions() if is_policy(file) else allowed_uses(lab))
    )
    if wrong:
        whose = "policy.h does not offer" if is_policy(file) else "the lab has no use for"
        raise Refused(f"{file} uses {', '.join(wrong)}, which {whose}: do without")


# ---- instructions and addresses ----

# Hints for students about the C code that compiles to a forbidden instruction.
OF_C = {"fence.i": f" (if you have not written it: {INNER})"}
SYSTEM, FENCE, BREAKPOINT = 0x73, 0x0F, 0x00100073
# Loads, arithmetic, stores, atomics, branches, jumps: the lower 7 bits.
ORDINARY = frozenset((0x03, 0x13, 0x17, 0x1B, 0x23, 0x2F, 0x33, 0x37, 0x3B, 0x63, 0x67, 0x6F))
CALLS_OF_SYSTEM = {0: "ecall", 0x102: "sret", 0x105: "wfi", 0x302: "mret"}
COUNTERS = {0xC00: "rdcycle", 0xC01: "rdtime", 0xC02: "rdinstret"}
CSR = ("", "csrrw", "csrrs", "csrrc", "", "csrrwi", "csrrsi", "csrrci")


def iter_instructions(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield each instruction's place and bits. The bits of one that is cut off are 0."""
    at = 0
    while at < len(code):
        half = int.from_bytes(code[at : at + 2], "little")
        size = 4 if half & 3 == 3 else 2  # the lowest bits tell an instruction's bytes
        whole = at + size <= len(code)
        yield at, int.from_bytes(code[at : at + size], "little") if whole else 0
        at += size


def forbidden_instruction(word: int) -> str:
    """Return the name of an instruction that a submission may not have; empty for others.

    Source: The RISC-V Instruction Set Manual, volume I, "RV32/64G Instruction Set Listings".
    """
    if word & 3 != 3:  # a compressed instruction, of 2 bytes: none is privileged
        return "" if word else ".half 0"
    opcode, function, upper = word & 0x7F, word >> 12 & 7, word >> 20
    if opcode in ORDINARY or (opcode == FENCE and not function) or word == BREAKPOINT:
        return ""
    if opcode == FENCE:
        return "fence.i"
    if opcode != SYSTEM:
        return f".word {word:#010x}"
    if function:
        return COUNTERS.get(upper, CSR[function])
    return "sfence.vma" if word >> 25 == 9 else CALLS_OF_SYSTEM.get(upper, f".word {word:#010x}")


def check_instructions(file: str, made: Elf) -> None:
    """Raise Refused for instructions that touch the processor's state, or are invalid."""
    for section in made.sections:
        for at, word in iter_instructions(section.data) if section.flags & EXEC else ():
            name = forbidden_instruction(word)
            if name:
                raise Refused(
                    f"{file} has the instruction {name}, {at} bytes into"
                    f" {section.name}: only the kernel may use it: remove it{OF_C.get(name, '')}"
                )


def check_relocations(file: str, made: Elf) -> None:
    """Raise Refused for an address that the linker would write where C does not need an address."""
    for number, section in enumerate(made.sections):
        for relocation in made.relocations(number):
            inside = relocation.offset < section.size and relocation.symbol < len(made.symbols)
            if not inside:
                raise refusal(file, f"has an address outside {section.name}")
            if section.flags & ALLOC and relocation.type not in RELOCATIONS:
                raise refusal(file, f"has in {section.name} an address of type {relocation.type}")


def check_object(file: str, data: bytes, lab: Lab) -> None:
    """Raise Refused unless a compiler can have made this object from C in the file."""
    try:
        made = elf.parse(data)
        if (made.kind, made.flags, made.entry) != (elf.OBJECT_FILE, COMPRESSED, 0):
            raise elf.BadElf(f"a file of kind {made.kind}, with flags {made.flags:#x}")
        check_sections(file, made)
        check_relocations(file, made)
        check_symbols(file, made, lab)
        check_registered(file, made)
        check_instructions(file, made)
        check_rows(file, made, lab)
    except elf.BadElf as error:
        raise refusal(file, f"is no object file of this compiler ({error})") from None
