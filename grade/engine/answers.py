"""Check labs that are answered by numbers: a student hands in a form, answers.toml.

    student = "..."        the student's name, which determines the machine of the run
    QUESTION = "?"         a whole number takes the place of the "?"

The right answers come from facts(bench, student) of the lab's solution.py: whole numbers by name,
one for each question, and some that are easily mistaken for them. Only the staff has that file.

A student's tree has checks.json in its place, made for one student by `sluice lab handout
--student`. It holds only hashes of several answers: CHECKED of the lab's scene.py names the answers
that scrypt hashes together for each group. Each group has answers of many bits, such as a time in
nanoseconds, because a single number with a few likely values could be found by trying. So in a
student's tree a group is right as a whole or not at all. When the staff scores, each answer counts
separately. A question that is in no group of CHECKED is scored by the staff only.

The edits of wrong.toml and attacks.toml, which prove the tests, change the solved form while it
still contains each fact's name in < > in place of its number. The `function` of an edit in these
files is a question.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

from grade.definition.lab import BadLab, Edit, Lab, import_file
from grade.engine.assertions import Wrong, expect
from grade.engine.workbench import Workbench
from grade.trust import formfile, names
from grade.trust.likeness import ALIKE, Pair

FORM = "answers.toml"
SCENE, SOLUTION, CHECKS = "scene.py", "solution.py", "checks.json"
OPEN = "?"
QUESTION = re.compile(r'^(\w+) = "\?"$', re.M)
STUDENT = re.compile(r'^student = ".*"$', re.M)
MOST = 2**64
BUDGET_S = 60
SLOW: dict[str, int] = {
    "n": 1 << 16,
    "r": 8,
    "p": 1,
    "maxmem": 1 << 27,
}  # scrypt's cost: about 0.2 s and 64 MB


# ---- what was handed in ----


def read_form(text: str) -> dict[str, object]:
    """Return the answers in a form.

    Raises Wrong if it is not TOML, is too large, or is slow to parse.
    """
    try:
        return dict(formfile.parse_form(text))  # a copy, because formfile keeps what it has parsed
    except formfile.BadForm as error:
        raise Wrong(f"{FORM} to be TOML, with lines QUESTION = NUMBER", str(error)) from None


def student(bench: Workbench) -> str:
    """Return the student who filled in the form, with the name in one normal form.

    An editor may have written the name in another Unicode form. Raises Wrong.
    """
    name = read_form(bench.files[FORM]).get("student")
    if not names.is_name(name):
        raise Wrong(f'your name in {FORM}: student = "..."', f"{name!r:.80}")
    return names.normalize_name(name)


def number(bench: Workbench, question: str) -> int:
    """Return the answer to a question. Raises Wrong if it is not one whole number."""
    given = read_form(bench.files[FORM]).get(question, OPEN)
    expect(given != OPEN, f"{question} = a number", "no answer yet")
    if type(given) is not int or not 0 <= given < MOST:
        raise Wrong(f"{question} = one whole number", f"{given!r:.80}")
    return given


def read_numbers(text: str) -> dict[str, int]:
    """Return all whole numbers in a form, by question; none if the form cannot be read."""
    try:
        return {question: n for question, n in read_form(text).items() if type(n) is int}
    except Wrong:
        return {}


ALIKE_SAYS = "of the answers are the same"


def find_similar_pairs(forms: Mapping[str, str]) -> list[Pair]:
    """Return the pairs of forms with nearly the same numbers.

    forms: their texts, by name. Two machines never give the same numbers.
    """
    given = {name: read_numbers(text) for name, text in sorted(forms.items())}
    pairs = []
    for (one, mine), (other, theirs) in combinations(given.items(), 2):
        asked = mine.keys() | theirs.keys()
        same = [question for question in asked if mine.get(question) == theirs.get(question)]
        if asked and len(same) >= ALIKE * len(asked):
            pairs.append(Pair(one, other, len(same) / len(asked), ALIKE_SAYS))
    return sorted(pairs, key=lambda pair: -pair.share)


# ---- what is right ----


@cache
def slow_hash(who: str, group: str, values: tuple[int, ...]) -> str:
    """Return a hash of the numbers that is slow to compute, so that nobody can try all numbers."""
    salt = f"{who}/{group}".encode()
    return hashlib.scrypt(" ".join(map(str, values)).encode(), salt=salt, **SLOW).hex()


def checked_groups(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the questions of the lab in this folder that are checked together, by group."""
    groups: dict[str, tuple[str, ...]] = import_file(folder / SCENE).CHECKED
    return groups


