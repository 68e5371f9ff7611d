"""Write and compare certificates of grades, so that anyone can make a grade again and compare.

certificate.json, with each grade, holds SHA-256 hashes of the submission's files, of its kernel and
the reference's, and of each machine's trace and console; the nonce; the points of each test; and
the versions of the programs that made them. A machine of a lab runs in virtual time
(ARCHITECTURE.md), so another grading of the same files with the same nonce, tree and tools has the
same certificate, to the byte. `sluice lab recheck` makes one and compares.

The comparison is of everything in a certificate. A certificate that has more fields, has a field
twice, or differs in one field is not confirmed, and the field is named.

The certificate is not signed. A reader who doubts it can recheck it.
"""

import json
import os
import re
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, TypedDict

from grade.code import elf
from grade.code.objects import PREFIX
from grade.definition.lab import LABS, Lab
from grade.engine.moments import TRACE_FILE
from grade.engine.record import MadeFrom, Record
from grade.engine.workbench import Workbench
from grade.trust import compiler
from sluice.host.paths import ROOT

VERSION = 1
FILE = "certificate.json"
# Patterns of the Python code that grades, without the lab's own.
GRADER = (
    *("grade/__init__.py", "grade/code/*.py", "grade/definition/*.py", "grade/trust/*.py"),
    *("grade/engine/**/*.py", "grade/course/*.py", "sluice/host/*.py", "sluice/system/*.py"),
    *("sluice/__init__.py", "sluice/debug/launch.py", "sluice/experiment/aligned.py"),
    *("sluice/crash/*.py", "sluice/twin/*.py"),  # for labs whose power is cut
)
# Patterns of all sources that a grade depends on, without the lab's own folder.
SOURCES = (
    *GRADER,
    *("Makefile", "tools/rules/*.mk", "kernel/**/*", "policies/**/*.[ch]", "drives/**/*.[ch]"),
    *("user/**/*.[ch]", "mkfs/*.[ch]"),
    *("sluice/programs/*.c", "tests/drives/drive_times_tool.c", "tests/drives/places_tool.c"),
)


# The fields of a certificate, and the types of each.
NUMBER = (int, float)
SHAPE: dict[str, tuple[type, ...]] = {
    "version": (int,),
    **dict.fromkeys(("lab", "nonce", "kernel", "reference", "words"), (str,)),
    **dict.fromkeys(("files", "versions", "runs", "points"), (dict,)),
    **dict.fromkeys(("score", "most"), NUMBER),
}
OF_A_RUN = ("trace", "console")
HASHES: tuple[tuple[str, Literal["kernel", "reference"]], ...] = (
    ("the submission's kernel", "kernel"),
    ("the solution's kernel", "reference"),
)
SUMS: tuple[Literal["score", "most"], ...] = ("score", "most")
COMMIT = re.compile(r"[0-9a-f]{40}")


class Certificate(TypedDict):
    """The fields of certificate.json, in their order."""

    version: int
    lab: str
    nonce: str
    files: dict[str, str]  # hashes, by name
    reference: str  # the hash of the solution's kernel
    versions: dict[str, str]
    kernel: str
    runs: dict[str, dict[str, str]]  # hashes of traces and consoles, by the name of the run
    score: float
    most: float
    points: dict[str, float]  # by test
    words: str  # the hash of all messages and figures


class BadCertificate(Exception):
    """The error for a certificate that cannot be rechecked; the text says why."""


