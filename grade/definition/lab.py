"""Labs as data. In the folder grade/labs/NAME:

    handout.md    what the student reads; hints.md: hints for each task, step by step
    example.py    the worked example (example.py of this package), with before.txt and after.txt
    lab.toml      title, order, files that may be edited, holes, points
    tests/        a group of tests each: GROUP.py, its functions the tests (workbench.py)
    hidden/       the same, which students do not get
    answers.toml  if the lab is answered by numbers: the form; and solution.py (answers.py)
    wrong/        mistakes that the tests must notice: NAME.toml, edits of the reference
    attacks/      attempts to fool the scoring: NAME.toml, edits of the reference
    start/        policies that are not in this tree, as students get them, by their paths
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
    needs = ["LAB"]        labs that must be solved in the tree in which this one is done
    warnings = ["NAME"]    of the compiler, as "unused-variable": a student's file that has one does
                           not build. Others are the student's to see, and do not count
    [new]                  FILE = its solution, a file of this tree; for each in start/

A mistake, wrong/NAME.toml:

    says = "..."           loses = ["GROUP"]: the groups that lose points; no other does
    disturbs = ["GROUP"]   groups that may lose points too: what they measure depends on it
    [[edits]]              file, function, old, new: once in that function, in any spacing

An attack, attacks/NAME.toml: the same edits, or whole files ([[edits]] file, text), and
    says = "..."           most = POINTS it may score   named = words of the report about it
    loses = ["GROUP"]      if given: the groups that lose points
"""

import importlib
import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import ModuleType

from grade.code import rowlayout
from sluice.host.nearest import meant
from sluice.host.paths import KERNEL, ROOT, TREE

LABS = ROOT / "grade" / "labs"
FULL = 100
WORD = re.compile(r"[a-z][a-z0-9-]*")


class BadLab(Exception):
    """A lab that is not well-formed; the text says which file and what."""


@dataclass(frozen=True)
class Hole:
    """A function the student writes, and the body it has until then; or a whole new file."""

    file: str
    function: str  # empty: the file
    stub: str


@dataclass(frozen=True)
class Edit:
    """A replacement of words in a function; without a function, `new` is the whole file."""

    file: str
    function: str
    old: str
    new: str


@dataclass(frozen=True)
class Mistake:
    """A wrong solution, the groups that must notice it, and those that may."""

    name: str
    says: str
    loses: frozenset[str]
    disturbs: frozenset[str]
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Attack:
    """An attempt to fool the scoring: the most it may score, and words of the report.

    loses: the groups where it loses; empty: any.
    """

    name: str
    says: str
    most: int
    named: str
    loses: frozenset[str]
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Group:
    """Tests that stand for one idea. path is None for a hidden group that this tree does not
    have."""

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
    policies: tuple[str, ...] = ()  # of the kinds that students write, which the machines need
    fields: tuple[str, ...] = ()  # of a policy's table, which may be set beside the solution's
    needs: tuple[str, ...] = ()  # names of labs that must be solved where this one is done
    warnings: tuple[str, ...] = ()  # of the compiler, which are errors in students' files

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of policies that students write."""
        parts = (file.split("/") for file in self.files)
        return frozenset(p[1] for p in parts if p[0] == "policies" and p[1] != "lib")

    @property
    def handed_out(self) -> bool:
        """True if this is the student's copy."""
        return (self.folder / "reference.elf").exists()

    @property
    def reference(self) -> Path:
        """The kernel of the solution."""
        handed_out = self.folder / "reference.elf"
        return handed_out if handed_out.exists() else KERNEL


def module(path: Path) -> ModuleType:
    """A Python file of this tree, as a module."""
    return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def table(path: Path, raw: dict, keys: dict[str, type], optional: tuple[str, ...] = ()) -> dict:
    """The table, if it has exactly these keys with values of these types. Optional keys may be
    missing."""
    for key in raw.keys() - keys.keys():
        raise BadLab(f"{path}: {key}: not known; {meant(key, keys)}")
    for key, kind in keys.items():
        missing = key in optional and key not in raw
        if not missing and not isinstance(raw.get(key), kind):
            raise BadLab(f"{path}: {key}: needs a {kind.__name__}")
    return raw


def read(path: Path, keys: dict[str, type], optional: tuple[str, ...] = ()) -> dict:
    """A TOML file's table."""
    try:
        return table(path, tomllib.loads(path.read_text(encoding="utf-8")), keys, optional)
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadLab(f"{path}: {error}") from None


def expect_texts(path: Path, raw: dict, keys: dict[str, type]) -> None:
    """Raise BadLab unless the lists of these keys hold texts, each once. A list of tables is not
    looked at."""
    for key in (key for key, kind in keys.items() if kind is list and key not in TABLES):
        for i, entry in enumerate(raw.get(key, [])):
            if not isinstance(entry, str):
                raise BadLab(f"{path}: {key}: {entry!r}: must be a text")
            if entry in raw[key][:i]:
                raise BadLab(f"{path}: {key}: {entry!r} is there twice: remove one")


def groups(path: Path, points: dict[str, int], hidden: bool, handed_out: bool) -> list[Group]:
    """The groups of a table of points, each with its file."""
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
OPTIONAL = {"new": dict, "policies": list, "fields": list, "needs": list, "warnings": list}


def new_files(path: Path, new: dict[str, str]) -> list[Hole]:
    """The files that a lab adds to the tree, as holes."""
    folder = path.parent / "start"
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()}
    if there.keys() != new.keys():
        raise BadLab(f"{path}: new: names {sorted(new)}; start/ has {sorted(there)}")
    for solution in new.values():
        if not (ROOT / solution).is_file():
            raise BadLab(f"{path}: new: there is no {solution}")
    return [Hole(file, "", there[file].read_text(encoding="utf-8")) for file in new]


