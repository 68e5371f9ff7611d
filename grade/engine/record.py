"""The record of a grading, from which every form of it is made (formats).

status is `graded`; or, with 0 points, `refused` or `build failed`; or `lab broken` or `not scored`:
then the grader failed, and there is no score (`scored`), which every form says in its own way.
If it is not `graded`, message says why, no test was run, and each group has 0 points.
Points are rounded to hundredths; a group's points sum to its whole.

The record does not depend on the host: two gradings of one submission with one nonce and command
have the same record and forms, to the byte. What the grading took of the host is in its `cost`,
which has a file of its own, COST_FILE.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grade.engine.pictures import Curves, Picture

VERSION = 6
COST_FILE = "cost.json"
NOT_SCORED, LAB_BROKEN = "not scored", "lab broken"
OURS = (
    "This is a failure of the grader or of the machine that it runs on, not of the submission. It "
    "has no score; grade it again once that is mended."
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
    expected: str = ""  # where points are missing, and of what is measured
    came: str = ""
    picture: str = ""
    measured: bool = False  # is it of those that return a Slide?
    value: float | None = None  # what was measured, and the reference's thresholds
    full: float | None = None
    none: float | None = None
    unit: str = ""
    reproduce: str = ""  # by whom it was graded
    debug: str = ""
    at_home: str = ""  # by the student
    runs: list[str] = field(default_factory=list)  # folders of its machines

    @property
    def id(self) -> str:
        return f"{self.group}.{self.name}"

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")

    @property
    def passed(self) -> bool:
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
    """What a grading took of the host: it differs from one grading to the next."""

    host_s: float = 0  # on the clock
    cpu_s: float = 0  # of the processor, machines and compiler included
    peak_mb: float = 0  # of memory, at most

    def text(self) -> str:
        """The cost as JSON."""
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True)
class Late:
    """How late a submission came, and what that costs (late.py)."""

    days: int
    free: int  # of these days
    lost: float  # points

    def text(self) -> str:
        """A sentence's beginning."""
        some = f"{self.days} day{'s' if self.days > 1 else ''} late"
        return f"{some}, {self.free} of them free: {self.lost:g} points less"


def cost_in(folder: Path) -> Cost:
    """The cost of the grading whose results are in a folder; nothing if there is none."""
    try:
        return Cost(**json.loads((folder / COST_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Cost()


@dataclass
class MadeFrom:
    """What a grade was made from, as SHA-256 hashes (certificate.py)."""

    files: dict[str, str]  # of the submission
    reference: str
    versions: dict[str, str]
    kernel: str = ""  # empty if it was not built
    runs: dict[str, dict[str, str]] = field(default_factory=dict)  # traces and consoles


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
    made_from: MadeFrom | None = None  # none if the submission was refused
    late: Late | None = None  # of a class only
    cost: Cost = field(default=Cost(), compare=False)  # not in the text

    def of(self, group: str) -> list[Outcome]:
        """The tests of a group."""
        return [test for test in self.tests if test.group == group]

    @property
    def scored(self) -> bool:
        """False if the grader failed. Then the points say nothing."""
        return self.status not in (NOT_SCORED, LAB_BROKEN)

    @property
    def counts(self) -> float:
        """The points that count: the score, less what is lost by being late."""
        return max(0, round(self.score - self.late.lost, 2)) if self.late else self.score

    def text(self) -> str:
        """The record as JSON."""
        told = {"version": VERSION, **asdict(self)}
        if not self.scored:
            told["score"], told["groups"] = None, []
        del told["cost"]
        return json.dumps(told, indent=1) + "\n"


def picture(raw: dict) -> Picture:
    """The picture that this JSON describes."""
    return Picture(raw["scenario"], raw["hidden"], [Curves(**row) for row in raw["curves"]])


def parse(text: str) -> Record:
    """The record in this text. Raises ValueError if it is not one of this version."""
    raw = json.loads(text)
    if raw.pop("version", None) != VERSION:
        raise ValueError(f"no record of version {VERSION}")
    groups = [GroupResult(**row) for row in raw.pop("groups")]
    tests = [Outcome(**row) for row in raw.pop("tests")]
    pictures = [picture(row) for row in raw.pop("pictures")]
    made_from = raw.pop("made_from")
    raw["made_from"] = made_from and MadeFrom(**made_from)
    raw["score"] = raw["score"] or 0
    late = Late(**found) if (found := raw.pop("late")) else None
    return Record(**raw, groups=groups, tests=tests, pictures=pictures, late=late)
