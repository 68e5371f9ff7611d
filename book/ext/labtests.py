"""Describe what a lab's test may ask, from the scoring library's docstrings, without running it.

A class is shown by its docstring, its fields and its public methods. A docstring describes fields
as `NAME: words; NAME: words`. A public method without a docstring is an error (BadSource), and so
is a field of a class in DESCRIBED that its docstring leaves out.
"""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from book.ext.inventory import BadSource
from book.ext.markdown import escape, format_table
from sluice.host.paths import ROOT

DESCRIBED = ("Scenario", "Run", "Slide", "Tally")
INTERNAL = {"Scenario": ("setting",)}  # fields that a test does not give
FIELDLESS = ("Workbench",)  # its fields are the grader's
# Of these classes, a test calls only these methods.
ASKED = {"Workbench": ("random", "run", "reference"), "Scenario": (), "Slide": (), "Tally": ()}
FIELD = re.compile(r"(?:^|[;.] )(\w+): ")

# Heading, file, and the classes and functions of it.
SECTIONS = (
    ("The bench", "grade/engine/workbench.py", ("Workbench",)),
    ("A scenario", "grade/engine/scenario.py", ("Scenario",)),
    ("A run", "grade/engine/scenario.py", ("Run",)),
    ("Requests and writes", "grade/engine/scenario.py", ("Request", "Write")),
    ("Events", "sluice/system/trace.py", ("Event",)),
    ("What a test says", "grade/engine/assertions.py", ("expect", "Wrong", "Slide", "Tally")),
    ("Questions with numbers", "grade/engine/answers.py", ("student", "number", "expect_right")),
)


@dataclass(frozen=True)
class Member:
    """A field or a method.

    value: a field's default, or "" if it must be given.
    """

    name: str
    shown: str
    about: str
    value: str = ""


@cache
def definitions(path: Path) -> dict[str, ast.ClassDef | ast.FunctionDef]:
    """Return the classes and functions of a file, by name."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


def docstring_line(node: ast.ClassDef | ast.FunctionDef, where: str) -> str:
    """Return the docstring, on one line. Raises BadSource if there is none."""
    text = ast.get_docstring(node)
    if not text:
        raise BadSource(f"{where}: {node.name} has no docstring, and tests of labs may use it")
    return " ".join(text.split())


def field_descriptions(node: ast.ClassDef, where: str) -> dict[str, str]:
    """Return what a class's docstring says about each field, by the field's name.

    Raises BadSource if one of the classes in DESCRIBED does not say it of a field.
    """
    # The docstring is split at each "name:": text before the first one, name, text, name, text ...
    parts = FIELD.split(" ".join((ast.get_docstring(node) or "").split()))
    names = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign)}
    found = {n: text.rstrip(".;") for n, text in zip(parts[1::2], parts[2::2], strict=True)}
    missing = names - found.keys() - set(INTERNAL.get(node.name, ()))
    if missing and node.name in DESCRIBED:
        name = min(missing)
        raise BadSource(f"{where}: the docstring of {node.name} does not say what {name} is")
    return {name: text for name, text in found.items() if name in names}


def field_default(field: ast.AnnAssign) -> str:
    """Return the default of a field; "" if it must be given."""
    value = ast.unparse(field.value) if field.value else ""
    return "" if value.startswith("field(") else value


def test_fields(node: ast.ClassDef, where: str) -> list[Member]:
    """Return the fields of a dataclass that a test gives or asks for."""
    said = field_descriptions(node, where)
    hidden = INTERNAL.get(node.name, ())
    if node.name in FIELDLESS:
        return []
    return [
        Member(
            field.target.id,
            f"{field.target.id}: {ast.unparse(field.annotation)}",
            said.get(field.target.id, ""),
            field_default(field),
        )
        for field in node.body
        if isinstance(field, ast.AnnAssign) and field.target.id not in hidden
    ]


def call_form(node: ast.FunctionDef) -> str:
    """Return how a function or method is called; of a property, its name."""
    if any("property" in ast.unparse(mark) for mark in node.decorator_list):
        return node.name
    words = [arg for arg in ast.unparse(node.args).split(", ") if arg != "self"]
    return f"{node.name}({', '.join(words)})"


def test_methods(node: ast.ClassDef, where: str) -> list[Member]:
    """Return the public methods and properties that a test asks."""
    return [
        Member(one.name, call_form(one), docstring_line(one, where))
        for one in node.body
        if isinstance(one, ast.FunctionDef)
        and not one.name.startswith("_")
        and one.name in ASKED.get(node.name, (one.name,))
    ]


def field_table(rows: list[Member]) -> str:
    """Return fields with their defaults and meanings; a list of names if they have neither."""
    if not any(row.about or row.value for row in rows):
        return "Fields: " + ", ".join(f"`{row.shown}`" for row in rows) + ".\n"
    heads = ["field", "what it is", "unless given"]
    cells = [[f"`{m.shown}`", escape(m.about), m.value and f"`{m.value}`"] for m in rows]
    width = 3 if any(row.value for row in rows) else 2  # columns: no defaults, none for them
    return format_table(heads[:width], (row[:width] for row in cells))


def format_definition(node: ast.ClassDef | ast.FunctionDef, where: str) -> str:
    """Return a class or function as Markdown."""
    text = docstring_line(node, where)
    if isinstance(node, ast.FunctionDef):
        return f"### `{call_form(node)}`\n\n{escape(text)}\n"
    head = FIELD.split(text)[0].rstrip(".") if node.name in DESCRIBED else text.rstrip(".")
    own = test_fields(node, where)
    asked = [[f"`{m.shown}`", escape(m.about)] for m in test_methods(node, where)]
    parts = [f"### `{node.name}`\n\n{escape(head)}.\n"]
    parts += [field_table(own)] if own else []
    parts += [format_table(("ask", "answer"), asked)] if asked else []
    return "\n".join(parts)


def format_sections() -> list[str]:
    """Return each section as Markdown."""
    found = []
    for heading, file, names in SECTIONS:
        there = definitions(ROOT / file)
        for name in names:
            if name not in there:
                raise BadSource(f"{file} has no {name}, which tests of labs may use")
        entries = [format_definition(there[name], file) for name in names]
        found.append("\n".join([f"## {heading}\n", f"From {{file}}`{file}`.\n", *entries]))
    return found


def format_page() -> str:
    """Return the page as Markdown."""
    return "\n".join(
        [
            "# What a lab's test may ask\n",
            "A test of a lab is a public function with one argument, `bench`. "
            "{doc}`/adding/lab` builds a lab step by step; this page lists all that its tests "
            "can say and ask. `run.events` has all events of the trace ({doc}`events`), "
            'and `run.events.named("flush")` those with a name, each with its number. '
            "Times are in nanoseconds of virtual time unless a name says otherwise.\n",
            *format_sections(),
        ]
    )
