"""Score a class: a folder of submissions, in parallel, each once.

In the folder of the results:
    class.csv    a row for each submission (classtable)
    class.html   the distribution of points per test, and pairs that are alike (classpage, pairs)
    nonce        the class's nonce: all submissions have the same tests
    NAME/        a submission's results in every form, its cost, its decisions, and their key
    .compared/   the same for the programs with which submissions are compared

A submission whose results have the right key is not scored again. The key is the hash of everything
that its score depends on: the files handed in, the lab, the nonce, the reference and the scoring
itself. The points lost by being late are added afterwards, because they depend on late.csv alone.

Dask workers score, on this machine or in a scheduler's cluster. A worker receives the texts of a
submission and returns its record and decisions. It needs a built copy of this tree, but no shared
disk. It refuses to score if its tree differs from this one, or is built again meanwhile. New
submissions are scored first, and then those that took longest the last time, so that no worker
begins with a long one at the end.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from grade.course import behaviour, classpage, classtable, late, pairs
from grade.course.behaviour import Decisions
from grade.definition.lab import FULL, BadLab, Lab, find_lab
from grade.engine import formats, grading, tree
from grade.engine.certificate import GRADER
from grade.engine.record import NOT_SCORED, Late, Record, parse_record, read_cost
from grade.trust import names, submission
from grade.trust.archive import Refused
from grade.trust.likeness import Pair
from grade.trust.untrusted_text import make_printable, write_text
from sluice.host.fault import HostFault, describe_fault
from sluice.host.paths import KERNEL, MKFS, NATIVE, PROGRAMS, ROOT, ROOT_FOLDER, TREE
from sluice.host.quoting import quote_shell
from sluice.host.workers import iterate_completed

if TYPE_CHECKING:
    from distributed import Client, Future

ARCHIVES = (".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".tar", ".zip")
RESULTS = ("class.csv", "class.html", "nonce")
COMPARED = ".compared"  # no submission's name begins so
DECISIONS = "decisions"
TOOLS = ("drive_times_tool", "places_tool")  # models of drives, which gradings run


class BadClass(Exception):
    """The error for a class that cannot be scored; the text says why."""


@dataclass(frozen=True)
class Handed:
    """A submission: its files, or the reason why it was refused or this machine cannot read it."""

    name: str
    path: Path
    files: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    unread: str = ""

    def get_files(self) -> dict[str, str]:
        """Return the files. Raises Refused and HostFault."""
        if self.unread:
            raise HostFault(self.unread)
        if self.refused:
            raise Refused(self.refused)
        return self.files


@dataclass(frozen=True)
class Job:
    """One grading, as a worker receives it."""

    lab: str
    handed: Handed
    nonce: str
    tree: str  # hash
    command: str


@dataclass(frozen=True)
class Scored:
    """A worker's result: the record, and the decisions of all runs."""

    record: Record
    decisions: Decisions = frozenset()


@dataclass(frozen=True)
class Step:
    """A report that one submission, or one program for comparison, is scored.

    compared: the number of the program and of all programs for comparison ("2 of 5"); empty for a
    submission.
    """

    name: str
    record: Record
    resumed: bool
    compared: str = ""


Report = Callable[[Step], None]
Pool = Callable[[], AbstractContextManager["Client"]]
ClientOf = Callable[[], "Client"]


def submission_name(path: Path) -> str:
    """Return a submission's name: its folder's or archive's name without the ending."""
    ending = next((e for e in ARCHIVES if path.name.endswith(e)), "")
    return names.submission_name(path.name[: len(path.name) - len(ending)])


def refuse_duplicates(name: str, paths: list[Path]) -> Iterator[Handed]:
    """Yield the submissions that share a name, each refused under a unique name.

    A person must say which of them counts; the rest of the class is scored meanwhile.
    """
    there = ", ".join(sorted(make_printable(path.name) for path in paths))
    for path in paths:
        digits = sha256(os.fsencode(path.name)).hexdigest()[:8]
        why = f"several submissions are called {name}: {there}: leave one of them there"
        yield Handed(f"{name}-{digits}", path, refused=why)


