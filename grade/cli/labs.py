"""`make skeleton`, `grade`, `replay`, `class` and `bundle`: labs are handed out and scored.

The options are the Makefile's variables. An empty one has not been given.
"""

import argparse
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from grade.course import bundle, classpage, classroom
from grade.course.classroom import BadClass
from grade.course.late import BadLate
from grade.definition.lab import BadLab, Lab, named
from grade.engine import answers, certificate, formats, grading, moments, tree
from grade.engine.certificate import BadCertificate
from grade.engine.formats import page, people
from grade.engine.grading import NoTest
from grade.engine.moments import TRACE_FILE
from grade.engine.record import Record
from grade.trust import names, sandbox, submission
from grade.trust.submission import Refused
from grade.trust.untrusted_text import printable
from sluice.experiment.progress import counted
from sluice.host import printing
from sluice.host.fault import HostFault, what_failed
from sluice.host.interrupt import stoppable
from sluice.host.out import BadOut, expect_file
from sluice.host.paths import BUILD, ROOT, TREE
from sluice.host.quoting import for_shell
from sluice.host.workers import NoWorkers, workers
from sluice.system.trace import BadTrace

FAILED = 3  # the status if the grader failed, so that something has no score
GDB_SOCKET = BUILD / "gdb.sock"


class BadCall(Exception):
    """Something was not given, or does not exist; the text says what."""


def given(path: Path | None, variable: str, what: str) -> Path:
    """A path that the command needs. Raises BadCall if it was not given."""
    if path is None:
        raise BadCall(f"{variable}= is missing: give {what}")
    return path


def existing(path: Path) -> Path:
    """A path of a file or folder that must exist. Raises BadCall if it does not."""
    if not path.exists():
        raise BadCall(f"{path}: no such file or folder")
    return path


def made(folder: Path) -> Path:
    """A folder, made unless it exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadCall(f"{folder}: {error.strerror}") from None
    return folder


def warn() -> None:
    """Print a note if this machine isolates a submission's compiler less than others would."""
    if sandbox.weakness():
        print(
            f"note: submissions are compiled {sandbox.weakness()} (see grade/labs/TRUST.md)",
            file=sys.stderr,
        )


def take(lab: Lab, handed_in: Path | None) -> dict[str, str]:
    """The lab's files, from this tree or from what was handed in."""
    if handed_in is None:
        for file in lab.files:
            if (TREE / file).exists():
                submission.text(file, (TREE / file).read_bytes())
        return tree.here(lab)
    return submission.take(existing(handed_in), lab.files, tree.as_handed_out(lab))


def say_whose(lab: Lab) -> None:
    """Print a note if this tree's work in a lab is the staff's solution."""
    if not lab.handed_out:
        print(
            f"note: this tree has the staff's solution of {lab.name}, and that is graded; give a "
            "student's work as SUBMISSION=, or make a student's tree with make skeleton",
            file=sys.stderr,
        )


def grade(choice: argparse.Namespace) -> int:
    """Score this tree or a submission; write and print the results."""
    lab = named(choice.lab)
    command = f"make grade LAB={lab.name}"
    if choice.submission:
        warn()
        command += f" SUBMISSION={for_shell(existing(choice.submission))}"
    nonce = choice.nonce or secrets.token_hex(4)
    gdb = GDB_SOCKET if choice.gdb else None
    folder = made(choice.out or BUILD / "grade" / lab.name)
    if not choice.submission:
        say_whose(lab)
    try:
        record = grading.grade(
            lab,
            lambda: take(lab, choice.submission),
            folder,
            nonce,
            command,
            choice.test,
            gdb,
            True,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"this grading has no results, and results that are in {folder} are an earlier one's; "
            f"the same command with NONCE={nonce} begins it anew, with the same tests"
        ) from None
    formats.write_all(record, folder)
    print(people.text(record, printing.terminal_width()))
    print(f"results in {folder}; open {folder / page.FILE} in a browser")
    print(f"this grading took {people.cost(record)}")
    return 0 if record.scored else FAILED


