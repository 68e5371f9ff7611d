"""Scores a submission, makes a grade again from its certificate, and lists a run's events."""

import secrets
import sys
from contextlib import nullcontext
from pathlib import Path

from grade.cli.outcome import FAILED, make_folder, print_weakness, require_existing
from grade.definition.lab import Lab, find_lab
from grade.engine import certificate, formats, grading, moments, tree
from grade.engine.certificate import BadCertificate
from grade.engine.formats import page, people
from grade.engine.moments import TRACE_FILE
from grade.trust import submission
from sluice.experiment.progress import show_activity
from sluice.host import printing
from sluice.host.fault import HostFault
from sluice.host.paths import BUILD, TREE
from sluice.host.quoting import quote_shell

GDB_SOCKET = BUILD / "gdb.sock"


def read_files(lab: Lab, handed_in: Path | None) -> dict[str, str]:
    """Return the lab's files, from this tree or from what was handed in.

    Raises Refused, also if a file of this tree is not text.
    """
    if handed_in is None:
        for file in lab.files:
            if (TREE / file).exists():
                submission.decode_source(file, (TREE / file).read_bytes())
        return tree.lab_files(lab)
    return submission.take_files(require_existing(handed_in), lab.files, tree.allowed_contents(lab))


def note_solution(lab: Lab) -> None:
    """Print a note if this tree's work in a lab is the staff's solution.

    A lab without holes has no solution in the tree.
    """
    if lab.holes and not lab.handed_out:
        print(
            f"note: this tree has the staff's solution of {lab.name}, and that is graded; give a "
            "student's work by --submission, or make a student's tree by sluice lab handout",
            file=sys.stderr,
        )


def grade(
    lab_name: str,
    handed_in: Path | None = None,
    *,
    tests: str = "",
    nonce: str = "",
    out: Path | None = None,
    waits_for_gdb: bool = False,
) -> int:
    """Score this tree or a submission; write and print the results.

    tests: only these groups or tests, separated by commas. nonce: that of an earlier grading.
    Returns the exit status.
    """
    lab = find_lab(lab_name)
    command = f"make grade LAB={lab.name}"
    if handed_in:
        print_weakness()
        command += f" SUBMISSION={quote_shell(require_existing(handed_in))}"
    nonce = nonce or secrets.token_hex(4)
    gdb = GDB_SOCKET if waits_for_gdb else None
    folder = make_folder(out or BUILD / "grade" / lab.name)
    if not handed_in:
        note_solution(lab)
    try:
        with nullcontext() if waits_for_gdb else show_activity(f"grading {lab.name}"):
            record = grading.grade_submission(
                lab, lambda: read_files(lab, handed_in), folder, nonce, command, tests, gdb, True
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"this grading has no results, and results that are in {folder} are an earlier one's; "
            f"the same command with NONCE={nonce} begins it anew, with the same tests"
        ) from None
    formats.write_all(record, folder)
    print(people.text(record, printing.terminal_width()))
    print(f"results in {folder}; open {folder / page.FILE} in a browser")
    print(f"this grading took {people.describe_cost(record)}")
    return 0 if record.has_score else FAILED


def recheck(file: Path, handed_in: Path | None = None, out: Path | None = None) -> int:
    """Make a grade again from its certificate, and compare.

    Returns the exit status: 1 if the grades differ.
    """
    require_existing(file)
    was = certificate.read_certificate(file)
    lab = find_lab(was["lab"])
    if set(was["files"]) != set(lab.files):
        raise BadCertificate(
            f"{file}: its lab is {lab.name}, whose files are {', '.join(lab.files)}; but its files"
            f" are {', '.join(was['files'])}: give the certificate as it was written"
        )
    files = read_files(lab, handed_in)
    wrong = certificate.compare_files(was, files)
    if wrong:
        raise BadCertificate(
            "\n".join([*wrong, "Nothing was graded: give the graded submission by --submission"])
        )
    print_weakness()
    folder = make_folder(out or BUILD / "replay" / lab.name)
    command, tests = f"make grade LAB={lab.name}", ",".join(was["points"])
    with show_activity(f"grading {lab.name} again"):
        record = grading.grade_submission(lab, lambda: files, folder, was["nonce"], command, tests)
    formats.write_all(record, folder)
    if not record.has_score:
        raise HostFault(f"{record.status}: {record.message}\nNothing was compared.")
    now = certificate.make_certificate(record)
    if now is None:
        raise BadCertificate(f"{lab.name} was graded there, and here it is not:\n{record.message}")
    print(certificate.format_comparison(was, now))
    return int(not certificate.is_confirmed(was, now))


def print_events(run: Path, event: int) -> int:
    """Print the events around one of a run's trace. Returns the exit status."""
    print(moments.list_events_around(require_existing(run / TRACE_FILE), event))
    return 0