def collect_submissions(folder: Path, lab: Lab) -> list[Handed]:
    """Return the submissions in a folder. Raises BadClass."""
    if not folder.is_dir():
        raise BadClass(f"{folder}: not a folder: give the folder of the submissions")
    paths = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    called = defaultdict(list)
    for path in paths:
        called[submission_name(path)].append(path)
    for name in called:
        if name in RESULTS:
            raise BadClass(f"{folder}: no submission may be called {name}, as the results are")
    if not paths:
        raise BadClass(
            f"{folder}: no submissions are in it: it should have a folder or an archive for each"
        )
    known = tree.allowed_contents(lab)
    handed: list[Handed] = []
    for name, same in called.items():
        handed += (
            refuse_duplicates(name, same) if same[1:] else [read_submission(lab, same[0], known)]
        )
    return handed


def read_submission(lab: Lab, path: Path, known: Callable[[str], set[bytes]]) -> Handed:
    """Read one submission and return it. If it is refused or unreadable, it holds the reason."""
    try:
        if path.is_symlink():
            raise Refused(f"{submission_name(path)}: a link")
        return Handed(submission_name(path), path, submission.take_files(path, lab.files, known))
    except Refused as refused:
        return Handed(submission_name(path), path, refused=str(refused))
    except HostFault as fault:
        return Handed(submission_name(path), path, unread=str(fault))


# ---- keys ----


def hash_files(folder: Path, paths: list[Path]) -> str:
    """Return the hash of these files' contents and of their paths relative to the folder."""
    digest = sha256()
    for path in sorted(paths):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


