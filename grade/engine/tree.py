"""Build submissions in a pristine tree, and make the trees that students receive.

A submission's files are compiled one by one, each beside the headers only, and checked; then the
kernel is linked from what this tree has built and these objects, in a tree that has no text of the
submission, and is checked again (compiler, objectfile, linked_kernel). So a submission that
misleads a compiler still cannot change the staff's files.
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
from grade.code.objects import run_tool
from grade.definition.lab import (
    ATTACKS,
    GIVEN,
    LABS,
    WRONG,
    Attack,
    BadLab,
    Edit,
    Hole,
    Lab,
    load_attacks,
    load_given,
    load_labs,
    load_mistakes,
)
from grade.engine import answers, repository
from grade.trust import compiler, linked_kernel, names, objectfile, sandbox, sourcefile
from grade.trust.archive import Refused
from grade.trust.compiler import BuildFailed
from sluice.host.fault import HostFault
from sluice.host.paths import BUILT, KERNEL, ROOT, TREE

CALLS = "kernel/machine/calls.s"  # the assembler reads it before each file
SOURCES = ("kernel/**/*.[cS]", "policies/*/*.c", "drives/**/*.c")
LINKED = (
    *("Makefile", "tools/rules/*.mk", "build/kernel.command"),
    *("kernel/machine/kernel.ld", "kernel/machine/symbols.awk", CALLS),
    *("build/kernel/**/*.o", "build/policies/*/*.o", "build/drives/**/*.o"),
)
NOT_HANDED_OUT = shutil.ignore_patterns(
    *(".git", ".github", ".venv", ".ci", "build", "__pycache__", ".*_cache"),
    *("compile_commands.json", "staff", "source_faults.toml"),
)
UNSOLVED = "grade/labs/UNSOLVED.md"  # in a student's tree; `make qemu` names its functions
UNSOLVED_HEAD = """# Functions of other labs

In this tree nobody has written these functions yet, because other labs are about them. You need not
write them now. Until then:

"""
FAULT = "policy fault"  # how the kernel's line about a wrong answer begins
GIVEN_KERNEL = "given.elf"  # in a student's tree: the kernel that given.toml makes
SAMPLE_STUDENT = "A. Sample"  # the student in whose name solutions and samples are made


def pristine_text(path: str) -> str:
    """Return the text of a source of this tree; for a policy that a lab adds, its solution's."""
    if (TREE / path).exists():
        return (TREE / path).read_text(encoding="utf-8")
    solution = next(lab.new[path] for lab in load_labs() if path in lab.new)
    name = f'.name = "{Path(path).stem}"'
    there = TREE / solution  # a snapshot of the sources has no lab's own folder
    text = (there if there.exists() else ROOT / solution).read_text(encoding="utf-8")
    return re.sub(r'\.name = "\w+"', name, text)


def lab_files(lab: Lab) -> dict[str, str]:
    """Return the lab's files as they are in this tree.

    A form that is not in this tree has no answers. A policy that is not in this tree is its
    solution.
    """
    blank = {file: answers.blank_form(lab.folder, "") for file in lab.files if file == answers.FORM}
    known = (file for file in lab.files if file in lab.new or (TREE / file).exists())
    return blank | {file: pristine_text(file) for file in known}


# ---- building ----


