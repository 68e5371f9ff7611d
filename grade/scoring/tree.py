"""Trees of sources: the pristine one a submission is built in, the skeleton a student gets.

A submission's files are compiled one by one, each beside the headers only, and checked; then
the kernel is linked from what this tree has built and these objects, in a tree that has no text
of the submission, and is checked again (compiler, objectfile, linked). So nothing that a compiler
could be led to do touches what is the staff's.
"""

import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from grade.code import source
from grade.code.objects import tool
from grade.host.paths import BUILT, KERNEL, ROOT, TREE
from grade.scoring import answers, compiler, linked, objectfile, sandbox, sourcefile
from grade.scoring.lab import LABS, BadLab, Edit, Hole, Lab, attacks, labs, mistakes

SOURCES = ("kernel/**/*.[cS]", "policies/*/*.c")
LINKED = (
    *("Makefile", "build/kernel.command", "kernel/machine/kernel.ld", "kernel/machine/symbols.awk"),
    *("build/kernel/**/*.o", "build/policies/*/*.o"),
)
NOT_HANDED_OUT = shutil.ignore_patterns(
    ".git", ".github", ".venv", ".ci", "build", "__pycache__", ".*_cache", "compile_commands.json"
)
SAMPLE_STUDENT = "A. Sample"  # of solutions to try things with


def pristine(path: str) -> str:
    """The text of a source of this tree; of a policy that a lab adds, its solution's."""
    if (TREE / path).exists():
        return (TREE / path).read_text()
    solution = next(lab.new[path] for lab in labs() if path in lab.new)
    name = f'.name = "{Path(path).stem}"'
    return re.sub(r'\.name = "\w+"', name, (TREE / solution).read_text())


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
        (folder / file).write_text(text)


def lay_out_objects(folder: Path, objects: Mapping[str, bytes]) -> None:
    """What is needed to link: what this tree has built, and these objects, by their sources' names.

    Sources are there by name only, empty and older than all objects, so that none is compiled.
    """
    for path in (path for pattern in LINKED for path in TREE.glob(pattern)):
        made = folder / path.relative_to(TREE)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, made)
    here = (path.relative_to(TREE) for pattern in SOURCES for path in TREE.glob(pattern))
    for file in (*here, *objects):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
        os.utime(folder / file, (0, 0))
    for file, data in objects.items():
        sourcefile.built(folder / "build", file).write_bytes(data)


def compile_checked(lab: Lab, file: str, text: str) -> bytes:
    """The object of a file, if it is nothing but that; raises Refused and BuildFailed.

    A file that is as in this tree is not compiled again.
    """
    with sandbox.apart() as apart:
        lay_out_sources(apart.path, {file: text})
        expanded = compiler.expanded(file, apart)
        sourcefile.check_headers(file, expanded.headers)
        sourcefile.check_expanded(file, expanded, compiler.headers_alone(expanded.headers))
        here = sourcefile.built(BUILT, file)
        data = here.read_bytes() if is_here(lab, file, text) else compiler.compiled(file, apart)
    objectfile.check_object(file, data, lab)
    return data


def is_here(lab: Lab, file: str, text: str) -> bool:
    """Is the file as it is in this tree?"""
    return file not in lab.new and text == pristine(file)


def link_checked(objects: Mapping[str, bytes]) -> bytes:
    """The kernel with these objects, by their sources' names; raises BuildFailed and Refused."""
    with sandbox.apart() as apart:
        lay_out_objects(apart.path, objects)
        data = compiler.linked(apart)
    linked.check_kernel(data, objects.keys())
    return data


def build(folder: Path, lab: Lab, files: Mapping[str, str]) -> Path:
    """The kernel of a pristine tree with these files put in.

    Raises Refused for what the files may not say or use, BuildFailed if they do not build.
    """
    sources = {file: text for file, text in files.items() if sourcefile.is_source(file)}
    sourcefile.check_texts(sources)
    objects = {file: compile_checked(lab, file, text) for file, text in sources.items()}
    changed = {f: objects[f] for f, text in sources.items() if not is_here(lab, f, text)}
    data = link_checked(changed) if changed else KERNEL.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernel.elf").write_bytes(data)
    return folder / "kernel.elf"


# ---- what students get ----


def expect_room(out: Path) -> None:
    """What is to be made must not be there, but for an empty folder."""
    if out.exists() and not out.is_dir():
        raise BadLab(f"{out}: no folder")
    if out.is_dir() and any(out.iterdir()):
        raise BadLab(f"{out}: not empty")


def sources_before(lab: Lab) -> tuple[str, ...]:
    """The sources that the labs before this one are about."""
    files = {file for other in labs() if other.order < lab.order for file in other.files}
    return tuple(sorted(filter(sourcefile.is_source, files)))


