"""`make newlab` makes a lab that passes its own proof, and the book's page builds the same lab."""

import ast
import re
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from types import FunctionType

import pytest
from trees import copy_of_tree, make

from grade.book import labtests
from grade.book.inventory import BadSource
from grade.host.paths import ROOT
from grade.machine.trace import Event
from grade.scoring import template
from grade.scoring.assertions import Slide
from grade.scoring.lab import LABS, BadLab, labs
from grade.scoring.scenario import Request, Run, Scenario, Write

pytestmark = pytest.mark.skipif(not template.TEMPLATE.exists(), reason="a student's tree")
PAGE = ROOT / "grade/book/pages/adding/lab.md"
NAME = "my-lab"
CAPTION = rf":caption: grade/labs/{NAME}/(\S+)"
FILE = re.compile(rf"^```{{code-block}} \w+\n{CAPTION}\n\n(.*?\n)```$", re.M | re.S)


def there(folder: Path) -> set[Path]:
    """All files and folders in a folder, but what Python makes of its own."""
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
    before = there(LABS)
    with pytest.raises(BadLab, match=says):
        template.new_lab(name)
    assert there(LABS) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("newlab",), "newlab lacks NAME: give the new lab's name"),
        (("test", "LAB=nonesuch"), "LAB=nonesuch: there is no such lab; they are "),
        (("solution", "LAB=elevator"), "solution lacks OUT: give the folder to be made"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_built(
    words: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAME", "computer")  # WSL sets it
    said = make(ROOT, "SETUP=no", *words, check=False)
    assert said.returncode != 0
    assert says in said.stdout
    assert "CC " not in said.stdout


# ---- the new lab ----


def test_a_new_lab_passes_its_own_proof(tmp_path: Path) -> None:
    """In the quick form, in a copy of the tree; the lab is the last in order."""
    tree = copy_of_tree(tmp_path)
    said = make(tree, "SETUP=no", "newlab", f"NAME={NAME}").stdout
    assert f"make test LAB={NAME}" in said
    assert (
        f"order = {1 + max(lab.order for lab in labs())}\n"
        in (tree / "grade/labs" / NAME / "lab.toml").read_text()
    )
    proof = make(tree, "SETUP=no", "test", f"LAB={NAME}", "FULL=0", "JOBS=1", check=False)
    assert proof.returncode == 0, proof.stdout[-3000:]
    # The solution, the skeleton, whether mistakes suffice, five of them, an attack.
    assert len(re.findall(r"\.", proof.stdout.partition("[100%]")[0].splitlines()[-1])) == 9


def test_the_page_builds_the_lab_that_newlab_makes() -> None:
    order = 1 + max(lab.order for lab in labs())
    shown = dict(FILE.findall(PAGE.read_text()))
    made = {
        str(path.relative_to(template.TEMPLATE)): path.read_text()
        .replace(template.NAME, NAME)
        .replace(template.ORDER, str(order))
        for path in template.TEMPLATE.rglob("*.*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert shown == made


# ---- what a test may ask ----


def shows(name: str) -> bool:
    """Does the reference page show this name as code?"""
    codes = " ".join(re.findall(r"`([^`]+)`", labtests.page()))
    return bool(re.search(rf"\b{name}\b", codes))


@pytest.mark.parametrize("kind", [Scenario, Run, Request, Write, Slide])
def test_the_list_of_what_a_test_may_ask_has_every_field(kind: type) -> None:
    names = [field.name for field in fields(kind) if field.name != "setting"]
    assert names and all(map(shows, names))


@pytest.mark.parametrize("kind", [Run, Request])
def test_the_list_of_what_a_test_may_ask_has_every_question(kind: type) -> None:
    questions = (property, cached_property, FunctionType)
    names = [n for n, v in vars(kind).items() if isinstance(v, questions) and n[0] != "_"]
    assert names and all(map(shows, names))
    assert all(map(shows, Event._fields))


def test_a_field_that_nobody_described_is_named() -> None:
    text = 'class Scenario:\n    """Work. a: the first."""\n\n    a: int\n    b: int\n'
    with pytest.raises(BadSource, match="does not say what b is"):
        labtests.shown(ast.parse(text).body[0], "a file")


def test_a_question_that_nobody_described_is_named() -> None:
    text = 'class Run:\n    """Seen."""\n\n    def oldest(self):\n        return 1\n'
    with pytest.raises(BadSource, match="oldest has no docstring"):
        labtests.shown(ast.parse(text).body[0], "a file")
