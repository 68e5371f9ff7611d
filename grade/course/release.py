"""Write a lab's solution for students, after everybody has handed in (`sluice lab solution`).

FILE                the lab's files, as the solution has them
solution.diff       the differences from what was handed out
questions.md        model answers to the handout's questions
"""

import difflib
from pathlib import Path

from grade.definition.lab import BadLab, Lab
from grade.engine import answers, tree
from grade.trust import names

DIFF, QUESTIONS = "solution.diff", "questions.md"
FOR_STAFF = "For the staff.\n\n"  # below the heading; students get the page without it
MODEL_ANSWERS = Path("staff") / "answers.md"  # the path within a lab's folder


def solution_files(lab: Lab, who: str) -> dict[str, str]:
    """Return the lab's files with the solution.

    who: the student; needed if the lab is answered by numbers. Raises BadLab.
    """
    if answers.FORM not in lab.files:
        return tree.solution_files(lab)
    if not names.is_name(who):
        raise BadLab(
            f"{lab.name} has other answers for each student: give the name by --student, with "
            f"{names.HAS}"
        )
    return {answers.FORM: answers.solved_form(lab, who)}


def unified_diff(before: dict[str, str], after: dict[str, str]) -> str:
    """Return what changed in the files, as a unified diff."""
    lines: list[str] = []
    for file in sorted(after):
        old, new = (text.get(file, "").splitlines(True) for text in (before, after))
        lines += difflib.unified_diff(old, new, f"a/{file}", f"b/{file}")
    return "".join(lines)


def write_release(lab: Lab, out: Path, who: str = "") -> list[str]:
    """Write the solution into a new folder and return the files' names.

    Raises BadLab; then nothing was written.
    """
    tree.expect_empty(out)
    if lab.handed_out:
        raise BadLab(f"{lab.name}: a student's tree has no solution")
    model_answers = lab.folder / MODEL_ANSWERS
    if not model_answers.exists():
        raise BadLab(
            f"{model_answers}: missing: write the answers to the handout's questions there"
        )
    after = solution_files(lab, who)
    before = tree.cut_holes(lab, {}) | tree.student_files(lab, who)
    made = after | {
        DIFF: unified_diff(before, after),
        QUESTIONS: model_answers.read_text(encoding="utf-8").replace(FOR_STAFF, ""),
    }
    with tree.atomic_folder(out) as folder:
        for file, text in made.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
    return sorted(made)
