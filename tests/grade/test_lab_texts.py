"""The texts of each lab for students: handout, chapter of the book, hints, and the worked example.

The texts refer to each other, hints lead step by step, none of them has the solution, the examples
are what runs print, and the tree that is handed out has all of this and no answers. A worked
example has two texts: what a run prints with the handed-out functions (before.txt), and with the
solution (after.txt). A statement is C code of at least LONG letters without blanks.
"""

import re
from functools import cache
from pathlib import Path

import pytest
from compiled import made_by_that_of_texts, shape
from whole import WHOLE

from book.ext.build import PAGES
from grade.cli import worked_example
from grade.code import source
from grade.definition.lab import ATTACKS, GIVEN, WRONG, Lab, load_labs
from grade.engine import answers, example, tree
from sluice.host.paths import ROOT

# A lab that has just been begun has none of these texts.
BEGUN = ("hints.md", "example.py")
LABS = [
    lab
    for lab in load_labs()
    if not lab.handed_out and any((lab.folder / name).exists() for name in BEGUN)
]
HINT = re.compile(r"<details>\n<summary>(\d)\. [^<\n]+</summary>\n\n(.+?)\n\n</details>", re.S)
TASK = re.compile(r"^## (.+)$", re.M)
HINTS_LEAST = 2  # each task has so many at least
LONG = 28  # letters of a statement that is not there by chance
TEXTS = {".c", ".h", ".md", ".py", ".toml", ".txt", ".S", ".sh", ".svg", ".json", ""}
STUDENT_SEES = {
    *("handout.md", "hints.md", "lab.toml", "tests", "start", "reference.elf"),
    *("example.py", "before.txt", "after.txt", "calls.txt", "defines.txt"),
    *(answers.FORM, answers.CHECKS, tree.GIVEN_KERNEL),
}
NOT_HANDED_OUT = {"hidden", WRONG, ATTACKS, GIVEN, answers.SOLUTION, "__pycache__"}

each_lab = pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)


def chapter(lab: Lab) -> Path:
    """Return the path of the lab's chapter in the book."""
    return PAGES / "labs" / f"{lab.name}.md"


def remove_blanks(text: str) -> str:
    """Return text without blanks, so that its layout does not matter."""
    return re.sub(r"\s+", "", text)


# ---- the texts refer to each other ----


@each_lab
def test_a_lab_and_its_chapter_lead_to_each_other_and_to_the_hints(lab: Lab) -> None:
    """The chapter shows the handout's lab, the hints, the example and a drawing by directives."""
    handout, text = (lab.folder / "handout.md").read_text(), chapter(lab).read_text()
    assert f"(../../../book/pages/labs/{lab.name}.md)" in handout
    assert "(hints.md)" in handout
    assert f"```{{lab}} {lab.name}\n" in text
    assert f"(hints-{lab.name})=\n" in text and f"```{{hints}} {lab.name}\n" in text
    assert f"```{{example}} {lab.name} after\n" in text
    assert (f"```{{example}} {lab.name} before\n" in text) == bool(lab.holes)
    assert "```{drawing} drawings/labs/" in text


