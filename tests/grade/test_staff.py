"""The staff's pages: complete, true as far as a program can tell, and in no student's tree.

Each lab of the course (LABS) has the pages answers, rubric and exam in its folder staff/. A page
has numbered sections; an exam's question has an answer and its evidence: words (a Proof) that must
stand in a file of the tree. calendar.md says which lab comes when.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import exam_figures
import pytest

from grade.course import bundle, release
from grade.definition.lab import BadLab, Lab, find_lab, load_labs
from grade.engine import tree
from sluice.host.paths import ROOT
from sluice.system import image
from sluice.system.image import Content

STAFF = ROOT / "grade" / "staff"
CALENDAR = (STAFF / "calendar.md").read_text() if STAFF.exists() else ""
# the labs in the course's calendar
LABS = [lab for lab in load_labs() if f"`{lab.name}`" in CALENDAR]
pytestmark = pytest.mark.skipif(not STAFF.exists(), reason="a student's tree has none of it")
EXAM_QUESTIONS = 10
ANSWER = "**Answer.**"
SECTION = re.compile(r"^## (\d+)\. (.*)$", re.M)
EVIDENCE = re.compile(r"^Evidence: (.*?)(?=\n\n|\Z)", re.M | re.S)
PROOF = re.compile(r"`([^`]+)`\s+\(((?:`[^`]+`(?:,\s+)?)+)\)")  # `file` (`words`, `words`)
# As handouts say it. A day counts as eight hours.
HOURS = {"an hour": 1, "an hour and a half": 1.5, "a day": 8, "a weekend": 16}
HOURS |= {f"{word} hours": n for n, word in enumerate(("three", "four", "five", "six"), 3)}
HOURS |= {"two hours": 2, "eight hours": 8}

each_lab = pytest.mark.parametrize("lab", [pytest.param(lab, id=lab.name) for lab in LABS])


def one_line(text: str) -> str:
    """Return the text on one line, without what begins the lines of a comment."""
    return " ".join(re.sub(r"^[ \t]*(\*|#)[ \t]", " ", text, flags=re.M).split())


def sections(path: Path) -> dict[int, str]:
    """Return the numbered sections of a page, each with its heading."""
    parts = SECTION.split(path.read_text())[1:]
    return {int(n): f"{head}\n{body}" for n, head, body in zip(*[iter(parts)] * 3, strict=True)}


def asked_in_handout(lab: Lab) -> list[str]:
    """Return the questions of a handout's last section."""
    text = (lab.folder / "handout.md").read_text().partition("## To think about")[2]
    return [one_line(question) for question in re.split(r"^\d+\. ", text, flags=re.M)[1:]]


def model_answers(lab: Lab) -> Path:
    """Return the path of the lab's page of answers."""
    return lab.folder / "staff" / "answers.md"


# ---- complete ----


@each_lab
def test_every_lab_of_the_course_has_its_pages(lab: Lab) -> None:
    there = {path.name for path in (lab.folder / "staff").iterdir()}
    assert there >= {"answers.md", "rubric.md", "exam.md"}


@each_lab
def test_each_question_of_the_handout_has_a_model_answer(lab: Lab) -> None:
    """The sections of the page are the handout's questions, word for word."""
    answered = [text.partition("\n")[0] for text in sections(model_answers(lab)).values()]
    assert answered == asked_in_handout(lab) != []


@each_lab
def test_an_exam_has_ten_questions_each_with_answer_and_evidence(lab: Lab) -> None:
    """The page has a section for each number; EVIDENCE is where the answer can be checked."""
    found = sections(lab.folder / "staff" / "exam.md")
    assert list(found) == list(range(1, EXAM_QUESTIONS + 1))
    for number, text in found.items():
        assert ANSWER in text and EVIDENCE.search(text), f"{lab.name}: question {number}"


# ---- true ----


@dataclass(frozen=True)
class Proof:
    """Words that must stand in a file."""

    page: str
    file: str
    words: str


def proofs() -> Iterator[Proof]:
    """Yield all that the pages name as evidence."""
    for lab in LABS:
        for path in sorted((lab.folder / "staff").glob("*.md")):
            for evidence in EVIDENCE.findall(path.read_text()):
                for file, words in PROOF.findall(evidence):
                    for word in re.findall(r"`([^`]+)`", words):
                        yield Proof(f"{lab.name}/{path.name}", file, one_line(word))


def lacking(proof: Proof) -> str:
    """Return what is wrong with a proof, or an empty string."""
    path = ROOT / proof.file
    if not path.exists():
        return f"{proof.page}: there is no {proof.file}"
    if proof.words not in one_line(path.read_text()):
        return f"{proof.page}: {proof.file} has no more: {proof.words}"
    return ""


def test_the_evidence_of_each_answer_stands_where_the_page_says() -> None:
    """A proof is a file and words that must be in it."""
    found = list(proofs())
    assert len(found) > 150
    wrong = [lacking(proof) for proof in found if lacking(proof)]
    assert not wrong, "\n".join(wrong)


def test_figures_in_answers_are_those_that_the_rules_give() -> None:
    """exam_figures.py computes the figures by the rules of the drive and of the policies."""
    wrong = []
    for lab, page, question, expected in exam_figures.FIGURES:
        section = one_line(sections(find_lab(lab).folder / "staff" / f"{page}.md")[question])
        answer = section.partition(ANSWER)[2] or section
        wrong += [f"{lab}/{page} {question}: {words}" for words in expected if words not in answer]
    assert not wrong, "\n".join(wrong)
    for computed, said in exam_figures.SAID:
        assert computed == said


