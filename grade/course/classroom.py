"""A class: a folder of submissions, scored in parallel, each once.

In the folder of the results:
    class.csv    a row for each submission (classtable)
    class.html   the spread of points per test, and pairs that are alike (classpage, pairs)
    nonce        the class's nonce: all submissions have the same tests
    NAME/        a submission's results in every form, its cost, its decisions, and their key
    .compared/   the same of what submissions are compared with

A submission whose results have the right key is not scored again. The key is the hash of everything
that its score depends on: the files handed in, the lab, the nonce, the reference and the scoring
itself. What is lost by being late is added afterwards, because it depends on late.csv alone.

Dask workers score, on this machine or in a scheduler's cluster. A worker gets the texts of a
submission and returns what it scored. It needs this tree, built, and shares no disk. It refuses to
score if its tree is another one, or is built again meanwhile. New submissions are scored first, and
then those that took longest the last time, so that no worker begins with a long one at the end.
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
from grade.definition.lab import FULL, BadLab, Lab, named
from grade.engine import formats, grading, tree
from grade.engine.certificate import GRADER
from grade.engine.record import NOT_SCORED, Late, Record, cost_in, parse
from grade.trust import names, submission
from grade.trust.submission import Refused
from grade.trust.untrusted_text import printable, write_text
from sluice.host.fault import HostFault, what_failed
from sluice.host.paths import KERNEL, MKFS, NATIVE, PROGRAMS, ROOT, ROOT_FOLDER, TREE
from sluice.host.quoting import for_shell
from sluice.host.workers import completed

if TYPE_CHECKING:
    from distributed import Client, Future

ARCHIVES = (".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".tar", ".zip")
RESULTS = ("class.csv", "class.html", "nonce")
COMPARED = ".compared"  # no submission's name begins so
DECISIONS = "decisions"
TOOLS = ("drive_times_tool", "places_tool")  # which gradings ask what a drive would have done


class BadClass(Exception):
    """The class cannot be scored; the text says why."""


@dataclass(frozen=True)
class Handed:
    """A submission: its files, or why it was refused, or why this machine cannot read it."""

    name: str
    path: Path
    files: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    unread: str = ""

    def take(self) -> dict[str, str]:
        """The files. Raises Refused and HostFault."""
        if self.unread:
            raise HostFault(self.unread)
        if self.refused:
            raise Refused(self.refused)
        return self.files


@dataclass(frozen=True)
class Job:
    """The work of a worker."""

    lab: str
    handed: Handed
    nonce: str
    tree: str  # hash
    command: str


@dataclass(frozen=True)
class Scored:
    """What a worker returns: the record, and the decisions in all runs."""

    record: Record
    decisions: Decisions = frozenset()


@dataclass(frozen=True)
class Step:
    """One submission is done, or something that submissions are compared with: then `compared` says
    which one of how many."""

    name: str
    record: Record
    resumed: bool
    compared: str = ""


Report = Callable[[Step], None]
Pool = Callable[[], AbstractContextManager["Client"]]
ClientOf = Callable[[], "Client"]


def name_of(path: Path) -> str:
    """A submission's name: that of its folder or archive, without the ending."""
    ending = next((e for e in ARCHIVES if path.name.endswith(e)), "")
    return names.of_submission(path.name[: len(path.name) - len(ending)])


def of_one_name(name: str, paths: list[Path]) -> Iterator[Handed]:
    """The submissions of one name, each refused under a name of its own: a person must say which of
    them counts, and meanwhile the others of the class are scored."""
    there = ", ".join(sorted(printable(path.name) for path in paths))
    for path in paths:
        digits = sha256(os.fsencode(path.name)).hexdigest()[:8]
        why = f"several submissions are called {name}: {there}: leave one of them there"
        yield Handed(f"{name}-{digits}", path, refused=why)


def collect(folder: Path, lab: Lab) -> list[Handed]:
    """The submissions in a folder, by name."""
    if not folder.is_dir():
        raise BadClass(f"{folder}: not a folder: give the folder of the submissions")
    paths = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    called = defaultdict(list)
    for path in paths:
        called[name_of(path)].append(path)
    for name in called:
        if name in RESULTS:
            raise BadClass(f"{folder}: no submission may be called {name}, as the results are")
    if not paths:
        raise BadClass(
            f"{folder}: no submissions are in it: it should have a folder or an archive for each"
        )
    known = tree.as_handed_out(lab)
    handed = []
    for name, same in called.items():
        handed += of_one_name(name, same) if same[1:] else [taken(lab, same[0], known)]
    return handed


def taken(lab: Lab, path: Path, known: Callable[[str], set[bytes]]) -> Handed:
    """One submission, read."""
    try:
        if path.is_symlink():
            raise Refused(f"{name_of(path)}: a link")
        return Handed(name_of(path), path, submission.take(path, lab.files, known))
    except Refused as refused:
        return Handed(name_of(path), path, refused=str(refused))
    except HostFault as fault:
        return Handed(name_of(path), path, unread=str(fault))


