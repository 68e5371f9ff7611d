"""Labs that are answered by numbers: forms, what is right, what a student's tree knows of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grade.image import debugfs
from grade.paths import KERNEL
from grade.scoring import answers, tree
from grade.scoring.bench import Bench
from grade.scoring.lab import BadLab, Edit, Lab, labs, module, named
from grade.scoring.likeness import Pair
from grade.scoring.verdict import Wrong

LAB = "first-block"
WHO = "B. Other"
FORMS = [lab for lab in labs() if answers.FORM in lab.files]

FORM = """# a form
student = "me"
# How many?
many = "?"
"""


def bench_of(form: str, folder: Path) -> Bench:
    return Bench(KERNEL, KERNEL, folder, "", 60, files={answers.FORM: form})


@pytest.mark.parametrize("lab", FORMS, ids=lambda lab: lab.name)
def test_a_form_has_a_place_for_a_name_and_open_questions(lab: Lab) -> None:
    blank = answers.read(answers.blank(lab.folder, WHO))
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
    bench = bench_of(FORM.replace('"?"', given), tmp_path)
    with pytest.raises(Wrong, match=came):
        answers.number(bench, "many")
    assert answers.number(bench_of(FORM.replace('"?"', "7"), tmp_path), "many") == 7


@pytest.mark.parametrize("name", ["", "?", "a\nb", 'x" y = "', "_", "x" * 65, "../x/../y/"])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadLab, match="STUDENT="):
        tree.skeleton(named(LAB), tmp_path / "out", {}, name)
    assert not (tmp_path / "out").exists()
    bench = bench_of(FORM.replace('"me"', json.dumps(name)), tmp_path)
    with pytest.raises(Wrong, match="your name"):
        answers.student(bench)


def test_checks_know_right_from_wrong_and_tell_no_number(tmp_path: Path) -> None:
    """As in a student's tree, which has no solution."""
    checks = {"student": "me", "right": {"many": answers.slowly("me", "many", 1234567)}}
    (tmp_path / answers.CHECKS).write_text(json.dumps(checks))

    def ask(value: str, who: str = "me") -> None:
        form = FORM.replace('"?"', value).replace("me", who)
        answers.expect_right(tmp_path, bench_of(form, tmp_path), "many", "count them")

    ask("1234567")
    with pytest.raises(Wrong, match="count them; came many = 1234566"):
        ask("1234566")
    with pytest.raises(Wrong, match='student = "me"'):
        ask("1234567", "you")


def test_who_has_the_same_numbers_is_pointed_out() -> None:
    def form(*numbers: int) -> str:
        return "".join(f"q{i} = {n}\n" for i, n in enumerate(numbers))

    forms = {
        "c": form(9, 2, 3, 14, 15),
        "a": 'student = "a"\n' + form(1, 2, 3, 4, 5),
        "b": form(1, 2, 3, 4, 6),
        "blank": FORM,
        "wild": "1 +",
    }
    assert answers.alike(forms) == [Pair("a", "b", 0.8)]


def test_an_edit_must_fit_its_question() -> None:
    edit = Edit(answers.FORM, "many", "<many>", "<few>")
    assert "many = <few>" in answers.edited("many = <many>\nfew = <few>\n", edit)
    with pytest.raises(BadLab, match="many does not contain"):
        answers.edited("many = 1\n", edit)
    with pytest.raises(BadLab, match="all does not contain"):
        answers.edited("many = <many>\n", replace(edit, function="all"))


def test_answers_are_not_carried_on_to_later_labs() -> None:
    assert tree.sources_before(named("delayed-write")) == ()
    assert tree.sources_before(named("smooth")) == tuple(sorted(named("delayed-write").files))


def test_a_student_gets_a_form_of_their_own_and_no_solution(tmp_path: Path) -> None:
    lab = named(LAB)
    tree.skeleton(lab, tmp_path, {}, WHO)
    folder = tmp_path / "grade" / "labs" / LAB
    assert f'student = "{WHO}"' in (tmp_path / answers.FORM).read_text()
    assert not (folder / answers.SOLUTION).exists()
    checks = json.loads((folder / answers.CHECKS).read_text())
    known = answers.solution(lab.folder, lab.reference, WHO)
    assert checks["right"].keys() <= known.keys()
    for question, seen in checks["right"].items():
        assert seen == answers.slowly(WHO, question, known[question])


@pytest.mark.parametrize("who", ["ada", "Eva Müller", WHO])
def test_the_first_blocks_image_and_trace_tell_the_same(who: str, tmp_path: Path) -> None:
    """The reads that the trace shows are of the blocks that the image leads to, in that order."""
    scene = module(named(LAB).folder / "scene.py")
    run = scene.run(bench_of(FORM, tmp_path), who)
    known = answers.solution(named(LAB).folder, KERNEL, who)
    inside = range(run.beacon(1), run.beacon(2))
    came = [r.sector // 8 for r in run.data(write=False) if r.queued_ns in inside]
    assert came[-3:] == [known[q] for q in ("double_indirect", "indirect", "data_block")]
    assert len(came) == known["requests"]
    book = scene.task(who).book
    assert f"Inode: {known['inode']} " in debugfs(run.folder / "data.img", f"stat {book}")
    assert known["waited_ns"] > known["response_ns"] > known["service_ns"]
