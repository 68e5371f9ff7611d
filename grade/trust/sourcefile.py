"""Check a submission's sources before they are compiled, in two ways.

The text as it was written (check_text):

- Characters: none that the compiler ignores or takes for the end of a line although a reader or
  this check does not.
- Directives: macros, conditions, and `#include "kernel/..."`. A policy may include only the header
  of its kind, policy.h and the headers of policies/lib. No directive may read another file of the
  host, change the line's file or number, or join words so that this check does not see them.
- Macros: none has the name of a word that an included header uses, or that belongs to the
  language, so the staff's macros and declarations mean in a submission what they mean elsewhere.
- No assembler, no attributes, and no raw strings, whose ends this check cannot find.

The text as the preprocessor leaves it (check_expanded), which is what the compiler sees:

- It contains the allowed headers and no other file. Each header has the same words as without the
  submission.
- The submission's part has no assembler and no pragma, and only those attributes that the headers'
  macros have, word for word. So it does not matter which macros made the text.

Refusing here gives students clear messages. A text that passes is still not trusted: its object,
its kernel and its run are checked, too (objectfile, linked_kernel, evidence).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grade.code.objects import declared_functions, read_symbols
from grade.code.source import COMMENT, LITERAL
from grade.definition.lab import Lab
from grade.trust.archive import Refused
from grade.trust.untrusted_text import name_character
from sluice.host.paths import BUILT, TREE

# An unterminated literal ends with its line.
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
MOST_TEXT = 128 << 10  # bytes of a source; the longest of this tree has 26 KiB
MOST_LINES = 5000
# The words of C11 and GNU C. All words that begin with __, or with _ and a capital, are reserved.
LANGUAGE = re.compile(
    "asm|auto|break|case|char|const|continue|default|defined|do|double|else|enum|extern|float|for"
    "|goto|if|inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch"
    r"|typedef|typeof|union|unsigned|void|volatile|while|_[A-Z_]\w*"
)
BOUNDARY = "kernel/policy/policy.h"
OF_BOUNDARY = "kernel/policy/"  # the folder with the header of each kind of policy
LIBRARY = "policies/lib/"  # the files that policies share, with their headers
PRINTING = frozenset({"kprintf", "panic"})
CALLS = "calls.txt"  # in a student's tree: the result of allowed_uses
DEFINES = "defines.txt"  # in a student's tree: the result of allowed_definitions


def strip_comments(text: str) -> str:
    """Return the text without comments, and with lines joined that end in a backslash."""
    joined = re.sub(r"\\[ \t]*\n", "", text)
    return LEFT_OUT.sub(lambda match: match[1] or " ", joined)


def included_headers(header: str) -> set[str]:
    """Return a header of this tree and all headers that it includes, directly or through others."""
    found: set[str] = set()
    left = [header]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += OWN_INCLUDE.findall((TREE / name).read_text(encoding="utf-8"))
    return found


def policy_headers() -> list[str]:
    """Return the headers for policies: that of each kind, and those of policies/lib."""
    kinds = included_headers(BOUNDARY)
    own = sorted(name for name in kinds if name.startswith(OF_BOUNDARY) and name != BOUNDARY)
    library = sorted(str(path.relative_to(TREE)) for path in TREE.glob(f"{LIBRARY}*.h"))
    return [BOUNDARY, *own, *library]


def policy_functions() -> set[str]:
    """Return the functions that a policy may call."""
    return set().union(*(declared_functions(TREE / header) for header in policy_headers()))


def allowed_headers(file: str) -> set[str]:
    """Return the headers that a source may include."""
    if is_policy(file):
        return set().union(*map(included_headers, policy_headers()))
    return {str(path.relative_to(TREE)) for path in (TREE / "kernel").rglob("*.h")}


@cache
def header_words(header: str) -> frozenset[str]:
    """Return all words of a header and of all that it includes.

    Words in comments and literals are left out.
    """
    texts = (
        strip_comments((TREE / name).read_text(encoding="utf-8"))
        for name in included_headers(header)
    )
    return frozenset().union(*(re.findall(NAME, re.sub(LITERAL, "", text)) for text in texts))


def locate_word(text: str, word: str) -> str:
    """Return where the word first occurs, as "line N: " for a message.

    It is empty if the text does not have the word itself.
    """
    found = re.search(rf"(?<!\w){re.escape(word)}", text)
    return f"line {text.count(chr(10), 0, found.start()) + 1}: " if found and word else ""


def locate_character(text: str, char: str) -> str:
    """Return where a character first occurs, as "line N: " for a message.

    Comments and literals are skipped. It is empty if the text does not have the character itself.
    """
    code = LEFT_OUT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return f"line {code.count(chr(10), 0, code.index(char)) + 1}: " if char in code else ""


def check_include(file: str, rest: str) -> None:
    """Raise Refused for a header that may not be included."""
    found = INCLUDE.fullmatch(rest)
    if not found:
        raise Refused(
            f"{file}: #include{rest}: only headers of kernel/ and {LIBRARY} may be included: remove"
            " this line"
        )
    if found[1] not in allowed_headers(file):
        whose = (
            f"a policy may include its kind's header in {OF_BOUNDARY} and the headers of {LIBRARY}"
            if is_policy(file)
            else "there is no such header: remove this line"
        )
        raise Refused(f"{file}: #include{rest}: {whose}")


def check_macro(file: str, word: str, rest: str, headers: list[str]) -> None:
    """Raise Refused for a macro that changes what others' words mean."""
    found = re.match(rf"[ \t]*({NAME})", rest)
    name = found[1] if found else ""
    if LANGUAGE.fullmatch(name):
        raise Refused(
            f"{file}: #{word} {name}: the word is the language's; give your macro another name"
        )
    theirs = [header for header in headers if name in header_words(header)]
    if theirs:
        raise Refused(
            f"{file}: #{word} {name}: {theirs[0]} or a header in it uses this word;"
            " give your macro another name"
        )


