"""A class: a folder of submissions, scored in parallel, each once.

In the folder of the results:
    class.csv    a row for each submission
    class.html   the spread of points per test, and pairs that are nearly identical (page)
    nonce        the class's nonce: all submissions have the same tests
    NAME/        a submission's results in every form, and their key

A submission whose results have the right key is not scored again. The key is the hash of everything
that its score depends on: the files handed in, the lab, the nonce, the reference and the scoring
itself.

Dask workers score, on this machine or in a scheduler's cluster. A worker gets the texts of a
submission and returns a record. It needs this tree, built, and shares no disk. It refuses to score
if its tree is another one, or is built again meanwhile.
"""

import csv
import io
import secrets
import shlex
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

from distributed import Client, Future, as_completed

from grade.host.paths import KERNEL, MKFS, ROOT, ROOT_FOLDER, TREE
from grade.scoring import answers, classpage, formats, grading, likeness, submission, tree
from grade.scoring.lab import FULL, BadLab, Lab, named
from grade.scoring.record import NOT_SCORED, GroupResult, Record, parse
from grade.scoring.submission import Refused
from grade.scoring.words import cell, printable

ARCHIVES = (".tar.gz", ".tar.xz", ".tar.bz2", ".tgz", ".tar", ".zip")
REFERENCE = "the reference solution"
RESULTS = ("class.csv", "class.html", "nonce")
CODE = ("grade/*.py", "grade/scoring/**/*.py")


class BadClass(Exception):
    """The class cannot be scored; the text says why."""


@dataclass(frozen=True)
class Handed:
    """A submission: its files, or why it was refused."""

    name: str
    path: Path
    files: dict[str, str] = field(default_factory=dict)
    refused: str = ""

    def take(self) -> dict[str, str]:
        """The files. Raises Refused."""
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
class Step:
    """One submission is done."""

    name: str
    record: Record
    resumed: bool


Report = Callable[[Step], None]


def name_of(path: Path) -> str:
    """A submission's name: that of its folder or archive, without the ending."""
    ending = next((e for e in ARCHIVES if path.name.endswith(e)), "")
    return printable(path.name[: len(path.name) - len(ending)]).replace("\n", "?")