# ---- what a grade is made from ----


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 hash of some bytes."""
    return sha256(data).hexdigest()


def hash_file(path: Path) -> str:
    """Return the hash of a file; empty if the file does not exist."""
    return hash_bytes(path.read_bytes()) if path.is_file() else ""


def hash_kernel(path: Path) -> str:
    """Return the hash of the loaded parts of a kernel.

    Its other sections contain names of folders of the host that built it.
    """
    kernel = elf.read(path)
    loaded = [s for s in kernel.segments if s.type == elf.LOADED]
    parts = [(s.phys, s.flags, kernel.data[s.offset : s.offset + s.file_bytes]) for s in loaded]
    return hash_bytes(repr(parts).encode())


@cache
def tree_hash(lab_folder: Path) -> str:
    """Return the hash of the names and contents of all sources that a grade depends on."""
    own = (path for path in lab_folder.rglob("*") if "__pycache__" not in path.parts)
    found = {*own, *(path for pattern in SOURCES for path in ROOT.glob(pattern))}
    lines = [f"{p.relative_to(ROOT)} {hash_file(p)}\n" for p in sorted(found) if p.is_file()]
    return hash_bytes("".join(lines).encode())


@cache
def first_output_line(*words: str) -> str:
    """Return the first line that a command prints; empty if the command is missing or fails."""
    try:
        done = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8"
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.splitlines()[0] if done.stdout else ""


def tool_versions(lab: Lab) -> dict[str, str]:
    """Return the versions of everything here that makes a grade, by name."""
    return {
        "tree": tree_hash(lab.folder),
        "commit": first_output_line("git", "rev-parse", "HEAD"),
        "compiler": first_output_line(compiler.compile_command()[0], "--version"),
        "linker": first_output_line(f"{PREFIX}ld", "--version"),
        "qemu": first_output_line(os.environ.get("QEMU", "qemu-system-riscv64"), "--version"),
    }


def hash_runs(bench: Workbench) -> dict[str, dict[str, str]]:
    """Return the hashes of each machine's trace and console, by the name of its folder."""
    folders = {name: bench.folder / name for _, name in bench.made}
    return {
        name: {"trace": hash_file(path / TRACE_FILE), "console": hash_file(path / "console.txt")}
        for name, path in sorted(folders.items())
    }


def hash_inputs(lab: Lab, files: dict[str, str]) -> MadeFrom:
    """Return the hashes and versions of a grade that are known before its kernel is built."""
    hashes = {name: hash_bytes(text.encode()) for name, text in sorted(files.items())}
    return MadeFrom(hashes, reference=hash_kernel(lab.reference), versions=tool_versions(lab))


# ---- the certificate ----


def make_certificate(record: Record) -> Certificate | None:
    """Return the certificate of a record, or None if nothing was graded."""
    if record.status != "graded" or not record.made_from:
        return None
    told = [
        [
            test.id,
            test.points,
            test.most,
            test.expected,
            test.came,
            test.value,
            test.full,
            test.none,
        ]
        for test in record.tests
    ]
    words = json.dumps(told)
    return {
        "version": VERSION,
        "lab": record.lab,
        "nonce": record.nonce,
        "files": record.made_from.files,
        "reference": record.made_from.reference,
        "versions": record.made_from.versions,
        "kernel": record.made_from.kernel,
        "runs": record.made_from.runs,
        "score": record.score,
        "most": record.most,
        "points": {test.id: test.points for test in record.tests},
        "words": hash_bytes(words.encode()),
    }


def find_form_error(found: dict[str, Any]) -> str:
    """Return what is wrong with the form of a certificate; empty if nothing is.

    The right form is what `make_certificate` writes.
    """
    wrong = [name for name, kinds in SHAPE.items() if type(found.get(name)) not in kinds]
    if wrong:
        return f"its {wrong[0]} is missing, or has the wrong type"
    more = sorted(found.keys() - SHAPE.keys())
    if more:
        return f"it has the field {more[0]!r:.40}, which no certificate has"
    texts = [("files", found["files"]), ("versions", found["versions"])]
    texts += [(f"run {name}", run) for name, run in found["runs"].items()]
    for name, told in texts:
        if not isinstance(told, dict) or not all(isinstance(v, str) for v in told.values()):
            return f"its {name} is not a table of texts"
    for name, run in found["runs"].items():
        if set(run) != set(OF_A_RUN):
            return f"its run {name} must have {' and '.join(OF_A_RUN)} and nothing else"
    if not all(type(points) in NUMBER for points in found["points"].values()):
        return "its points are not all numbers"
    return ""


def reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the table of these pairs.

    Raises ValueError if a name occurs twice, because programs disagree about which of its two
    values counts.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has the field {twice!r:.40} twice")
    return found


def read_certificate(path: Path) -> Certificate:
    """Return the certificate in a file. Raises BadCertificate."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=reject_duplicates)
        version = found["version"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise BadCertificate(f"{path}: no certificate of a grade: {error}") from None
    if version != VERSION:
        raise BadCertificate(
            f"{path}: a certificate of version {version!r:.20}, not {VERSION}: recheck it with the "
            "tree that made it"
        )
    wrong = find_form_error(found)
    if wrong:
        raise BadCertificate(f"{path}: no certificate of a grade: {wrong}")
    certificate: Certificate = found
    return certificate


# ---- comparing ----


def compare_files(was: Certificate, files: dict[str, str]) -> list[str]:
    """Return a message for each of these files that differs from the certificate's."""
    now = {name: hash_bytes(text.encode()) for name, text in files.items()}
    names = sorted(was["files"].keys() | now.keys())
    return [
        f"{name}: this is not the text that was graded"
        for name in names
        if was["files"].get(name) != now.get(name)
    ]


