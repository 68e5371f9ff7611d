"""No function of the host code has a name that says nothing. forbidden_names.toml has the words."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.host.paths import ROOT

pytestmark = pytest.mark.check

COMMANDS = {"verb", "command", "callback"}  # decorators of commands
FOLDERS = ("sluice", "grade", "tools", "book")
WORDS = tomllib.loads(Path(__file__).with_name("forbidden_names.toml").read_text(encoding="utf-8"))
NAMES = {name: kind for kind, text in WORDS["names"].items() for name in text.split()}
BEGINNINGS = {word: kind for kind, text in WORDS["beginnings"].items() for word in text.split()}


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is a command of the command line, which has the function's name."""
    calls = [d.func if isinstance(d, ast.Call) else d for d in function.decorator_list]
    names = [getattr(call, "attr", getattr(call, "id", "")) for call in calls]
    return bool(COMMANDS & {*names})


def function_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each function and method in a source text, except commands."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_command(node):
            yield node.lineno, node.name


def reason(name: str) -> str:
    """Return why a function may not have this name, or ""."""
    plain = name.strip("_")
    first, several, _ = plain.partition("_")
    kind = NAMES.get(plain) or (BEGINNINGS.get(first) if several else BEGINNINGS.get(plain))
    return WORDS["reasons"][kind] if kind else ""


def complaints(folder: Path) -> list[str]:
    """Return a line for each forbidden name in the Python files of a folder."""
    return [
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}: {name}: {why}"
        for path in sorted(folder.rglob("*.py"))
        if not path.is_relative_to(ROOT / "grade/labs")  # names of tests, which state a property
        for line, name in function_names(path.read_text(encoding="utf-8"))
        if (why := reason(name))
    ]


@pytest.mark.native
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_function_has_a_name_that_says_what_it_does(folder: str) -> None:
    assert complaints(ROOT / folder) == []


@pytest.mark.native
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("told", "participle"),
        ("_told", "participle"),
        ("both", "pronoun"),
        ("do", "vague"),
        ("of_trace", "preposition"),
        ("within", "preposition"),
    ],
)
def test_a_forbidden_name_is_reported_with_its_line_and_the_reason(
    name: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / "module.py").write_text(f"x = 1\n\n\nclass A:\n    def {name}(self): ...\n")
    assert complaints(tmp_path) == [f"{tmp_path}/module.py:5: {name}: {WORDS['reasons'][kind]}"]


@pytest.mark.native
@pytest.mark.parametrize(
    "name", ["median", "build_table", "__init__", "response_times", "is_whole"]
)
def test_verbs_and_nouns_are_good_names(name: str) -> None:
    assert not reason(name)
