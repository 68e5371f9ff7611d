"""Read the definitions of labs, which are data: a folder grade/labs/NAME each.

In this folder:

    handout.md    what the student reads; hints.md: hints for each task, step by step
    example.py    the worked example (example.py of this package), with before.txt and after.txt
    lab.toml      title, order, files that may be edited, holes, points
    tests/        a group of tests each: GROUP.py, its functions the tests (workbench.py)
    hidden/       the same, which students do not get
    answers.toml  if the lab is answered by numbers: the form; and solution.py (answers.py)
    wrong.toml    mistakes that the tests must notice: edits of the reference
    attacks.toml  attempts to fool the scoring: edits of the reference
    given.toml    if a test asks about a kernel with a fault: edits of the reference, which students
                  get as given.elf
    start/        policies that are not in this tree, as students get them: KIND-NAME.c
    staff/        model answers, rubric, exam questions: in no student's tree (grade/staff)
    reference.elf in a student's tree only: the solution's kernel, to measure against

lab.toml:

    title = "..."          order = 2          files = ["kernel/cache/bio.c"]
    [points]               GROUP = POINTS, of tests/
    [hidden]               GROUP = POINTS, of hidden/; all sum to 100
    [[holes]]              file, function, stub: the body that students get
    policies = ["KIND/NAME"]  policies of the kinds that the lab's files are of, which its machines
                           need; a graded kernel has no other of these kinds
    fields = ["KIND.FIELD", "FIELD"]   of a policy's table, which a submission may set beside hooks
                           and what the solution sets
    calls = ["FUNCTION"]   of the kernel, which a submission's files of the kernel may call besides
                           those that the solution calls
    needs = ["LAB"]        labs that must be solved in the tree in which this one is done
    warnings = ["NAME"]    of the compiler, as "unused-variable": a student's file that has one does
                           not build. Others are the student's to see, and do not count
    [new]                  FILE = its solution, a file of this tree; for each in start/

The table of given.toml:

    [NAME]
    says = "..."           and [[NAME.edits]], as in wrong.toml

A mistake in wrong.toml:

    [NAME]
    says = "..."           loses = ["GROUP"]: the groups that lose points; no other does
    disturbs = ["GROUP"]   groups that may lose points too: what they measure depends on it
    [[NAME.edits]]         file, function, old, new: once in that function, in any spacing

An attack in attacks.toml: the same, or whole files ([[NAME.edits]] file, text), and
    says = "..."           most = POINTS it may score   named = words of the report about it
    loses = ["GROUP"]      if given: the groups that lose points
"""

import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from grade.code import rowlayout
from sluice.host.nearest import suggest
from sluice.host.paths import KERNEL, ROOT, TREE

LABS = ROOT / "grade" / "labs"
WRONG, ATTACKS = "wrong.toml", "attacks.toml"  # in a lab's folder; in no student's tree
GIVEN = "given.toml"  # in a lab's folder; in no student's tree
FULL = 100
Table = dict[str, Any]  # of a TOML file, whose keys and types `check_table` checks
WORD = re.compile(r"[a-z][a-z0-9-]*")


class BadLab(Exception):
    """A lab that is not well-formed; the text says which file and what."""


@dataclass(frozen=True)
class Hole:
    """A function the student writes, and the body it has until then; or a whole new file."""

    file: str
    function: str  # empty: the hole is the whole file
    stub: str


@dataclass(frozen=True)
class Edit:
    """A replacement of text in a function. Without a function, `new` is the whole file."""

    file: str
    function: str
    old: str
    new: str
    place: str = field(default="", compare=False)  # where the edit's text is, for messages


@dataclass(frozen=True)
class Mistake:
    """A wrong solution, the groups that must notice it, and the groups that may notice it."""

    name: str
    says: str
    loses: frozenset[str]
    disturbs: frozenset[str]
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Attack:
    """An attempt to fool the scoring: the most points it may score, and words of its report.

    loses: the groups where it loses points; empty means any group.
    """

    name: str
    says: str
    most: int
    named: str
    loses: frozenset[str]
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Group:
    """Tests of one idea.

    path is None for a hidden group whose tests are not in this tree.
    """

    name: str
    points: int
    hidden: bool
    path: Path | None