def replay(choice: argparse.Namespace) -> int:
    """Make a grade again from its certificate, and compare. Returns 1 if it differs."""
    file = existing(given(choice.certificate, "CERTIFICATE", "the certificate.json of a grade"))
    was = certificate.read(file)
    lab = named(was["lab"])
    if set(was["files"]) != set(lab.files):
        raise BadCertificate(
            f"{file}: its lab is {lab.name}, whose files are {', '.join(lab.files)}; but its files"
            f" are {', '.join(was['files'])}: replay the certificate as it was written"
        )
    files = take(lab, choice.submission)
    wrong = certificate.other_files(was, files)
    if wrong:
        raise BadCertificate(
            "\n".join([*wrong, "Nothing was graded: give the graded submission as SUBMISSION="])
        )
    warn()
    folder = made(choice.out or BUILD / "replay" / lab.name)
    command, tests = f"make grade LAB={lab.name}", ",".join(was["points"])
    record = grading.grade(lab, lambda: files, folder, was["nonce"], command, tests)
    formats.write_all(record, folder)
    if not record.scored:
        raise HostFault(f"{record.status}: {record.message}\nNothing was compared.")
    now = certificate.certificate(record)
    if now is None:
        raise BadCertificate(f"{lab.name} was graded there, and here it is not:\n{record.message}")
    print(certificate.compared(was, now))
    return int(not certificate.confirmed(was, now))


def events(choice: argparse.Namespace) -> int:
    """List the events around one of a run's trace."""
    file = existing(given(choice.run, "RUN", "the folder of a run") / TRACE_FILE)
    print(moments.around(file, choice.event))
    return 0


def own_work(lab: Lab, path: Path | None) -> dict[str, str]:
    """A student's work in the other labs. Prints which files it has."""
    if path is None:
        return {}
    work = submission.take_some(existing(path), tree.sources_of_others(lab))
    print(f"taken from BASE: {', '.join(sorted(work))}")
    return work


def named_labs(lab: Lab, words: str) -> frozenset[str]:
    """The other labs that are named, separated by blanks or commas."""
    found = frozenset(named(word).name for word in words.replace(",", " ").split())
    if lab.name in found:
        raise BadLab(f"SOLVED={lab.name}: the student is to solve it")
    return found


def class_list(path: Path) -> dict[str, str]:
    """The students in a file with a name on each line, by the names of their folders. A name that
    is there twice, with its accents written in two ways, is one student; that is said."""
    found: dict[str, str] = {}
    written: set[str] = set()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadCall(f"{path}: {error}") from None
    for number, line in enumerate(lines, 1):
        name = line.strip()
        folder = names.folder_for(name)
        if name and not (folder and names.is_name(name)):
            raise BadCall(
                f'{path}: line {number}: "{printable(name)}" cannot be a name in a form, which has '
                f"{names.HAS}"
            )
        if names.same(name) == found.get(folder) and name not in written:
            print(
                f"{path}: line {number}: {name} is there already, with its accents written in "
                "another way: one tree is made"
            )
        elif folder in found:
            raise BadCall(f"{path}: line {number}: {name} and {found[folder]} would share a folder")
        if name:
            found[folder] = names.same(name)
            written.add(name)
    if not found:
        raise BadCall(f"{path}: it has no names; write one on each line")
    return found


def trees_in(out: Path, lab: Lab) -> set[str]:
    """The names of the students' trees that are in the class's folder already. Raises BadLab if
    anything else is there, but for something hidden, which a command that was killed has left."""
    if not out.is_dir():
        tree.expect_room(out)
        return set()
    there = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    within = lab.folder.relative_to(ROOT)
    strange = [name for name in there if not (out / name / within).is_dir()]
    if strange:
        raise BadLab(f"{out / min(strange)}: no student's tree of {lab.name}: {tree.ROOM}")
    return there


def skeletons(choice: argparse.Namespace) -> int:
    """Hand a lab that is answered by numbers out to each student of a class who has no tree yet."""
    lab = named(choice.lab)
    out = given(choice.out, "OUT", "the folder to be made for the class")
    if answers.FORM not in lab.files:
        raise BadCall(f"STUDENTS=: all students of {lab.name} get the same tree; leave it out")
    students = class_list(existing(choice.students))
    there = trees_in(out, lab)
    try:
        for folder, student in students.items():
            if folder in there:
                print(f"{out / folder}: there already")
                continue
            one = {"students": None, "student": student, "out": out / folder}
            skeleton(argparse.Namespace(**(vars(choice) | one)))
    except KeyboardInterrupt:
        have = len(trees_in(out, lab) & students.keys())
        raise KeyboardInterrupt(
            f"{have} of {len(students)} students have their trees in {out}; "
            "the same command goes on from there"
        ) from None
    return 0


