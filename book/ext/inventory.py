"""Read what the tree has from its sources: each table and each kind of file, row by row.

Nothing is listed here. A new policy, program, experiment, goal, counter, event, drive or boot
argument is found where it stands. Tests compare what is read with what the kernel itself prints
(tests/tools/test_book.py).
"""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path

from book.ext import clang
from sluice.experiment.rows import parse_experiment
from sluice.experiment.selection import experiments_by_name
from sluice.host.paths import ROOT

SOURCE = re.compile(r"^Sources?: (.*)\Z", re.S | re.M)
GOAL = re.compile(r"^([a-z][a-z_.-]*):[^\n]*?## (.*)$", re.M)
FIELD = re.compile(r"\.(\w+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"(?:\s*\"(?:[^\"\\]|\\.)*\")*|[^,\n]+)")
STATISTIC = re.compile(r"^(COUNTER|GAUGE|HISTOGRAM|DISK_HISTOGRAM)(_WITH)?\(", re.M)
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
    """A number that is counted: of a policy, or of the kernel (then `where` is its file).

    everywhere: each machine has it, not only one with its device (COUNTER_WITH).
    """

    name: str
    unit: str
    about: str
    kind: str = "counter"
    where: str = ""
    everywhere: bool = True


@dataclass(frozen=True)
class Policy:
    """A file of policies/ that ends in POLICY(...)."""

    kind: str
    name: str
    about: str
    path: Path
    algorithm: str  # its head comment, without the source
    source: str  # the paper that the policy is from, or ""
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
        """The experiment's claim."""
        return self.toml["claim"]

    @property
    def source(self) -> str:
        """The paper that the experiment is from."""
        return self.toml["source"]


def tree_path(path: Path) -> str:
    """Return a file's path inside the tree."""
    return path.relative_to(ROOT).as_posix()


@cache
def file_text(path: Path) -> str:
    """Return a file's text."""
    return path.read_text(encoding="utf-8")


@cache
def header_macros() -> dict[str, str]:
    """Return the simple macros of the headers that tables use, by name."""
    headers = [*ROOT.glob("kernel/base/*.h"), *ROOT.glob("kernel/policy/*.h")]
    found = {name: value for path in sorted(headers) for name, value in file_macros(path)}
    return {"NEVER_NS": "~0", "UNLIMITED": "~0"} | found


def file_macros(path: Path) -> list[tuple[str, str]]:
    """Return the simple macros of a file, with their values."""
    return list(clang.simple_macros(file_text(path)).items())


def printed_value(expression: str, own: dict[str, str]) -> str:
    """Return a number of a table as the kernel prints it.

    An expression that is not simple is returned as it is.
    """
    number = clang.evaluate(expression, header_macros() | own)
    return expression if number is None else str(number)


# ---- policies ----


def find_table(path: Path, name: str) -> list[list[str]]:
    """Return the rows of `struct NAME ...[] = {...}` in a file; none if it has no such table."""
    code = clang.strip_comments(file_text(path))
    found = re.search(rf"\bstruct {name} \w+\[\w*\] = ", code)
    return clang.table_rows(code, found.end()) if found else []


def initialiser_fields(code: str) -> dict[str, str]:
    """Return the fields `.name = value` of an initialiser. Strings have no quotes."""
    return {name: clang.split_cells(words)[0] for name, words in FIELD.findall(code)}


def read_policy(path: Path) -> Policy:
    """Return what a file under policies/ says about its policy. Raises BadSource."""
    code = clang.strip_comments(file_text(path))
    found = re.search(r"\bstruct policy \w+ = ", code)
    if not found:
        raise BadSource(f"{tree_path(path)}: there is no struct policy")
    row = initialiser_fields(clang.text_in_braces(code, found.end()))
    comment = clang.head_comment(file_text(path))
    source = SOURCE.search(comment)
    own = clang.simple_macros(file_text(path))
    return Policy(
        kind=path.parent.name,
        name=row["name"],
        about=row["about"],
        path=path,
        algorithm=comment[: source.start()].strip() if source else comment,
        source=" ".join(source[1].split()) if source else "",
        tunables=[
            Tunable(name, unit, *(printed_value(cell, own) for cell in numbers), about)
            for name, unit, *numbers, about in find_table(path, "tunable")
        ],
        counters=[Counter(*row[:3]) for row in find_table(path, "policy_counter")],
    )


@cache
def list_policies() -> list[Policy]:
    """Return all policies, by kind and name."""
    paths = sorted(ROOT.glob("policies/*/*.c"))
    return [read_policy(path) for path in paths if re.search(r"^POLICY\(", file_text(path), re.M)]


def list_kinds() -> list[str]:
    """Return the kinds of policies, in the order of policy.h."""
    header = file_text(ROOT / "kernel" / "policy" / "policy.h")
    names = [name.lower() for name in re.findall(r"^    POLICY_(\w+),", header, re.M)]
    return [name for name in names if name != "kinds"]


# ---- programs, and words of the shell ----


def list_programs() -> list[Program]:
    """Return all user programs, by name."""
    found = [(path.parent.name, path) for path in ROOT.glob("user/**/main.c")]
    for folder in ("bin", "load"):
        found += [(path.stem, path) for path in ROOT.glob(f"user/{folder}/*.c")]
    return [
        Program(name, path, clang.head_comment(file_text(path))) for name, path in sorted(found)
    ]


def list_builtins() -> list[Row]:
    """Return the commands of the shell itself."""
    rows = find_table(ROOT / "user" / "sh" / "builtins.c", "builtin")
    return [Row(f"{name} {usage}".strip(), about) for name, _, usage, about in rows]


# ---- make, experiments, results ----


def list_goals() -> list[Row]:
    """Return the goals of make that `make help` lists."""
    text = file_text(ROOT / "Makefile") + file_text(ROOT / "tools/rules/commands.mk")
    return [Row(name, about) for name, about in sorted(GOAL.findall(text))]


def toml_comment(toml: str) -> str:
    """Return the comment that a TOML file opens with, without its #."""
    lines = []
    for line in toml.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[1:].strip())
    return "\n".join(lines)