@dataclass(frozen=True)
class Lab:
    """One lab."""

    name: str
    folder: Path
    title: str
    order: int
    files: tuple[str, ...]
    holes: tuple[Hole, ...]
    groups: tuple[Group, ...]
    new: dict[str, str]  # files that only students have, and their solutions
    policies: tuple[str, ...] = ()  # needed by machines, of kinds that students write
    fields: tuple[str, ...] = ()  # of policies' tables; may be set beside the solution's
    needs: tuple[str, ...] = ()  # labs that must be solved in the tree of this one
    calls: tuple[str, ...] = ()  # functions that files of the kernel may call, too
    warnings: tuple[str, ...] = ()  # compiler warnings that are errors in students' files

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of policies that students write."""
        parts = (file.split("/") for file in self.files)
        return frozenset(p[1] for p in parts if p[0] == "policies" and p[1] != "lib")

    @property
    def handed_out(self) -> bool:
        """True if this is a student's copy of the lab."""
        return (self.folder / "reference.elf").exists()

    @property
    def reference(self) -> Path:
        """The path of the solution's kernel."""
        handed_out = self.folder / "reference.elf"
        return handed_out if handed_out.exists() else KERNEL


def import_file(path: Path) -> ModuleType:
    """Import a Python file of this tree and return its module."""
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def check_table(
    place: Path | str, raw: Table, keys: Mapping[str, type], optional: tuple[str, ...] = ()
) -> Table:
    """Return the table if it has exactly these keys with values of these types, or raise BadLab.

    Optional keys may be missing.
    """
    for key in raw.keys() - keys.keys():
        raise BadLab(f"{place}: {key}: not known; {suggest(key, keys)}")
    for key, kind in keys.items():
        missing = key in optional and key not in raw
        if not missing and not isinstance(raw.get(key), kind):
            raise BadLab(f"{place}: {key}: needs a {kind.__name__}")
    return raw


def read_table(path: Path, keys: Mapping[str, type], optional: tuple[str, ...] = ()) -> Table:
    """Return the table in a TOML file, checked as `check_table` does. Raises BadLab."""
    try:
        return check_table(path, tomllib.loads(path.read_text(encoding="utf-8")), keys, optional)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadLab(f"{path}: {error}") from None


def expect_texts(path: Path, raw: Table, keys: Mapping[str, type]) -> None:
    """Raise BadLab unless the lists of these keys hold texts, each text once.

    Lists of tables are not checked.
    """
    for key in (key for key, kind in keys.items() if kind is list and key not in TABLES):
        for i, entry in enumerate(raw.get(key, [])):
            if not isinstance(entry, str):
                raise BadLab(f"{path}: {key}: {entry!r}: must be a text")
            if entry in raw[key][:i]:
                raise BadLab(f"{path}: {key}: {entry!r} is there twice: remove one")


def read_groups(path: Path, points: dict[str, int], hidden: bool, handed_out: bool) -> list[Group]:
    """Return the groups of a table of points, each with its file. Raises BadLab."""
    folder = path.parent / ("hidden" if hidden else "tests")
    files = {file.stem: file for file in folder.glob("*.py")}
    for name in files.keys() - points.keys():
        raise BadLab(f"{files[name]}: {path} gives it no points")
    for name, value in points.items():
        if not isinstance(value, int) or value < 1:
            raise BadLab(f"{path}: {name}: points are whole, from 1")
        if name not in files and not (hidden and handed_out):
            raise BadLab(f"{path}: {name}: there is no {folder.name}/{name}.py")
    return [Group(name, value, hidden, files.get(name)) for name, value in points.items()]


STRINGS = {"file": str, "function": str}
KEYS = {"title": str, "order": int, "files": list, "points": dict, "hidden": dict, "holes": list}
TABLES = ("holes", "edits")  # the lists whose entries are tables
LISTS = ("policies", "fields", "needs", "calls", "warnings")  # in the order of Lab's fields
OPTIONAL = {"new": dict, **dict.fromkeys(LISTS, list)}