def with_hole(hole: Hole, text: str | None = None) -> dict[str, str]:
    """The hole's file with the hole in it; text: what is in the file, if not this tree's."""
    if not hole.function:
        return {hole.file: hole.stub}
    try:
        made = source.with_body(text or pristine(hole.file), hole.function, hole.stub)
    except source.NoFunction as error:
        raise BadLab(f"{hole.file}: {error}") from None
    return {hole.file: made}


def cut(lab: Lab, files: Mapping[str, str]) -> dict[str, str]:
    """The files with the lab's holes, and those of later labs, cut into them.

    Of files that are not given, those of this tree. What later labs add is not there yet.
    """
    made = dict(files)
    for other in labs():
        for hole in other.holes if other.order >= lab.order else ():
            if not hole.function and other.name != lab.name:
                continue
            made |= with_hole(hole, made.get(hole.file))
    return made


def carried_on(lab: Lab, base: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """A student's work in the labs before this one, and what of the solution completes it.

    That is each file that is not there, and each function that is still as it was handed out.
    """
    made = dict(base)
    ours = [file for file in sources_before(lab) if file not in base]
    for hole in (hole for other in labs() if other.order < lab.order for hole in other.holes):
        if source.has_body(made.get(hole.file, ""), hole.function, hole.stub):
            solved = pristine(hole.file)
            span = source.body(solved, hole.function)
            body = solved[span.start : span.end]
            made[hole.file] = source.with_body(made[hole.file], hole.function, body)
            ours.append(f"{hole.function} in {hole.file}")
    return made, ours


def planted(edits: tuple[Edit, ...]) -> dict[str, str]:
    """The files of this tree with these edits made."""
    made: dict[str, str] = {}
    for edit in edits:
        text = made.get(edit.file) or pristine(edit.file)
        try:
            made[edit.file] = source.edited(text, edit.function, edit.old, edit.new)
        except source.NoFunction as error:
            raise BadLab(f"{edit.file}: {error}") from None
    return made


def solution(lab: Lab, edits: tuple[Edit, ...] = ()) -> dict[str, str]:
    """All files of the lab as its solution has them, but for these edits."""
    if answers.FORM in lab.files:
        return {answers.FORM: answers.solved(lab, SAMPLE_STUDENT, edits)}
    return {file: pristine(file) for file in lab.files} | planted(edits)


def as_handed_out(lab: Lab) -> Callable[[str], set[bytes]]:
    """Tells the contents that a source has in this tree and in the lab's skeleton."""
    made = cut(lab, {})

    def contents(path: str) -> set[bytes]:
        here = TREE / path
        known = {here.read_bytes()} if here.is_file() else set()
        return known | ({made[path].encode()} if path in made else set())

    return contents


def of_one_student(lab: Lab, who: str) -> dict[str, str]:
    """What differs from student to student: a form with the name, and what it is checked by."""
    if answers.FORM not in lab.files:
        return {}
    if not answers.is_name(who):
        raise BadLab(f"{lab.name} is made for one student: STUDENT= a name")
    checks = lab.folder.relative_to(ROOT) / answers.CHECKS
    return {
        answers.FORM: answers.blank(lab.folder, who),
        str(checks): answers.checks(lab, who),
    }


def skeleton(lab: Lab, out: Path, base: Mapping[str, str], who: str = "") -> None:
    """Make what a student gets, with the files of base from earlier labs."""
    expect_room(out)
    if not lab.reference.exists():
        raise BadLab(f"{lab.reference}: not built: run make")
    made = cut(lab, base) | of_one_student(lab, who)
    shutil.copytree(ROOT, out, ignore=NOT_HANDED_OUT, dirs_exist_ok=True)
    for path in (out / LABS.relative_to(ROOT)).iterdir():
        if path.is_dir() and path.name != lab.name:
            shutil.rmtree(path)
    handed_out = out / lab.folder.relative_to(ROOT)
    for part in ("hidden", "wrong", "attacks"):
        shutil.rmtree(handed_out / part, ignore_errors=True)
    (handed_out / answers.SOLUTION).unlink(missing_ok=True)
    tool("objcopy", "--strip-debug", lab.reference, handed_out / "reference.elf")
    (handed_out / sourcefile.CALLS).write_text("\n".join(sorted(sourcefile.may_use(lab))) + "\n")
    defined = sorted(sourcefile.may_define(lab))
    (handed_out / sourcefile.DEFINES).write_text("\n".join(defined) + "\n")
    for name, text in made.items():
        (out / name).write_text(text)


def samples(lab: Lab, out: Path) -> list[Path]:
    """Make three submissions to try a class with: good, half-done and cheating."""
    expect_room(out)
    changed = {
        "good": (),
        "half-done": mistakes(lab)[0].edits,
        "cheating": min(attacks(lab), key=lambda attack: attack.most).edits,
    }
    for name, edits in changed.items():
        for file, text in solution(lab, edits).items():
            path = out / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return [out / name for name in changed]