def lay_out_sources(folder: Path, files: Mapping[str, str]) -> None:
    """Copy into the folder what compiling these files needs: the files, all headers and CALLS."""
    headers = (*(TREE / "kernel").rglob("*.h"), *TREE.glob(f"{sourcefile.LIBRARY}*.h"))
    for needed in (*headers, TREE / CALLS):
        copy = folder / needed.relative_to(TREE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(needed, copy)
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")


def find_unlinked_policies(lab: Lab) -> frozenset[str]:
    """Return the sources of policies that a graded kernel is linked without.

    These are all policies of the kinds that students of the lab write, except for those that its
    machines need. So no submission can ask another policy to do its work.
    """
    found = {
        path.relative_to(TREE).as_posix()
        for kind in lab.kinds
        for path in TREE.glob(f"policies/{kind}/*.c")
    }
    return frozenset(found - {*lab.files, *(f"policies/{name}.c" for name in lab.policies)})


def lay_out_objects(
    folder: Path, objects: Mapping[str, bytes], without: frozenset[str] = frozenset()
) -> None:
    """Copy into the folder what linking needs: this tree's objects, and these objects.

    objects: by their sources' names. without: the sources of the objects that are not linked.
    Sources are there by name only, empty and older than all objects, so that none is compiled.
    """
    left_out = {sourcefile.object_path(BUILT, file) for file in without}
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
        made = sourcefile.object_path(folder / "build", file)
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_bytes(data)


CONTROL = f'#include "{sourcefile.BOUNDARY}"\n'  # a text that always compiles, for any file


@contextmanager
def blame_host_if_control_fails(control: Callable[[], object]) -> Iterator[None]:
    """Enter a context in which a submission is built.

    If the build fails in the context, run `control`, which builds nothing of a student's. If that
    fails as well, the failure is the grader's: raises HostFault.
    """
    try:
        yield
    except BuildFailed:
        try:
            control()
        except BuildFailed as error:
            raise HostFault(f"here not even the staff's own sources build: {error}") from None
        raise


def compile_checked(lab: Lab, file: str, text: str) -> bytes:
    """Compile a file, check the text and the object, and return the object.

    Raises Refused, BuildFailed and HostFault. A file whose text is that of this tree is not
    compiled again.
    """
    with blame_host_if_control_fails(lambda: compile_unchecked(file, CONTROL)):
        return compile_and_check(lab, file, text)


def compile_unchecked(file: str, text: str) -> bytes:
    """Compile a file and return its object, unchecked. Raises BuildFailed."""
    with sandbox.sandbox_folder() as apart:
        lay_out_sources(apart.path, {file: text})
        return compiler.compile_file(file, apart)


def compile_and_check(lab: Lab, file: str, text: str) -> bytes:
    """Compile a file and return its checked object. Raises Refused and BuildFailed."""
    with sandbox.sandbox_folder() as apart:
        lay_out_sources(apart.path, {file: text})
        expanded = compiler.preprocess(file, apart)
        sourcefile.check_headers(file, expanded.headers)
        sourcefile.check_expanded(file, expanded, compiler.preprocess_headers(expanded.headers))
        here = sourcefile.object_path(BUILT, file)
        own = is_unchanged(lab, file, text)
        data = here.read_bytes() if own else compiler.compile_file(file, apart, lab.warnings)
    objectfile.check_object(file, data, lab)
    return data


def is_unchanged(lab: Lab, file: str, text: str) -> bool:
    """Return True if the file has the same text in this tree."""
    return file not in lab.new and text == pristine_text(file)


def link_checked(objects: Mapping[str, bytes], without: frozenset[str] = frozenset()) -> bytes:
    """Return the kernel with these objects, and without the objects of the sources in `without`.

    objects: by their sources' names. Raises BuildFailed, Refused and HostFault.
    """
    with blame_host_if_control_fails(lambda: link_unchecked({}, frozenset())):
        data = link_unchecked(objects, without)
    linked_kernel.check_kernel(data, objects.keys() | without)
    return data


def link_unchecked(objects: Mapping[str, bytes], without: frozenset[str]) -> bytes:
    """Return the kernel with these objects and without some others, unchecked.

    Raises BuildFailed.
    """
    with sandbox.sandbox_folder() as apart:
        lay_out_objects(apart.path, objects, without)
        return compiler.link_kernel(apart)


def compile_all(lab: Lab, sources: Mapping[str, str]) -> dict[str, bytes]:
    """Compile some files and return their objects.

    Raises Refused, with what is wrong with each file that is refused, or else BuildFailed.
    """
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
    if failed:
        raise failed[0]
    return objects


def build_kernel(folder: Path, lab: Lab, files: Mapping[str, str]) -> Path:
    """Build the kernel of a pristine tree with these files put in; return its path.

    Raises Refused for what the files may not say or use, BuildFailed if they do not build.
    """
    sources = {file: text for file, text in files.items() if sourcefile.is_source(file)}
    sourcefile.check_texts(sources)
    objects = compile_all(lab, sources)
    changed = {f: objects[f] for f, text in sources.items() if not is_unchanged(lab, f, text)}
    without = find_unlinked_policies(lab)
    # The solution is linked without these policies, too, because printing each policy takes time.
    data = link_checked(changed, without) if changed or without else KERNEL.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.elf").write_bytes(data)
    return folder / "kernel.elf"


def build_given_kernel(lab: Lab, folder: Path) -> Path:
    """Build the lab's given kernel, in which the staff planted a fault; return its path.

    A student's tree has it already.
    """
    handed_out = lab.folder / GIVEN_KERNEL
    if handed_out.exists():
        return handed_out
    files = apply_edits(load_given(lab))
    objects = {file: compile_unchecked(file, text) for file, text in files.items()}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GIVEN_KERNEL).write_bytes(link_unchecked(objects, find_unlinked_policies(lab)))
    return folder / GIVEN_KERNEL