def name_in_start(file: str) -> str:
    """Return the name in start/ of a policy's file: sched-own.c for policies/sched/own.c."""
    return "-".join(PurePosixPath(file).parts[1:])


def read_new_files(path: Path, new: dict[str, str]) -> list[Hole]:
    """Return the files that a lab adds to the tree, as holes. Raises BadLab."""
    folder = path.parent / "start"
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    names = {file: name_in_start(file) for file in new}
    if there != set(names.values()):
        wanted = sorted(names.values())
        raise BadLab(f"{path}: new: start/ must have {wanted}, and has {sorted(there)}")
    handed_out = (path.parent / "reference.elf").exists()
    for solution in new.values():
        if not handed_out and not (ROOT / solution).is_file():
            raise BadLab(f"{path}: new: there is no {solution}")
    return [
        Hole(file, "", (folder / name).read_text(encoding="utf-8")) for file, name in names.items()
    ]


def expect_policies(path: Path, lab: Lab) -> None:
    """Raise BadLab if lab.toml lists a policy or field that does not exist or is useless."""
    for name in lab.policies:
        if name.split("/")[0] not in lab.kinds:
            raise BadLab(f"{path}: policies: {name}: no file of the lab is of this kind: remove it")
        if not (TREE / f"policies/{name}.c").is_file():
            raise BadLab(f"{path}: policies: {name}: there is no policies/{name}.c")
    for name in lab.fields:
        if rowlayout.table_fields().get(name, True) or name in rowlayout.COMMON:
            raise BadLab(f"{path}: fields: {name}: no field of a policy's table that needs listing")


def load_lab(folder: Path) -> Lab:
    """Return the lab that is defined in a folder. Raises BadLab."""
    path = folder / "lab.toml"
    raw = read_table(path, KEYS | OPTIONAL, tuple(OPTIONAL))
    if not WORD.fullmatch(folder.name):
        raise BadLab(f"{folder}: the name is not of a-z, 0-9 and -")
    expect_texts(path, raw, KEYS | OPTIONAL)
    for name in raw["points"].keys() & raw["hidden"].keys():
        raise BadLab(f"{path}: {name}: is in [points] and in [hidden]; rename one, and its file")
    handed_out = (folder / "reference.elf").exists()
    found = read_groups(path, raw["points"], False, handed_out)
    found += read_groups(path, raw["hidden"], True, handed_out)
    total = sum(group.points for group in found)
    if total != FULL:
        raise BadLab(f"{path}: the points sum to {total}, not to {FULL}")
    new = raw.get("new", {})
    holes = [Hole(**check_table(path, row, {**STRINGS, "stub": str})) for row in raw["holes"]]
    holes += read_new_files(path, new)
    for name, count in Counter((hole.file, hole.function) for hole in holes).items():
        if count > 1:
            raise BadLab(f"{path}: holes: {' '.join(name).strip()} is there twice: remove one")
    for hole in holes:
        if hole.file not in raw["files"]:
            raise BadLab(f"{path}: {hole.file} has a hole, but is not in files")
    files = tuple(raw["files"])
    fixed = (folder.name, folder, raw["title"], raw["order"], files)
    more = (tuple(raw.get(key, [])) for key in LISTS)
    lab = Lab(*fixed, tuple(holes), tuple(found), new, *more)
    expect_policies(path, lab)
    for name in lab.calls:
        if not name.isidentifier():
            raise BadLab(f"{path}: calls: {name!r}: give the name of a function of the kernel")
    for name in lab.warnings:
        if not WORD.fullmatch(name):
            raise BadLab(f"{path}: warnings: {name!r}: give a name as gcc prints it after -W")
    return lab


