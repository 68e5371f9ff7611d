"""`make newlab` makes a lab that passes its own proof, and the book's page builds the same lab.

The template (LAB) is a whole small lab; a new lab is a copy of it under another name. Page: the
book's page on adding a lab, which shows each file. The last part checks that the reference page for
writers of tests describes all that a test may use.
"""

import ast
import re
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from textwrap import dedent
from types import FunctionType

import pytest
from test_labs import build_kernel_of
from trees import make

from book.ext import labtests
from book.ext.inventory import BadSource
from grade.definition.lab import (
    FULL,
    LABS,
    BadLab,
    load_attacks,
    load_lab,
    load_labs,
    load_mistakes,
)
from grade.engine import grading, template, tree
from grade.engine.assertions import Slide, Tally
from grade.engine.record import Record
from grade.engine.scenario import Request, Run, Scenario, Write
from sluice.host.paths import ROOT
from sluice.system.trace import Event

pytestmark = pytest.mark.skipif(not template.TEMPLATE.exists(), reason="a student's tree")
PAGE = ROOT / "book/pages/adding/lab.md"
NAME = "my-lab"
CAPTION = rf":caption: grade/labs/{NAME}/(\S+)\n(?::dedent: 4\n)?"
FILE = re.compile(rf"^```{{code-block}} \w+\n{CAPTION}\n(.*?\n)```$", re.M | re.S)
NONCE = "7"


def list_tree(folder: Path) -> set[Path]:
    """Return all files and folders in a folder, except Python's caches."""
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts}


