"""Labs that are answered by numbers: forms, what is right, what a student's tree knows of it.

A form (TOML) has the student's name and a number for each question. A student's tree has checks: a
slow hash over all numbers of a group, so that right answers can be confirmed and not found by
trying. The lab is first-block, whose machine differs by the student's name.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path

import pytest

from grade.definition.lab import BadLab, Edit, Lab, find_lab, import_file, load_labs
from grade.engine import answers, tree
from grade.engine.assertions import Wrong
from grade.engine.workbench import Workbench
from grade.trust.likeness import Pair
from sluice.host.paths import KERNEL
from sluice.system.image import debugfs

LAB = "first-block"
WHO = "B. Other"
FORMS = [lab for lab in load_labs() if answers.FORM in lab.files]

FORM = """# a form
student = "me"
# How many?
many = "?"
"""


def bench_of(form: str, folder: Path) -> Workbench:
    """Return a workbench for a submission with this form."""
    return Workbench(KERNEL, KERNEL, folder, "", 60, files={answers.FORM: form})


@pytest.mark.parametrize("lab", FORMS, ids=lambda lab: lab.name)
def test_a_form_has_a_place_for_a_name_and_open_questions(lab: Lab) -> None:
    """A blank form has the student's name, and OPEN for each answer."""
    blank = answers.read_form(answers.blank_form(lab.folder, WHO))
    assert blank.pop("student") == WHO
    assert blank
    assert set(blank.values()) == {answers.OPEN}


@pytest.mark.parametrize(
    ("given", "came"),
    [
        ('"?"', "no answer"),
        ('"7"', "'7'"),
        ("7.0", "7.0"),
        ("true", "True"),
        ("-7", "-7"),
        ("[7, 8]", r"\[7, 8\]"),
        ("99999999999999999999", "9999"),
        ("7 +", "line"),
    ],
)
def test_an_answer_is_one_whole_number(tmp_path: Path, given: str, came: str) -> None:
    """given: the value in the form; came: the message's words for it."""
    bench = bench_of(FORM.replace('"?"', given), tmp_path)
    with pytest.raises(Wrong, match=came):
        answers.number(bench, "many")
    assert answers.number(bench_of(FORM.replace('"?"', "7"), tmp_path), "many") == 7


@pytest.mark.parametrize("name", ["", "?", "a\nb", 'x" y = "', "_", "x" * 65, "../x/../y/"])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    """Neither a skeleton nor a form may have such a name."""
    with pytest.raises(BadLab, match="--student"):
        tree.make_skeleton(find_lab(LAB), tmp_path / "out", {}, name)
    assert not (tmp_path / "out").exists()
    bench = bench_of(FORM.replace('"me"', json.dumps(name)), tmp_path)
    with pytest.raises(Wrong, match="your name"):
        answers.student(bench)


FEW = range(30)  # the values that a small number may have
QUICK = {"n": 2, "r": 1, "p": 1}  # the hash's parameters, in place of answers.SLOW
MOST_TRIES = 5000
# How many values are likely for an answer with many bits, if somebody knows all small numbers of
# its group: as many as lie in the range of 80 students' answers (times are multiples of 100 ns)
LARGE = {"generation": 2**32, "word": 2**32, "response_ns": 2**16, "waited_ns": 2**17}
A_TRY_S, A_YEAR_S, LEAST_YEARS = 0.2, 365 * 86400, 20


