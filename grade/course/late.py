"""Read which students handed in late, and compute the points that they lose.

The course's rule is in one place, grade/labs/late.toml. A class's late.csv has a row for each
student who was late. Its first line names the columns, in any order:

    student      the name of the submission
    days         late days, a whole number; or instead of this column
    handed_in    the time, as 2027-03-02T08:00+01:00; a part of a day counts as a day
    lab          the lab; without this column, the lab that is scored

The columns are separated by commas, or, as spreadsheets of many countries write them, by semicolons
or tabs. A student's name may be written as in class.csv, as the class list has it, or as its folder
is called (names.py).

Free days are used up in the order of the labs. So a file of the whole course determines how many
are left for a lab, and rows of later labs do not matter.

A bad row raises BadLate, which names the line and the column, before anything is scored or written.
"""

import codecs
import csv
import io
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from grade.definition.lab import FULL, LABS, Lab, load_labs
from grade.engine.record import Late
from grade.trust import names
from grade.trust.untrusted_text import make_printable
from sluice.host import nearest

RULE = LABS / "late.toml"
NUMBERS = ("free_days", "points_per_day", "most_days")
COLUMNS = ("student", "days", "handed_in", "lab")
WHEN = ("days", "handed_in")  # columns of which late.csv has exactly one
DAY = timedelta(days=1)


class BadLate(Exception):
    """The error for a bad late.csv or late.toml; the text says where, and what is wrong."""


@dataclass(frozen=True)
class Rule:
    """The course's rule for late work. Work that is later than most_days has no points."""

    free_days: int
    points_per_day: int
    most_days: int
    due: dict[str, datetime]  # due times by lab


@dataclass(frozen=True)
class Row:
    """A row of late.csv."""

    line: int
    lab: str
    student: str
    days: int


def read_rule(path: Path = RULE) -> Rule:
    """Return the rule in a file. Raises BadLate."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadLate(f"{path}: {error}") from None
    due = raw.pop("due", {})
    if raw.keys() != {*NUMBERS}:
        raise BadLate(f"{path}: it needs {', '.join(NUMBERS)} and [due]; it has {', '.join(raw)}")
    for name, value in raw.items():
        if type(value) is not int or value < 0:
            raise BadLate(f"{path}: {name}: must be a whole number from 0")
    for name, value in due.items():
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise BadLate(f"{path}: due.{name}: must be a time with its zone")
    return Rule(**raw, due=due)


# ---- late.csv ----


def parse_days(text: str) -> int:
    """Return the number of days in a cell. Raises ValueError."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f'"{text}" is not a whole number of days')
    return int(text)


def days_late(text: str, lab: str, known: Rule) -> int:
    """Return the days from a lab's due time to the time in a cell.

    A part of a day counts as a day. Raises ValueError.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a time like 2027-03-02T08:00+01:00') from None
    if when.tzinfo is None:
        raise ValueError(f'"{text}" has no time zone, as +01:00')
    if lab not in known.due:
        raise ValueError(f"{RULE.name} does not say when {lab} is due")
    return max(0, -((known.due[lab] - when) // DAY))


@dataclass(frozen=True)
class Table:
    """A late.csv, read for one lab.

    students: the names of the submissions to the lab.
    """

    path: Path
    lab: Lab
    students: Collection[str]
    rule: Rule

    def row_error(self, line: int, column: str, why: str) -> BadLate:
        """Return an error that names the line and the column."""
        return BadLate(f"{self.path}: line {line}, column {column}: {why}")

    def check_head(self, head: list[str]) -> None:
        """Raise BadLate unless these are the columns of a late.csv."""
        for name in head:
            if name not in COLUMNS or head.count(name) > 1:
                unknown = f"not known; {nearest.suggest(name, COLUMNS)}"
                why = "there twice" if name in COLUMNS else unknown
                raise self.row_error(1, f'"{name}"', why)
        if "student" not in head or sum(name in head for name in WHEN) != 1:
            raise self.row_error(
                1, "student", f"needed, and one of the columns {' and '.join(WHEN)}"
            )

    def parse_row(self, line: int, cells: dict[str, str]) -> Row:
        """Return the row with these cells, which are given by column. Raises BadLate."""
        known = [lab.name for lab in load_labs()]
        where, who = cells.get("lab", self.lab.name), cells["student"]
        if where not in known:
            raise self.row_error(
                line, "lab", f'there is no lab "{where}"; {nearest.suggest(where, known)}'
            )
        if where == self.lab.name:
            meant = names.find_name(who, self.students)
            if not who or meant is None:
                raise self.row_error(
                    line, "student", f'no submission is called "{make_printable(who)}"'
                )
            who = meant
        elif not who:
            raise self.row_error(line, "student", 'no submission is called ""')
        else:
            who = names.find_name(who, self.students) or who
        when = next(name for name in WHEN if name in cells)
        try:
            given = cells[when]
            days = parse_days(given) if when == "days" else days_late(given, where, self.rule)
        except ValueError as error:
            raise self.row_error(line, when, str(error)) from None
        return Row(line, where, who, days)

    def read_rows(self) -> Iterator[Row]:
        """Yield all rows. Raises BadLate at the first bad one."""
        seen: dict[tuple[str, str], int] = {}
        text = decode(self.path.read_bytes())
        with io.StringIO(text, newline="") as file:
            reader = csv.reader(file, strict=True, delimiter=find_separator(text))
            head = [name.strip() for name in next(reader, [])]
            self.check_head(head)
            for cells in filter(any, reader):
                line = reader.line_num
                if len(cells) != len(head):
                    last = head[min(len(cells), len(head)) - 1]
                    raise self.row_error(line, last, f"{len(cells)} cells; line 1 has {len(head)}")
                row = self.parse_row(line, dict(zip(head, map(str.strip, cells), strict=True)))
                first = seen.setdefault((row.lab, row.student), line)
                if first != line:
                    raise self.row_error(line, "student", f"{row.student} is on line {first} too")
                yield row


def decode(data: bytes) -> str:
    """Return the text of a table. Raises ValueError if it is not in UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise ValueError("the file is in UTF-16: save it as CSV in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"{data[error.start]:02X}"
        raise ValueError(
            f"line {line}: the byte {byte} is not UTF-8: save it as CSV in UTF-8"
        ) from None


def find_separator(text: str) -> str:
    """Return the character that separates the columns.

    It is the comma, semicolon or tab, whichever is most frequent in line 1.
    """
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def late_penalty(days: int, free: int, known: Rule) -> Late:
    """Return the points that work which is `days` late loses.

    free: the number of days that cost nothing.
    """
    too_late = days > known.most_days
    return Late(days, free, FULL if too_late else known.points_per_day * (days - free))


def read_late_days(path: Path, lab: Lab, students: Collection[str], known: Rule) -> dict[str, Late]:
    """Return the points that the late students of a lab lose, by name. Raises BadLate.

    students: the names of the submissions to the lab.
    """
    try:
        found = list(Table(path, lab, students, known).read_rows())
    except (OSError, ValueError, csv.Error) as error:
        raise BadLate(f"{path}: {error}") from None
    # Free days are used up in the order of the course's labs.
    orders = {other.name: other.order for other in load_labs()}
    left: defaultdict[str, int] = defaultdict(lambda: known.free_days)
    lates = {}
    for row in sorted(found, key=lambda row: orders[row.lab]):
        free = min(left[row.student], row.days)
        left[row.student] -= free
        if row.lab == lab.name and row.days:
            lates[row.student] = late_penalty(row.days, free, known)
    return lates
