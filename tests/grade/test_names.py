"""Names of people and of submissions, in any script and as any system writes them.

A letter with an accent may be one character or a letter and a mark (APART): both are the same name.
A student's folder is named after the student (folder_for); find_name() finds a name among
submissions whose names were changed on the way.
"""

import os
import unicodedata
from pathlib import Path

import pytest

from grade.course import late
from grade.course.late import BadLate, Rule
from grade.course.roster import BadRoster, read_roster
from grade.definition.lab import find_lab
from grade.engine.record import Late
from grade.trust import names
from sluice.host.quoting import quote_shell

LAB = find_lab("elevator")
RULE = Rule(0, 10, 7, {})
APART = unicodedata.normalize("NFD", "Müller")


# Names with a zero-width non-joiner, and with vowel marks
PERSIAN = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"
ARABIC = "\u0639\u064e\u0644\u0650\u064a\u0651"


@pytest.mark.parametrize(
    "name",
    ["प्रिया", APART, "Nguyễn Thị Ánh", ARABIC, PERSIAN, "O\u2019Brien", "Gal·la", "ada_1"],
)
def test_a_name_in_any_script_is_one(name: str) -> None:
    assert names.is_name(name) and names.folder_for(name)


@pytest.mark.parametrize("name", ["", " ada", "-x", "a/b", "a\u202eb", "a\nb", 'a"b', "x" * 65, 7])
def test_what_is_no_name(name: object) -> None:
    """Empty, too long, with characters that lead elsewhere or cannot be seen."""
    assert not names.is_name(name)


def test_a_folder_keeps_the_marks_of_a_name() -> None:
    """Blanks and apostrophes become hyphens."""
    assert names.folder_for("प्रिया  शर्मा") == "प्रिया-शर्मा"
    assert names.folder_for(APART) == "Müller"
    assert names.folder_for("J. O'Neil, Jr.") == "J.-O-Neil-Jr"


def test_a_name_that_was_changed_on_the_way_out_is_found() -> None:
    """`handed` are names as the grader writes them: printable, and safe in a folder and a table."""
    handed = ["Ada-Lovelace", "-x", "a<U+200B>b", "Müller", "bob"]
    assert names.find_name("Ada Lovelace", handed) == "Ada-Lovelace"
    assert names.find_name("'-x", handed) == "-x"
    assert names.find_name("a\u200bb", handed) == "a<U+200B>b"
    assert names.find_name(APART, handed) == "Müller"
    assert names.find_name("eve", handed) is None


def test_a_name_that_could_be_two_is_none() -> None:
    """A name that fits exactly, except blanks, is taken first."""
    assert names.find_name("Ada Lovelace", ["Ada-Lovelace", "Ada.-Lovelace"]) == "Ada-Lovelace"
    assert names.find_name("a b", ["a-b", "a, b"]) is None


def test_a_name_of_which_no_folder_is_left_is_not_another_one() -> None:
    """Nothing is left of these names but hyphens."""
    assert names.find_name("??", ["--", "ada"]) is None
    assert names.find_name("", ["--"]) is None


def test_a_name_is_as_long_as_it_looks() -> None:
    """64 letters are allowed, however they are written."""
    assert names.is_name(unicodedata.normalize("NFD", "ü" * 64))
    assert not names.is_name("ü" * 65)


def test_a_submissions_name_can_be_shown_and_is_short_enough() -> None:
    """A long name is cut, and a hash keeps two of them apart."""
    assert names.submission_name("bad\udcff\n") == "bad\\xFF<U+000A>"
    assert names.submission_name(APART) == "Müller"
    long = [names.submission_name("\udcff" * 80 + end) for end in "ab"]
    assert len(set(long)) == 2 and all(len(name.encode()) <= 200 for name in long)


# ---- a class's list ----


def test_a_class_list_takes_marks_and_says_which_name_is_there_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Müller in two spellings counts once, with a note; in one spelling it is refused."""
    path = tmp_path / "names"
    path.write_text(f"प्रिया\nMüller\n{APART}\n")
    assert read_roster(path) == {"प्रिया": "प्रिया", "Müller": "Müller"}
    assert "line 3" in capsys.readouterr().out
    path.write_text("Müller\nMüller\n")
    with pytest.raises(BadRoster, match="line 2: Müller and Müller would share a folder"):
        read_roster(path)


def read(folder: Path, data: bytes) -> dict[str, Late]:
    """Return the late days of a late.csv with these bytes."""
    path = folder / "late.csv"
    path.write_bytes(data)
    return late.read_late_days(path, LAB, ("key", "Ada-Lovelace", "-x"), RULE)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_late_days_are_read_whatever_separates_the_columns(tmp_path: Path, separator: str) -> None:
    """Programs for tables separate columns by commas, semicolons or tabs."""
    text = "student,days\nkey,5\nAda Lovelace,1\n'-x,2\n".replace(",", separator)
    assert read(tmp_path, text.encode()) == {
        "key": Late(5, 0, 50),
        "Ada-Lovelace": Late(1, 0, 10),
        "-x": Late(2, 0, 20),
    }


def test_a_comma_in_a_cell_separates_no_columns(tmp_path: Path) -> None:
    """The head has semicolons."""
    with pytest.raises(BadLate, match='line 2, column student: no submission is called "a, b"'):
        read(tmp_path, b"student;days\na, b;5\n")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("student,days\nM\u00fcller,1\n".encode("latin-1"), "line 2: the byte FC is not UTF-8"),
        ("\ufeffstudent,days\n".encode("utf-16-le"), "in UTF-16: save it as CSV in UTF-8"),
    ],
)
def test_a_late_csv_in_another_coding_is_named(tmp_path: Path, data: bytes, why: str) -> None:
    """Latin-1 and UTF-16."""
    with pytest.raises(BadLate, match=why):
        read(tmp_path, data)


# ---- paths in commands that people paste ----


@pytest.mark.parametrize(
    "raw", [b"a b'c", b"bad\xff", b'bad\xff %s\\n$x"`', b"line\n", b"bad\xff\n\n"]
)
def test_a_path_in_a_printed_command_is_that_path(raw: bytes, tmp_path: Path) -> None:
    """raw: the bytes of a path. A shell reads them back from the quoted word."""
    word = quote_shell(os.fsdecode(raw))
    word.encode()
    out = tmp_path / "out"
    os.system(f"printf %s {word} > {out}")
    assert out.read_bytes() == raw
