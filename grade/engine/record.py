"""Hold the record of a grading; every form of the result is made from it (formats).

status is `graded`; or, with 0 points, `refused` or `build failed`; or `lab broken` or `not scored`:
then the grader failed, and there is no score (`has_score`). Every form reports this in its own way.
If it is not `graded`, message says why, no test was run, and each group has 0 points.

Points are rounded to hundredths. The points of a group's tests sum to the group's points.

The record does not depend on the host: two gradings of one submission with one nonce and command
have the same record and forms, to the byte. The host's time and memory that a grading used are in
its `cost`, which is stored in a file of its own, COST_FILE.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grade.engine.pictures import Curves, Picture

VERSION = 6
COST_FILE = "cost.json"
NOT_SCORED, LAB_BROKEN = "not scored", "lab broken"
OURS = (
    "This is a failure of the grader or of the machine that it runs on, not of the submission. It "
    "has no score; grade it again once the cause is mended."
)


@dataclass
class Outcome:
    """The result of one test."""

    group: str
    name: str
    about: str
    hidden: bool
    points: float
    most: float
    expected: str = ""  # empty if the test has all points and measures nothing
    came: str = ""
    picture: str = ""
    measured: bool = False  # true for a test that returns a Slide
    value: float | None = None  # the figure; full and none are the reference's thresholds
    full: float | None = None
    none: float | None = None
    unit: str = ""
    reproduce: str = ""  # the command that repeats the test, for whoever graded it
    debug: str = ""
    at_home: str = ""  # the command that repeats the test, for the student
    runs: list[str] = field(default_factory=list)  # names of its machines' folders

    @property
    def id(self) -> str:
        """The name by which the test is chosen: GROUP.TEST."""
        return f"{self.group}.{self.name}"

    @property
    def title(self) -> str:
        """The test's name as words."""
        return self.name.replace("_", " ")

    @property
    def has_all_points(self) -> bool:
        """True if the test has all its points."""
        return self.points == self.most


@dataclass
class GroupResult:
    """A group's points."""

    name: str
    about: str
    hidden: bool
    points: float
    most: float


@dataclass(frozen=True)
class Cost:
    """A grading's use of the host's resources; it differs from one grading to the next."""

    host_s: float = 0  # wall-clock time
    cpu_s: float = 0  # processor time, with machines and compiler
    peak_mb: float = 0  # peak memory

    def to_json(self) -> str:
        """Return the cost as JSON."""
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True)
class Late:
    """How late a submission came, and what that costs (late.py)."""

    days: int
    free: int  # days that cost nothing
    lost: float  # points

    def describe(self) -> str:
        """Return the beginning of a sentence about what being late costs."""
        some = f"{self.days} day{'s' if self.days > 1 else ''} late"
        return f"{some}, {self.free} of them free: {self.lost:g} points less"


def read_cost(folder: Path) -> Cost:
    """Return the cost of the grading whose results are in a folder; zeros if there is none."""
    try:
        return Cost(**json.loads((folder / COST_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Cost()


@dataclass
class MadeFrom:
    """The inputs of a grade, as SHA-256 hashes (certificate.py)."""

    files: dict[str, str]  # of the submission
    reference: str
    versions: dict[str, str]
    kernel: str = ""  # empty if it was not built
    runs: dict[str, dict[str, str]] = field(default_factory=dict)  # trace and console of each


@dataclass
class Record:
    """The results of a grading."""

    lab: str
    title: str
    nonce: str
    status: str = "graded"
    message: str = ""
    score: float = 0
    most: float = 0
    not_here: float = 0  # points of hidden groups that only the instructor's tree has
    columns: list[str] = field(default_factory=list)  # visible tests that measure, asked or not
    groups: list[GroupResult] = field(default_factory=list)
    tests: list[Outcome] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    made_from: MadeFrom | None = None  # None if the submission was refused
    late: Late | None = None  # only in a class
    cost: Cost = field(default=Cost(), compare=False)  # not in the text

    def tests_of_group(self, group: str) -> list[Outcome]:
        """Return the tests of a group."""
        return [test for test in self.tests if test.group == group]

    @property
    def has_score(self) -> bool:
        """False if the grader failed. Then the points mean nothing."""
        return self.status not in (NOT_SCORED, LAB_BROKEN)

    @property
    def counts(self) -> float:
        """The points that count: the score minus what is lost by being late."""
        return max(0, round(self.score - self.late.lost, 2)) if self.late else self.score

    def to_json(self) -> str:
        """Return the record as JSON."""
        told = {"version": VERSION, **asdict(self)}
        if not self.has_score:
            told["score"], told["groups"] = None, []
        del told["cost"]
        return json.dumps(told, indent=1) + "\n"


def parse_picture(raw: dict[str, Any]) -> Picture:
    """Return the picture that this JSON describes."""
    return Picture(raw["scenario"], raw["hidden"], [Curves(**row) for row in raw["curves"]])


def parse_record(text: str) -> Record:
    """Return the record in this text. Raises ValueError if it is not one of this version."""
    raw = json.loads(text)
    if raw.pop("version", None) != VERSION:
        raise ValueError(f"no record of version {VERSION}")
    groups = [GroupResult(**row) for row in raw.pop("groups")]
    tests = [Outcome(**row) for row in raw.pop("tests")]
    pictures = [parse_picture(row) for row in raw.pop("pictures")]
    made_from = raw.pop("made_from")
    raw["made_from"] = made_from and MadeFrom(**made_from)
    raw["score"] = raw["score"] or 0
    late = Late(**found) if (found := raw.pop("late")) else None
    return Record(**raw, groups=groups, tests=tests, pictures=pictures, late=late)
