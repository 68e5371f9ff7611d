"""`make skeleton`, `make grade`, `make class`, `make bundle`: labs handed out and scored."""

import argparse
import os
import secrets
import sys
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from grade.paths import BUILD
from grade.scoring import bundle, classroom, formats, grading, submission, tree
from grade.scoring.classroom import BadClass
from grade.scoring.formats import page, people
from grade.scoring.grading import NoTest
from grade.scoring.lab import BadLab, Lab, named
from grade.scoring.submission import Refused
from grade.workers import NoWorkers, workers

GDB_SOCKET = BUILD / "gdb.sock"


def take(lab: Lab, handed_in: Path | None) -> dict[str, str]:
    """The lab's files, of this tree or as handed in."""
    if handed_in is None:
        return tree.here(lab)
    return submission.take(handed_in, lab.files, tree.as_handed_out(lab))


def grade(choice: argparse.Namespace) -> int:
    """Score this tree or a submission; write and print what came."""
    lab = named(choice.lab)
    folder = choice.out or BUILD / "grade" / lab.name
    command = f"make grade LAB={lab.name}"
    if choice.submission:
        command += f" SUBMISSION={choice.submission}"
    nonce = choice.nonce or secrets.token_hex(4)
    gdb = GDB_SOCKET if choice.gdb else None
    folder.mkdir(parents=True, exist_ok=True)
    record = grading.grade(
        lab, lambda: take(lab, choice.submission), folder, nonce, command, choice.test, gdb, True
    )
    formats.write_all(record, folder)
    print(people.text(record))
    print(f"results in {folder}, with pictures in {folder / page.FILE}")
    return 0


def skeleton(choice: argparse.Namespace) -> int:
    """Hand a lab out."""
    lab = named(choice.lab)
    base: dict[str, str] = {}
    if choice.base:
        files = tree.sources_before(lab)
        if not files:
            raise BadLab(
                f"before {lab.name} nothing was written: nothing of {choice.base} to carry on"
            )
        base = submission.take(choice.base, files)
    tree.skeleton(lab, choice.out, base, choice.student)
    print(f"{choice.out}: {lab.title}; read {choice.out}/grade/labs/{lab.name}/handout.md")
    return 0


def samples(choice: argparse.Namespace) -> int:
    """Make submissions to try the rest with."""
    for path in tree.samples(named(choice.lab), choice.out):
        print(path)
    return 0


def make_bundle(choice: argparse.Namespace) -> int:
    """Make what Gradescope builds its autograder from."""
    bundle.pack(named(choice.lab), choice.out)
    print(f"{choice.out}: to be uploaded to Gradescope as the autograder of {choice.lab}")
    return 0


def step_line(step: classroom.Step) -> str:
    """One submission, for a log."""
    record = step.record
    what = f"{record.score:g} of {record.most:g}" if record.status == "graded" else record.status
    return f"{step.name}: {what}{', there already' if step.resumed else ''}"


def score_class(choice: argparse.Namespace) -> int:
    """Score a folder of submissions, with a bar on a terminal, else with a line for each."""
    lab = named(choice.lab)
    folder = choice.out or BUILD / "class" / lab.name
    pool = partial(workers, choice.jobs, choice.scheduler)
    console = Console()
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(
        *columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(lab.name, total=len(list(choice.submissions.glob("[!.]*"))))

        def report(step: classroom.Step) -> None:
            bar.print(step_line(step), markup=False)
            bar.advance(task)

        classroom.score_class(lab, choice.submissions, folder, choice.nonce, report, pool)
    print(f"table: {folder / 'class.csv'}\npage:  {folder / 'class.html'}")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="grade.scoring", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("grade")
    verb.set_defaults(do=grade)
    verb.add_argument("lab")
    verb.add_argument("--submission", type=Path, help="a folder or archive; else this tree")
    verb.add_argument("--test", default="", help="only these: GROUP or GROUP.TEST, with commas")
    verb.add_argument("--nonce", default="", help="that of the grading to be repeated")
    verb.add_argument("--out", type=Path, help="folder for the results")
    verb.add_argument("--gdb", action="store_true", help="the first machine waits for gdb")
    verb = verbs.add_parser("class")
    verb.set_defaults(do=score_class)
    verb.add_argument("lab")
    verb.add_argument("submissions", type=Path, help="a folder of folders or archives")
    verb.add_argument("--nonce", default="", help="that of an earlier scoring; else kept or new")
    verb.add_argument("--out", type=Path, help="folder for the results")
    verb.add_argument("--jobs", type=int, default=os.cpu_count(), help="submissions at a time")
    verb.add_argument("--scheduler", default="", help="address of a Dask scheduler")
    verb = verbs.add_parser("samples")
    verb.set_defaults(do=samples)
    verb.add_argument("lab")
    verb.add_argument("out", type=Path)
    verb = verbs.add_parser("bundle")
    verb.set_defaults(do=make_bundle)
    verb.add_argument("lab")
    verb.add_argument("out", type=Path, help="the archive, a .zip")
    verb = verbs.add_parser("skeleton")
    verb.set_defaults(do=skeleton)
    verb.add_argument("lab")
    verb.add_argument("out", type=Path)
    verb.add_argument("--student", default="", help="whose, if the lab is answered by numbers")
    verb.add_argument("--base", type=Path, help="a student's earlier work, to be carried on")
    return parser.parse_args()


def main() -> int:
    """The command; its exit status is 0 if results were written."""
    choice = arguments()
    try:
        return choice.do(choice)
    except (BadClass, BadLab, NoTest, NoWorkers, Refused) as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
