"""Makes what a course gives away.

This is a lab's tree for students, its solution, samples, Gradescope's archive, and a new lab.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from grade.cli.outcome import BadCall, require_existing
from grade.course import bundle, release
from grade.course.roster import read_roster
from grade.definition.lab import BadLab, Lab, find_lab
from grade.engine import answers, template, tree
from grade.trust import submission
from sluice.host.out import expect_file
from sluice.host.paths import ROOT


@dataclass(frozen=True)
class Handout:
    """How a lab is handed out.

    base: a student's work in other labs, to carry on. solved: labs whose solutions the tree may
    have. student: the name, if the lab is answered by numbers.
    """

    base: Path | None = None
    solved: str = ""
    student: str = ""


def read_own_work(lab: Lab, path: Path | None) -> dict[str, str]:
    """Return a student's work in the other labs, or nothing. Prints which files it has."""
    if path is None:
        return {}
    work = submission.take_present_files(require_existing(path), tree.list_other_sources(lab))
    print(f"taken from {path}: {', '.join(sorted(work))}")
    return work


def find_solved(lab: Lab, words: str) -> frozenset[str]:
    """Return the other labs that are named, separated by blanks or commas. Raises BadLab."""
    found = frozenset(find_lab(word).name for word in words.replace(",", " ").split())
    if lab.name in found:
        raise BadLab(f"--solved={lab.name}: the student is to solve it")
    return found


def find_trees(out: Path, lab: Lab) -> set[str]:
    """Return the names of the students' trees that are in the class's folder already.

    Raises BadLab if anything else is there, except hidden files, which a command that was killed
    has left.
    """
    if not out.is_dir():
        tree.expect_empty(out)
        return set()
    there = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    within = lab.folder.relative_to(ROOT)
    strange = [name for name in there if not (out / name / within).is_dir()]
    if strange:
        raise BadLab(f"{out / min(strange)}: no student's tree of {lab.name}: {tree.NEEDS_EMPTY}")
    return there


def hand_out_class(lab_name: str, out: Path, students_file: Path, asked: Handout) -> int:
    """Hand a lab that is answered by numbers out to each student of a class who has no tree yet.

    Returns the exit status.
    """
    lab = find_lab(lab_name)
    if answers.FORM not in lab.files:
        raise BadCall(f"--students: all students of {lab.name} get the same tree; leave it out")
    students = read_roster(require_existing(students_file))
    there = find_trees(out, lab)
    try:
        for folder, student in students.items():
            if folder in there:
                print(f"{out / folder}: there already")
                continue
            hand_out(lab_name, out / folder, replace(asked, student=student))
    except KeyboardInterrupt:
        have = len(find_trees(out, lab) & students.keys())
        raise KeyboardInterrupt(
            f"{have} of {len(students)} students have their trees in {out}; "
            "the same command goes on from there"
        ) from None
    return 0


@contextmanager
def say_if_made(out: Path) -> Iterator[None]:
    """After ^C, say that the folder is made if it is there. It is there whole, or not at all."""
    try:
        yield
    except KeyboardInterrupt:
        made = out.is_dir() and any(out.iterdir())
        raise KeyboardInterrupt(f"{out} is made" if made else "") from None


def hand_out(lab_name: str, out: Path, asked: Handout) -> int:
    """Make the tree that a student of a lab gets. Returns the exit status."""
    lab = find_lab(lab_name)
    tree.expect_empty(out)
    base, solved = read_own_work(lab, asked.base), find_solved(lab, asked.solved)
    tree.expect_needed_labs(lab, tree.prepare_sources(lab, base, solved))
    with say_if_made(out):
        made = tree.make_skeleton(lab, out, base, asked.student, solved)
    if made.taken:
        said = ", ".join(f"{hole.function} in {hole.file}" for hole in made.taken)
        print(f"taken from the solution: {said}")
    if made.left:
        print(
            f"not written in this tree, which says so:\n{tree.describe_unsolved(made.left)}", end=""
        )
    print(f"{out}: the lab {lab.title}; begin with {out}/grade/labs/{lab.name}/handout.md")
    return 0


def make_samples(lab_name: str, out: Path) -> int:
    """Make submissions to try the other commands with. Returns the exit status."""
    with say_if_made(out):
        made = tree.make_samples(find_lab(lab_name), out)
    print("\n".join(map(str, made)))
    return 0


def make_bundle(lab_name: str, out: Path) -> int:
    """Make the archive from which Gradescope builds its autograder. Returns the exit status."""
    lab = find_lab(lab_name)
    expect_file(out)
    bundle.write_bundle(lab, out)
    print(f"{out}: upload it to Gradescope as the autograder of {lab.name}")
    return 0


def make_lab(name: str) -> int:
    """Make a new lab, and print what to do next. Returns the exit status."""
    folder = template.make_lab(name).relative_to(ROOT)
    print(f"{folder}: a small lab that works, for you to change; begin with {folder}/lab.toml")
    print(f"its proof: make test LAB={name}")
    return 0


def make_solution(lab_name: str, out: Path, student: str) -> int:
    """Write a lab's solution for students. Returns the exit status."""
    for file in release.write_release(find_lab(lab_name), out, student):
        print(out / file)
    return 0
