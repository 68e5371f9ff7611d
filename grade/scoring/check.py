"""What a submission's sources may say, looked at before and after they are compiled.

- Directives: macros, conditions, and `#include "kernel/..."`. Nothing that reads another file
  of the host, tells where a line is from, or joins words so that they are not seen.
- No assembler.
- Calls: a policy may use what policy.h declares; a file of the kernel, what the solution's
  files use, and printing.

It refuses, with words: what passes is still not believed (evidence).
"""

import re
from collections.abc import Mapping
from pathlib import Path

from grade.objects import COMPILERS_OWN, declared_functions, symbols
from grade.paths import BUILD, ROOT
from grade.scoring.lab import Lab
from grade.scoring.submission import Refused

COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.S)
DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(\w*)(.*)$", re.M)
ALLOWED = {"define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif", "error"}
INCLUDE = re.compile(r'[ \t]*"kernel/\w+\.h"[ \t]*')
WORDS = re.compile(r"\b(asm|__asm|__asm__|_Pragma|__has_include|__attribute__)\b|##|%:%:")
PRINTING = frozenset({"kprintf", "panic"})
CALLS = "calls.txt"  # in a lab that was handed out: what may_use found


def plain(text: str) -> str:
    """The text with lines joined that end in a backslash, and without comments."""
    joined = re.sub(r"\\[ \t]*\n", "", text)
    return COMMENT.sub(lambda match: match[1] or " ", joined)


def check_text(file: str, text: str) -> None:
    """Raises Refused for what may not be said."""
    code = plain(text)
    for match in DIRECTIVE.finditer(code):
        word, rest = match.groups()
        if word == "include" and not INCLUDE.fullmatch(rest):
            raise Refused(f"{file}: #include{rest}: only headers of kernel/ may be included")
        if word not in ALLOWED and word != "include":
            raise Refused(f"{file}: #{word}: not allowed in what is handed in")
    strings_out = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', code)
    found = WORDS.search(strings_out)
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
    objects = [built(BUILD, file) for file in lab.files if is_source(file) and not is_policy(file)]
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


def check_texts(files: Mapping[str, str]) -> None:
    """All files handed in."""
    for file, text in files.items():
        check_text(file, text)
