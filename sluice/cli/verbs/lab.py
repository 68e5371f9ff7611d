"""sluice lab: hand labs out, grade them, and teach with them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from sluice.cli import options
from sluice.cli.verb import GRADING, NONE, Needs, verb
from sluice.host.paths import ROOT

GRADE = Needs(("grade",), ("all", *GRADING))
KEPT = "nothing was scored or written"
TWIN = "twin"
Solved = Annotated[
    str, typer.Option(metavar="LABS", help="Labs whose solutions the tree may have.")
]
Student = Annotated[
    str, typer.Option(metavar="NAME", help="The student, if the lab is answered by numbers.")
]


def is_of_numbers(lab: str) -> bool:
    """Return true if a lab is answered by numbers, which the student's name determines."""
    return (ROOT / "grade" / "labs" / lab / "answers.toml").exists()


@verb(GRADE, "sluice lab grade elevator --submission handed-in.zip", KEPT)
def grade(
    lab: options.Lab,
    submission: options.Submission = None,
    test: options.Tests = "",
    nonce: options.Nonce = "",
    out: options.Out = None,
    gdb: Annotated[bool, typer.Option("--gdb", help="The first machine waits for gdb.")] = False,
) -> int:
    """Score this tree's solution of a lab, or a submission. Exits with 3 if the grader failed."""
    from grade.cli import outcome, scoring

    return outcome.exit_status(
        lambda: scoring.grade(lab, submission, tests=test, nonce=nonce, out=out, waits_for_gdb=gdb)
    )


@verb(GRADE, "sluice lab recheck build/grade/elevator/certificate.json", KEPT)
def recheck(
    certificate: Annotated[
        Path,
        typer.Argument(**options.existing_path("CERTIFICATE", "The certificate.json of a grade.")),
    ],
    submission: options.Submission = None,
    out: options.Out = None,
) -> int:
    """Make a grade again from its certificate, and compare. Exits with 1 if it differs."""
    from grade.cli import outcome, scoring

    return outcome.exit_status(lambda: scoring.recheck(certificate, submission, out))


@verb(Needs(("grade",), ()), "sluice lab events build/grade/elevator/runs/syncs 48211")
def events(
    run: Annotated[
        Path,
        typer.Argument(**options.existing_path("RUN", "The folder of a graded run.")),
    ],
    event: Annotated[int, typer.Argument(metavar="EVENT", min=0, help="The number of an event.")],
) -> int:
    """List the events around one in the trace of a graded run. A failed test's message names its
    event."""
    from grade.cli import outcome, scoring

    return outcome.exit_status(lambda: scoring.print_events(run, event))


@verb(GRADE, "sluice lab example elevator", "no example was made")
def example(lab: options.Lab, out: options.Out = None) -> int:
    """Show what this tree's kernel does in a lab's worked example, beside the solution. With --out,
    which is the lab's folder, its texts are made anew."""
    from grade.cli import outcome, worked_example

    return outcome.exit_status(lambda: worked_example.run_example(lab, out))


@verb(GRADE, "sluice lab class elevator submissions --late late.csv --out graded", KEPT)
def class_(
    lab: options.Lab,
    submissions: Annotated[
        Path,
        typer.Argument(**options.existing_path("SUBMISSIONS", "A folder of folders and archives.")),
    ],
    out: options.Out = None,
    late: Annotated[
        Path | None,
        typer.Option(**options.existing_path("CSV", "The students who handed in late.")),
    ] = None,
    jobs: options.Jobs = options.JOBS,
    nonce: options.Nonce = "",
    scheduler: options.Scheduler = "",
) -> int:
    """Score all submissions of a class; writes a table and a page."""
    from grade.cli import class_scoring, outcome

    asked = class_scoring.ClassRequest(jobs, out, late, nonce, scheduler)
    return outcome.exit_status(lambda: class_scoring.score_class(lab, submissions, asked))