def has_these_sources(commit: str, lab_folder: Path, root: Path = ROOT) -> bool:
    """Return True if the sources of a grade are the same in the commit and in this tree."""
    if not COMMIT.fullmatch(commit):
        return False
    lab = lab_folder.relative_to(ROOT)
    paths = [f":(glob){pattern}" for pattern in SOURCES]
    line = ["git", "diff", "--quiet", commit, "--", *paths, f":(glob){lab}/**/*"]
    try:
        return subprocess.run(line, cwd=root, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def compare_versions(was: Certificate, now: Certificate) -> list[str]:
    """Return a message for each version that differs.

    Another commit is the same version if it has the same sources: then only other files changed.
    """
    before, here = was["versions"], now["versions"]
    changed = [k for k in sorted(before.keys() | here.keys()) if before.get(k) != here.get(k)]
    if changed == ["commit"] and has_these_sources(before.get("commit", ""), LABS / now["lab"]):
        return []
    return [
        f"{name}: {before.get(name) or 'unknown'} there, {here.get(name) or 'unknown'} here"
        for name in changed
    ]


def compare_machines(was: Certificate, now: Certificate) -> list[str]:
    """Return a message for each kernel and machine that differs."""
    lines = [f"{what}: it has other bytes" for what, key in HASHES if was[key] != now[key]]
    for name in sorted(was["runs"].keys() | now["runs"].keys()):
        before, here = was["runs"].get(name), now["runs"].get(name)
        if before is None or here is None:
            owner = "the certificate" if here is None else "this grade"
            lines.append(f"run {name}: only {owner} has it")
            continue
        parts = [part for part in OF_A_RUN if before[part] != here[part]]
        if parts:
            lines.append(f"run {name}: another {' and another '.join(parts)}")
    if any(line.startswith("run ") for line in lines):
        lines.append(f"nonce: {was['nonce']!r} does not lead to the runs of the certificate")
    return lines


def format_points(certificate: Certificate, test: str) -> str:
    """Return the points of a test, as words of a message."""
    return f"{certificate['points'][test]:g}" if test in certificate["points"] else "no"


def compare_points(was: Certificate, now: Certificate) -> list[str]:
    """Return a message for each point, sum and text that differs."""
    lines = [
        f"test {name}: {format_points(was, name)} points there, {format_points(now, name)} here"
        for name in sorted(was["points"].keys() | now["points"].keys())
        if was["points"].get(name) != now["points"].get(name)
    ]
    lines += [
        f"{name}: {was[name]:g} there, {now[name]:g} here"
        for name in SUMS
        if was[name] != now[name]
    ]
    if was["words"] != now["words"]:
        lines.append("words: a message or a measured figure differs")
    return lines


def find_differences(was: Certificate, now: Certificate) -> list[str]:
    """Return how the certificates of two gradings of the same files differ.

    The most important difference is first; the list is empty if there is none.
    """
    return compare_points(was, now) + compare_machines(was, now)


def is_confirmed(was: Certificate, now: Certificate) -> bool:
    """Return True if the new grade confirms everything in the certificate."""
    return not find_differences(was, now) and not compare_versions(was, now)


def format_comparison(was: Certificate, now: Certificate) -> str:
    """Return the result of a recheck as text for a person."""
    found, others = find_differences(was, now), compare_versions(was, now)
    score = f"{now['score']:g} of {now['most']:g} points"
    lines = ["The grade is not the same:", *(f"  {line}" for line in found)]
    if not found:
        same = "the kernel, and each machine's trace and console, to the byte"
        lines = [f"The grade is the same: {score}, {same}. Machines: {', '.join(now['runs'])}"]
    if others and found:
        lines.append("These versions differ; install those of the certificate, and recheck again:")
    elif others:
        lines.append("The certificate is not confirmed, because other versions made it:")
    elif found:
        lines.append(
            "All versions are those of the certificate, so it was not made for this grade."
        )
    return "\n".join(lines + [f"  {line}" for line in others])