def expect_policies(path: Path, lab: Lab) -> None:
    """Raise BadLab for policies or fields in lab.toml that do not exist or are of no use there."""
    for name in lab.policies:
        if name.split("/")[0] not in lab.kinds:
            raise BadLab(f"{path}: policies: {name}: no file of the lab is of this kind: remove it")
        if not (TREE / f"policies/{name}.c").is_file():
            raise BadLab(f"{path}: policies: {name}: there is no policies/{name}.c")
    for name in lab.fields:
        if rowlayout.names().get(name, True) or name in rowlayout.COMMON:
            raise BadLab(f"{path}: fields: {name}: no field of a policy's table that needs listing")


def load(folder: Path) -> Lab:
    """The lab in a folder."""
    path = folder / "lab.toml"
    raw = read(path, KEYS | OPTIONAL, tuple(OPTIONAL))
    if not WORD.fullmatch(folder.name):
        raise BadLab(f"{folder}: the name is not of a-z, 0-9 and -")
    expect_texts(path, raw, KEYS | OPTIONAL)
    for name in raw["points"].keys() & raw["hidden"].keys():
        raise BadLab(f"{path}: {name}: is in [points] and in [hidden]; rename one, and its file")
    handed_out = (folder / "reference.elf").exists()
    found = groups(path, raw["points"], False, handed_out)
    found += groups(path, raw["hidden"], True, handed_out)
    total = sum(group.points for group in found)
    if total != FULL:
        raise BadLab(f"{path}: the points sum to {total}, not to {FULL}")
    new = raw.get("new", {})
    holes = [Hole(**table(path, row, {**STRINGS, "stub": str})) for row in raw["holes"]]
    holes += new_files(path, new)
    for name, count in Counter((hole.file, hole.function) for hole in holes).items():
        if count > 1:
            raise BadLab(f"{path}: holes: {' '.join(name).strip()} is there twice: remove one")
    for hole in holes:
        if hole.file not in raw["files"]:
            raise BadLab(f"{path}: {hole.file} has a hole, but is not in files")
    files = tuple(raw["files"])
    fixed = (folder.name, folder, raw["title"], raw["order"], files)
    more = (tuple(raw.get(key, [])) for key in ("policies", "fields", "needs", "warnings"))
    lab = Lab(*fixed, tuple(holes), tuple(found), new, *more)
    expect_policies(path, lab)
    for name in lab.warnings:
        if not WORD.fullmatch(name):
            raise BadLab(f"{path}: warnings: {name!r}: give a name as gcc prints it after -W")
    return lab


def labs() -> list[Lab]:
    """All labs, in the order in which they are done. Raises BadLab if two have one place in it, or
    one title."""
    found = [load(path.parent) for path in sorted(LABS.glob("*/lab.toml"))]
    for one, other in combinations(found, 2):
        for key in ("order", "title"):
            if getattr(one, key) == getattr(other, key):
                both = f"{one.folder / 'lab.toml'} and {other.folder / 'lab.toml'}"
                raise BadLab(f"{both}: {key}: both have {getattr(one, key)!r}: change one")
    return sorted(found, key=lambda lab: lab.order)


def named(name: str) -> Lab:
    """The lab of that name."""
    found = {lab.name: lab for lab in labs()}
    if name not in found:
        raise BadLab(f"LAB={name}: there is no such lab; {meant(name, found)}")
    return found[name]


def known_groups(lab: Lab, path: Path, names: list[str]) -> frozenset[str]:
    """The groups named in a file of the lab. Raises BadLab for one that it does not have."""
    groups = [group.name for group in lab.groups]
    for name in sorted(set(names) - set(groups)):
        raise BadLab(f"{path}: the lab has no group {name}; {meant(name, groups)}")
    return frozenset(names)


def mistakes(lab: Lab) -> list[Mistake]:
    """The lab's wrong solutions, by name."""
    return [mistake(lab, path) for path in sorted(lab.folder.glob("wrong/*.toml"))]


def mistake(lab: Lab, path: Path) -> Mistake:
    """The wrong solution in a file."""
    keys = {"says": str, "loses": list, "disturbs": list, "edits": list}
    raw = {"disturbs": []} | read(path, keys, ("disturbs",))
    loses, disturbs = (known_groups(lab, path, raw[key]) for key in ("loses", "disturbs"))
    return Mistake(path.stem, raw["says"], loses, disturbs, edits(path, raw))


def attacks(lab: Lab) -> list[Attack]:
    """The lab's attacks, by name."""
    return [attack(lab, path) for path in sorted(lab.folder.glob("attacks/*.toml"))]


def attack(lab: Lab, path: Path) -> Attack:
    """The attack in a file."""
    keys = {"says": str, "most": int, "named": str, "loses": list, "edits": list}
    raw = {"loses": []} | read(path, keys, ("loses",))
    loses = known_groups(lab, path, raw["loses"])
    return Attack(path.stem, raw["says"], raw["most"], raw["named"], loses, edits(path, raw))


def edits(path: Path, raw: dict) -> tuple[Edit, ...]:
    """The edits in a file, and the files that it has whole."""
    keys, whole = {**STRINGS, "old": str, "new": str}, {"file": str, "text": str}
    return tuple(
        Edit(table(path, row, whole)["file"], "", "", row["text"])
        if "text" in row
        else Edit(**table(path, row, keys))
        for row in raw["edits"]
    )
