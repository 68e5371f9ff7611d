"""List what to read about a question: the kernel's files, in order.

book/paths.toml has a table for each path: its question, its steps, and, where it differs from the
usual 2,000, the number of lines that the steps have at most. A step is a file, what to look for in
it, and the parts to read: functions, or `struct NAME` and `enum NAME`. Without parts the whole file
is read.

A part is the lines from the first line of the comment before it to the closing brace. The comment
at the start of a file is also read, except in a path with `heads = false`, which follows calls from
function to function. A line counts once in a path.
"""

import re
import textwrap
import tomllib
from dataclasses import dataclass
from functools import cache

from sluice.host.paths import ROOT

DATA = ROOT / "book/paths.toml"
MOST = 2000  # lines of a path
Lines = list[tuple[int, int]]  # the first and the last of each piece, from 1


class BadPath(Exception):
    """A path names a file, or a part of a file, that does not exist."""


@dataclass(frozen=True)
class Step:
    """A file of a path; no parts means all of the file."""

    file: str
    parts: tuple[str, ...]
    look_for: str


@dataclass(frozen=True)
class ReadingPath:
    """The files that answer a question, in the order in which to read them."""

    name: str
    question: str
    steps: tuple[Step, ...]
    most: int
    heads: bool


@cache
def read_paths() -> dict[str, ReadingPath]:
    """Return all paths of book/paths.toml by name, in the file's order."""
    tables = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return {
        name: ReadingPath(
            name,
            table["question"],
            tuple(
                Step(step["file"], tuple(step.get("parts", ())), step["look_for"])
                for step in table["steps"]
            ),
            table.get("most", MOST),
            table.get("heads", True),
        )
        for name, table in tables.items()
    }


def find_head(lines: list[str]) -> tuple[int, int] | None:
    """Return the lines of the comment that a file opens with, or None."""
    if not lines or not lines[0].startswith("/*"):
        return None
    return 1, next(i for i, line in enumerate(lines, 1) if line.rstrip().endswith("*/"))


def find_part(lines: list[str], part: str) -> tuple[int, int] | None:
    """Return the lines of a function, structure or enumeration with its comment, or None.

    A header's declaration of a function is found if the file does not define it.
    """
    if part.startswith(("struct ", "enum ")):
        begin = re.compile(rf"{part}\s*\{{")
    else:
        begin = re.compile(rf"[a-z][\w \t*]*?\b\**{part}\(")
    declared = None
    for at, line in enumerate(lines):
        if not begin.match(line):
            continue
        end = at
        while not re.search(r"[;{]", lines[end]):
            end += 1
        if lines[end].find("{") < 0:
            declared = declared or (at, end)
            continue
        while "}" not in lines[end] if end == at else not lines[end].startswith("}"):
            end += 1
        return include_comment(lines, at, end)
    return include_comment(lines, *declared) if declared else None


def include_comment(lines: list[str], at: int, end: int) -> tuple[int, int]:
    """Return the lines of a part, from 1, with the comment that stands directly in front of it."""
    if at and lines[at - 1].rstrip().endswith("*/"):
        at -= 1
        while not lines[at].lstrip().startswith("/*"):
            at -= 1
    return at + 1, end + 1


def find_lines(step: Step, heads: bool = True) -> Lines:
    """Return the pieces of a step's file to read, in the file's order. Raises BadPath."""
    path = ROOT / step.file
    if not path.exists():
        same = [found.relative_to(ROOT).as_posix() for found in ROOT.glob(f"*/*/{path.name}")]
        hint = f"; it has {', '.join(same)}" if same else ""
        raise BadPath(f"book/paths.toml: the tree has no {step.file}{hint}")
    lines = path.read_text(encoding="utf-8").splitlines()
    if not step.parts:
        return [(1, len(lines))]
    head = find_head(lines) if heads else None
    pieces = {head} if head else set()
    for part in step.parts:
        piece = find_part(lines, part)
        if piece is None:
            raise BadPath(f"book/paths.toml: {step.file} has no {part}{suggest_file(part)}")
        pieces.add(piece)
    return sorted(pieces)


def suggest_file(part: str) -> str:
    """Return where the kernel has a part that is missing in its file, as the end of a message."""
    for path in sorted(ROOT.glob("kernel/*/*.[ch]")):
        if find_part(path.read_text(encoding="utf-8").splitlines(), part):
            return f"; {path.relative_to(ROOT).as_posix()} has it"
    return ""


def count_lines(path: ReadingPath) -> int:
    """Return the number of lines that a reader of the path reads, each counted once."""
    found = set()
    for step in path.steps:
        for first, last in find_lines(step, path.heads):
            found |= {(step.file, line) for line in range(first, last + 1)}
    return len(found)


def format_lines(pieces: Lines) -> str:
    """Return pieces of a file as text: "385-405, 755-790"."""
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in pieces)


def describe_path(path: ReadingPath, width: int = 80) -> str:
    """Return a path as text: the question, its size, and each step in at most `width` columns."""
    files = len({step.file for step in path.steps})
    text = [f"{path.question} {count_lines(path):,} lines in {files} files:", ""]
    for number, step in enumerate(path.steps, 1):
        text.append(f"{number:2}. {step.file}")
        about = [step.look_for]
        if step.parts:
            pieces = format_lines(find_lines(step, path.heads))
            about.append(f"Read {', '.join(step.parts)}: lines {pieces}.")
        for sentence in about:
            text += textwrap.wrap(sentence, width, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(text)
