"""Forms of results: each as its platform documents it, whatever came of the grading.

A form is a file for one platform (Gradescope, Autolab, ...) or reader, made from a record by a
module of grade/engine/formats/. `schema_of` is its documented schema, if programs read it. RECORDS
has a record for each status: GRADED has a group `g` with a full and a half test, and a hidden group
`h`. `write` writes a record in all forms.
"""

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from forms import MACHINES, complaints, document, forms, schema_of

from grade.engine import formats
from grade.engine.formats import MOST_SHOWN, classroom50, describe_for_student
from grade.engine.pictures import Curves, Picture
from grade.engine.record import (
    LAB_BROKEN,
    NOT_SCORED,
    OURS,
    GroupResult,
    MadeFrom,
    Outcome,
    Record,
    parse_record,
)

MB = 1_000_000
AGAIN = {
    "reproduce": "make grade LAB=lab SUBMISSION=/staff/x TEST=g.half",
    "debug": "make grade LAB=lab SUBMISSION=/staff/x TEST=g.half GDB=1",
    "at_home": "make grade LAB=lab TEST=g.half",
}
FULL = Outcome("g", "all_is_well", "About it.", False, 40, 40)
HALF = Outcome(
    "g", "half", "Half.", False, 20, 40, "e", "c\0<&", "-*-", True, 1.5, 1, 2, "ms", **AGAIN
)
SECRET = Outcome("h", "secret_thing", "A secret.", True, 0.5, 20, "a secret", "a secret")
FAILED = Outcome("g", "half", "Half.", False, 0, 40, "it to run", "it did not", measured=True)
GROUPS = [GroupResult("g", "G.", False, 60, 80), GroupResult("h", "H.", True, 0.5, 20)]
NOTHING = [replace(group, points=0) for group in GROUPS]

CURVES = Curves("yours", "reads", [[1.5, 100]], [[0, 1]], [[0, 3.5]])
FIRST = Picture("first", False, [replace(CURVES, who="the reference's"), CURVES])
SECOND = Picture("second", True, [CURVES])

HASH = "0123456789abcdef" * 4
VERSIONS = dict.fromkeys(("tree", "commit", "compiler", "linker", "qemu"), "1")
GRADED = Record(
    *("lab", "A lab", "5", "graded", "", 60.5, 100, 0),
    columns=["g.half"],
    groups=GROUPS,
    tests=[replace(FULL, runs=["first"]), HALF, SECRET],
    pictures=[FIRST, SECOND],
    made_from=MadeFrom(
        {"a.c": HASH}, HASH, VERSIONS, HASH, {"first": {"trace": HASH, "console": HASH}}
    ),
)
UNASKED = replace(GRADED, score=0, groups=NOTHING, tests=[], pictures=[])
RECORDS = {
    "graded": GRADED,
    "full": replace(GRADED, score=100, tests=[FULL]),
    "failed": replace(GRADED, score=0, groups=NOTHING, tests=[FAILED]),
    **{
        status: replace(UNASKED, status=status, message="no such word \x01")
        for status in ("refused", "build failed", "lab broken", "not scored")
    },
}
RUNNER = {
    "CLASSROOM": "os",
    "ASSIGNMENT": "elevator",
    "ASSIGNMENT_TYPE": "individual",
    "OWNER": "ada",
    "SUBMISSION_TAG": "submit/2026-11-21T10-00-00Z-abc1234",
    "COMMIT_URL": "https://example.org/c",
    "RELEASE_URL": "https://example.org/r",
    "REVIEW_URL": "https://example.org/c",
    "SUBMITTED_AT": "2026-11-21T11:00:00+01:00",
}

each_record = pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
FORMS = [form for form in forms() if schema_of(form).exists()]
of_machines = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.FILE)


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment that Classroom 50's runner sets."""
    for name, value in RUNNER.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def write(tmp_path: Path, runner: None) -> Callable[[Record], Path]:
    """Return a function that writes a record in all forms and returns the folder."""

    def write_forms(record: Record) -> Path:
        formats.write_all(record, tmp_path)
        return tmp_path

    return write_forms


def test_what_programs_read_has_a_documented_form() -> None:
    """Each form in a format for programs (MACHINES) has a schema."""
    for form in forms():
        assert schema_of(form).exists() or Path(form.FILE).suffix not in MACHINES, form.FILE


@of_machines
def test_what_is_documented_has_its_source(form: ModuleType) -> None:
    """The schema's comment names the platform's page."""
    assert len(json.loads(schema_of(form).read_text())["$comment"]) > 20


@each_record
def test_each_form_is_as_its_platform_documents_it(
    record: Record, write: Callable[[Record], Path]
) -> None:
    """A form may be missing if its module gives none for this record."""
    folder = write(record)
    for form in FORMS:
        path = folder / form.FILE
        if path.exists():
            assert not complaints(form, path)
            assert path.stat().st_size < MB, form.FILE
        else:
            assert form.text(record) is None, form.FILE