@each_lab
def test_a_handout_says_what_to_know_before_and_how_difficult_each_task_is(lab: Lab) -> None:
    """A table has at least two tasks with their difficulty."""
    handout = (lab.folder / "handout.md").read_text()
    assert "**Before you begin**" in handout
    rows = handout.partition("| task | difficulty |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) >= 2
    assert all(re.match(r"\| [^|]+ \| (easy|medium|hard)\b", row) for row in rows), rows


def test_the_books_list_of_labs_has_each_in_its_order() -> None:
    """The table and the table of contents of the book's page."""
    text = (PAGES / "labs" / "index.md").read_text()
    names = [lab.name for lab in LABS]
    assert re.findall(r"^\| \{doc\}`([\w-]+)`", text, re.M) == names
    assert text.partition("{toctree}")[2].split()[1:-1] == names


# ---- hints ----


@each_lab
def test_hints_lead_step_by_step_for_each_task(lab: Lab) -> None:
    """There are at least four tasks, each with hints numbered from 1."""
    text = (lab.folder / "hints.md").read_text()
    tasks = TASK.split(text)[1:]
    assert len(tasks) >= 4
    for name, body in zip(tasks[::2], tasks[1::2], strict=True):
        numbers = [int(number) for number, _ in HINT.findall(body)]
        assert numbers == list(range(1, len(numbers) + 1)), name
        assert len(numbers) >= HINTS_LEAST, name
        assert len(numbers) == body.count("<details>") == body.count("</details>"), name


# ---- no answers ----


def find_statements(code: str) -> set[str]:
    """Return the statements and conditions of C code that are not there by chance, without
    blanks."""
    found = (
        remove_blanks(line) for line in re.split(r"[;{}]|\breturn\b", source.blank_comments(code))
    )
    return {line for line in found if len(line) >= LONG}


def make_holes(lab: Lab) -> dict[str, str]:
    """Return the lab's files with its holes."""
    made: dict[str, str] = {}
    for hole in lab.holes:
        made |= tree.cut_hole(hole, made.get(hole.file))
    return made


@cache
def own_statements() -> dict[str, set[str]]:
    """Return the statements that only the solution has, by the lab's name."""
    found: dict[str, set[str]] = {lab.name: set() for lab in LABS}
    for one in LABS:
        cut = make_holes(one)
        given = remove_blanks("".join(cut.values()))
        for file in cut.keys() - one.new.keys():
            found[one.name] |= {
                line for line in find_statements(tree.pristine_text(file)) if line not in given
            }
    return found


def statements(lab: Lab) -> set[str]:
    """Return the statements that a student of this lab may not see: its own, and those of the labs
    after it."""
    return set().union(
        *(own_statements()[other.name] for other in LABS if other.order >= lab.order)
    )


@each_lab
def test_no_text_for_students_has_a_statement_of_the_solution(lab: Lab) -> None:
    """Handout, hints and chapter, and the solutions of this lab and all later ones."""
    for path in (lab.folder / "handout.md", lab.folder / "hints.md", chapter(lab)):
        text = remove_blanks(path.read_text())
        assert not [line for line in statements(lab) if line in text], path


# ---- worked examples ----


@each_lab
def test_an_example_is_what_a_run_prints(lab: Lab, tmp_path: Path) -> None:
    """FULL=1 also makes the handed-out kernel's example, for which that kernel must be built. If
    another compiler made this kernel than the compiler of the example, figures may differ."""
    made = example.expected_texts(lab, tmp_path) if WHOLE else {}
    made = made or {example.AFTER: example.describe_solution(lab, tmp_path)}
    for name, text in made.items():
        kept = (lab.folder / name).read_text()
        if kept == text:
            continue
        if not made_by_that_of_texts():
            kept, text = shape(kept), shape(text)
        assert kept == text, f"make example LAB={lab.name} OUT=grade/labs/{lab.name}"


@each_lab
def test_an_example_shows_a_difference(lab: Lab) -> None:
    """Only a lab with holes has a text of the run before."""
    before, after = (lab.folder / name for name in (example.BEFORE, example.AFTER))
    assert before.exists() == bool(lab.holes)
    assert not lab.holes or before.read_text() != after.read_text()


@pytest.mark.parametrize("left", [True, False])
def test_where_functions_of_other_labs_are_missing_an_example_says_so(
    left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Missing functions (left) may change a run although the student's functions are right.
    differs: the run does not print the solution's text."""
    lab = LABS[0]
    solved = (lab.folder / example.AFTER).read_text()
    monkeypatch.setattr(worked_example, "ROOT", tmp_path)
    if left:
        (tmp_path / tree.UNSOLVED).parent.mkdir(parents=True)
        (tmp_path / tree.UNSOLVED).touch()
    for mine, differs in ((solved, False), ("other\n", True)):
        monkeypatch.setattr(example, "describe_kernel", lambda *_, mine=mine: mine)
        worked_example.print_example(lab, tmp_path)
        said = capsys.readouterr().out
        assert ("the solution does the same" in said) != differs
        assert (tree.UNSOLVED in said) == (left and differs)


# ---- what is handed out ----


@cache
def leaks(text: str) -> frozenset[str]:
    """Return the statements of any lab's solution in a text."""
    words = remove_blanks(text)
    return frozenset(line for line in statements(LABS[0]) if line in words)


def is_own_source(path: Path, lab: Lab) -> bool:
    """True if this is C of the tree that the lab is not about. Another policy may do what a
    solution does."""
    return (
        path.parts[0] in ("kernel", "policies", "drives", "user", "mkfs")
        and str(path) not in lab.files
    )


def texts_in(out: Path) -> dict[Path, str]:
    """Return the texts of a tree, by their paths in it."""
    files = {path.relative_to(out): path for path in out.rglob("*") if path.suffix in TEXTS}
    return {
        name: path.read_text(errors="replace")
        for name, path in files.items()
        if path.is_file() and name.parts[0] != ".git"
    }


@each_lab
def test_what_is_handed_out_has_all_texts_and_no_answers(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of the lab's files are known, and no text has a statement of the solution."""
    monkeypatch.setattr(
        answers, "format_checks", lambda *_: "{}"
    )  # takes a run of a machine, and gdb
    tree.make_skeleton(lab, tmp_path, {}, tree.SAMPLE_STUDENT)
    folder = lab.folder.relative_to(ROOT)
    own = {path.name for path in lab.folder.iterdir()} - NOT_HANDED_OUT
    there = {path.name for path in (tmp_path / folder).iterdir()}
    assert there <= STUDENT_SEES | {name for name in own if name.endswith(".py")}
    assert there >= {"handout.md", "hints.md", "example.py", "after.txt"}
    assert (tmp_path / chapter(lab).relative_to(ROOT)).exists()
    found = {
        str(path): leaks(text) & statements(lab)
        for path, text in texts_in(tmp_path).items()
        if not is_own_source(path, lab)
    }
    assert not {path: lines for path, lines in found.items() if lines}
