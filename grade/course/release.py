"""`make solution`: what students get of a lab after everybody has handed in.

FILE                the lab's files, as the solution has them
solution.diff       how they differ from what was handed out
questions.md        model answers to the handout's questions
"""

import difflib
from pathlib import Path

from grade.definition.lab import BadLab, Lab
from grade.engine import answers, tree
from grade.trust import names

DIFF, QUESTIONS = "solution.diff", "questions.md"
FOR_STAFF = "For the staff.\n\n"  # below the heading; students get the page without it
MODEL_ANSWERS = Path("staff") / "answers.md"  # in a lab's folder


def solved(lab: Lab, who: str) -> dict[str, str]:
    """The lab's files with the solution; who: the student, if the lab is answered by numbers."""
    if answers.FORM not in lab.files:
        return tree.solution(lab)
    if not names.is_name(who):
        raise BadLab(
            f"{lab.name} has other answers for each student: give the name as STUDENT=, with "
            f"{names.HAS}"
        )
    return {answers.FORM: answers.solved(lab, who)}


def difference(before: dict[str, str], after: dict[str, str]) -> str:
    """What changed in the files, in the unified form."""
    lines = []
    for file in sorted(after):
        old, new = (text.get(file, "").splitlines(True) for text in (before, after))
        lines += difflib.unified_diff(old, new, f"a/{file}", f"b/{file}")
    return "".join(lines)


def release(lab: Lab, out: Path, who: str = "") -> list[str]:
    """Write all of it into a new folder. Returns the files' names. Raises BadLab, and then nothing
    was written."""
    tree.expect_room(out)
    if lab.handed_out:
        raise BadLab(f"{lab.name}: a student's tree has no solution")
    model_answers = lab.folder / MODEL_ANSWERS
    if not model_answers.exists():
        raise BadLab(f"{model_answers}: missing: write there what the handout's questions ask for")
    after = solved(lab, who)
    before = tree.cut(lab, {}) | tree.of_one_student(lab, who)
    made = after | {
        DIFF: difference(before, after),
        QUESTIONS: model_answers.read_text(encoding="utf-8").replace(FOR_STAFF, ""),
    }
    with tree.made_whole(out) as folder:
        for file, text in made.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
    return sorted(made)