@of_machines
def test_what_is_not_as_documented_is_noticed(
    form: ModuleType, write: Callable[[Record], Path]
) -> None:
    """One name in each form is misspelled."""
    path = write(GRADED) / form.FILE
    bad = path.read_text()
    for old in ('"score"', '"scores"', '"scoreboard"', '"version"', 'tests="3"', "lab,status"):
        bad = bad.replace(old, old.replace("s", "z", 1))
    path.write_text(bad)
    assert complaints(form, path)


@pytest.mark.parametrize("name", [name for name, record in RECORDS.items() if record.has_score])
def test_no_form_gives_more_than_was_earned(name: str, write: Callable[[Record], Path]) -> None:
    """Some platforms take whole numbers or shares; rounding never adds."""
    record = RECORDS[name]
    folder = write(record)
    share = record.score / record.most
    gradescope = document(folder / "gradescope/results.json")
    assert gradescope["score"] == record.score
    prairielearn = document(folder / "prairielearn/results.json")
    assert prairielearn.get("score", 0) == share
    assert document(folder / "submitty/validation_results.json")["data"]["score"] == share
    assert sum(document(folder / "autolab.txt")["scores"].values()) <= record.score
    classroom = document(folder / "classroom50/result.json")
    rows = [classroom, *classroom["tests"]]
    assert all(row["score"] <= row["max-score"] for row in rows)
    assert classroom["score"] <= record.score and classroom["max-score"] == record.most
    assert parse_record((folder / "result.json").read_text()) == record


def test_gradescope_shows_hidden_tests_when_grades_are_published(
    write: Callable[[Record], Path],
) -> None:
    """The third test is hidden. The leaderboard has the value that the test `half` measured."""
    whole = document(write(GRADED) / "gradescope/results.json")
    assert [t["visibility"] for t in whole["tests"]] == ["visible", "visible", "after_published"]
    assert [t["score"] for t in whole["tests"]] == [40, 20, 0.5]
    assert whole["leaderboard"] == [{"name": "half (ms)", "value": 1.5, "order": "asc"}]


def test_autolabs_scoreboard_has_a_column_for_what_is_measured_though_it_fails(
    write: Callable[[Record], Path],
) -> None:
    """A test that did not measure has a hyphen in its column."""
    folder = write(GRADED)
    columns = document(folder / "autolab-scoreboard.json")["scoreboard"]
    assert columns == [{"hdr": "Score"}, {"hdr": "half (ms)", "asc": 1}]
    whole = document(folder / "autolab.txt")
    assert whole == {"scores": {"g": 60, "h": 0.5}, "scoreboard": [60.5, 1.5]}
    for name in ("failed", "refused", "build failed"):
        failed = document(write(RECORDS[name]) / "autolab.txt")
        assert failed == {"scores": {"g": 0, "h": 0}, "scoreboard": [0, "-"]}, name


def test_junit_counts_what_is_there(write: Callable[[Record], Path]) -> None:
    """Of three tests two lack points. A refused submission is an error."""
    suite = ElementTree.fromstring((write(GRADED) / "junit.xml").read_text()).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "2", "0")
    assert len(suite.findall("testcase")) == 3 and len(suite.findall("testcase/failure")) == 2
    refused = ElementTree.fromstring((write(RECORDS["refused"]) / "junit.xml").read_text())
    assert refused.find("testsuite").get("errors") == "1"
    assert refused.find("testsuite/testcase/error").get("type") == "refused"


def test_a_row_a_test_in_csv(write: Callable[[Record], Path]) -> None:
    rows = list(csv.DictReader(io.StringIO((write(GRADED) / "result.csv").read_text())))
    assert [float(row["points"]) for row in rows] == [40, 20, 0.5]


def test_a_compilers_message_stays_in_its_row_of_the_csv(write: Callable[[Record], Path]) -> None:
    """Some tools read a table line by line, so line ends become slashes."""
    failed = replace(RECORDS["build failed"], message="a.c:1: error\r\n  1 | x\n\n    | ^\u2028end")
    lines = (write(failed) / "result.csv").read_text().splitlines()
    assert len(lines) == 2
    assert lines[1].endswith("a.c:1: error / 1 | x / | ^ / end")


def test_classroom50_gets_whole_points_and_who_handed_in(
    write: Callable[[Record], Path],
) -> None:
    """60.5 points are 60 there, and half a point of the hidden group is 0."""
    whole = document(write(GRADED) / "classroom50/result.json")
    assert (whole["owner"], whole["assignment"]) == ("ada", "elevator")
    assert whole["datetime"] == "2026-11-21T10:00:00Z"
    assert (whole["score"], whole["max-score"]) == (60, 100)
    passed = [(test["test-name"], test["score"], test["passed"]) for test in whole["tests"]]
    assert passed == [("g", 60, False), ("h", 0, False)]