def collect(folder: Path, lab: Lab) -> list[Handed]:
    """The submissions in a folder, by name."""
    if not folder.is_dir():
        raise BadClass(f"{folder}: no folder")
    paths = sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    names = [name_of(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise BadClass(f"{folder}: several submissions are called {name}")
        if name in RESULTS:
            raise BadClass(f"{folder}: no submission may be called {name}, as the results are")
    if not paths:
        raise BadClass(f"{folder}: no submissions")
    known = tree.as_handed_out(lab)
    return [taken(lab, path, known) for path in paths]


def taken(lab: Lab, path: Path, known: Callable[[str], set[bytes]]) -> Handed:
    """One submission, read."""
    try:
        if path.is_symlink():
            raise Refused(f"{name_of(path)}: a link")
        return Handed(name_of(path), path, submission.take(path, lab.files, known))
    except Refused as refused:
        return Handed(name_of(path), path, refused=str(refused))


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
    return hash_of(ROOT, files + [path for pattern in CODE for path in ROOT.glob(pattern)])


def tree_key(lab: str) -> str:
    """The hash of what scores a lab: its code, and the reference, mkfs and programs as they are
    now."""
    built = [KERNEL, MKFS, *(path for path in ROOT_FOLDER.rglob("*") if path.is_file())]
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


def score(job: Job) -> Record:
    """In a worker: the record of one submission."""
    check_tree(job, "has another tree, or built otherwise")
    with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
        take, where = job.handed.take, Path(folder)
        record = grading.grade(named(job.lab), take, where, job.nonce, job.command)
    check_tree(job, "had its tree built anew while it scored")
    for test in record.tests:
        test.runs = []  # they were in that folder
    return record


def stored(folder: Path, key: str) -> Record | None:
    """The record that has this key, if there is one."""
    try:
        return parse((folder / "result.json").read_text()) if there(folder) == key else None
    except (OSError, ValueError, TypeError):
        return None


def there(folder: Path) -> str:
    """The key of the results in a folder."""
    path = folder / "key"
    return path.read_text() if path.exists() else ""


def keep(folder: Path, record: Record, key: str) -> None:
    """Write a submission's results, the key last."""
    (folder / "key").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    formats.write_all(record, folder)
    if record.status != NOT_SCORED:
        (folder / "key").write_text(key)


def record_of(future: Future, job: Job, lab: Lab) -> Record:
    """A worker's record; if it returned none, one that says why."""
    error = future.exception()
    if isinstance(error, BadClass):
        raise error
    if error:
        message = f"{type(error).__name__}: {error}"
        groups = [GroupResult(g.name, "", g.hidden, 0, g.points) for g in lab.groups]
        return Record(lab.name, lab.title, job.nonce, NOT_SCORED, message, most=FULL, groups=groups)
    return future.result()


def nonce_of(folder: Path, nonce: str) -> str:
    """The class's nonce: the given one, or that of an earlier scoring, or a new one."""
    path = folder / "nonce"
    if not nonce:
        nonce = path.read_text().strip() if path.exists() else secrets.token_hex(4)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(nonce + "\n")
    return nonce


def score_all(
    lab: Lab,
    handed: list[Handed],
    folder: Path,
    nonce: str,
    report: Report,
    pool: Callable[[], Iterator[Client]],
) -> dict[str, Record]:
    """The record of each submission, by name. Those that have been scored are not scored again."""
    records: dict[str, Record] = {}
    todo: dict[str, Job] = {}
    key = tree_key(lab.name)
    for one in handed:
        command = f"make grade LAB={lab.name} SUBMISSION={shlex.quote(str(one.path))}"
        job = Job(lab.name, one, nonce, key, command)
        found = stored(folder / one.name, key_of(job))
        if found:
            records[one.name] = found
            report(Step(one.name, found, True))
        else:
            todo[one.name] = job
    if todo:
        with pool() as client:
            futures = {client.submit(score, job, pure=False): job for job in todo.values()}
            for future in as_completed(futures):
                job = futures[future]
                record = record_of(future, job, lab)
                keep(folder / job.handed.name, record, key_of(job))
                records[job.handed.name] = record
                report(Step(job.handed.name, record, False))
    return {one.name: records[one.name] for one in handed}


# ---- what comes of it ----


def pairs(lab: Lab, handed: list[Handed]) -> list[likeness.Pair]:
    """The pairs that are nearly identical."""
    solutions = {one.name: one.files for one in handed if one.files}
    if answers.FORM in lab.files:
        return answers.alike({name: files[answers.FORM] for name, files in solutions.items()})
    reference, cut = tree.here(lab), tree.cut(lab, {})
    skeleton = {file: cut.get(file, reference[file]) for file in lab.files}
    solutions[REFERENCE] = reference
    headers = [path.read_text() for path in sorted(ROOT.glob("[kp]*/**/*.h"))]
    return likeness.alike(solutions, skeleton, headers)


def table(records: dict[str, Record], alike: list[likeness.Pair]) -> str:
    """CSV: name, status, score, the points of each test, and similar submissions."""
    tests = list(dict.fromkeys(test.id for record in records.values() for test in record.tests))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", "status", "score", "most", *tests, "like", "message"])
    for name, record in records.items():
        points = {test.id: test.points for test in record.tests}
        like = [
            f"{p.other if p.one == name else p.one} {p.share:.0%}"
            for p in alike
            if name in (p.one, p.other)
        ]
        numbers = (record.score, record.most, *(points.get(t, 0) for t in tests))
        row = [cell(name), record.status, *(f"{number:g}" for number in numbers)]
        writer.writerow([*row, cell("; ".join(like)), cell(record.message)])
    return out.getvalue()


def score_class(
    lab: Lab,
    submissions: Path,
    folder: Path,
    nonce: str,
    report: Report,
    pool: Callable[[], Iterator[Client]],
) -> dict[str, Record]:
    """Score a folder of submissions; write the table and the page."""
    if lab.handed_out:
        raise BadLab(f"{lab.name}: a student's tree has no hidden tests, and scores no class")
    handed = collect(submissions, lab)
    records = score_all(lab, handed, folder, nonce_of(folder, nonce), report, pool)
    alike = pairs(lab, handed)
    (folder / "class.csv").write_text(table(records, alike))
    (folder / "class.html").write_text(classpage.text(lab, records, alike))
    return records