def load_labs() -> list[Lab]:
    """Return all labs in the order in which students do them.

    Raises BadLab if two labs have the same order or the same title.
    """
    found = [load_lab(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
    for one, other in combinations(found, 2):
        for key in ("order", "title"):
            if getattr(one, key) == getattr(other, key):
                both = f"{one.folder / 'lab.toml'} and {other.folder / 'lab.toml'}"
                raise BadLab(f"{both}: {key}: both have {getattr(one, key)!r}: change one")
    return sorted(found, key=lambda lab: lab.order)


def find_lab(name: str) -> Lab:
    """Return the lab of that name. Raises BadLab if there is none."""
    found = {lab.name: lab for lab in load_labs()}
    if name not in found:
        raise BadLab(f"LAB={name}: there is no such lab; {suggest(name, found)}")
    return found[name]


def check_group_names(lab: Lab, place: str, names: list[str]) -> frozenset[str]:
    """Return groups that an entry names. Raises BadLab for one that the lab does not have."""
    groups = [group.name for group in lab.groups]
    for name in sorted(set(names) - set(groups)):
        raise BadLab(f"{place}: the lab has no group {name}; {suggest(name, groups)}")
    return frozenset(names)


@dataclass(frozen=True)
class Entry:
    """A table of wrong.toml or attacks.toml, and where it is, for messages."""

    name: str
    place: str  # FILE:LINE: NAME
    raw: Table
    edits: tuple[Edit, ...]


def entries(path: Path, keys: Mapping[str, type], optional: tuple[str, ...]) -> list[Entry]:
    """Return the tables of a file by name, or none if there is no such file.

    keys: what each table has, or may have, next to its edits. Raises BadLab with the line of what
    is wrong.
    """
    if not path.exists():
        return []
    text, found = path.read_text(encoding="utf-8"), []
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadLab(f"{path}: {error}") from None
    lines = text.splitlines()
    for name, raw in sorted(tables.items()):
        if not isinstance(raw, dict) or not WORD.fullmatch(name):
            raise BadLab(f"{path}: {name}: needs a [NAME] of a-z, 0-9 and - before it")
        place = f"{path}:{line_of(lines, f'[{name}]')}: {name}"
        check_table(place, raw, {**keys, "edits": list}, optional)
        edits = [edit(path, lines, name, i, row) for i, row in enumerate(raw["edits"])]
        found.append(Entry(name, place, raw, tuple(edits)))
    return found


def line_of(lines: list[str], head: str, after: int = 0) -> int:
    """Return the number of the line with the head of a table, or 1 if no line has just that.

    after: how many lines with the same head come before it.
    """
    found = [
        i for i, line in enumerate(lines, 1) if "".join(line.partition("#")[0].split()) == head
    ]
    return found[after] if after < len(found) else 1


def edit(path: Path, lines: list[str], name: str, i: int, raw: Table) -> Edit:
    """Return the edit of an entry, or the file that it has whole."""
    place = f"{path}:{line_of(lines, f'[[{name}.edits]]', i)}: {name}"
    if "text" in raw:
        whole = check_table(place, raw, {"file": str, "text": str})
        return Edit(whole["file"], "", "", whole["text"], place)
    return Edit(**check_table(place, raw, {**STRINGS, "old": str, "new": str}), place=place)


def load_mistakes(lab: Lab) -> list[Mistake]:
    """Return the lab's wrong solutions, by name."""
    keys = {"says": str, "loses": list, "disturbs": list}
    found = []
    for entry in entries(lab.folder / WRONG, keys, ("disturbs",)):
        loses, disturbs = (
            check_group_names(lab, entry.place, entry.raw.get(key, []))
            for key in ("loses", "disturbs")
        )
        found.append(Mistake(entry.name, entry.raw["says"], loses, disturbs, entry.edits))
    return found


def load_attacks(lab: Lab) -> list[Attack]:
    """Return the lab's attacks, by name."""
    keys = {"says": str, "most": int, "named": str, "loses": list}
    return [
        Attack(
            **{key: entry.raw[key] for key in ("says", "most", "named")},
            name=entry.name,
            loses=check_group_names(lab, entry.place, entry.raw.get("loses", [])),
            edits=entry.edits,
        )
        for entry in entries(lab.folder / ATTACKS, keys, ("loses",))
    ]


def load_given(lab: Lab) -> tuple[Edit, ...]:
    """Return the edits that make the lab's given kernel, which has a fault; none if it has none."""
    found = entries(lab.folder / GIVEN, {"says": str}, ())
    return tuple(edit for entry in found for edit in entry.edits)