@pytest.mark.parametrize("name", classroom50.RUNNERS.values())
def test_without_its_runner_there_is_none_for_classroom50(
    name: str, runner: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """name: a variable of the runner that is missing."""
    formats.write_all(GRADED, tmp_path)
    monkeypatch.delenv(name)
    formats.write_all(GRADED, tmp_path)
    assert not (tmp_path / "classroom50/result.json").exists()


def test_students_do_not_read_of_hidden_tests(write: Callable[[Record], Path]) -> None:
    """Only the staff's files have the hidden test's words."""
    folder = write(GRADED)
    for form in forms():
        if form.FILE not in ("result.json", "result.csv"):
            assert "a secret" not in (folder / form.FILE).read_text(), form.FILE


def test_students_are_told_what_they_can_type_and_the_staff_what_it_can(
    write: Callable[[Record], Path],
) -> None:
    """A student has no folder /staff/x, so the commands for students do not name it."""
    folder = write(GRADED)
    staffs = {"result.txt", "report.html", "result.json", "result.csv"}
    for form in forms():
        text = (folder / form.FILE).read_text()
        assert form.FILE in staffs or "/staff/x" not in text, form.FILE
    assert AGAIN["debug"] in (folder / "result.txt").read_text()
    for name in ("autolab.txt", "gradescope/results.json", "classroom50/result.json"):
        assert f"{AGAIN['at_home']} GDB=1" in (folder / name).read_text(), name


@pytest.mark.parametrize("status", [LAB_BROKEN, NOT_SCORED])
def test_a_failure_of_ours_is_a_score_in_no_form(
    status: str, write: Callable[[Record], Path]
) -> None:
    """Platforms store the score that a file has. Without their file they report that the grader
    failed."""
    write(GRADED)  # files of an earlier grading, which must not stay
    folder = write(replace(RECORDS[status], groups=GROUPS))
    for name in ("gradescope/results.json", "autolab.txt", "prairielearn/results.json",
                 "classroom50/result.json", "certificate.json"):  # fmt: skip
        assert not (folder / name).exists(), name
    assert json.loads((folder / "result.json").read_text())["score"] is None
    assert json.loads((folder / "submitty/validation_results.json").read_text())["status"] != (
        "success"
    )
    (row,) = csv.DictReader(io.StringIO((folder / "result.csv").read_text()))
    assert (row["status"], row["points"]) == (status, "")
    for name in ("result.txt", "report.html"):
        text = (folder / name).read_text()
        assert OURS in text and not re.search(r"\b0 of ", text), name
    assert parse_record((folder / "result.json").read_text()).status == status


@pytest.mark.parametrize("status", ["refused", "build failed"])
def test_what_was_not_graded_is_told_in_each_form(
    status: str, write: Callable[[Record], Path]
) -> None:
    """Status and message."""
    folder = write(RECORDS[status])
    for form in forms():
        if form.FILE not in (
            "autolab-scoreboard.json",
            "certificate.json",
            "classroom50/result.json",
        ):
            text = (folder / form.FILE).read_text()
            assert "no such word" in text and status in text, form.FILE


def test_the_page_shows_all_offline_but_of_hidden_tests(write: Callable[[Record], Path]) -> None:
    """Only the visible test's picture is there, and nothing is loaded."""
    page = (write(GRADED) / "report.html").read_text()
    assert page.count("<figure>") == 1
    assert "<b>first</b>: all is well" in page and "second" not in page
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)|\b(src|href)=[\"'](?!#)", page)
    assert "default-src 'none'" in page


class Open(HTMLParser):
    """The elements of a page that have begun and not ended."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags += [tag] if tag != "meta" else []

    def handle_endtag(self, tag: str) -> None:
        assert self.tags.pop() == tag


def test_the_page_is_well_formed_whatever_came(write: Callable[[Record], Path]) -> None:
    """Each element that begins ends, also with HTML in a message."""
    wild = replace(FAILED, came="</dd><script>alert(1)</script>")
    for record in (*RECORDS.values(), replace(GRADED, tests=[wild])):
        page = (write(record) / "report.html").read_text()
        parser = Open()
        parser.feed(page)
        assert not parser.tags and "<script" not in page


def test_however_much_came_a_page_is_not_filled_with_it(
    write: Callable[[Record], Path],
) -> None:
    """Messages of 3 MB are cut."""
    flood = replace(FAILED, came="x" * 3 * MB)
    assert len(describe_for_student(flood)) < 3 * MOST_SHOWN
    folder = write(replace(GRADED, tests=[flood] * 20))
    assert (folder / "prairielearn/results.json").stat().st_size < MB


def test_the_report_begins_with_its_groups_and_says_without_colour_what_was_reached(
    write: Callable[[Record], Path],
) -> None:
    """A tick and words mark what has all points."""
    page = (write(GRADED) / "report.html").read_text()
    table = page[page.index('<table class="groups">') : page.index("</table>")]
    for group in GRADED.groups:
        assert f'href="#{group.name}"' in table and f'<h2 id="{group.name}">' in page
        assert f"{group.points:g} of {group.most:g}" in table
    full = sum(group.points >= group.most for group in GRADED.groups)
    assert table.count("✓ all") == full
    assert page.index("</table>") < page.index("<h2")
    assert page.count('<b class="points">✓ ') == sum(test.has_all_points for test in GRADED.tests)