@contextmanager
def told_if_made(out: Path) -> Iterator[None]:
    """After ^C, say so if the folder is made. It comes to its place whole, or not at all."""
    try:
        yield
    except KeyboardInterrupt:
        made = out.is_dir() and any(out.iterdir())
        raise KeyboardInterrupt(f"{out} is made" if made else "") from None


def skeleton(choice: argparse.Namespace) -> int:
    """Hand a lab out."""
    if choice.students:
        return skeletons(choice)
    lab = named(choice.lab)
    out = given(choice.out, "OUT", "the folder to be made for the student")
    tree.expect_room(out)
    base, solved = own_work(lab, choice.base), named_labs(lab, choice.solved)
    tree.expect_needs(lab, tree.prepared(lab, base, solved))
    with told_if_made(out):
        made = tree.skeleton(lab, out, base, choice.student, solved)
    if made.taken:
        said = ", ".join(f"{hole.function} in {hole.file}" for hole in made.taken)
        print(f"taken from the solution: {said}")
    if made.left:
        print(f"not written in this tree, which says so:\n{tree.unsolved(made.left)}", end="")
    print(f"{out}: the lab {lab.title}; begin with {out}/grade/labs/{lab.name}/handout.md")
    return 0


def samples(choice: argparse.Namespace) -> int:
    """Make submissions to try the other commands with."""
    out = given(choice.out, "OUT", "the folder to be made for the samples")
    with told_if_made(out):
        made = tree.samples(named(choice.lab), out)
    print("\n".join(map(str, made)))
    return 0


def make_bundle(choice: argparse.Namespace) -> int:
    """Make the archive from which Gradescope builds its autograder."""
    lab, out = named(choice.lab), given(choice.out, "OUT", "the .zip to be made")
    expect_file(out)
    bundle.pack(lab, out)
    print(f"{out}: upload it to Gradescope as the autograder of {lab.name}")
    return 0


@dataclass
class Pace:
    """Tells the time left from the submissions that were scored now; those that were there already,
    or are refused unread, take none."""

    total: int
    now_s: Callable[[], float] = time.monotonic
    quick: int = 0
    scored: int = 0
    began_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.began_s = self.now_s()

    def count(self, step: classroom.Step) -> None:
        """One more is done."""
        if step.compared:
            return
        if step.resumed or step.record.status == "refused":
            self.quick += 1
        else:
            self.scored += 1

    def left(self) -> str:
        """The time left, in words; empty while nothing tells it."""
        waiting = self.total - self.quick - self.scored
        if not self.scored or not waiting:
            return ""
        left_s = (self.now_s() - self.began_s) / self.scored * waiting
        return f"{left_s / 60:.0f} min left" if left_s >= 90 else f"{left_s:.0f} s left"


def step_line(step: classroom.Step) -> str:
    """A line about one submission, for a log."""
    record = step.record
    what = f"{record.score:g} of {record.most:g}"
    if record.status != "graded":
        what = classpage.lost_in(record)
    there = ", there already" if step.resumed else ""
    if step.compared:
        return f"for comparison, {step.compared}: {step.name}{there}"
    return f"{step.name}: {what}{there}"


def report_failures(records: dict[str, Record]) -> int:
    """Print which submissions the grader failed to score. Returns the command's status."""
    failed = {name: record for name, record in records.items() if not record.scored}
    for name, record in failed.items():
        print(f"{name} has no score: {' '.join(record.message.split())}", file=sys.stderr)
    if failed:
        print(
            f"the grader failed on {len(failed)} of {len(records)} submissions, and they have no "
            "score; the same command tries them again",
            file=sys.stderr,
        )
    return FAILED if failed else 0


def summed_up(records: dict[str, Record]) -> str:
    """How many submissions were graded, and how many were not, in a sentence."""
    counts = Counter(record.status for record in records.values())
    others = [f"{n} {status}" for status, n in counts.items() if status != "graded"]
    graded = f"{counts['graded']} graded"
    return f"{counted(len(records), 'submission')}: {', '.join([graded, *others])}"