@cache
def code_key(lab: str) -> str:
    """Return the hash of the lab and of the grader's code, as of the first call."""
    folder = find_lab(lab).folder
    files = [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return hash_files(ROOT, files + [path for pattern in GRADER for path in ROOT.glob(pattern)])


def tree_key(lab: str) -> str:
    """Return the hash of everything that scores a lab.

    This is the hash of the code, and of the reference, mkfs, programs and tools as they are now.
    """
    programs = [path for f in (ROOT_FOLDER, PROGRAMS) for path in f.rglob("*") if path.is_file()]
    built = [KERNEL, MKFS, *programs, *(NATIVE / tool for tool in TOOLS)]
    return f"{code_key(lab)} {hash_files(TREE, built)}"


def job_key(job: Job) -> str:
    """Return the hash of everything that the score of a job depends on."""
    texts = sorted(job.handed.files.items())
    return sha256(repr((job.tree, job.nonce, texts, job.handed.refused)).encode()).hexdigest()


# ---- scoring ----


def check_tree(job: Job, when: str) -> None:
    """Raise BadClass unless this process has the tree for which the job was made."""
    if tree_key(job.lab) != job.tree:
        where = f"{ROOT} on {socket.gethostname()}"
        raise BadClass(
            f"the worker in {where} {when}: update that tree to the commit that you have here, "
            "run make in it, start its workers anew, and then this command"
        )


def score_job(job: Job) -> Scored:
    """Score one submission, in a worker; return its record and its decisions."""
    check_tree(job, "has another tree, or a tree built with other tools")
    seen: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        record = grading.grade_submission(
            find_lab(job.lab),
            job.handed.get_files,
            Path(folder),
            job.nonce,
            job.command,
            watch=lambda bench: seen.update(behaviour.collect_decisions(bench)),
        )
    check_tree(job, "had its tree built again while it scored")
    for test in record.tests:
        test.runs = []  # the runs' folders are gone
    return Scored(record, frozenset(seen))


def load_result(folder: Path, key: str) -> Scored | None:
    """Return the result that was stored in the folder with this key, or None."""
    try:
        if (folder / "key").read_text(encoding="utf-8") != key:
            return None
        record = parse_record((folder / "result.json").read_text(encoding="utf-8"))
        record.cost = read_cost(folder)
        return Scored(
            record, behaviour.parse_decisions((folder / DECISIONS).read_text(encoding="utf-8"))
        )
    except (OSError, ValueError, TypeError):
        return None


def store_result(folder: Path, scored: Scored, key: str) -> None:
    """Write a submission's results to the folder. The key is written last."""
    (folder / "key").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    formats.write_all(scored.record, folder)
    write_text(folder / DECISIONS, behaviour.format_decisions(scored.decisions))
    if scored.record.has_score:
        (folder / "key").write_text(key, encoding="utf-8")


def get_result(future: Future[Scored], job: Job) -> Scored:
    """Return what a worker scored, or a record that says why the worker failed."""
    error = future.exception()
    if isinstance(error, BadClass):
        raise error
    if error:
        lab = find_lab(job.lab)
        fixed = (lab.name, lab.title, job.nonce, NOT_SCORED, make_printable(describe_fault(error)))
        return Scored(Record(*fixed, most=FULL))
    scored: Scored = future.result()
    return scored


def choose_nonce(folder: Path, nonce: str) -> str:
    """Return the class's nonce: the given one, the one stored earlier, or a new one.

    An empty file (the disk was full) counts as no nonce. The nonce is stored.
    """
    path = folder / "nonce"
    kept = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    nonce = nonce or kept or secrets.token_hex(4)
    folder.mkdir(parents=True, exist_ok=True)
    if nonce != kept:
        replace_text(path, nonce + "\n")
    return nonce


def sort_longest_first(folders: list[Path]) -> list[Path]:
    """Return the folders of results: first those without results, then the slowest first.

    A folder is as slow as its last scoring was.
    """
    return sorted(folders, key=lambda folder: -(read_cost(folder).cpu_s or float("inf")))


def score_all(
    jobs: dict[Path, Job], client_of: ClientOf, report: Callable[[str, Record, bool], None]
) -> dict[Path, Scored]:
    """Score each job that has no stored result; return all results by the folder of the job.

    client_of: called only if there is a job to score. report: called with the name, the record, and
    whether the result was stored already.
    """
    scored: dict[Path, Scored] = {}
    for folder, job in jobs.items():
        if there := load_result(folder, job_key(job)):
            scored[folder] = there
            report(job.handed.name, there.record, True)
    todo = sort_longest_first([folder for folder in jobs if folder not in scored])
    futures = {
        client_of().submit(score_job, jobs[f], pure=False, priority=-i): f
        for i, f in enumerate(todo)
    }
    for future in iterate_completed(futures):
        folder = futures[future]
        job = jobs[folder]
        scored[folder] = get_result(future, job)
        store_result(folder, scored[folder], job_key(job))
        report(job.handed.name, scored[folder].record, False)
    return {folder: scored[folder] for folder in jobs}


# ---- results ----


def find_similar_pairs(
    lab: Lab, handed: list[Handed], scored: dict[str, Scored], nonce: str, look: pairs.Look
) -> list[Pair]:
    """Return the pairs of submissions that a person should look at."""
    files = {one.name: one.files for one in handed if one.files}
    decisions = {name: scored[name].decisions for name in files}
    by_behaviour = pairs.find_pairs_by_behaviour(lab, files, decisions, nonce, look)
    return [*pairs.find_pairs_by_text(lab, files), *by_behaviour]


def set_late(record: Record, lost: Late | None, folder: Path) -> Record:
    """Set what the record loses by being late and return the record.

    Its results are written again if the loss has changed.
    """
    if record.late != lost:
        record.late = lost
        formats.write_all(record, folder)
    return record


def read_late(lab: Lab, path: Path | None, handed: list[Handed]) -> dict[str, Late]:
    """Return what each late student loses, by name. Raises BadLate."""
    return (
        late.read_late_days(path, lab, {one.name for one in handed}, late.read_rule())
        if path
        else {}
    )


def replace_text(path: Path, text: str) -> None:
    """Write a file atomically: a reader sees the old text or the new text, even after a crash."""
    part = path.with_name(f".{path.name}.part")
    try:
        write_text(part, text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@dataclass
class Sheet:
    """The table and the page of a class, which are written again after each result."""

    lab: Lab
    folder: Path
    names: list[str]  # names of all submissions, in the order of the rows
    lates: dict[str, Late]
    records: dict[str, Record] = field(default_factory=dict)

    def add_result(self, name: str, record: Record) -> None:
        """Add a result and write the table and the page."""
        self.records[name] = set_late(record, self.lates.get(name), self.folder / name)
        self.write([], self.describe_progress())

    def describe_progress(self) -> str:
        """Return a sentence that says what is still to come."""
        done = len(self.records)
        doing = "comparison under way" if done == len(self.names) else "the others are under way"
        return f"{done} of {len(self.names)} submissions graded; {doing}"

    @contextmanager
    def close_on_error(self) -> Iterator[None]:
        """Enter a context; if ^C or an error stops it, the page says that nothing is under way."""
        try:
            yield
        except BaseException:
            done = len(self.records)
            lacks = "the comparison" if done == len(self.names) else "the others"
            said = f"{done} of {len(self.names)} submissions graded; the command was stopped"
            if self.records:
                with suppress(OSError):  # this error did not stop the work
                    self.write([], f"{said} before {lacks}; the same command goes on from there")
            raise

    def write(self, found: list[Pair], progress: str = "") -> None:
        """Write the table and the page.

        progress: what is still to come; empty if nothing is.
        """
        rows = {name: self.records[name] for name in self.names if name in self.records}
        replace_text(self.folder / "class.csv", classtable.format_table(rows, found))
        replace_text(
            self.folder / "class.html", classpage.render_page(self.lab, rows, found, progress)
        )


@dataclass(frozen=True)
class Desk:
    """The common settings of a class's gradings: the lab, the folder of results, the workers."""

    lab: Lab
    folder: Path
    tree: str  # hash
    client_of: ClientOf
    report: Report

    def make_job(self, one: Handed, nonce: str) -> Job:
        """Return the grading of a submission as a job."""
        command = f"make grade LAB={self.lab.name} SUBMISSION={quote_shell(one.path)}"
        return Job(self.lab.name, one, nonce, self.tree, command)

    def score_submissions(
        self, handed: list[Handed], nonce: str, sheet: Sheet
    ) -> dict[str, Scored]:
        """Score the submissions; return what was scored, by name.

        The sheet is written after each.
        """
        jobs = {self.folder / one.name: self.make_job(one, nonce) for one in handed}

        def report(name: str, record: Record, resumed: bool) -> None:
            """Add a submission's record to the table, and report it."""
            sheet.add_result(name, record)
            self.report(Step(name, record, resumed))

        found = score_all(jobs, self.client_of, report)
        return {path.name: scored for path, scored in found.items()}

    def score_references(self, asked: dict[str, tuple[pairs.Files, str]]) -> dict[str, Decisions]:
        """Return the decisions of the programs with which submissions are compared (pairs.Look)."""
        jobs = {
            self.folder / COMPARED / name: self.make_job(
                Handed(name, self.folder, dict(files)), nonce
            )
            for name, (files, nonce) in asked.items()
        }
        number = count(1)

        def report(name: str, record: Record, resumed: bool) -> None:
            """Report a grading that was made for the comparison."""
            self.report(Step(name, record, resumed, f"{next(number)} of {len(jobs)}"))

        found = score_all(jobs, self.client_of, report)
        for path, scored in found.items():
            if not scored.record.has_score:
                raise BadClass(f"{path.name}, for comparison: {scored.record.message}")
        return {path.name: scored.decisions for path, scored in found.items()}


def score_class(
    lab: Lab,
    submissions: Path,
    folder: Path,
    nonce: str,
    report: Report,
    pool: Pool,
    late_csv: Path | None = None,
) -> dict[str, Record]:
    """Score a folder of submissions, write the table and the page, and return the records.

    Nothing is scored or written if late_csv has a bad row. Raises BadLab, BadClass and BadLate.
    """
    if lab.handed_out:
        raise BadLab(
            f"{lab.name}: a student's tree has no hidden tests, so it cannot score a class"
        )
    handed = collect_submissions(submissions, lab)
    lates = read_late(lab, late_csv, handed)
    nonce = choose_nonce(folder, nonce)
    with ExitStack() as stack:
        client_of = cache(lambda: stack.enter_context(pool()))
        desk = Desk(lab, folder, tree_key(lab.name), client_of, report)
        sheet = Sheet(lab, folder, [one.name for one in handed], lates)
        with sheet.close_on_error():
            scored = desk.score_submissions(handed, nonce, sheet)
            found = find_similar_pairs(lab, handed, scored, nonce, desk.score_references)
    sheet.write(found)
    return sheet.records
