"""Labs that are answered by numbers: a student hands in a form, answers.toml.

    student = "..."        the name from which the machine of the run is made
    QUESTION = "?"         a whole number takes the place of the "?"

The right answers come from facts(bench, student) of the lab's solution.py: whole numbers by name,
one for each question, and some that are easily mistaken for them. Only the staff has that file.

A student's tree has checks.json in its place, made for one student by `make skeleton STUDENT=`. It
holds only hashes of several answers: CHECKED of the lab's scene.py names the answers that scrypt
hashes together for each group. Each group has answers of many bits, such as a time in nanoseconds,
because a single number with a few likely values could be found by trying. So in a student's tree a
group is right as a whole or not at all. Where the staff scores, each answer counts for itself. A
question that is in no group of CHECKED is scored by the staff only.

The edits of wrong/ and attacks/, which prove the tests, change the solved form before the facts are
put in, when each fact is its name in < >. The `function` of such an edit is a question.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

from grade.definition.lab import BadLab, Edit, Lab, module
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
SLOW = {"n": 1 << 16, "r": 8, "p": 1, "maxmem": 1 << 27}  # scrypt's: about 0.2 s, 64 MB


# ---- what was handed in ----


def read(text: str) -> dict[str, object]:
    """Return the answers of a form. Raises Wrong if it is not TOML, or too large or costly."""
    try:
        return dict(formfile.parse(text))  # which is parsed once, and kept
    except formfile.BadForm as error:
        raise Wrong(f"{FORM} to be TOML, with lines QUESTION = NUMBER", str(error)) from None


def student(bench: Workbench) -> str:
    """The student whose answers these are. An editor may have written the name in another form."""
    name = read(bench.files[FORM]).get("student")
    expect(names.is_name(name), f'your name in {FORM}: student = "..."', f"{name!r:.80}")
    return names.same(name)


def number(bench: Workbench, question: str) -> int:
    """The answer to a question. Raises Wrong if it is not one whole number."""
    given = read(bench.files[FORM]).get(question, OPEN)
    expect(given != OPEN, f"{question} = a number", "no answer yet")
    whole = type(given) is int and 0 <= given < MOST
    expect(whole, f"{question} = one whole number", f"{given!r:.80}")
    return given


def numbers(text: str) -> dict[str, int]:
    """All numbers in a form; none if it cannot be read."""
    try:
        return {question: n for question, n in read(text).items() if type(n) is int}
    except Wrong:
        return {}


ALIKE_SAYS = "of the answers are the same"


def alike(forms: Mapping[str, str]) -> list[Pair]:
    """The pairs of forms, by name, with nearly the same numbers. No two machines give the same."""
    given = {name: numbers(text) for name, text in sorted(forms.items())}
    pairs = []
    for (one, mine), (other, theirs) in combinations(given.items(), 2):
        asked = mine.keys() | theirs.keys()
        same = [question for question in asked if mine.get(question) == theirs.get(question)]
        if asked and len(same) >= ALIKE * len(asked):
            pairs.append(Pair(one, other, len(same) / len(asked), ALIKE_SAYS))
    return sorted(pairs, key=lambda pair: -pair.share)


# ---- what is right ----


@cache
def slowly(who: str, group: str, values: tuple[int, ...]) -> str:
    """A hash of the numbers that takes long to compute, so that trying them all is hopeless."""
    salt = f"{who}/{group}".encode()
    return hashlib.scrypt(" ".join(map(str, values)).encode(), salt=salt, **SLOW).hex()


def checked(folder: Path) -> dict[str, tuple[str, ...]]:
    """The questions that are checked together, by group, of the lab in the folder."""
    return module(folder / SCENE).CHECKED


def facts(folder: Path, bench: Workbench) -> Mapping[str, int]:
    """The facts of the lab in the folder, for this bench's kernel and student."""
    if not bench.facts:
        bench.facts |= module(folder / SOLUTION).facts(bench, student(bench))
    return bench.facts


def expect_owner(known: dict, who: str) -> None:
    """Raise Wrong unless the checks were made for this student."""
    owner = names.same(known["student"])
    expect(who == owner, f'student = "{owner}", whose tree this is', who)


def expect_all_right(folder: Path, bench: Workbench, question: str, look: str) -> None:
    """In a student's tree: raise Wrong unless all answers of the question's group are right."""
    known = json.loads((folder / CHECKS).read_text(encoding="utf-8"))
    who = student(bench)
    expect_owner(known, who)
    group, asked = next((g, qs) for g, qs in checked(folder).items() if question in qs)
    values = tuple(number(bench, other) for other in asked)
    right = known["right"][group] == slowly(who, group, values)
    first = f"{look} ({', '.join(asked)} are checked together here; each counts when you hand in)"
    expect(right, f"all of {group} to be right: {first}", f"{question} = {number(bench, question)}")


def expect_right(folder: Path, bench: Workbench, question: str, look: str) -> None:
    """Raise Wrong unless the answer is right. The text says where to look, and no number."""
    value = number(bench, question)
    if (folder / CHECKS).exists():
        expect_all_right(folder, bench, question, look)
    else:
        right = facts(folder, bench)[question] == value
        expect(right, f"another number: {look}", f"{question} = {value}")


# ---- forms blank and solved ----


def blank(folder: Path, who: str) -> str:
    """The form of the lab in the folder, as a student gets it."""
    return STUDENT.sub(
        lambda _: f'student = "{names.same(who)}"', (folder / FORM).read_text(encoding="utf-8")
    )


@cache
def solution(folder: Path, kernel: Path, who: str) -> Mapping[str, int]:
    """The facts of one student's machine with this kernel."""
    with tempfile.TemporaryDirectory(prefix="sluice-") as name:
        files = {FORM: blank(folder, who)}
        return facts(folder, Workbench(kernel, kernel, Path(name), "", BUDGET_S, files=files))


def edited(text: str, edit: Edit) -> str:
    """The form with a change in the line of one question."""
    line = re.compile(rf"^{edit.function} = .*$", re.M)
    found = line.findall(text)
    if len(found) != 1 or edit.old not in found[0]:
        raise BadLab(f"{edit.file}: the line of {edit.function} does not contain {edit.old}")
    return line.sub(lambda match: match[0].replace(edit.old, edit.new), text)


def solved(lab: Lab, who: str, edits: tuple[Edit, ...] = ()) -> str:
    """The form with the right answers, except for these edits."""
    text = QUESTION.sub(r"\1 = <\1>", blank(lab.folder, who))
    for edit in edits:
        text = edited(text, edit)
    known = solution(lab.folder, lab.reference, who)
    unknown = set(re.findall(r"<(\w+)>", text)) - known.keys()
    if unknown:
        raise BadLab(f"{lab.folder / SOLUTION} knows no {', '.join(sorted(unknown))}")
    return re.sub(r"<(\w+)>", lambda name: str(known[name[1]]), text)


def checks(lab: Lab, who: str) -> str:
    """The text of checks.json for one student."""
    who = names.same(who)
    known = solution(lab.folder, lab.reference, who)
    right = {
        group: slowly(who, group, tuple(known[question] for question in asked))
        for group, asked in checked(lab.folder).items()
    }
    return json.dumps({"student": who, "right": right}, indent=1) + "\n"
