"""What a submission's sources may say, looked at before they are compiled, in two ways.

The text as it was written (check_text):

- Characters: none that the compiler passes over or takes for the end of a line while others see
  something else.
- Directives: macros, conditions, and `#include "kernel/..."`, a policy policy.h and the headers
  of policies/lib only. Nothing that reads another file of the host, tells where a line is from,
  or joins words so that they are not seen.
- Macros: none has the name of a word that an included header uses, or that belongs to the
  language, so the staff's macros and declarations mean in a submission what they mean elsewhere.
- No assembler, no attributes, no raw strings: there ends where only the compiler knows.

The text as the preprocessor leaves it (check_expanded), which is what the compiler sees:

- It has the allowed headers in it and no other file, and these to the last word as they are
  without the submission around them.
- The submission's part has no assembler and no pragma, and of attributes only those that the
  headers' macros have, word for word. So it does not matter by which macros a text came about.

It refuses, with words: what passes is still not believed (objectfile, linked, evidence).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.code.objects import declared_functions, symbols
from grade.code.source import COMMENT, LITERAL
from grade.definition.lab import Lab
from grade.trust.submission import Refused
from grade.trust.untrusted_text import name_of
from sluice.host.paths import BUILT, TREE

# A literal that nobody ends goes on to the end of its line.
LEFT_OUT = re.compile(rf"""{COMMENT}|({LITERAL}|["'][^\n]*)""", re.S)
CONTROL = re.compile(r"[^\n\t\x20-\x7e\x80-\U0010ffff]")
DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(\w*)(.*)$", re.M)
ALLOWED = {"define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif", "error"}
HEADER = r'"((?:kernel|policies/lib)/[\w/]+\.h)"'
INCLUDE = re.compile(rf"[ \t]*{HEADER}[ \t]*")
OWN_INCLUDE = re.compile(rf"^#include {HEADER}", re.M)
ASSEMBLER = frozenset({"asm", "__asm", "__asm__", "_Pragma", "__pragma"})
ATTRIBUTE = frozenset({"__attribute", "__attribute__", "__declspec"})
WORDS = re.compile(
    r"\b(?:asm|__asm|__asm__|_Pragma|__has_include\w*|__attribute|__attribute__)\b"
    r'|\b(?:u8|[uUL])?R"|##|%:%:|(?:\[|<:)\s*(?:\[|<:)|\\[uU]|\$|[^\x00-\x7f]'
)
NAME = r"[^\W\d]\w*"
MOST_TEXT = 128 << 10  # bytes of a source: our own longest has 26 KiB
MOST_LINES = 5000
# Of C11, and what GNU C adds; with two underscores, or one and a capital, all are the language's.
LANGUAGE = re.compile(
    "asm|auto|break|case|char|const|continue|default|defined|do|double|else|enum|extern|float|for"
    "|goto|if|inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch"
    r"|typedef|typeof|union|unsigned|void|volatile|while|_[A-Z_]\w*"
)
BOUNDARY = "kernel/policy/policy.h"
LIBRARY = "policies/lib/"  # what policies share, beside its headers
PRINTING = frozenset({"kprintf", "panic"})
CALLS = "calls.txt"  # in a lab that was handed out: what may_use found
DEFINES = "defines.txt"  # and what may_define found


def plain(text: str) -> str:
    """The text with lines joined that end in a backslash, and without comments."""
    joined = re.sub(r"\\[ \t]*\n", "", text)
    return LEFT_OUT.sub(lambda match: match[1] or " ", joined)


def with_its_own(header: str) -> set[str]:
    """A header of this tree and all that it includes."""
    own = OWN_INCLUDE.findall((TREE / header).read_text(encoding="utf-8"))
    return {header}.union(*(with_its_own(other) for other in own))


def boundary() -> list[str]:
    """The headers that are made for policies."""
    return [BOUNDARY, *sorted(str(path.relative_to(TREE)) for path in TREE.glob(f"{LIBRARY}*.h"))]


def offered() -> set[str]:
    """The functions that a policy may call."""
    return set().union(*(declared_functions(TREE / header) for header in boundary()))


def headers_for(file: str) -> set[str]:
    """What a source may include."""
    if is_policy(file):
        return set().union(*map(with_its_own, boundary()))
    return {str(path.relative_to(TREE)) for path in (TREE / "kernel").rglob("*.h")}


@cache
def words_of(header: str) -> frozenset[str]:
    """All words of a header and of all that it includes, but in comments and literals."""
    texts = (plain((TREE / name).read_text(encoding="utf-8")) for name in with_its_own(header))
    return frozenset().union(*(re.findall(NAME, re.sub(LITERAL, "", text)) for text in texts))


def where(text: str, word: str) -> str:
    """The line in which the word stands first, in words; empty if it is not there as it is."""
    found = re.search(rf"(?<!\w){re.escape(word)}", text)
    return f"line {text.count(chr(10), 0, found.start()) + 1}: " if found and word else ""


def line_of(text: str, char: str) -> str:
    """The line in which a character stands first outside comments and literals, in words; empty if
    it does not stand there as it is."""
    code = LEFT_OUT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return f"line {code.count(chr(10), 0, code.index(char)) + 1}: " if char in code else ""


def check_include(file: str, rest: str) -> None:
    """Raises Refused for what may not be included."""
    found = INCLUDE.fullmatch(rest)
    if not found:
        raise Refused(
            f"{file}: #include{rest}: only headers of kernel/ and {LIBRARY} may be included"
        )
    if found[1] not in headers_for(file):
        whose = (
            f"a policy has {BOUNDARY} and the headers of {LIBRARY}"
            if is_policy(file)
            else "there is no such header"
        )
        raise Refused(f"{file}: #include{rest}: {whose}")


def check_macro(file: str, word: str, rest: str, headers: list[str]) -> None:
    """Raises Refused for a macro that changes what others' words mean."""
    found = re.match(rf"[ \t]*({NAME})", rest)
    name = found[1] if found else ""
    if LANGUAGE.fullmatch(name):
        raise Refused(
            f"{file}: #{word} {name}: the word is the language's; give your macro another name"
        )
    theirs = [header for header in headers if name in words_of(header)]
    if theirs:
        raise Refused(
            f"{file}: #{word} {name}: {theirs[0]} or a header in it uses this word;"
            " give your macro another name"
        )


def check_text(file: str, text: str) -> None:
    """Raises Refused for what may not be said."""
    text = text.replace("\r\n", "\n")
    odd = CONTROL.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        do = "save it with line ends of Unix (LF)" if odd[0] == "\r" else "remove it"
        raise Refused(f"{file}: line {line}: the control character {name_of(odd[0])}: {do}")
    code = plain(text)
    directives = DIRECTIVE.findall(code)
    for word, rest in directives:
        if word == "include":
            check_include(file, rest)
        elif word not in ALLOWED:
            raise Refused(f"{file}: #{word}: not allowed in what is handed in")
    headers = [INCLUDE.fullmatch(rest)[1] for word, rest in directives if word == "include"]
    for word, rest in directives:
        if word in ("define", "undef"):
            check_macro(file, word, rest, headers)
    found = WORDS.search(re.sub(LITERAL, '""', code))
    if found:
        if not found[0].isascii():
            raise Refused(
                f"{file}: {line_of(text, found[0])}the character {name_of(found[0])} may stand in "
                "comments and strings only: delete it, with its neighbours if you cannot see it, "
                "and type them anew"
            )
        raise Refused(
            f"{file}: {where(text, found[0])}{found[0]}: not allowed in what is handed in"
        )


def check_texts(files: Mapping[str, str]) -> None:
    """Check all files handed in. Raises Refused for the first that may not be compiled."""
    for file, text in files.items():
        check_size(file, text)
        check_text(file, text)


def check_size(file: str, text: str) -> None:
    """Refuse a file before anything costly is done with it, if nobody writes so much."""
    if (size := len(text.encode())) > MOST_TEXT:
        raise Refused(f"{file}: {size} bytes, and a source may have {MOST_TEXT}")
    if (lines := text.count("\n")) > MOST_LINES:
        raise Refused(f"{file}: {lines} lines, and a source may have {MOST_LINES}")


# ---- what the preprocessor made of it ----

MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)')
TOKEN = re.compile(
    rf'(?:u8|[uUL])?R"|(?:u8|[uUL])?{LITERAL}|{NAME}|\.?\d(?:[eEpP][+-]|[\w.])*|<:|%:|\S'
)
MADE_UP = frozenset({"<built-in>", "<command-line>"})
STRAY = frozenset("#$\\") | {"%:"}  # of which C has none outside literals
ENTERED = "1"  # flag of a marker: a header begins
FOLDER = "//"  # the end of a marker that tells where the compiler works