def check_text(file: str, text: str) -> None:
    """Raise Refused for text that a submission may not contain."""
    text = text.replace("\r\n", "\n")
    odd = CONTROL.search(text)
    if odd:
        line = text.count("\n", 0, odd.start()) + 1
        do = "save it with line ends of Unix (LF)" if odd[0] == "\r" else "remove it"
        raise Refused(f"{file}: line {line}: the control character {name_character(odd[0])}: {do}")
    code = strip_comments(text)
    directives = DIRECTIVE.findall(code)
    for word, rest in directives:
        if word == "include":
            check_include(file, rest)
        elif word not in ALLOWED:
            raise Refused(f"{file}: #{word}: not allowed in what is handed in: remove it")
    included = (INCLUDE.fullmatch(rest) for word, rest in directives if word == "include")
    headers = [match[1] for match in included if match]
    for word, rest in directives:
        if word in ("define", "undef"):
            check_macro(file, word, rest, headers)
    found = WORDS.search(re.sub(LITERAL, '""', code))
    if found:
        if not found[0].isascii():
            place = locate_character(text, found[0])
            raise Refused(
                f"{file}: {place}the character {name_character(found[0])} may stand in "
                "comments and strings only: delete it, with its neighbours if you cannot see it, "
                "and type them anew"
            )
        place = locate_word(text, found[0])
        raise Refused(f"{file}: {place}{found[0]}: not allowed in what is handed in: remove it")


def check_texts(files: Mapping[str, str]) -> None:
    """Check all files of a submission.

    Raises Refused for the first file that may not be compiled.
    """
    for file, text in files.items():
        check_size(file, text)
        check_text(file, text)


def check_size(file: str, text: str) -> None:
    """Raise Refused for a file that is too long.

    This check comes first, because others are costly.
    """
    if (size := len(text.encode())) > MOST_TEXT:
        raise Refused(f"{file}: {size} bytes, and a source may have {MOST_TEXT}: shorten it")
    if (lines := text.count("\n")) > MOST_LINES:
        raise Refused(f"{file}: {lines} lines, and a source may have {MOST_LINES}: shorten it")


# ---- the text after the preprocessor ----

MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)')
TOKEN = re.compile(
    rf'(?:u8|[uUL])?R"|(?:u8|[uUL])?{LITERAL}|{NAME}|\.?\d(?:[eEpP][+-]|[\w.])*|<:|%:|\S'
)
MADE_UP = frozenset({"<built-in>", "<command-line>"})
STRAY = frozenset("#$\\") | {"%:"}  # preprocessed C has none of these outside literals
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

    own: the words of the source itself. theirs: the words of headers. headers: those that the
    source includes itself, in order. files: all that the preprocessor read.
    """

    own: tuple[Word, ...]
    theirs: tuple[str, ...]
    headers: tuple[str, ...]
    files: frozenset[str]


def iter_lines(file: str, expanded: str) -> Iterator[tuple[str, int, str, str]]:
    """Yield each line of an expanded text: its file, its number there, its text, and flags.

    Only a line marker has flags; its text is the name of the file before the marker.
    """
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
    """Return the parts of an expanded text."""
    own: list[Word] = []
    theirs: list[str] = []
    headers: list[str] = []
    files: set[str] = set()
    for name, number, text, flags in iter_lines(file, expanded):
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
def attribute_pattern(headers: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of the attributes in these headers and in the bodies of their macros.

    It matches their words with blanks between them. A macro may paste its argument before a word,
    as HOLD does (kernel/base/types.h).
    """
    found = {r"(?!)"}  # nothing fits
    for header in headers:
        words = TOKEN.findall(strip_comments((TREE / header).read_text(encoding="utf-8")))
        texts = (
            " ".join(bracket_group(words, i)) for i, word in enumerate(words) if word in ATTRIBUTE
        )
        found |= {re.sub(r"\w+\\ (?:\\#\\#|\\#\\ \\#)\\ ", r"\\w+", re.escape(t)) for t in texts}
    return re.compile("|".join(sorted(found)))