# ---- what students get ----


NEEDS_EMPTY = "give an empty folder, or one that does not exist"


def expect_empty(out: Path) -> None:
    """Raise BadLab unless `out` does not exist or is an empty folder."""
    if out.exists() and not out.is_dir():
        raise BadLab(f"{out}: not a folder: {NEEDS_EMPTY}")
    if out.is_dir() and any(out.iterdir()):
        raise BadLab(f"{out}: not empty: {NEEDS_EMPTY}")


@contextmanager
def atomic_folder(out: Path) -> Iterator[Path]:
    """Enter a context with a folder to fill, which becomes `out` at the end.

    Until then it is hidden beside `out`; if the context is left by an exception, it is removed.
    Raises BadLab.
    """
    expect_empty(out)
    place = out.resolve()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-")
    except OSError as error:
        raise BadLab(f"{out}: {error.strerror}: {NEEDS_EMPTY}") from None
    with beside as name:
        part = Path(name, place.name)
        part.mkdir()
        yield part
        try:
            part.rename(place)
        except OSError as error:
            raise BadLab(f"{out}: {error.strerror}: {NEEDS_EMPTY}") from None


def list_other_sources(lab: Lab) -> tuple[str, ...]:
    """Return the sources of this tree that the other labs are about."""
    files = {file for other in other_labs(lab) for file in other.files if file not in other.new}
    return tuple(sorted(filter(sourcefile.is_source, files)))


def other_labs(lab: Lab) -> list[Lab]:
    """Return all labs except this one."""
    return [other for other in load_labs() if other.name != lab.name]


def earlier_labs(lab: Lab) -> frozenset[str]:
    """Return the names of the labs before this one."""
    return frozenset(other.name for other in load_labs() if other.order < lab.order)


def cut_hole(hole: Hole, text: str | None = None) -> dict[str, str]:
    """Return the hole's file with the hole in it, by its name.

    text: the file's text, if it is not this tree's. Raises BadLab.
    """
    if not hole.function:
        return {hole.file: hole.stub}
    try:
        made = source.replace_body(text or pristine_text(hole.file), hole.function, hole.stub)
    except source.NoFunction as error:
        raise BadLab(f"{hole.file}: {error}") from None
    return {hole.file: made}


def foreign_holes(lab: Lab) -> list[Hole]:
    """Return the lab's holes as they stand in the tree of another lab.

    The comment in each says to which lab it belongs. Holes that are whole files are left out.
    """
    mark = f"/* Yours in the lab {lab.name}"
    found = (hole for hole in lab.holes if hole.function)
    return [replace(hole, stub=hole.stub.replace("/* Yours", mark, 1)) for hole in found]


def is_written(lab: Lab, hole: Hole, base: Mapping[str, str]) -> bool:
    """Return True if a student's files have the lab's function, and have changed it."""
    if hole.file not in base:
        return False
    stubs = (h.stub for h in (*lab.holes, *foreign_holes(lab)) if h.function == hole.function)
    return not any(source.has_body(base[hole.file], hole.function, stub) for stub in stubs)


@dataclass(frozen=True)
class Prepared:
    """The sources of a student's tree that differ from this tree's.

    taken: functions of the solution that complete the student's files. left: holes of other labs,
    with these labs' names.
    """

    files: dict[str, str]
    taken: tuple[Hole, ...]
    left: tuple[tuple[str, Hole], ...]


def prepare_sources(lab: Lab, base: Mapping[str, str], solved: frozenset[str]) -> Prepared:
    """Return the sources for a student of the lab, with the holes of this lab.

    A function of another lab is the student's if base, the student's work, has it; the solution's
    if that lab is among `solved`; otherwise as the other lab hands it out.
    """
    made, taken, left = dict(base), [], []
    for other in other_labs(lab):
        for hole in foreign_holes(other):
            if is_written(other, hole, base):
                continue
            if other.name not in solved:
                made |= cut_hole(hole, made.get(hole.file))
                left.append((other.name, hole))
            elif hole.file in base:
                made[hole.file] = fill_hole(hole, made[hole.file])
                taken.append(hole)
    for hole in lab.holes:
        made |= cut_hole(hole, made.get(hole.file))
    return Prepared(made, tuple(taken), tuple(left))