def score_class(choice: argparse.Namespace) -> int:
    """Score a folder of submissions. Shows a bar on a terminal, and otherwise a line for each."""
    lab = named(choice.lab)
    handed_in = existing(given(choice.submissions, "SUBMISSIONS", "the folder of the submissions"))
    folder = made(choice.out or BUILD / "class" / lab.name)
    warn()
    pool = partial(workers, choice.jobs, choice.scheduler)
    late_csv = existing(choice.late) if choice.late else None
    console = Console()
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    left = TextColumn("{task.fields[left]}")
    with Progress(*columns, left, console=console, disable=not console.is_terminal) as bar:
        total = len(list(handed_in.glob("[!.]*")))
        task = bar.add_task(lab.name, total=total, left="")
        pace = Pace(total)

        def report(step: classroom.Step) -> None:
            pace.count(step)
            bar.update(task, advance=not step.compared, left=pace.left())
            for line in printing.filled(step_line(step), 4):
                bar.print(line, markup=False, soft_wrap=True)

        try:
            records = classroom.score_class(
                lab, handed_in, folder, choice.nonce, report, pool, late_csv
            )
        except KeyboardInterrupt:
            scored = f"{bar.tasks[task].completed} of {total} submissions"
            raise KeyboardInterrupt(
                f"{scored} are scored and kept in {folder}; the same command goes on from there"
            ) from None
    print("\n".join(printing.filled(summed_up(records), 0)))
    print(f"table: {folder / 'class.csv'}\npage:  {folder / 'class.html'}")
    print(f"each submission has a folder there, with its {page.FILE}")
    return report_failures(records)


def path(text: str) -> Path | None:
    """A path, if one is given."""
    return Path(text) if text else None


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="grade.cli.labs", description=__doc__)
    verbs = parser.add_subparsers(required=True)

    def verb(name: str, do: Callable[[argparse.Namespace], int], out: str) -> Callable:
        """Add a verb about a lab. Returns the function that adds an option to it."""
        added = verbs.add_parser(name)
        added.set_defaults(do=do)
        added.add_argument("--lab", required=True)
        added.add_argument("--out", type=path, help=out)
        return added.add_argument

    add = verb("grade", grade, "folder for the results")
    add("--submission", type=path, help="a folder or archive; if not given, this tree")
    add("--test", default="", help="run only these: GROUP or GROUP.TEST, separated by commas")
    add("--nonce", default="", help="the nonce of the grading to repeat")
    add("--gdb", action="store_true", help="the first machine waits for gdb")
    add = verb("class", score_class, "folder for the results")
    add("--submissions", type=path, help="a folder of folders and archives")
    add(
        "--nonce",
        default="",
        help="the nonce of an earlier scoring; if not given, the kept one or a new one",
    )
    add("--jobs", type=int, default=os.cpu_count(), help="submissions at a time")
    add("--scheduler", default="", help="address of a Dask scheduler")
    add("--late", type=path, help="late.csv: the students who handed in late")
    again = verbs.add_parser("replay")
    again.set_defaults(do=replay)
    again.add_argument("--certificate", type=path, help="the certificate.json of a grade")
    again.add_argument("--submission", type=path, help="what was graded; if not given, this tree")
    again.add_argument("--out", type=path, help="folder for the results")
    listing = verbs.add_parser("events")
    listing.set_defaults(do=events)
    listing.add_argument("--run", type=path, help="the folder of a run")
    listing.add_argument("--event", type=int, default=0, help="the number of an event")
    verb("samples", samples, "the folder to make")
    verb("bundle", make_bundle, "the .zip to make")
    add = verb("skeleton", skeleton, "the folder to make")
    add("--student", default="", help="the student's name, if the lab is answered by numbers")
    add("--students", type=path, help="a file with a student's name on each line")
    add("--base", type=path, help="a student's work in other labs, to carry on")
    add("--solved", default="", help="labs whose solutions the tree may have")
    return parser.parse_args()


def main() -> int:
    """Run the command. Its exit status is 0 if results were written."""
    choice = arguments()
    try:
        return choice.do(choice)
    except (
        BadCall,
        BadCertificate,
        BadClass,
        BadLab,
        BadLate,
        BadOut,
        BadTrace,
        NoTest,
        NoWorkers,
        Refused,
    ) as error:
        print(error, file=sys.stderr)
        return 2
    except (HostFault, MemoryError, OSError) as error:
        print(
            f"the grader failed: {what_failed(error)}\n"
            "Nothing more was written; the same command keeps what is scored, and goes on",
            file=sys.stderr,
        )
        return FAILED


if __name__ == "__main__":
    sys.exit(stoppable(main, "nothing was scored or written"))
