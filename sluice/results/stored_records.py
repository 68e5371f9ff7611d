"""Define the records of stored results: their keys, and the type of each value.

They are dicts, in the form of the full files (store.py says what each key means; compact.py writes
and reads the short form). The numbers of a row are in the unit in which the metric's name ends.
"""

from typing import NotRequired, TypedDict

from sluice.experiment.records import Variables


class StoredRow(TypedDict):
    """The figures of an arm in a setting, by metric."""

    arm: str
    at: Variables  # the setting
    trials: int
    measured: dict[str, float]
    interval: dict[str, list[float]]  # [low, high]
    model: dict[str, float]
    published: dict[str, float]


class StoredVerdict(TypedDict):
    """The verdict on an expectation, with its reason. The keys finding and check are read from the
    experiment's file and are not stored, so they can change without a run."""

    says: str
    word: str
    why: str
    paper: str
    contest: bool
    finding: NotRequired[str]
    check: NotRequired[str]


class StoredMatch(TypedDict):
    """A metric of a contest in a setting.

    behind: the distance from the best rival, as a share of the rival's value.
    """

    at: Variables
    metric: str
    won: bool | None
    best: str
    behind: float | None
    against: str
    behind_ends: list[float] | None  # [low, high]


class Sample(TypedDict):
    """The shortest run of an arm, and the hash of everything that it measured."""

    arm: str
    variables: Variables
    mark: str


class StoredResults(TypedDict):
    """The stored results of an experiment."""

    experiment: str
    commit: str
    kernel: str
    rows: list[StoredRow]
    verdicts: list[StoredVerdict]
    contest: list[StoredMatch]
    samples: list[Sample]
    same: NotRequired[str]