@dataclass(frozen=True)
class Word:
    """A word of an expanded text, and the line of the submission that it is from."""

    text: str
    line: int


@dataclass(frozen=True)
class Expanded:
    """A source as the preprocessor leaves it.

    own: what stands in the source itself; theirs: what stands in headers; headers: those that the
    source includes itself, in order; files: all that the preprocessor read.
    """

    own: tuple[Word, ...]
    theirs: tuple[str, ...]
    headers: tuple[str, ...]
    files: frozenset[str]


def with_place(file: str, expanded: str) -> Iterator[tuple[str, int, str, str]]:
    """Each line of an expanded text: the file it is from, its number there, the text, and, of a
    marker, the flags; what is no marker has none."""
    name, number = file, 0
    for line in expanded.split("\n"):
        marker = MARKER.fullmatch(line)
        if marker:
            before, name, number = name, marker[2].removeprefix("./"), int(marker[1])
            yield name, number, before, f"{marker[3]} "
        else:
            yield name, number, line, ""
            number += 1


def read_expanded(file: str, expanded: str) -> Expanded:
    """The parts of an expanded text."""
    own: list[Word] = []
    theirs: list[str] = []
    headers: list[str] = []
    files: set[str] = set()
    for name, number, text, flags in with_place(file, expanded):
        if not name.endswith(FOLDER):
            files.add(name)
        if flags:
            headers += [name] if ENTERED in flags.split() and text == file else []
        elif name == file:
            own += [Word(word, number) for word in TOKEN.findall(text)]
        else:
            theirs += TOKEN.findall(text)
    return Expanded(tuple(own), tuple(theirs), tuple(headers), frozenset(files))