@pytest.mark.parametrize(
    ("commands", "status", "says"),
    [
        (["sif /a links_count 2"], 1, "ref count is 2, should be 1.  FIXED"),
        (["ln /a /b"], 1, "ref count is 1, should be 2.  FIXED"),
        (["clri /a"], 1, "has deleted/unused inode"),
        (["unlink /empty"], 1, "Unattached zero-length inode"),
        (
            ["sif /empty mode 040700", "sif /empty links_count 2", "unlink /empty"],  # a husk
            1,
            "is a zero-length directory.  CLEARED",
        ),
        (["unlink /a"], 4, "Unattached inode"),
    ],
)
def test_the_checker_asks_only_about_a_lost_inode_with_contents(
    tmp_path: Path, commands: list[str], status: int, says: str
) -> None:
    """debugfs damages a disk by these commands, and e2fsck -p repairs it (status 1) or stops with a
    question (status 4)."""
    disk, files = tmp_path / "disk.img", {"/a": b"contents", "/empty": b""}
    image.make_image(disk, Content(files=files, programs=False, size="4M"))
    for command in commands:
        image.debugfs(disk, command, write=True)
    line = ["e2fsck", "-f", "-p", disk]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, says in done.stdout) == (status, True), done.stdout


# ---- calendars ----


def lab_hours(lab: Lab) -> float:
    """Return how long the lab takes, by its handout."""
    text = (lab.folder / "handout.md").read_text()
    return HOURS[re.search(r"This lab takes (?:about )?([^.]+)\.", text)[1]]


def rows(text: str) -> list[list[str]]:
    """Return the cells of all tables."""
    return [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


def test_the_calendar_has_each_lab_with_the_hours_of_its_handout() -> None:
    """Six and twelve weeks have the sums of hours that the page gives."""
    text = CALENDAR
    taught = {row[0]: float(row[1]) for row in rows(text.partition("## Six")[0])[1:]}
    assert taught == {lab.name: lab_hours(lab) for lab in LABS}
    for title, total in (("## Six weeks", "18.5"), ("## Twelve weeks", "52.5")):
        part = text.partition(title)[2].partition("\n## ")[0]
        given = [name for row in rows(part)[1:] for name in re.findall(r"[a-z-]+", row[2])]
        assert len(given) == len(set(given)) and set(given) <= taught.keys()
        assert f"{sum(taught[name] for name in given):g}" == total and f"These are {total}" in part


def test_the_calendar_has_each_lab_after_those_that_it_needs() -> None:
    """A lab needs other labs solved in its tree. The calendar may put more labs before it."""
    names = {lab.name: lab for lab in LABS}
    for row in rows(CALENDAR.partition("## Six")[0])[1:]:
        lab = names[row[0]]
        after = names.keys() & set(re.findall(r"[a-z-]+", row[2]))
        assert set(lab.needs) <= after, lab.name
        assert all(names[name].order < lab.order for name in after), lab.name


def test_the_lectures_name_chapters_that_exist() -> None:
    lectures = CALENDAR.partition("## Lectures")[2]
    chapters = [
        name for row in rows(lectures)[1:] for name in re.findall(r"[a-z]+(?:/[\w-]+)?", row[1])
    ]
    assert len(chapters) > 15
    for chapter in chapters:
        assert (ROOT / "book/pages" / f"{chapter}.md").exists(), chapter


# ---- not handed out ----


def test_no_students_tree_and_no_autograder_has_a_page_of_the_staffs(tmp_path: Path) -> None:
    """Neither the skeleton nor the archive for Gradescope."""
    tree.make_skeleton(find_lab("elevator"), tmp_path / "out", {})
    handed_out = [path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*")]
    assert Path("grade/labs/elevator/handout.md") in handed_out
    for path in [*handed_out, *(path.relative_to(ROOT) for path in bundle.list_sources())]:
        assert "staff" not in path.parts, path


def test_no_page_of_the_book_has_a_model_answer() -> None:
    """The first 80 letters of each answer are looked for."""
    pages = "".join(one_line(p.read_text()) for p in ROOT.glob("book/pages/**/*.md"))
    for lab in LABS:
        for page in ("answers", "exam"):
            for text in sections(lab.folder / "staff" / f"{page}.md").values():
                answer = one_line(text.partition("\n")[2].replace(ANSWER, ""))
                assert answer[:80] not in pages, f"{lab.name}: {page}"


# ---- released ----


def test_a_released_solution_has_the_files_the_difference_and_the_model_answers(
    tmp_path: Path,
) -> None:
    """After a lab's end the staff releases the solution's files, a diff from the skeleton, and the
    answers without the notes for the staff."""
    lab = find_lab("elevator")
    made = release.write_release(lab, tmp_path / "out")
    assert made == ["policies/sched/clook.c", "questions.md", "solution.diff"]
    solved = (tmp_path / "out/policies/sched/clook.c").read_text()
    assert solved == tree.pristine_text("policies/sched/clook.c")
    difference = (tmp_path / "out/solution.diff").read_text()
    assert "-    return queue_oldest(q, BOTH);" in difference
    assert "+    return queue_at_or_after(q, BOTH, 0);" in difference
    questions = (tmp_path / "out/questions.md").read_text()
    assert "starve" in questions
    assert "For the staff" not in questions


def test_a_solution_that_differs_by_student_wants_the_name(tmp_path: Path) -> None:
    """The lab first-block."""
    with pytest.raises(BadLab, match="--student"):
        release.write_release(find_lab("first-block"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
