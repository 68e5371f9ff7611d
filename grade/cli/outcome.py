"""The common parts of the commands about labs: their errors, exit statuses and folders."""

import sys
from collections.abc import Callable
from pathlib import Path

from grade.course.classroom import BadClass
from grade.course.late import BadLate
from grade.course.roster import BadRoster
from grade.definition.lab import BadLab
from grade.engine.assertions import Wrong
from grade.engine.certificate import BadCertificate
from grade.engine.grading import NoTest
from grade.trust import sandbox
from grade.trust.archive import Refused
from sluice.host.fault import HostFault, describe_fault
from sluice.host.out import BadOut
from sluice.host.workers import NoWorkers
from sluice.system.trace import BadTrace

FAILED = 3  # the status if the grader failed, so that something has no score


class BadCall(Exception):
    """Something does not exist, or does not go together; the text says what."""


WRONG = (
    *(BadCall, BadCertificate, BadClass, BadLab, BadLate, BadOut, BadRoster, BadTrace, NoTest),
    *(NoWorkers, Refused),
)


def require_existing(path: Path) -> Path:
    """Return the path of a file or folder. Raises BadCall if it does not exist."""
    if not path.exists():
        raise BadCall(f"{path}: no such file or folder")
    return path


def make_folder(folder: Path) -> Path:
    """Return a folder, made unless it exists. Raises BadCall if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadCall(f"{folder}: {error.strerror}") from None
    return folder


def print_weakness() -> None:
    """Print a note if this machine isolates a submission's compiler less than others would."""
    if sandbox.describe_weakness():
        print(
            f"note: submissions are compiled {sandbox.describe_weakness()} "
            "(see grade/labs/TRUST.md)",
            file=sys.stderr,
        )


def exit_status(work: Callable[[], int]) -> int:
    """Do a command's work.

    Returns its exit status: 2 for what cannot be done as asked, FAILED if the grader failed.
    """
    try:
        return work()
    except WRONG as error:
        print(error, file=sys.stderr)
        return 2
    except Wrong as wrong:
        print(f"expected: {wrong.expected}\nfound: {wrong.came}", file=sys.stderr)
        return 2
    except (HostFault, MemoryError, OSError) as error:
        print(
            f"the grader failed: {describe_fault(error)}\n"
            "Nothing more was written; the same command keeps what is scored, and goes on",
            file=sys.stderr,
        )
        return FAILED