def check_handout(values: dict[str, Any]) -> None:
    """Raise BadParameter if the lab needs a student's name and there is none."""
    if is_of_numbers(values["lab"]) and not values["student"] and not values["students"]:
        raise typer.BadParameter(
            f"{values['lab']} is answered by numbers, which the student's name determines: give "
            "--student, or --students, a file of names"
        )


@verb(GRADE, "sluice lab handout elevator --out for-students", KEPT, check_handout)
def handout(
    lab: options.Lab,
    out: options.OutRequired,
    base: Annotated[
        Path | None,
        typer.Option(
            **options.existing_path("PATH", "A student's work in other labs, to carry on.")
        ),
    ] = None,
    solved: Solved = "",
    student: Student = "",
    students: Annotated[
        Path | None,
        typer.Option(
            **options.existing_path(
                "FILE", "A file with a student's name on each line: a folder for each."
            )
        ),
    ] = None,
) -> int:
    """Make the folder that a student of a lab gets."""
    from grade.cli import handing_out, outcome

    asked = handing_out.Handout(base, solved, student)
    if students:
        return outcome.exit_status(lambda: handing_out.hand_out_class(lab, out, students, asked))
    return outcome.exit_status(lambda: handing_out.hand_out(lab, out, asked))


@verb(Needs(("grade",)), "sluice lab samples elevator --out samples", KEPT)
def samples(lab: options.Lab, out: options.OutRequired) -> int:
    """Make three submissions to try `sluice lab class` with: good, half-done, cheating."""
    from grade.cli import handing_out, outcome

    return outcome.exit_status(lambda: handing_out.make_samples(lab, out))


@verb(Needs(("grade",), (), NONE), "sluice lab bundle elevator --out elevator.zip", KEPT)
def bundle(lab: options.Lab, out: options.OutRequired) -> int:
    """Make the .zip from which Gradescope builds an autograder of a lab."""
    from grade.cli import handing_out, outcome

    return outcome.exit_status(lambda: handing_out.make_bundle(lab, out))


@verb(GRADE, "sluice lab solution elevator --out solution", "nothing was made")
def solution(lab: options.Lab, out: options.OutRequired, student: Student = "") -> int:
    """Make the folder with the solution of a lab and the model answers, for students who have
    handed in."""
    from grade.cli import handing_out, outcome

    return outcome.exit_status(lambda: handing_out.make_solution(lab, out, student))


@verb(Needs(("grade",), (), NONE), "sluice lab new my-lab", "nothing was made")
def new(name: Annotated[str, typer.Argument(metavar="NAME", help="The new lab's name.")]) -> int:
    """Make a new lab, a small one that works and passes its proof, for you to change."""
    from grade.cli import handing_out, outcome

    return outcome.exit_status(lambda: handing_out.make_lab(name))


def needs_of_fair(values: dict[str, Any]) -> Needs:
    """Return what is needed to grade solutions, on the machine or the twin."""
    return GRADE.adding(TWIN) if values["engine"] == TWIN else GRADE


@verb(needs_of_fair, "sluice lab fair elevator --nonces 3 --engine twin", "the table was not made")
def fair(
    lab: options.Lab,
    nonces: Annotated[int, typer.Option(**options.count_of("How many nonces, from 1 on."))] = 20,
    only: Annotated[
        str, typer.Option(metavar="SOLUTIONS", help="Solutions by name, separated by commas.")
    ] = "",
    test: options.Tests = "",
    attacks: Annotated[bool, typer.Option("--attacks", help="The attacks, too.")] = False,
    engine: options.Engine = "machine",
    jobs: options.Jobs = options.JOBS,
) -> int:
    """Count the points of each wrong solution of a lab by group, over many nonces."""
    from grade.cli import outcome
    from grade.cli.fair import FairRequest, print_points

    asked = FairRequest(nonces, jobs, only, test, attacks, engine == TWIN)
    return outcome.exit_status(lambda: print_points(lab, asked))