def fill_hole(hole: Hole, text: str) -> str:
    """Return the text with the hole filled by its solution."""
    solved = pristine_text(hole.file)
    span = source.body(solved, hole.function)
    return source.replace_body(text, hole.function, solved[span.start : span.end])


def cut_holes(
    lab: Lab, files: Mapping[str, str], solved: frozenset[str] | None = None
) -> dict[str, str]:
    """Return the files for a student of the lab that differ from this tree's.

    solved: the labs whose solutions are in the student's tree; by default those before this one.
    """
    return prepare_sources(lab, files, earlier_labs(lab) if solved is None else solved).files


def expect_needed_labs(lab: Lab, made: Prepared) -> None:
    """Raise BadLab if a lab that this one needs is not solved in what was prepared."""
    for name in lab.needs:
        if any(name == other for other, _ in made.left):
            raise BadLab(
                f"{lab.name} cannot be done before {name} is solved: give --base, the student's "
                f"own work; or --solved={name}, which hands out its solution, so its deadline "
                "should be over"
            )


def apply_edits(edits: tuple[Edit, ...]) -> dict[str, str]:
    """Return the files of this tree that these edits change, with the edits made. Raises BadLab."""
    made: dict[str, str] = {}
    for edit in edits:
        if not edit.function:
            made[edit.file] = edit.new
            continue
        text = made.get(edit.file) or pristine_text(edit.file)
        try:
            made[edit.file] = source.replace_text(text, edit.function, edit.old, edit.new)
        except source.NoFunction as error:
            where = f"{edit.place}: {edit.file}" if edit.place else edit.file
            raise BadLab(f"{where}: {error}") from None
    return made


def solution_files(
    lab: Lab, edits: tuple[Edit, ...] = (), who: str = SAMPLE_STUDENT
) -> dict[str, str]:
    """Return all files of the lab as its solution has them, changed by these edits.

    who: the student, if the lab is answered by numbers.
    """
    if answers.FORM in lab.files:
        return {answers.FORM: answers.solved_form(lab, who, edits)}
    return {file: pristine_text(file) for file in lab.files} | apply_edits(edits)


def allowed_contents(lab: Lab) -> Callable[[str], set[bytes]]:
    """Return a function that returns all contents with which a source may be handed out.

    These are the contents in this tree, and those in the lab's skeletons: one for each set of other
    labs whose functions are left out (holes) in that source.
    """
    mine = cut_holes(lab, {}, frozenset(other.name for other in load_labs()))
    holes = {other.name: foreign_holes(other) for other in other_labs(lab)}

    def contents(path: str) -> set[bytes]:
        """Return all contents of this file in a student's tree, with any of its holes filled."""
        here = TREE / path
        known = {here.read_bytes()} if here.is_file() else set()
        about = [name for name in holes if any(hole.file == path for hole in holes[name])]
        for left_out in powerset(about):
            made = mine.get(path)
            for hole in (hole for name in left_out for hole in holes[name] if hole.file == path):
                made = cut_hole(hole, made)[path]
            if made:
                known.add(made.encode())
        return known

    return contents


