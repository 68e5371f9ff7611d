"""What a submission's sources may say, looked at before and after they are compiled.

- Characters: none that the compiler passes over or takes for the end of a line while others see
  something else.
- Directives: macros, conditions, and `#include "kernel/..."`, a policy policy.h only. Nothing
  that reads another file of the host, tells where a line is from, or joins words so that they
  are not seen. The compiler's own list of what it read is asked too.
- Instructions: none that reads or writes the processor's state, however it came about.
- No assembler, no attributes, no raw strings: the last end where only the compiler knows.
- Calls: a policy may use what policy.h declares; a file of the kernel, what the solution's
  files use, and printing.

It refuses, with words: what passes is still not believed (evidence).
"""

import re
from collections.abc import Mapping
from pathlib import Path

from grade.objects import COMPILERS_OWN, declared_functions, includes, symbols, tool
from grade.paths import BUILT, ROOT
from grade.scoring.lab import Lab
from grade.scoring.source import COMMENT, LITERAL
from grade.scoring.submission import Refused

# A literal that nobody ends goes on to the end of its line.
LEFT_OUT = re.compile(rf"""{COMMENT}|({LITERAL}|["'][^\n]*)""", re.S)
CONTROL = re.compile(r"[^\n\t\x20-\x7e\x80-\U0010ffff]")
DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(\w*)(.*)$", re.M)
ALLOWED = {"define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif", "error"}
INCLUDE = re.compile(r'[ \t]*"(kernel/\w+\.h)"[ \t]*')
WORDS = re.compile(
    r"\b(?:asm|__asm|__asm__|_Pragma|__has_include\w*|__attribute|__attribute__)\b"
    r'|\b(?:u8|[uUL])?R"|##|%:%:|(?:\[|<:)\s*(?:\[|<:)'
)
BOUNDARY = "kernel/policy.h"
SYSTEM = re.compile(  # as objdump prints them
    r"^ *[0-9a-f]+:\s+(csr\w+|[msu]ret|ecall|wfi|sfence\S*|fence\.i|rd\w+|\.\w+)",
    re.M,
)
PRINTING = frozenset({"kprintf", "panic"})
CALLS = "calls.txt"  # in a lab that was handed out: what may_use found


def plain(text: str) -> str:
    """The text with lines joined that end in a backslash, and without comments."""
    joined = re.sub(r"\\[ \t]*\n", "", text)
    return LEFT_OUT.sub(lambda match: match[1] or " ", joined)


def with_its_own(header: str) -> set[str]:
    """A header of this tree and all that it includes."""
    own = re.findall(r'^#include "(kernel/\w+\.h)"', (ROOT / header).read_text(), re.M)
    return {header}.union(*(with_its_own(other) for other in own))


def headers_for(file: str) -> set[str]:
    """What a source may include."""
    if is_policy(file):
        return with_its_own(BOUNDARY)
    return {f"kernel/{path.name}" for path in (ROOT / "kernel").glob("*.h")}


def check_include(file: str, rest: str) -> None:
    """Raises Refused for what may not be included."""
    found = INCLUDE.fullmatch(rest)
    if not found:
        raise Refused(f"{file}: #include{rest}: only headers of kernel/ may be included")
    if found[1] not in headers_for(file):
        whose = f"a policy has {BOUNDARY}" if is_policy(file) else "there is no such header"
        raise Refused(f"{file}: #include{rest}: {whose}")


def check_text(file: str, text: str) -> None:
    """Raises Refused for what may not be said."""
    text = text.replace("\r\n", "\n")
    odd = CONTROL.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        raise Refused(f"{file}: line {line}: the control character {odd[0]!r}")
    code = plain(text)
    for word, rest in DIRECTIVE.findall(code):
        if word == "include":
            check_include(file, rest)
        elif word not in ALLOWED:
            raise Refused(f"{file}: #{word}: not allowed in what is handed in")
    found = WORDS.search(re.sub(LITERAL, '""', code))
    if found:
        raise Refused(f"{file}: {found[0]}: not allowed in what is handed in")


def built(folder: Path, file: str) -> Path:
    """The object of a source."""
    return folder / Path(file).with_suffix(".o")


def is_policy(file: str) -> bool:
    """Is it of a policy?"""
    return file.startswith("policies/")


def is_source(file: str) -> bool:
    """Is it compiled?"""
    return file.endswith(".c")


def may_use(lab: Lab) -> set[str]:
    """The symbols of others that the lab's files of the kernel may use."""
    handed_out = lab.folder / CALLS
    if handed_out.exists():
        return set(handed_out.read_text().split())
    objects = [built(BUILT, file) for file in lab.files if is_source(file) and not is_policy(file)]
    found = [symbols(path) for path in objects]
    return set().union(PRINTING, *(s.undefined | s.defined for s in found))


def check_calls(lab: Lab, folder: Path) -> None:
    """Raises Refused if an object in this build folder uses what it may not."""
    offered = declared_functions(ROOT / "kernel" / "policy.h")
    theirs = may_use(lab)
    for file in filter(is_source, lab.files):
        used = symbols(built(folder, file)).undefined - COMPILERS_OWN
        wrong = sorted(used - (offered if is_policy(file) else theirs))
        if wrong:
            whose = "policy.h does not offer" if is_policy(file) else "the lab has no use for"
            raise Refused(f"{file} uses {', '.join(wrong)}, which {whose}")


def check_instructions(lab: Lab, folder: Path) -> None:
    """Raises Refused if an object has instructions that speak to the machine, or are none."""
    for file in filter(is_source, lab.files):
        found = SYSTEM.search(tool("objdump", "-d", "--no-show-raw-insn", built(folder, file)))
        if found:
            raise Refused(f"{file} has the instruction {found[1]}, which is the kernel's own")


def check_includes(lab: Lab, folder: Path) -> None:
    """Raises Refused if the compiler has read, for an object in this folder, what it may not."""
    for file in filter(is_source, lab.files):
        wrong = sorted(includes(built(folder, file)) - headers_for(file) - {file})
        if wrong:
            raise Refused(f"{file} includes {', '.join(wrong)}")


def check_texts(files: Mapping[str, str]) -> None:
    """All files handed in."""
    for file, text in files.items():
        check_text(file, text)
