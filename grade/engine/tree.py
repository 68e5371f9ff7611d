"""Trees of sources: the pristine one a submission is built in, the skeleton a student gets.

A submission's files are compiled one by one, each beside the headers only, and checked; then
the kernel is linked from what this tree has built and these objects, in a tree that has no text
of the submission, and is checked again (compiler, objectfile, linked). So nothing that a compiler
could be led to do touches what is the staff's.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from grade.code import source
from grade.code.objects import tool
from grade.definition.lab import LABS, Attack, BadLab, Edit, Hole, Lab, attacks, labs, mistakes
from grade.engine import answers, repository
from grade.trust import compiler, linked_kernel, names, objectfile, sandbox, sourcefile
from grade.trust.compiler import BuildFailed
from grade.trust.submission import Refused
from sluice.host.fault import HostFault
from sluice.host.paths import BUILT, KERNEL, ROOT, TREE

SOURCES = ("kernel/**/*.[cS]", "policies/*/*.c", "drives/**/*.c")
LINKED = (
    *("Makefile", "build/kernel.command", "kernel/machine/kernel.ld", "kernel/machine/symbols.awk"),
    *("build/kernel/**/*.o", "build/policies/*/*.o", "build/drives/**/*.o"),
)
NOT_HANDED_OUT = shutil.ignore_patterns(
    *(".git", ".github", ".venv", ".ci", "build", "__pycache__", ".*_cache"),
    *("compile_commands.json", "staff"),
)
UNSOLVED = "grade/labs/UNSOLVED.md"  # in a student's tree; `make qemu` names its functions
UNSOLVED_HEAD = """# Functions of other labs

In this tree nobody has written these functions yet, because other labs are about them. You need not
write them now. Until then:

"""
FAULT = "policy fault"  # words of the report about it
SAMPLE_STUDENT = "A. Sample"  # of solutions to try things with


def pristine(path: str) -> str:
    """The text of a source of this tree; of a policy that a lab adds, its solution's."""
    if (TREE / path).exists():
        return (TREE / path).read_text(encoding="utf-8")
    solution = next(lab.new[path] for lab in labs() if path in lab.new)
    name = f'.name = "{Path(path).stem}"'
    return re.sub(r'\.name = "\w+"', name, (TREE / solution).read_text(encoding="utf-8"))


def here(lab: Lab) -> dict[str, str]:
    """The lab's files as they are in this tree; a form that is not here has no answers, a policy
    that is not here is its solution."""
    blank = {file: answers.blank(lab.folder, "") for file in lab.files if file == answers.FORM}
    known = (file for file in lab.files if file in lab.new or (TREE / file).exists())
    return blank | {file: pristine(file) for file in known}


# ---- building ----


def lay_out_sources(folder: Path, files: Mapping[str, str]) -> None:
    """What is needed to compile these files: themselves, the kernel's headers and the policies'."""
    for header in (*(TREE / "kernel").rglob("*.h"), *TREE.glob(f"{sourcefile.LIBRARY}*.h")):
        copy = folder / header.relative_to(TREE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(header, copy)
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")


def policies_left_out(lab: Lab) -> frozenset[str]:
    """The sources of policies that a graded kernel is linked without: all of the kinds that
    students of the lab write, except for those that its machines need. So no submission can ask
    another policy to do its work."""
    found = {
        path.relative_to(TREE).as_posix()
        for kind in lab.kinds
        for path in TREE.glob(f"policies/{kind}/*.c")
    }
    return frozenset(found - {*lab.files, *(f"policies/{name}.c" for name in lab.policies)})


def lay_out_objects(
    folder: Path, objects: Mapping[str, bytes], without: frozenset[str] = frozenset()
) -> None:
    """What is needed to link: what this tree has built, and these objects, by their sources' names.

    without: the sources of what is not linked.

    Sources are there by name only, empty and older than all objects, so that none is compiled.
    """
    left_out = {sourcefile.built(BUILT, file) for file in without}
    for path in (path for pattern in LINKED for path in TREE.glob(pattern)):
        if path in left_out:
            continue
        made = folder / path.relative_to(TREE)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, made)
    here = {str(p.relative_to(TREE)) for pattern in SOURCES for p in TREE.glob(pattern)}
    for file in (*here - without, *objects):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
        os.utime(folder / file, (0, 0))
    for file, data in objects.items():
        made = sourcefile.built(folder / "build", file)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(data)


