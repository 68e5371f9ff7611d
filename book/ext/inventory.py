"""What the tree has, read from its sources: each table and each kind of file, row by row.

Nothing is listed here. A new policy, program, experiment, goal, counter, event, drive or boot
argument is found where it stands. Tests compare what is read with what the kernel says of itself
(tests/tools/test_book.py).
"""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

from book.ext import clang
from sluice.host.paths import ROOT

SOURCE = re.compile(r"^Sources?: (.*)\Z", re.S | re.M)
GOAL = re.compile(r"^([a-z][a-z_.-]*):[^\n]*?## (.*)$", re.M)
FIELD = re.compile(r"\.(\w+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"(?:\s*\"(?:[^\"\\]|\\.)*\")*|[^,\n]+)")
STATISTIC = re.compile(r"^(COUNTER|GAUGE|HISTOGRAM|DISK_HISTOGRAM)\(", re.M)
EVENT = re.compile(r'X\((\w+),\s*((?:"[^"]*"\s*)+)\)')
NUMBER_ARGUMENT = re.compile(r'\barg_number\(\s*"(\w+)"')
TEXT_ARGUMENT = re.compile(r'\barg_text\(\s*"(\w+)"')
SECTORS_ARGUMENT = re.compile(r'\bsectors_wanted\(\s*"(\w+)"')
ARGUMENTS = ROOT / "book" / "arguments.toml"
DRIVES = ROOT / "drives"


class BadSource(ValueError):
    """A source that does not look as this file expects; says which, and what is missing."""


@dataclass(frozen=True)
class Tunable:
    """A number of a policy that the user may change; as in struct tunable."""

    name: str
    unit: str
    default: str
    low: str
    high: str
    about: str


@dataclass(frozen=True)
class Counter:
    """A number that is counted: of a policy, or of the kernel (then `where` is its file)."""

    name: str
    unit: str
    about: str
    kind: str = "counter"
    where: str = ""


@dataclass(frozen=True)
class Policy:
    """A file of policies/ that ends in POLICY(...)."""

    kind: str
    name: str
    about: str
    path: Path
    algorithm: str  # its head comment, without the source
    source: str  # of the literature, or ""
    tunables: list[Tunable]
    counters: list[Counter]


@dataclass(frozen=True)
class Program:
    """A user program: a file, or a folder whose main.c opens with its comment."""

    name: str
    path: Path
    about: str


@dataclass(frozen=True)
class Row:
    """Something with a name and a meaning: a goal of make, an event, a word of the shell."""

    name: str
    about: str


@dataclass(frozen=True)
class Argument:
    """A boot argument. default and range are "" where the kernel computes them."""

    name: str
    meaning: str
    values: str
    default: str
    where: str


@dataclass(frozen=True)
class Drive:
    """A row of the table of drives, as it stands in the source."""

    name: str
    about: str
    row: str


@dataclass(frozen=True)
class Experiment:
    """A TOML file, and the comment that it opens with."""

    name: str
    path: Path
    comment: str
    toml: dict = field(repr=False)

    @property
    def claim(self) -> str:
        return self.toml["claim"]

    @property
    def source(self) -> str:
        return self.toml["source"]


def place(path: Path) -> str:
    """A file's path inside the tree."""
    return path.relative_to(ROOT).as_posix()


@cache
def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def macros() -> dict[str, str]:
    """The simple macros of the headers that tables use."""
    headers = [*ROOT.glob("kernel/base/*.h"), *ROOT.glob("kernel/policy/*.h")]
    found = {name: value for path in sorted(headers) for name, value in defines(path)}
    return {"NEVER_NS": "~0", "UNLIMITED": "~0"} | found


def defines(path: Path) -> list[tuple[str, str]]:
    return list(clang.defines(text(path)).items())


def value(expression: str, own: dict[str, str]) -> str:
    """A number of a table as the kernel prints it; an expression that is not simple as it is."""
    number = clang.number(expression, macros() | own)
    return expression if number is None else str(number)


# ---- policies ----


def table(path: Path, name: str) -> list[list[str]]:
    """The rows of `struct NAME ...[] = {...}` in a file; none if it has no such table."""
    code = clang.without_comments(text(path))
    found = re.search(rf"\bstruct {name} \w+\[\w*\] = ", code)
    return clang.rows(code, found.end()) if found else []


def fields(code: str) -> dict[str, str]:
    """The fields `.name = value` of an initialiser, of strings without quotes."""
    return {name: clang.cells(words)[0] for name, words in FIELD.findall(code)}


def policy(path: Path) -> Policy:
    """What a file under policies/ says of itself."""
    code = clang.without_comments(text(path))
    found = re.search(r"\bstruct policy \w+ = ", code)
    if not found:
        raise BadSource(f"{place(path)}: there is no struct policy")
    row = fields(clang.braces(code, found.end()))
    comment = clang.head(text(path))
    source = SOURCE.search(comment)
    own = clang.defines(text(path))
    return Policy(
        path.parent.name,
        row["name"],
        row["about"],
        path,
        comment[: source.start()].strip() if source else comment,
        " ".join(source[1].split()) if source else "",
        [
            Tunable(name, unit, *(value(cell, own) for cell in numbers), about)
            for name, unit, *numbers, about in table(path, "tunable")
        ],
        [Counter(*row[:3]) for row in table(path, "policy_counter")],
    )


@cache
def policies() -> list[Policy]:
    """All of them, by kind and name."""
    paths = sorted(ROOT.glob("policies/*/*.c"))
    return [policy(path) for path in paths if re.search(r"^POLICY\(", text(path), re.M)]


def kinds() -> list[str]:
    """The kinds of policies, in the order of policy.h."""
    header = text(ROOT / "kernel" / "policy" / "policy.h")
    names = [name.lower() for name in re.findall(r"^    POLICY_(\w+),", header, re.M)]
    return [name for name in names if name != "kinds"]


# ---- programs, and words of the shell ----


def programs() -> list[Program]:
    """All user programs."""
    folders = [path for path in ROOT.glob("user/*/main.c") if path.parent.name != "lib"]
    found = [(path.stem, path) for path in ROOT.glob("user/*.c")]
    found += [(path.parent.name, path) for path in folders]
    return [Program(name, path, clang.head(text(path))) for name, path in sorted(found)]


def builtins() -> list[Row]:
    """The commands of the shell itself."""
    rows = table(ROOT / "user" / "sh" / "builtins.c", "builtin")
    return [Row(f"{name} {usage}".strip(), about) for name, _, usage, about in rows]


# ---- make, experiments, results ----


def goals() -> list[Row]:
    """The goals of make that `make help` lists."""
    return [Row(name, about) for name, about in sorted(GOAL.findall(text(ROOT / "Makefile")))]


def comment_of(toml: str) -> str:
    """The lines with # that a TOML file opens with."""
    lines = []
    for line in toml.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    return "\n".join(lines)


@cache
def experiments() -> list[Experiment]:
    return [
        Experiment(path.stem, path, comment_of(text(path)), tomllib.loads(text(path)))
        for path in sorted(ROOT.glob("experiments/*.toml"))
    ]


# ---- the kernel's own tables ----


def sources() -> list[Path]:
    return sorted(ROOT.glob("kernel/**/*.c"))


def call(code: str, start: int) -> list[str]:
    """The arguments of the call or macro whose parenthesis is the last character before start."""
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if not depth:
            return clang.cells(code[start:at])
    raise BadSource("a parenthesis is not closed")


def statistics() -> list[Counter]:
    """The kernel's counters, gauges and histograms, by name."""
    found = []
    for path in sources():
        code = clang.without_comments(text(path))
        for mark in STATISTIC.finditer(code):
            _, name, unit, about, *_ = call(code, mark.end())
            kind = mark[1].lower().replace("_", " ")
            found.append(Counter(name, unit, about, kind, place(path)))
    return sorted(found, key=lambda row: (row.kind, row.name))


def events() -> list[Row]:
    """The events of the trace, in the order of their numbers."""
    header = text(ROOT / "kernel" / "measure" / "trace.h")
    listed = header[header.index("#define TRACE_EVENTS(X)") : header.index("enum trace_event")]
    return [Row(name, clang.cells(words)[0]) for name, words in EVENT.findall(listed)]


def drives() -> list[Drive]:
    """The drives, by name, each with its row as it stands in its file."""
    found = []
    for path in sorted(DRIVES.glob("*.c")):
        code = text(path)
        names = fields(clang.without_comments(clang.braces(code, code.index("drive_model"))))
        found.append(
            Drive(names["name"], names["about"], code.replace('#include "drives/row.h"\n\n', ""))
        )
    return found


def asked_for() -> dict[str, tuple[str, str, str]]:
    """Boot arguments in the sources: default, range and file of each."""
    found = {}
    for path in sources():
        code = clang.without_comments(text(path))
        for mark in chain(TEXT_ARGUMENT.finditer(code), SECTORS_ARGUMENT.finditer(code)):
            found.setdefault(mark[1], ("", "", place(path)))
        for mark in NUMBER_ARGUMENT.finditer(code):
            start = code.index("(", mark.start()) + 1
            _, *cells = call(code, start)
            own = clang.defines(text(path))
            default, low, high = (value(cell, own) for cell in cells[:3])
            bounds = f"{low} to {high}" if low.isdigit() and high.isdigit() else ""
            found[mark[1]] = (default if default.isdigit() else "", bounds, place(path))
    return found


def arguments() -> list[Argument]:
    """All boot arguments; BadSource if arguments.toml describes none or one too many."""
    described, found = tomllib.loads(text(ARGUMENTS)), asked_for()
    kinds_own = set(kinds())
    for name in sorted(found.keys() - described.keys() - kinds_own):
        raise BadSource(f"{place(ARGUMENTS)}: does not say what {name}= means ({found[name][2]})")
    for name in sorted(described.keys() - found.keys()):
        raise BadSource(f"{place(ARGUMENTS)}: the kernel has no boot argument {name}")
    return [
        Argument(
            name,
            row["meaning"],
            row.get("values") or found[name][1],
            row.get("default") or found[name][0],
            found[name][2],
        )
        for name, row in sorted(described.items())
    ]
