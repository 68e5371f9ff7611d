"""The file of tried workloads: a line for each, so that a campaign can be continued."""

import json
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

from sluice.crash.crews import Task
from sluice.crash.laboratory import Outcome
from sluice.crash.machine import Setup
from sluice.crash.oracle import Promise
from sluice.host.paths import BUILD
from sluice.twin.engine import twin_hash

FOLDER = BUILD / "crash"
CODE = Path(__file__).parent
# The modules that decide what comes of a workload.
DECIDES = (
    *("checker", "crews", "cuts", "disk_events", "empty_log", "ext2", "faults", "judge"),
    *(
        "laboratory",
        "log_faults",
        "machine",
        "name_rules",
        "operations",
        "oracle",
        "order_rules",
        "points",
        "together",
        "workloads",
        "written_disk",
    ),
)


@dataclass(frozen=True)
class Row:
    """The result of a task."""

    workload: str
    fault: str
    cuts: int
    images: int  # different images among the cuts
    stale: int  # cuts that show bytes of other files
    refused: int  # operations that failed, as they must
    failed: tuple[int, ...] = ()  # the numbers of the cuts that failed
    wrong: tuple[str, ...] = ()  # what the judges said of the first of these
    checks: int = 0  # of order rules
    mount_sum_ns: int = 0  # virtual time of all our mounts
    mount_most_ns: int = 0  # virtual time of the longest one


def make_row(task: Task, outcome: Outcome) -> Row:
    """Return the row of a task."""
    failed = tuple(failure.cut.number for failure in outcome.failures)
    wrong = outcome.failures[0].wrong if outcome.failures else ()
    mounts = sum(outcome.mounts_ns), max(outcome.mounts_ns, default=0)
    counts = (outcome.cuts, outcome.images, outcome.stale_cuts, outcome.refused)
    return Row(task.workload, task.fault, *counts, failed, wrong, outcome.checks, *mounts)


def hash_code() -> str:
    """Return the hash of the laboratory's own code, as far as it decides the outcome."""
    digest = sha256()
    for name in DECIDES:
        digest.update((CODE / f"{name}.py").read_bytes())
    digest.update((CODE / "served.c").read_bytes())
    return digest.hexdigest()


def campaign_key(
    setup: Setup, promise: Promise, volatile: bool, tear_older: bool, prunes: bool, points: bool
) -> str:
    """Return a hash of all that decides about what comes of a workload."""
    what = [
        twin_hash(),
        hash_code(),
        setup.args,
        setup.size,
        setup.block,
        setup.journal,
        volatile,
        tear_older,
        prunes,
        points,
        asdict(promise),
    ]
    return sha256(json.dumps(what).encode()).hexdigest()[:16]


@dataclass
class Journal:
    """The rows of one campaign, by workload and fault, in a file to which lines are appended."""

    path: Path
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the rows of earlier campaigns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole, end, part = text.rpartition("\n")
        if part:  # the last line of a campaign that was killed
            self.path.write_text(whole + end, encoding="utf-8")
        for line in whole.splitlines():
            row = json.loads(line)
            self._add(Row(**row | {name: tuple(row[name]) for name in ("failed", "wrong")}))

    def _add(self, row: Row) -> None:
        """Add a row."""
        self.rows[row.workload, row.fault] = row

    def append(self, row: Row) -> None:
        """Add a row, also to the file."""
        self._add(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")

    def has(self, task: Task) -> bool:
        """Return whether a task has been tried."""
        return (task.workload, task.fault) in self.rows