def bracket_group(words: list[str], at: int) -> list[str]:
    """Return the word at this place, and the round brackets after it with all that is in them."""
    depth = 0
    for i in range(at + 1, len(words)):
        depth += (words[i] == "(") - (words[i] == ")")
        if depth <= 0:
            return words[at : i + 1]
    return words[at:]


def check_own_words(file: str, own: tuple[Word, ...], attributes: re.Pattern[str]) -> None:
    """Raise Refused for words that the submission's part may not have once it is expanded."""
    words = [word.text for word in own]
    for i, word in enumerate(words):
        wrong = word in ASSEMBLER or word.endswith('R"') or word in STRAY
        wrong |= word in ATTRIBUTE and not attributes.fullmatch(" ".join(bracket_group(words, i)))
        # an attribute as [[...]]; <: is another spelling of [
        wrong |= word in ("[", "<:") and words[i + 1 : i + 2] in (["["], ["<:"])
        if wrong:
            what = " ".join(bracket_group(words, i)[:8]) if word in ATTRIBUTE else word
            raise Refused(
                f"{file}: line {own[i].line}: after its macros are expanded it says {what}: not"
                " allowed in what is handed in: remove it"
            )


def check_headers(file: str, headers: tuple[str, ...]) -> None:
    """Raise Refused if a source includes a header that it may not."""
    wrong = sorted(set(headers) - allowed_headers(file))
    if wrong:
        raise Refused(f"{file} includes {', '.join(wrong)}: a submission may not: remove this")


def check_expanded(file: str, expanded: Expanded, pristine: Expanded) -> None:
    """Raise Refused for an expanded source that breaks a rule.

    pristine: the same headers, in the same order, with nothing else.
    """
    theirs = allowed_headers(file) | pristine.files  # pristine adds the compiler's own headers
    wrong = sorted(expanded.files - theirs - MADE_UP - {file})
    if wrong:
        raise Refused(f"{file} includes {', '.join(wrong)}: a submission may not: remove this")
    if expanded.theirs != pristine.theirs:
        raise Refused(
            f"{file}: a macro or an unfinished declaration in it changes what stands in"
            f" {', '.join(dict.fromkeys(expanded.headers))}: put #include first, and give the"
            " macro another name"
        )
    check_own_words(file, expanded.own, attribute_pattern(expanded.files & allowed_headers(file)))


# ---- what its object may use ----


def object_path(folder: Path, file: str) -> Path:
    """Return the path of the object of a source."""
    return folder / Path(file).with_suffix(".o")


def is_policy(file: str) -> bool:
    """Return True if the file is a policy, or a file of policies/lib."""
    return file.startswith("policies/")


def is_shared(file: str) -> bool:
    """Return True if the file is of policies/lib and so may define names for policies."""
    return file.startswith(LIBRARY)


def is_source(file: str) -> bool:
    """Return True if the file is compiled."""
    return file.endswith(".c")


def kernel_objects(lab: Lab) -> list[Path]:
    """Return the paths of the solution's objects.

    There is one for each C file of the lab that is outside policies/.
    """
    return [
        object_path(BUILT, file) for file in lab.files if is_source(file) and not is_policy(file)
    ]


def exporting_objects(lab: Lab) -> list[Path]:
    """Return the solution's objects of the lab's files that may define names for other files."""
    shared = [object_path(BUILT, file) for file in lab.files if is_source(file) and is_shared(file)]
    return kernel_objects(lab) + shared


def allowed_uses(lab: Lab) -> set[str]:
    """Return the symbols of other files that the lab's kernel files may use."""
    handed_out = lab.folder / CALLS
    if handed_out.exists():
        return set(handed_out.read_text(encoding="utf-8").split())
    found = [read_symbols(path) for path in kernel_objects(lab)]
    return set().union(PRINTING, lab.calls, *(s.undefined | s.defined for s in found))


def allowed_definitions(lab: Lab) -> set[str]:
    """Return the names that the lab's files may define for others.

    Only files of the kernel and of policies/lib may define such names.
    """
    handed_out = lab.folder / DEFINES
    if handed_out.exists():
        return set(handed_out.read_text(encoding="utf-8").split())
    return set().union(*(read_symbols(path).defined for path in exporting_objects(lab)))