def compute_facts(folder: Path, bench: Workbench) -> Mapping[str, int]:
    """Return the facts of the lab in this folder, for the bench's kernel and student."""
    if not bench.facts:
        bench.facts |= import_file(folder / SOLUTION).facts(bench, student(bench))
    return bench.facts


def expect_owner(known: Mapping[str, str], who: str) -> None:
    """Raise Wrong unless the checks were made for this student."""
    owner = names.normalize_name(known["student"])
    expect(who == owner, f'student = "{owner}", whose tree this is', who)


def expect_all_right(folder: Path, bench: Workbench, question: str, look: str) -> None:
    """Raise Wrong unless all answers of the question's group are right.

    For a student's tree, which has only hashes of whole groups. look: where to look for the answer.
    """
    known = json.loads((folder / CHECKS).read_text(encoding="utf-8"))
    who = student(bench)
    expect_owner(known, who)
    group, asked = next((g, qs) for g, qs in checked_groups(folder).items() if question in qs)
    values = tuple(number(bench, other) for other in asked)
    right = known["right"][group] == slow_hash(who, group, values)
    first = f"{look} ({', '.join(asked)} are checked together here; each counts when you hand in)"
    expect(right, f"all of {group} to be right: {first}", f"{question} = {number(bench, question)}")


def expect_right(folder: Path, bench: Workbench, question: str, look: str) -> None:
    """Raise Wrong unless the answer is right. The message says where to look, and no number."""
    value = number(bench, question)
    if (folder / CHECKS).exists():
        expect_all_right(folder, bench, question, look)
    else:
        right = compute_facts(folder, bench)[question] == value
        expect(right, f"another number: {look}", f"{question} = {value}")


# ---- forms blank and solved ----


def blank_form(folder: Path, who: str) -> str:
    """Return the form of the lab in this folder, as the student `who` receives it."""
    return STUDENT.sub(
        lambda _: f'student = "{names.normalize_name(who)}"',
        (folder / FORM).read_text(encoding="utf-8"),
    )


@cache
def solution_facts(folder: Path, kernel: Path, who: str) -> Mapping[str, int]:
    """Return the facts of one student's machine with this kernel."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as name:
        files = {FORM: blank_form(folder, who)}
        return compute_facts(
            folder, Workbench(kernel, kernel, Path(name), "", BUDGET_S, files=files)
        )


def edit_form(text: str, edit: Edit) -> str:
    """Return the form with one question's line changed by the edit. Raises BadLab."""
    line = re.compile(rf"^{edit.function} = .*$", re.M)
    found = line.findall(text)
    if len(found) != 1 or edit.old not in found[0]:
        raise BadLab(
            f"{edit.place or edit.file}: the line of {edit.function} does not contain {edit.old}"
        )
    return line.sub(lambda match: match[0].replace(edit.old, edit.new), text)


def solved_form(lab: Lab, who: str, edits: tuple[Edit, ...] = ()) -> str:
    """Return the form with the right answers, except for these edits. Raises BadLab."""
    text = QUESTION.sub(r"\1 = <\1>", blank_form(lab.folder, who))
    for edit in edits:
        text = edit_form(text, edit)
    known = solution_facts(lab.folder, lab.reference, who)
    unknown = set(re.findall(r"<(\w+)>", text)) - known.keys()
    if unknown:
        raise BadLab(f"{lab.folder / SOLUTION} knows no {', '.join(sorted(unknown))}")
    return re.sub(r"<(\w+)>", lambda name: str(known[name[1]]), text)


def format_checks(lab: Lab, who: str) -> str:
    """Return the text of checks.json for one student."""
    who = names.normalize_name(who)
    known = solution_facts(lab.folder, lab.reference, who)
    right = {
        group: slow_hash(who, group, tuple(known[question] for question in asked))
        for group, asked in checked_groups(lab.folder).items()
    }
    return json.dumps({"student": who, "right": right}, indent=1) + "\n"