CONTROL = f'#include "{sourcefile.BOUNDARY}"\n'  # a text that always compiles, for any file


@contextmanager
def controlled(control: Callable[[], object]) -> Iterator[None]:
    """If a submission fails to build in the context, do the control, in which nothing is a
    student's. If that fails as well, the failure is the grader's: raises HostFault."""
    try:
        yield
    except BuildFailed:
        try:
            control()
        except BuildFailed as error:
            raise HostFault(f"here not even the staff's own sources build: {error}") from None
        raise


def compile_checked(lab: Lab, file: str, text: str) -> bytes:
    """The object of a file, if it is nothing but that; raises Refused, BuildFailed and HostFault.

    A file that is as in this tree is not compiled again.
    """
    with controlled(lambda: compile_alone(file, CONTROL)):
        return compile_here(lab, file, text)


def compile_alone(file: str, text: str) -> bytes:
    """The object of a file, unchecked; raises BuildFailed."""
    with sandbox.apart() as apart:
        lay_out_sources(apart.path, {file: text})
        return compiler.compiled(file, apart)


def compile_here(lab: Lab, file: str, text: str) -> bytes:
    """The object of a file, if it is nothing but that; raises Refused and BuildFailed."""
    with sandbox.apart() as apart:
        lay_out_sources(apart.path, {file: text})
        expanded = compiler.expanded(file, apart)
        sourcefile.check_headers(file, expanded.headers)
        sourcefile.check_expanded(file, expanded, compiler.headers_alone(expanded.headers))
        here = sourcefile.built(BUILT, file)
        own = is_here(lab, file, text)
        data = here.read_bytes() if own else compiler.compiled(file, apart, lab.warnings)
    objectfile.check_object(file, data, lab)
    return data


def is_here(lab: Lab, file: str, text: str) -> bool:
    """Is the file as it is in this tree?"""
    return file not in lab.new and text == pristine(file)


def link_checked(objects: Mapping[str, bytes], without: frozenset[str] = frozenset()) -> bytes:
    """Return the kernel with these objects, by their sources' names, and without the objects of
    some other sources; raises BuildFailed, Refused and HostFault."""
    with controlled(lambda: link({}, frozenset())):
        data = link(objects, without)
    linked_kernel.check_kernel(data, objects.keys() | without)
    return data


def link(objects: Mapping[str, bytes], without: frozenset[str]) -> bytes:
    """Return the kernel with these objects and without some others, unchecked; raises
    BuildFailed."""
    with sandbox.apart() as apart:
        lay_out_objects(apart.path, objects, without)
        return compiler.linked(apart)


def compile_all(lab: Lab, sources: Mapping[str, str]) -> dict[str, bytes]:
    """The objects of some files. Raises Refused, with what is wrong with each file that is refused,
    or else BuildFailed."""
    objects: dict[str, bytes] = {}
    refused: list[str] = []
    failed: list[BuildFailed] = []
    for file, text in sources.items():
        try:
            objects[file] = compile_checked(lab, file, text)
        except Refused as error:
            refused.append(str(error))
        except BuildFailed as error:
            failed.append(error)
    if refused:
        raise Refused(*refused)
    for error in failed:
        raise error
    return objects