def powerset(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield all subsets of the names."""
    for count in range(len(names) + 1):
        yield from combinations(names, count)


def student_files(lab: Lab, who: str) -> dict[str, str]:
    """Return the files that differ from student to student, by path.

    They are the form with the student's name, and the hashes by which it is checked. Raises BadLab.
    """
    if answers.FORM not in lab.files:
        return {}
    if not names.is_name(who):
        raise BadLab(f"{lab.name} is made for one student: give the name by --student")
    checks = lab.folder.relative_to(ROOT) / answers.CHECKS
    return {
        answers.FORM: answers.blank_form(lab.folder, who),
        str(checks): answers.format_checks(lab, who),
    }


def describe_hole(hole: Hole) -> str:
    """Return what a function does while it is a hole, as the comment in it says."""
    comment = re.search(r"/\*(.*?)\*/", hole.stub, re.S)
    said = " ".join(re.sub(r"\s+\*?\s*", " ", comment[1]).split()) if comment else ""
    return said[said.find("So far") :] if "So far" in said else "It does less than it should."


def describe_unsolved(left: tuple[tuple[str, Hole], ...]) -> str:
    """Return the lines of UNSOLVED.md about the holes of other labs."""
    return "".join(
        f"- `{hole.function}` in `{hole.file}` (the lab {name}): {describe_hole(hole)}\n"
        for name, hole in left
    )


def make_copy_filter(making: Path) -> Callable[[str, list[str]], set[str]]:
    """Return a filter for copytree that leaves out what no student's tree has.

    It also leaves out the folder in which the tree is being made, and trees that were handed out
    before, if they are inside this tree.
    """

    def names(folder: str, there: list[str]) -> set[str]:
        """Return which of a folder's names are not copied."""
        paths = [Path(folder, name) for name in there]
        trees = {path.name for path in paths if path == making or (path / ".git").exists()}
        return NOT_HANDED_OUT(folder, there) | trees

    return names


def copy_tree(lab: Lab, out: Path) -> None:
    """Copy this tree without the other labs, and without what students of the lab may not see."""
    shutil.copytree(ROOT, out, ignore=make_copy_filter(out.parent), dirs_exist_ok=True)
    for path in (out / LABS.relative_to(ROOT)).iterdir():
        if path.is_dir() and path.name != lab.name:
            shutil.rmtree(path)
    handed_out = out / lab.folder.relative_to(ROOT)
    shutil.rmtree(handed_out / "hidden", ignore_errors=True)
    for name in (WRONG, ATTACKS, GIVEN, answers.SOLUTION):
        (handed_out / name).unlink(missing_ok=True)


def add_grading_data(lab: Lab, folder: Path) -> None:
    """Put into a student's folder of the lab what the grader computes from the solution."""
    run_tool("objcopy", "--strip-debug", lab.reference, folder / "reference.elf")
    if load_given(lab):
        with tempfile.TemporaryDirectory(prefix="sluice-") as name:
            given = build_given_kernel(lab, Path(name))
            run_tool("objcopy", "--strip-debug", given, folder / GIVEN_KERNEL)
    (folder / sourcefile.CALLS).write_text(
        "\n".join(sorted(sourcefile.allowed_uses(lab))) + "\n", encoding="utf-8"
    )
    defined = sorted(sourcefile.allowed_definitions(lab))
    (folder / sourcefile.DEFINES).write_text("\n".join(defined) + "\n", encoding="utf-8")


def make_skeleton(
    lab: Lab,
    out: Path,
    base: Mapping[str, str],
    who: str = "",
    solved: frozenset[str] | None = None,
) -> Prepared:
    """Make the tree that a student receives: a git repository with one commit.

    base: the student's own files of other labs. solved: the labs whose solutions are in the tree,
    by default those before this one. Returns which functions come from where.
    """
    expect_empty(out)
    if not lab.reference.exists():
        raise BadLab(f"{lab.reference}: not built: run make")
    made = prepare_sources(lab, base, earlier_labs(lab) if solved is None else solved)
    own = student_files(lab, who)
    with atomic_folder(out) as folder:
        copy_tree(lab, folder)
        add_grading_data(lab, folder / lab.folder.relative_to(ROOT))
        for name, text in (made.files | own).items():
            (folder / name).write_text(text, encoding="utf-8")
        if made.left:
            (folder / UNSOLVED).write_text(
                UNSOLVED_HEAD + describe_unsolved(made.left), encoding="utf-8"
            )
        repository.commit_all(folder, f"The lab {lab.name}, as it was handed out")
    return made


def attack_sort_key(attack: Attack) -> tuple[int, bool]:
    """Return the sort key of an attack, so that the attack that fails most plainly comes first.

    Attacks that only give wrong answers of a policy do not cheat, so they come later.
    """
    return attack.most, FAULT in attack.named


def make_samples(lab: Lab, out: Path) -> list[Path]:
    """Make three submissions to try a class with: good, half-done and cheating.

    Returns their folders.
    """
    changed = {
        "good": (),
        "half-done": load_mistakes(lab)[0].edits,
        "cheating": min(load_attacks(lab), key=attack_sort_key).edits,
    }
    with atomic_folder(out) as folder:
        for name, edits in changed.items():
            for file, text in solution_files(lab, edits).items():
                path = folder / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return [out / name for name in changed]