@cache
def list_experiments() -> list[Experiment]:
    """Return all experiments, by name."""
    return [
        Experiment(
            path.stem, path, toml_comment(file_text(path)), parse_experiment(file_text(path))
        )
        for path in experiments_by_name().values()
    ]


# ---- the kernel's own tables ----


def kernel_sources() -> list[Path]:
    """Return the kernel's C files."""
    return sorted(ROOT.glob("kernel/**/*.c"))


def call_arguments(code: str, start: int) -> list[str]:
    """Return the arguments of the call or macro whose parenthesis is just before `start`."""
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if not depth:
            return clang.split_cells(code[start:at])
    raise BadSource("a parenthesis is not closed")


def list_statistics() -> list[Counter]:
    """Return the kernel's counters, gauges and histograms, by name."""
    found = []
    for path in kernel_sources():
        code = clang.strip_comments(file_text(path))
        for mark in STATISTIC.finditer(code):
            _, name, unit, about, *_ = call_arguments(code, mark.end())
            kind = mark[1].lower().replace("_", " ")
            found.append(Counter(name, unit, about, kind, tree_path(path), not mark[2]))
    return sorted(found, key=lambda row: (row.kind, row.name))


def list_events() -> list[Row]:
    """Return the events of the trace, in the order of their numbers."""
    header = file_text(ROOT / "kernel" / "measure" / "trace.h")
    listed = header[header.index("#define TRACE_EVENTS(X)") : header.index("enum trace_event")]
    return [Row(name, clang.split_cells(words)[0]) for name, words in EVENT.findall(listed)]


def list_drives() -> list[Drive]:
    """Return the drives, by name, each with its row as it stands in its file."""
    found = []
    for path in sorted(DRIVES.glob("*.c")):
        code = file_text(path)
        names = initialiser_fields(
            clang.strip_comments(clang.text_in_braces(code, code.index("drive_model")))
        )
        found.append(
            Drive(names["name"], names["about"], code.replace('#include "drives/row.h"\n\n', ""))
        )
    return found


def source_arguments() -> dict[str, tuple[str, str, str]]:
    """Return the boot arguments in the sources: default, range and file of each."""
    found = {}
    for path in kernel_sources():
        code = clang.strip_comments(file_text(path))
        for mark in chain(TEXT_ARGUMENT.finditer(code), SECTORS_ARGUMENT.finditer(code)):
            found.setdefault(mark[1], ("", "", tree_path(path)))
        for mark in NUMBER_ARGUMENT.finditer(code):
            start = code.index("(", mark.start()) + 1
            _, *cells = call_arguments(code, start)  # default, least and greatest value
            own = clang.simple_macros(file_text(path))
            default, low, high = (printed_value(cell, own) for cell in cells[:3])
            bounds = f"{low} to {high}" if low.isdigit() and high.isdigit() else ""
            found[mark[1]] = (default if default.isdigit() else "", bounds, tree_path(path))
    return found


def list_arguments() -> list[Argument]:
    """Return all boot arguments.

    Raises BadSource if arguments.toml lacks one or has one too many.
    """
    described, found = tomllib.loads(file_text(ARGUMENTS)), source_arguments()
    kinds_own = set(list_kinds())
    for name in sorted(found.keys() - described.keys() - kinds_own):
        raise BadSource(
            f"{tree_path(ARGUMENTS)}: does not say what {name}= means ({found[name][2]})"
        )
    for name in sorted(described.keys() - found.keys()):
        raise BadSource(f"{tree_path(ARGUMENTS)}: the kernel has no boot argument {name}")
    return [
        Argument(
            name,
            " ".join(filter(None, (row["meaning"], row.get("why")))),
            row.get("values") or found[name][1],
            row.get("default") or found[name][0],
            found[name][2],
        )
        for name, row in sorted(described.items())
    ]