def build(folder: Path, lab: Lab, files: Mapping[str, str]) -> Path:
    """The kernel of a pristine tree with these files put in.

    Raises Refused for what the files may not say or use, BuildFailed if they do not build.
    """
    sources = {file: text for file, text in files.items() if sourcefile.is_source(file)}
    sourcefile.check_texts(sources)
    objects = compile_all(lab, sources)
    changed = {f: objects[f] for f, text in sources.items() if not is_here(lab, f, text)}
    without = policies_left_out(lab)
    # The solution, too, is linked without them: what a kernel prints of its policies takes time.
    data = link_checked(changed, without) if changed or without else KERNEL.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.elf").write_bytes(data)
    return folder / "kernel.elf"


# ---- what students get ----


ROOM = "give as OUT= an empty folder, or one that does not exist"


def expect_room(out: Path) -> None:
    """What is to be made must not be there, but for an empty folder."""
    if out.exists() and not out.is_dir():
        raise BadLab(f"{out}: not a folder: {ROOM}")
    if out.is_dir() and any(out.iterdir()):
        raise BadLab(f"{out}: not empty: {ROOM}")


@contextmanager
def made_whole(out: Path) -> Iterator[Path]:
    """A folder to be filled, which becomes `out` at the end of the context. Until then it is hidden
    beside `out`; if the context is left by an exception, it is removed. Raises BadLab."""
    expect_room(out)
    place = out.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-")
    except OSError as error:
        raise BadLab(f"{out}: {error.strerror}: {ROOM}") from None
    with beside as name:
        part = Path(name, place.name)
        part.mkdir()
        yield part
        try:
            part.rename(place)
        except OSError as error:
            raise BadLab(f"{out}: {error.strerror}: {ROOM}") from None


def sources_of_others(lab: Lab) -> tuple[str, ...]:
    """The sources of this tree that the other labs are about."""
    files = {file for other in others(lab) for file in other.files if file not in other.new}
    return tuple(sorted(filter(sourcefile.is_source, files)))


def others(lab: Lab) -> list[Lab]:
    """All labs but this one."""
    return [other for other in labs() if other.name != lab.name]


def before(lab: Lab) -> frozenset[str]:
    """The names of the labs before this one."""
    return frozenset(other.name for other in labs() if other.order < lab.order)


def with_hole(hole: Hole, text: str | None = None) -> dict[str, str]:
    """The hole's file with the hole in it; text: what is in the file, if not this tree's."""
    if not hole.function:
        return {hole.file: hole.stub}
    try:
        made = source.with_body(text or pristine(hole.file), hole.function, hole.stub)
    except source.NoFunction as error:
        raise BadLab(f"{hole.file}: {error}") from None
    return {hole.file: made}


def of_another_lab(lab: Lab) -> list[Hole]:
    """The lab's holes in this tree's files, as they stand in the tree of another lab: each says
    whose it is."""
    mark = f"/* Yours in the lab {lab.name}"
    found = (hole for hole in lab.holes if hole.function)
    return [replace(hole, stub=hole.stub.replace("/* Yours", mark, 1)) for hole in found]


def is_written(lab: Lab, hole: Hole, base: Mapping[str, str]) -> bool:
    """Is the lab's function in a student's files, and not as it was handed out?"""
    if hole.file not in base:
        return False
    stubs = (h.stub for h in (*lab.holes, *of_another_lab(lab)) if h.function == hole.function)
    return not any(source.has_body(base[hole.file], hole.function, stub) for stub in stubs)


@dataclass(frozen=True)
class Prepared:
    """The sources of a student's tree that are not this tree's.

    taken: functions of the solution that complete the student's files; left: holes of other labs,
    with these labs' names.
    """

    files: dict[str, str]
    taken: tuple[Hole, ...]
    left: tuple[tuple[str, Hole], ...]