# ---- keys ----


def hash_of(folder: Path, paths: list[Path]) -> str:
    """The hash of files and of their names in the folder."""
    digest = sha256()
    for path in sorted(paths):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()


@cache
def code_key(lab: str) -> str:
    """The hash of the lab and the scoring as of the first call, when they were loaded."""
    folder = named(lab).folder
    files = [p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return hash_of(ROOT, files + [path for pattern in GRADER for path in ROOT.glob(pattern)])


def tree_key(lab: str) -> str:
    """The hash of what scores a lab: its code, and the reference, mkfs, programs and tools as they
    are now."""
    programs = [path for f in (ROOT_FOLDER, PROGRAMS) for path in f.rglob("*") if path.is_file()]
    built = [KERNEL, MKFS, *programs, *(NATIVE / tool for tool in TOOLS)]
    return f"{code_key(lab)} {hash_of(TREE, built)}"


def key_of(job: Job) -> str:
    """The hash of everything that a score depends on."""
    texts = sorted(job.handed.files.items())
    return sha256(repr((job.tree, job.nonce, texts, job.handed.refused)).encode()).hexdigest()


# ---- scoring ----


def check_tree(job: Job, when: str) -> None:
    """Raise BadClass unless this process scores as the job asks."""
    if tree_key(job.lab) != job.tree:
        where = f"{ROOT} on {socket.gethostname()}"
        raise BadClass(
            f"the worker in {where} {when}: update that tree to the commit that you have here, "
            "run make in it, start its workers anew, and then this command"
        )


def score(job: Job) -> Scored:
    """In a worker: the record of one submission, and its decisions."""
    check_tree(job, "has another tree, or built otherwise")
    seen: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        record = grading.grade(
            named(job.lab),
            job.handed.take,
            Path(folder),
            job.nonce,
            job.command,
            watch=lambda bench: seen.update(behaviour.seen(bench)),
        )
    check_tree(job, "had its tree built anew while it scored")
    for test in record.tests:
        test.runs = []  # they were in that folder
    return Scored(record, frozenset(seen))


def stored(folder: Path, key: str) -> Scored | None:
    """What was scored with this key, if it is in the folder."""
    try:
        if (folder / "key").read_text(encoding="utf-8") != key:
            return None
        record = parse((folder / "result.json").read_text(encoding="utf-8"))
        record.cost = cost_in(folder)
        return Scored(record, behaviour.parse((folder / DECISIONS).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def keep(folder: Path, scored: Scored, key: str) -> None:
    """Write a submission's results, the key last."""
    (folder / "key").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    formats.write_all(scored.record, folder)
    write_text(folder / DECISIONS, behaviour.text(scored.decisions))
    if scored.record.scored:
        (folder / "key").write_text(key, encoding="utf-8")


def result_of(future: Future, job: Job) -> Scored:
    """What a worker scored; if it returned nothing, a record that says why."""
    error = future.exception()
    if isinstance(error, BadClass):
        raise error
    if error:
        lab = named(job.lab)
        fixed = (lab.name, lab.title, job.nonce, NOT_SCORED, printable(what_failed(error)))
        return Scored(Record(*fixed, most=FULL))
    return future.result()


def nonce_of(folder: Path, nonce: str) -> str:
    """The class's nonce: the given one, or that of an earlier scoring, or a new one. A file that is
    empty, because the disk was full, counts as none."""
    path = folder / "nonce"
    kept = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    nonce = nonce or kept or secrets.token_hex(4)
    folder.mkdir(parents=True, exist_ok=True)
    if nonce != kept:
        replace_text(path, nonce + "\n")
    return nonce


def longest_first(folders: list[Path]) -> list[Path]:
    """The folders of results, in the order of what their last scoring took; before them, those that
    have no results."""
    return sorted(folders, key=lambda folder: -(cost_in(folder).cpu_s or float("inf")))


def score_all(
    jobs: dict[Path, Job], client_of: ClientOf, report: Callable[[str, Record, bool], None]
) -> dict[Path, Scored]:
    """What was scored in each job, by the folder of its results. What is there is not scored
    again. client_of: called only if something is to be scored; report: called with the name, the
    record, and whether it was there."""
    scored: dict[Path, Scored] = {}
    for folder, job in jobs.items():
        if there := stored(folder, key_of(job)):
            scored[folder] = there
            report(job.handed.name, there.record, True)
    todo = longest_first([folder for folder in jobs if folder not in scored])
    futures = {
        client_of().submit(score, jobs[f], pure=False, priority=-i): f for i, f in enumerate(todo)
    }
    for future in completed(futures):
        folder = futures[future]
        job = jobs[folder]
        scored[folder] = result_of(future, job)
        keep(folder, scored[folder], key_of(job))
        report(job.handed.name, scored[folder].record, False)
    return {folder: scored[folder] for folder in jobs}


# ---- what comes of it ----


def alike(
    lab: Lab, handed: list[Handed], scored: dict[str, Scored], nonce: str, look: pairs.Look
) -> list[pairs.Pair]:
    """The pairs of submissions that a person should look at."""
    files = {one.name: one.files for one in handed if one.files}
    decisions = {name: scored[name].decisions for name in files}
    by_behaviour = pairs.by_behaviour(lab, files, decisions, nonce, look)
    return [*pairs.by_text(lab, files), *by_behaviour]


def with_late(record: Record, lost: Late | None, folder: Path) -> Record:
    """The record with what is lost by being late; its forms are written again if that is new."""
    if record.late != lost:
        record.late = lost
        formats.write_all(record, folder)
    return record


def read_late(lab: Lab, path: Path | None, handed: list[Handed]) -> dict[str, Late]:
    """What the late students lose. Raises BadLate."""
    return late.read(path, lab, {one.name for one in handed}, late.rule()) if path else {}


def replace_text(path: Path, text: str) -> None:
    """Write a file so that a reader meets the old text or the new one, whoever is stopped."""
    part = path.with_name(f".{path.name}.part")
    try:
        write_text(part, text)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@dataclass
class Sheet:
    """The table and the page of a class, which are written as results come."""

    lab: Lab
    folder: Path
    names: list[str]  # of all submissions, in the order of the rows
    lates: dict[str, Late]
    records: dict[str, Record] = field(default_factory=dict)

    def add(self, name: str, record: Record) -> None:
        """Take a result, and write."""
        self.records[name] = with_late(record, self.lates.get(name), self.folder / name)
        self.write([], self.progress())

    def progress(self) -> str:
        """What is still to come, in words."""
        done = len(self.records)
        doing = "comparison under way" if done == len(self.names) else "the others are under way"
        return f"{done} of {len(self.names)} submissions graded; {doing}"

    @contextmanager
    def closed_if_stopped(self) -> Iterator[None]:
        """If the work in the context is stopped, by ^C or an error, have the page say so: nothing
        is under way any more."""
        try:
            yield
        except BaseException:
            done = len(self.records)
            lacks = "the comparison" if done == len(self.names) else "the others"
            said = f"{done} of {len(self.names)} submissions graded; the command was stopped"
            if self.records:
                with suppress(OSError):  # which is not why it was stopped
                    self.write([], f"{said} before {lacks}; the same command goes on from there")
            raise

    def write(self, found: list[pairs.Pair], progress: str = "") -> None:
        """Write both. progress: what is still to come, if anything is."""
        rows = {name: self.records[name] for name in self.names if name in self.records}
        replace_text(self.folder / "class.csv", classtable.text(rows, found))
        replace_text(self.folder / "class.html", classpage.text(self.lab, rows, found, progress))


@dataclass(frozen=True)
class Desk:
    """Where the gradings of a class are made and kept."""

    lab: Lab
    folder: Path
    tree: str  # hash
    client_of: ClientOf
    report: Report

    def job(self, one: Handed, nonce: str) -> Job:
        """The grading of a submission."""
        command = f"make grade LAB={self.lab.name} SUBMISSION={for_shell(one.path)}"
        return Job(self.lab.name, one, nonce, self.tree, command)

    def score(self, handed: list[Handed], nonce: str, sheet: Sheet) -> dict[str, Scored]:
        """What was scored of each submission, by name. The sheet is written after each."""
        jobs = {self.folder / one.name: self.job(one, nonce) for one in handed}

        def report(name: str, record: Record, resumed: bool) -> None:
            sheet.add(name, record)
            self.report(Step(name, record, resumed))

        found = score_all(jobs, self.client_of, report)
        return {path.name: scored for path, scored in found.items()}

    def look(self, asked: dict[str, tuple[pairs.Files, str]]) -> dict[str, Decisions]:
        """The decisions of what submissions are compared with (pairs.Look)."""
        jobs = {
            self.folder / COMPARED / name: self.job(Handed(name, self.folder, dict(files)), nonce)
            for name, (files, nonce) in asked.items()
        }
        number = count(1)

        def report(*done: object) -> None:
            self.report(Step(*done, f"{next(number)} of {len(jobs)}"))

        found = score_all(jobs, self.client_of, report)
        for path, scored in found.items():
            if not scored.record.scored:
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
    """Score a folder of submissions; write the table and the page. Nothing is scored or written if
    late_csv has a bad row."""
    if lab.handed_out:
        raise BadLab(f"{lab.name}: a student's tree has no hidden tests, and scores no class")
    handed = collect(submissions, lab)
    lates = read_late(lab, late_csv, handed)
    nonce = nonce_of(folder, nonce)
    with ExitStack() as stack:
        client_of = cache(lambda: stack.enter_context(pool()))
        desk = Desk(lab, folder, tree_key(lab.name), client_of, report)
        sheet = Sheet(lab, folder, [one.name for one in handed], lates)
        with sheet.closed_if_stopped():
            scored = desk.score(handed, nonce, sheet)
            found = alike(lab, handed, scored, nonce, desk.look)
    sheet.write(found)
    return sheet.records