# ---- names ----


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("elevator", "grade/labs/elevator exists already"),
        ("My_Lab", "letters a-z, digits"),
        ("2nd", "begins with a letter"),
        ("../out", "letters a-z, digits"),
        ("", "letters a-z, digits"),
        ("staff", "no student's tree has a folder of this name"),
        ("build", "no student's tree has a folder of this name"),
    ],
)
def test_a_bad_name_is_an_error_that_changes_nothing(name: str, says: str) -> None:
    """No folder is made in grade/labs."""
    before = list_tree(LABS)
    with pytest.raises(BadLab, match=says):
        template.make_lab(name)
    assert list_tree(LABS) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("newlab",), "Missing argument 'NAME'"),
        (("test", "LAB=nonesuch"), "LAB=nonesuch: must be one of crash "),
        (("grade", "LAB=elevater"), 'elevater: there is no such lab; did you mean "elevator"?'),
        (("skeleton", "LAB=a b", "OUT=x"), "a b: there is no such lab; "),
        (("solution", "LAB=elevator"), "Missing option '--out'"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_built(
    words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """words: what is typed after make. No compiler ran."""
    monkeypatch.setenv("NAME", "computer")  # WSL sets it
    said = make(ROOT, "SETUP=no", *words, check=False)
    assert said.returncode != 0
    assert says in said.stdout
    assert "CC " not in said.stdout


# ---- the new lab ----

LAB = load_lab(template.TEMPLATE) if template.TEMPLATE.exists() else None
ORDER = 1 + max(lab.order for lab in load_labs())


def template_files(folder: Path) -> dict[str, str]:
    """Return the files of a lab, as they are for a new one of this name."""
    return {
        str(path.relative_to(folder)): template.fill_in(path.read_text(), NAME, ORDER)
        for path in list_tree(folder)
        if path.is_file()
    }


def test_a_new_lab_is_the_template_under_its_name_and_the_last_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "LABS", tmp_path)
    folder = template.make_lab(NAME)
    assert (load_lab(folder).name, load_lab(folder).order) == (NAME, ORDER)
    assert f"make grade LAB={NAME}" in (folder / "handout.md").read_text()
    assert template_files(folder) == template_files(template.TEMPLATE)


def test_the_page_builds_the_lab_that_newlab_makes() -> None:
    """The page's code blocks are the template's files."""
    shown = {file: dedent(text) for file, text in FILE.findall(PAGE.read_text())}
    assert shown == template_files(template.TEMPLATE)


def grade_template(files: dict[str, str], folder: Path, only: str = "") -> Record:
    """Return what the template's tests say of these files, as those of test_labs do for labs."""
    return grading.grade_submission(LAB, lambda: files, folder, NONCE, "make grade", only)


def test_the_solution_of_a_new_lab_has_all_points_and_what_is_handed_out_none(
    tmp_path: Path,
) -> None:
    """What is handed out is the solution without the function that the student writes (a hole)."""
    solved = grade_template(tree.solution_files(LAB), tmp_path / "solved")
    assert (solved.status, solved.score) == ("graded", FULL), solved.tests
    handed_out = grade_template(tree.cut_hole(LAB.holes[0]), tmp_path / "handed-out")
    assert (handed_out.status, handed_out.score) == ("graded", 0), handed_out.tests


def test_in_a_students_tree_what_is_handed_out_has_no_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a student's tree the holes of other labs are open, too, except of labs that it needs."""
    kernel = build_kernel_of(tree.cut_holes(LAB, {}, frozenset(LAB.needs)), tmp_path)
    monkeypatch.setattr(grading, "build_kernel", lambda *_: kernel)
    visible = ",".join(group.name for group in LAB.groups if not group.hidden)
    record = grade_template(tree.cut_hole(LAB.holes[0]), tmp_path, visible)
    assert (record.status, record.score) == ("graded", 0), record.tests


def test_a_new_lab_has_mistakes_for_each_group_and_an_attack_that_loses(tmp_path: Path) -> None:
    """`make test LAB=NAME` tries all mistakes; here is one, and the attack."""
    groups = {group.name: group.points for group in LAB.groups}
    assert set().union(*(mistake.loses for mistake in load_mistakes(LAB))) == groups.keys()
    mistake = next(one for one in load_mistakes(LAB) if one.name == "waits")
    record = grade_template(tree.solution_files(LAB, mistake.edits), tmp_path / "wrong")
    lost = {group.name for group in record.groups if group.points < group.most}
    assert lost == mistake.loses
    [attack] = load_attacks(LAB)
    record = grade_template(tree.solution_files(LAB, attack.edits), tmp_path / "attack")
    assert record.score <= attack.most
    assert attack.named in "".join(test.expected for test in record.tests)


# ---- what a test may ask ----


def shows(name: str) -> bool:
    """Return whether the reference page shows this name as code."""
    codes = " ".join(re.findall(r"`([^`]+)`", labtests.format_page()))
    return bool(re.search(rf"\b{name}\b", codes))


@pytest.mark.parametrize("kind", [Scenario, Run, Request, Write, Slide, Tally])
def test_the_list_of_what_a_test_may_ask_has_every_field(kind: type) -> None:
    every = getattr(kind, "_fields", None) or [field.name for field in fields(kind)]
    names = [name for name in every if name != "setting"]
    assert names and all(map(shows, names))


@pytest.mark.parametrize("kind", [Run, Request])
def test_the_list_of_what_a_test_may_ask_has_every_question(kind: type) -> None:
    """The page shows each public property and method of Run and Request, and each field of
    Event."""
    questions = (property, cached_property, FunctionType)
    names = [n for n, v in vars(kind).items() if isinstance(v, questions) and n[0] != "_"]
    assert names and all(map(shows, names))
    assert all(map(shows, Event._fields))


def test_a_field_that_nobody_described_is_named() -> None:
    text = 'class Scenario:\n    """Work. a: the first."""\n\n    a: int\n    b: int\n'
    with pytest.raises(BadSource, match="does not say what b is"):
        labtests.format_definition(ast.parse(text).body[0], "a file")


def test_a_question_that_nobody_described_is_named() -> None:
    text = 'class Run:\n    """Seen."""\n\n    def oldest(self):\n        return 1\n'
    with pytest.raises(BadSource, match="oldest has no docstring"):
        labtests.format_definition(ast.parse(text).body[0], "a file")