def prepared(lab: Lab, base: Mapping[str, str], solved: frozenset[str]) -> Prepared:
    """The sources for a student of the lab, with the holes of this lab.

    A function of another lab is the student's if base, the student's work, has it; the solution's
    if that lab is among `solved`; otherwise as the other lab hands it out.
    """
    made, taken, left = dict(base), [], []
    for other in others(lab):
        for hole in of_another_lab(other):
            if is_written(other, hole, base):
                continue
            if other.name not in solved:
                made |= with_hole(hole, made.get(hole.file))
                left.append((other.name, hole))
            elif hole.file in base:
                made[hole.file] = with_solution(hole, made[hole.file])
                taken.append(hole)
    for hole in lab.holes:
        made |= with_hole(hole, made.get(hole.file))
    return Prepared(made, tuple(taken), tuple(left))


def with_solution(hole: Hole, text: str) -> str:
    """The text with the solution of the hole."""
    solved = pristine(hole.file)
    span = source.body(solved, hole.function)
    return source.with_body(text, hole.function, solved[span.start : span.end])


def cut(lab: Lab, files: Mapping[str, str], solved: frozenset[str] | None = None) -> dict[str, str]:
    """The files that a student of the lab gets, and that are not as in this tree.

    solved: the labs whose solutions are in the student's tree; by default those before this one.
    """
    return prepared(lab, files, before(lab) if solved is None else solved).files


def expect_needs(lab: Lab, made: Prepared) -> None:
    """Raises BadLab if a lab that this one needs is not solved in what was prepared."""
    for name in lab.needs:
        if any(name == other for other, _ in made.left):
            raise BadLab(
                f"{lab.name} cannot be done before {name} is solved: give BASE=, the student's own "
                f"work; or SOLVED={name}, which hands out its solution, so its deadline should "
                "be over"
            )


def planted(edits: tuple[Edit, ...]) -> dict[str, str]:
    """The files of this tree with these edits made."""
    made: dict[str, str] = {}
    for edit in edits:
        if not edit.function:
            made[edit.file] = edit.new
            continue
        text = made.get(edit.file) or pristine(edit.file)
        try:
            made[edit.file] = source.edited(text, edit.function, edit.old, edit.new)
        except source.NoFunction as error:
            raise BadLab(f"{edit.file}: {error}") from None
    return made


def solution(lab: Lab, edits: tuple[Edit, ...] = (), who: str = SAMPLE_STUDENT) -> dict[str, str]:
    """All files of the lab as its solution has them, but for these edits; who: the student, if the
    lab is answered by numbers."""
    if answers.FORM in lab.files:
        return {answers.FORM: answers.solved(lab, who, edits)}
    return {file: pristine(file) for file in lab.files} | planted(edits)


def as_handed_out(lab: Lab) -> Callable[[str], set[bytes]]:
    """Tells the contents that a source has in this tree and in the lab's skeletons, whichever
    other labs were solved in them."""
    mine = cut(lab, {}, frozenset(other.name for other in labs()))
    holes = {other.name: of_another_lab(other) for other in others(lab)}

    def contents(path: str) -> set[bytes]:
        here = TREE / path
        known = {here.read_bytes()} if here.is_file() else set()
        about = [name for name in holes if any(hole.file == path for hole in holes[name])]
        for left in powerset(about):
            made = mine.get(path)
            for hole in (hole for name in left for hole in holes[name] if hole.file == path):
                made = with_hole(hole, made)[path]
            known |= {made.encode()} if made else set()
        return known

    return contents


def powerset(names: list[str]) -> Iterator[tuple[str, ...]]:
    """All choices of some of the names, or none."""
    for count in range(len(names) + 1):
        yield from combinations(names, count)


def of_one_student(lab: Lab, who: str) -> dict[str, str]:
    """What differs from student to student: a form with the name, and what it is checked by."""
    if answers.FORM not in lab.files:
        return {}
    if not names.is_name(who):
        raise BadLab(f"{lab.name} is made for one student: STUDENT= a name")
    checks = lab.folder.relative_to(ROOT) / answers.CHECKS
    return {
        answers.FORM: answers.blank(lab.folder, who),
        str(checks): answers.checks(lab, who),
    }