@pytest.fixture
def handed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that makes a student's tree of a lab with these right answers, as in
    handed_out(many=7, few=2)."""
    monkeypatch.setattr(answers, "SLOW", QUICK)

    def make(**right: int) -> Path:
        """Make a folder whose file of checks says that these numbers are right. Returns the
        folder."""
        monkeypatch.setattr(answers, "checked_groups", lambda _: {"all": tuple(right)})
        together = answers.slow_hash("me", "all", tuple(right.values()))
        checks = {"student": "me", "right": {"all": together}}
        (tmp_path / answers.CHECKS).write_text(json.dumps(checks))
        return tmp_path

    return make


def form_of(values: Mapping[str, int], who: str = "me") -> str:
    """Return a form with these answers."""
    return f'student = "{who}"\n' + "".join(f"{name} = {n}\n" for name, n in values.items())


def test_checks_know_right_from_wrong_and_tell_no_number(
    handed_out: Callable[..., Path], tmp_path: Path
) -> None:
    """The tree has no solution, so a group is right or wrong as a whole."""
    right = {"many": 1234567, "few": 3}
    folder = handed_out(**right)

    def ask(values: Mapping[str, int], question: str = "few", who: str = "me") -> None:
        bench = bench_of(form_of(values, who), tmp_path)
        answers.expect_right(folder, bench, question, "count them")

    for question in right:
        ask(right, question)
    with pytest.raises(Wrong, match=r"all of all to be right: count them \(many, few are checked"):
        ask(right | {"many": 1234566})
    with pytest.raises(Wrong, match="many = a number; found no answer yet"):
        ask({"few": 3})
    with pytest.raises(Wrong, match='student = "me"'):
        ask(right, who="you")


def count_tries(folder: Path, right: Mapping[str, int], known: dict[str, Iterable[int]]) -> int:
    """Return how many tries it takes to find the answers, each of which is one of those known; 0 if
    more than MOST_TRIES."""
    (group, hashed), *_ = json.loads((folder / answers.CHECKS).read_text())["right"].items()
    for tries, values in enumerate(product(*(known[name] for name in right)), 1):
        if answers.slow_hash("me", group, values) == hashed:
            return tries
        if tries == MOST_TRIES:
            break
    return 0


def test_small_numbers_are_not_found_by_trying(handed_out: Callable[..., Path]) -> None:
    """A small number is found if it is the only answer, and so are several small numbers together.
    Together with a number of many bits they are not found."""
    small = {"many": 17, "few": 9}
    assert count_tries(handed_out(few=9), {"few": 9}, {"few": FEW}) == 10
    assert count_tries(handed_out(**small), small, dict.fromkeys(small, FEW))
    large = small | {"when_ns": 13_570_800}
    times = range(1_000_000, 30_000_000, 100)
    known = dict.fromkeys(small, FEW) | {"when_ns": times}
    assert not count_tries(handed_out(**large), large, known)


def test_no_group_of_the_first_block_is_of_small_numbers_only() -> None:
    """A student who knows the small numbers of a group would still try for years to find the
    others."""
    scene = import_file(find_lab(LAB).folder / "scene.py")
    for group, asked in scene.CHECKED.items():
        tries = prod(LARGE.get(question, 1) for question in asked)
        years = tries * A_TRY_S / A_YEAR_S
        assert years > LEAST_YEARS, f"{group}: {years:.2g} years"
    hidden = {group.name for group in find_lab(LAB).groups if group.hidden}
    together = set().union(*scene.CHECKED.values())
    asked = set(answers.QUESTION.findall((find_lab(LAB).folder / answers.FORM).read_text()))
    assert asked - together == hidden


def test_who_has_the_same_numbers_is_pointed_out() -> None:
    """Four of five answers of a and b are equal."""

    def form(*numbers: int) -> str:
        return "".join(f"q{i} = {n}\n" for i, n in enumerate(numbers))

    forms = {
        "c": form(9, 2, 3, 14, 15),
        "a": 'student = "a"\n' + form(1, 2, 3, 4, 5),
        "b": form(1, 2, 3, 4, 6),
        "blank": FORM,
        "wild": "1 +",
    }
    assert answers.find_similar_pairs(forms) == [Pair("a", "b", 0.8, answers.ALIKE_SAYS)]


def test_an_edit_must_fit_its_question() -> None:
    """A wrong answer of the lab is an edit of the form: of the question `many`, the old text
    `<many>`."""
    edit = Edit(answers.FORM, "many", "<many>", "<few>")
    assert "many = <few>" in answers.edit_form("many = <many>\nfew = <few>\n", edit)
    with pytest.raises(BadLab, match="many does not contain"):
        answers.edit_form("many = 1\n", edit)
    with pytest.raises(BadLab, match="all does not contain"):
        answers.edit_form("many = <many>\n", replace(edit, function="all"))


def test_answers_and_new_policies_are_not_carried_on_to_other_labs() -> None:
    """Files of a lab that change the kernel are carried on to later labs."""
    carried = tree.list_other_sources(find_lab("smooth"))
    assert set(find_lab("delayed-write").files) <= set(carried)
    assert answers.FORM not in carried
    assert set(find_lab("open").files).isdisjoint(carried)


def test_a_student_gets_a_form_of_their_own_and_no_solution(tmp_path: Path) -> None:
    """The checks are the hashes of the right answers for this name."""
    lab = find_lab(LAB)
    tree.make_skeleton(lab, tmp_path, {}, WHO)
    folder = tmp_path / "grade" / "labs" / LAB
    assert f'student = "{WHO}"' in (tmp_path / answers.FORM).read_text()
    assert not (folder / answers.SOLUTION).exists()
    checks = json.loads((folder / answers.CHECKS).read_text())
    known = answers.solution_facts(lab.folder, lab.reference, WHO)
    assert checks["right"].keys() == answers.checked_groups(lab.folder).keys()
    for group, asked in answers.checked_groups(lab.folder).items():
        values = tuple(known[question] for question in asked)
        assert checks["right"][group] == answers.slow_hash(WHO, group, values)
    assert not (folder / "hidden").exists()


@pytest.mark.parametrize("who", ["ada", "Eva Müller", WHO])
def test_the_first_blocks_image_and_trace_tell_the_same(who: str, tmp_path: Path) -> None:
    """The reads that the trace shows are of the blocks that the image leads to, in that order."""
    scene = import_file(find_lab(LAB).folder / "scene.py")
    run = scene.run(bench_of(FORM, tmp_path), who)
    known = answers.solution_facts(find_lab(LAB).folder, KERNEL, who)
    inside = range(run.beacon(1), run.beacon(2))
    came = [r.sector // 8 for r in run.data(write=False) if r.queued_ns in inside]
    assert came[-3:] == [known[q] for q in ("double_indirect", "indirect", "data_block")]
    assert len(came) == known["requests"]
    book = scene.task(who).book
    assert f"Inode: {known['inode']} " in debugfs(run.folder / "data.img", f"stat {book}")
    assert known["waited_ns"] > known["response_ns"] > known["service_ns"]