@cache
def attributes_of(headers: frozenset[str]) -> re.Pattern[str]:
    """The attributes in these headers, macros' bodies too: their words, with blanks between.

    A macro may paste its argument before a word, as HOLD does (kernel/base/types.h).
    """
    found = {r"(?!)"}  # nothing fits
    for header in headers:
        words = TOKEN.findall(plain((TREE / header).read_text(encoding="utf-8")))
        texts = (" ".join(group(words, i)) for i, word in enumerate(words) if word in ATTRIBUTE)
        found |= {re.sub(r"\w+\\ (?:\\#\\#|\\#\\ \\#)\\ ", r"\\w+", re.escape(t)) for t in texts}
    return re.compile("|".join(sorted(found)))


def group(words: list[str], at: int) -> list[str]:
    """The word at this place, and the round brackets after it with all that is in them."""
    depth = 0
    for i in range(at + 1, len(words)):
        depth += (words[i] == "(") - (words[i] == ")")
        if depth <= 0:
            return words[at : i + 1]
    return words[at:]


def check_own(file: str, own: tuple[Word, ...], attributes: re.Pattern[str]) -> None:
    """Raises Refused for what the submission's part may not have become."""
    words = [word.text for word in own]
    for i, word in enumerate(words):
        wrong = word in ASSEMBLER or word.endswith('R"') or word in STRAY
        wrong |= word in ATTRIBUTE and not attributes.fullmatch(" ".join(group(words, i)))
        wrong |= word in ("[", "<:") and words[i + 1 : i + 2] in (["["], ["<:"])
        if wrong:
            what = " ".join(group(words, i)[:8]) if word in ATTRIBUTE else word
            raise Refused(
                f"{file}: line {own[i].line}: with its macros in place it says {what}: not"
                " allowed in what is handed in"
            )


def check_headers(file: str, headers: tuple[str, ...]) -> None:
    """Raises Refused if the preprocessor has read, for a source, what it may not."""
    wrong = sorted(set(headers) - headers_for(file))
    if wrong:
        raise Refused(f"{file} includes {', '.join(wrong)}")


def check_expanded(file: str, expanded: Expanded, pristine: Expanded) -> None:
    """Raises Refused for what a source may not have become.

    pristine: the same headers, in the same order, with nothing else.
    """
    theirs = headers_for(file) | pristine.files  # of these, the compiler's own
    wrong = sorted(expanded.files - theirs - MADE_UP - {file})
    if wrong:
        raise Refused(f"{file} includes {', '.join(wrong)}")
    if expanded.theirs != pristine.theirs:
        raise Refused(
            f"{file}: a macro or an unfinished declaration in it changes what stands in"
            f" {', '.join(dict.fromkeys(expanded.headers))}: put #include first, and give the"
            " macro another name"
        )
    check_own(file, expanded.own, attributes_of(expanded.files & headers_for(file)))


# ---- what its object may use ----


def built(folder: Path, file: str) -> Path:
    """The object of a source."""
    return folder / Path(file).with_suffix(".o")


def is_policy(file: str) -> bool:
    """Is it of policies: one, or what they share?"""
    return file.startswith("policies/")


def is_shared(file: str) -> bool:
    """Is it what policies share, and has names for them?"""
    return file.startswith(LIBRARY)


def is_source(file: str) -> bool:
    """Is it compiled?"""
    return file.endswith(".c")


def of_kernel(lab: Lab) -> list[Path]:
    """The solution's objects of the lab's files of the kernel."""
    return [built(BUILT, file) for file in lab.files if is_source(file) and not is_policy(file)]


def with_names(lab: Lab) -> list[Path]:
    """The solution's objects of the lab's files that have names for others."""
    shared = [built(BUILT, file) for file in lab.files if is_source(file) and is_shared(file)]
    return of_kernel(lab) + shared


def may_use(lab: Lab) -> set[str]:
    """The symbols of others that the lab's files of the kernel may use."""
    handed_out = lab.folder / CALLS
    if handed_out.exists():
        return set(handed_out.read_text(encoding="utf-8").split())
    found = [symbols(path) for path in of_kernel(lab)]
    return set().union(PRINTING, *(s.undefined | s.defined for s in found))


def may_define(lab: Lab) -> set[str]:
    """The names that the lab's files of the kernel, or that policies share, may have for others."""
    handed_out = lab.folder / DEFINES
    if handed_out.exists():
        return set(handed_out.read_text(encoding="utf-8").split())
    return set().union(*(symbols(path).defined for path in with_names(lab)))
