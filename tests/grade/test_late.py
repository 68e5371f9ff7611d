"""Late days: the course's rule, and a class's late.csv.

RULE has 3 free days in the course, 10 points for each further day, and at most 7 days; the lab
elevator is due on 1 March at 23:59 UTC. Late(days, free, points): days late, how many of them are
free, and the points lost.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from grade.course import late
from grade.course.late import BadLate, Rule
from grade.definition.lab import find_lab
from grade.engine.record import Late

LAB = find_lab("elevator")
RULE = Rule(3, 10, 7, {"elevator": datetime(2027, 3, 1, 23, 59, tzinfo=UTC)})
STUDENTS = ("ada", "bob", "Zoë O'Brien")


def read(folder: Path, text: str) -> dict[str, Late]:
    """Return the late days of a late.csv with this text."""
    path = folder / "late.csv"
    path.write_text(text)
    return late.read_late_days(path, LAB, STUDENTS, RULE)


def test_days_after_the_free_ones_cost_points_and_too_late_costs_all(tmp_path: Path) -> None:
    """8 days are too late."""
    found = read(tmp_path, "student,days\nada,2\nbob,5\nZoë O'Brien,8\n")
    assert found == {
        "ada": Late(2, 2, 0),
        "bob": Late(5, 3, 20),
        "Zoë O'Brien": Late(8, 3, 100),
    }
    assert read(tmp_path, "student,days\nada,0\n") == {}


def test_a_day_that_has_begun_counts_whole_in_any_time_zone(tmp_path: Path) -> None:
    """The lab is due on 1 March at 23:59 UTC, which is 0:59 of the next day at +01:00."""
    rows = {
        "ada": "2027-03-02T00:59+01:00",  # just in time
        "bob": "2027-03-02T00:00+00:00",
        "Zoë O'Brien": "2027-03-04T23:59:01Z",
    }
    text = "".join(f"{name},{when}\n" for name, when in rows.items())
    found = read(tmp_path, f"student,handed_in\n{text}")
    assert found == {"bob": Late(1, 1, 0), "Zoë O'Brien": Late(4, 3, 10)}


def test_free_days_are_used_up_in_the_order_of_the_labs(tmp_path: Path) -> None:
    """Of ada's three free days the earlier lab smooth has used two, so elevator gets one. The later
    lab readahead takes none. Lines may be in any order."""
    text = "lab,days,student\nreadahead,3,ada\nelevator,2,ada\nsmooth,2,ada\nsmooth,9,eve\n"
    assert read(tmp_path, text) == {"ada": Late(2, 1, 10)}


def test_a_spreadsheets_mark_and_blank_lines_are_passed_over(tmp_path: Path) -> None:
    """The mark is UTF-8's byte order mark."""
    assert read(tmp_path, "\ufeffstudent, days\r\n\r\nada , 1\r\n,\r\n") == {"ada": Late(1, 1, 0)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1, column student: needed, and one of the columns days and handed_in"),
        ("student\nada\n", "line 1, column student: needed"),
        ("student,days,handed_in\n", "line 1, column student: needed"),
        ("name,days\n", 'line 1, column "name": not known'),
        ("student,days,days\n", 'line 1, column "days": there twice'),
        ("student,days\nada,1\neve,1\n", 'line 3, column student: no submission is called "eve"'),
        ("student,days\n,1\n", 'line 2, column student: no submission is called ""'),
        ("student,days\nada,two\n", 'line 2, column days: "two" is not a whole number'),
        ("student,days\nada,-1\n", 'line 2, column days: "-1" is not a whole number'),
        ("student,days\nada,1.5\n", 'line 2, column days: "1.5" is not a whole number'),
        ("student,days\nada,²\n", 'line 2, column days: "²" is not a whole number'),
        ("student,days\nada,\n", 'line 2, column days: "" is not a whole number'),
        ("student,days\nada,1\n\nada,1\n", "line 4, column student: ada is on line 2 too"),
        ("student,days\nada,1,x\n", "line 2, column days: 3 cells; line 1 has 2"),
        ("student,days\nada\n", "line 2, column student: 1 cells; line 1 has 2"),
        ("student,days,lab\nada,1,lift\n", 'line 2, column lab: there is no lab "lift"'),
        ("student,handed_in\nada,today\n", 'line 2, column handed_in: "today" is not a time'),
        ("student,handed_in\nada,2027-03-02T08:00\n", "line 2, column handed_in: .*no time zone"),
        (
            "student,handed_in,lab\nada,2027-03-02T08:00Z,smooth\n",
            "line 2, column handed_in: late.toml does not say when smooth is due",
        ),
        ('student,days\n"ada,1\n', "late.csv: unexpected end of data"),
    ],
)
def test_a_bad_row_is_an_error_that_names_line_and_column(
    tmp_path: Path, text: str, why: str
) -> None:
    """text: a whole late.csv; why: a pattern for the message."""
    with pytest.raises(BadLate, match=why):
        read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Not UTF-8, and not there."""
    (tmp_path / "late.csv").write_bytes(b"student,days\n\xff,1\n")
    for path in (tmp_path / "late.csv", tmp_path / "none.csv"):
        with pytest.raises(BadLate, match=path.name):
            late.read_late_days(path, LAB, STUDENTS, RULE)


def test_the_courses_rule_is_well_formed() -> None:
    assert late.read_rule().most_days >= late.read_rule().free_days


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("free_days", "free_day", "it needs free_days"),
        ("most_days = 7", "most_days = -7", "most_days: must be a whole number"),
        ("points_per_day = 10", "points_per_day = 0.5", "points_per_day: must be a whole number"),
        ("[due]", "[due]\nelevator = 2027-03-01T23:59:00", "due.elevator: must be a time with"),
        ("[due]", "[due", "late.toml"),
    ],
)
def test_a_bad_rule_is_an_error_that_names_the_entry(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    """`old` in the course's late.toml is replaced by `new`."""
    text = late.RULE.read_text()
    assert old in text
    (tmp_path / "late.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(BadLate, match=why):
        late.read_rule(tmp_path / "late.toml")