def what_it_does(hole: Hole) -> str:
    """What a function does while it is a hole, as the comment in it says."""
    comment = re.search(r"/\*(.*?)\*/", hole.stub, re.S)
    said = " ".join(re.sub(r"\s+\*?\s*", " ", comment[1]).split()) if comment else ""
    return said[said.find("So far") :] if "So far" in said else "It does less than it should."


def unsolved(left: tuple[tuple[str, Hole], ...]) -> str:
    """What a student's tree says of the holes of other labs, a line each."""
    return "".join(
        f"- `{hole.function}` in `{hole.file}` (the lab {name}): {what_it_does(hole)}\n"
        for name, hole in left
    )


def left_out(making: Path) -> Callable[[str, list[str]], set[str]]:
    """What copytree leaves out of a student's tree: what nobody gets and, if they are in this tree,
    the folder in which the tree is being made, and trees that were handed out before."""

    def names(folder: str, there: list[str]) -> set[str]:
        paths = [Path(folder, name) for name in there]
        trees = {path.name for path in paths if path == making or (path / ".git").exists()}
        return NOT_HANDED_OUT(folder, there) | trees

    return names


def copy_tree(lab: Lab, out: Path) -> None:
    """Copy this tree without the other labs, and without what students of the lab may not see."""
    shutil.copytree(ROOT, out, ignore=left_out(out.parent), dirs_exist_ok=True)
    for path in (out / LABS.relative_to(ROOT)).iterdir():
        if path.is_dir() and path.name != lab.name:
            shutil.rmtree(path)
    handed_out = out / lab.folder.relative_to(ROOT)
    for part in ("hidden", "wrong", "attacks"):
        shutil.rmtree(handed_out / part, ignore_errors=True)
    (handed_out / answers.SOLUTION).unlink(missing_ok=True)


def add_what_grading_needs(lab: Lab, folder: Path) -> None:
    """Put into a student's folder of the lab what the grader computes from the solution."""
    tool("objcopy", "--strip-debug", lab.reference, folder / "reference.elf")
    (folder / sourcefile.CALLS).write_text(
        "\n".join(sorted(sourcefile.may_use(lab))) + "\n", encoding="utf-8"
    )
    defined = sorted(sourcefile.may_define(lab))
    (folder / sourcefile.DEFINES).write_text("\n".join(defined) + "\n", encoding="utf-8")


def skeleton(
    lab: Lab,
    out: Path,
    base: Mapping[str, str],
    who: str = "",
    solved: frozenset[str] | None = None,
) -> Prepared:
    """Make what a student gets, a git repository with one commit.

    base: the student's own files of other labs; solved: the labs whose solutions are in the tree,
    by default those before this one. Returns which functions are whose.
    """
    expect_room(out)
    if not lab.reference.exists():
        raise BadLab(f"{lab.reference}: not built: run make")
    made = prepared(lab, base, before(lab) if solved is None else solved)
    own = of_one_student(lab, who)
    with made_whole(out) as folder:
        copy_tree(lab, folder)
        add_what_grading_needs(lab, folder / lab.folder.relative_to(ROOT))
        for name, text in (made.files | own).items():
            (folder / name).write_text(text, encoding="utf-8")
        if made.left:
            (folder / UNSOLVED).write_text(UNSOLVED_HEAD + unsolved(made.left), encoding="utf-8")
        repository.commit(folder, f"The lab {lab.name}, as it was handed out")
    return made


def how_plain(attack: Attack) -> tuple[int, bool]:
    """The order of attacks by how plainly they fail: a policy's wrong answers are no cheating."""
    return attack.most, FAULT in attack.named


def samples(lab: Lab, out: Path) -> list[Path]:
    """Make three submissions to try a class with: good, half-done and cheating."""
    changed = {
        "good": (),
        "half-done": mistakes(lab)[0].edits,
        "cheating": min(attacks(lab), key=how_plain).edits,
    }
    with made_whole(out) as folder:
        for name, edits in changed.items():
            for file, text in solution(lab, edits).items():
                path = folder / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return [out / name for name in changed]
