"""A grade's certificate: what it was made from, so that anyone can make it again and compare.

certificate.json, with each grade, holds SHA-256 hashes of the submission's files, of its kernel and
the reference's, and of each machine's trace and console; the nonce; the points of each test; and
the versions of what made all that. A machine of a lab runs in virtual time (ARCHITECTURE.md), so
another grading of the same files with the same nonce, tree and tools has the same certificate, to
the byte. `make replay` makes one and compares.

Nothing stands in a certificate that a replay does not compare: one that says more, says a thing
twice, or differs in one field is not confirmed, and the field is named.

The certificate is not signed. Whoever doubts one replays it.
"""

import json
import os
import re
import subprocess
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path

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
# The Python that grades, beside the lab's own; by patterns.
GRADER = (
    *("grade/__init__.py", "grade/code/*.py", "grade/definition/*.py", "grade/trust/*.py"),
    *("grade/engine/**/*.py", "grade/course/*.py", "sluice/host/*.py", "sluice/system/*.py"),
    *("sluice/__init__.py", "sluice/debug/launch.py", "sluice/experiment/aligned.py"),
)
# All of the tree's sources that a grade depends on, beside the lab's own folder.
SOURCES = (
    *GRADER,
    *("Makefile", "kernel/**/*", "policies/**/*.[ch]", "drives/**/*.[ch]"),
    *("user/**/*.[ch]", "mkfs/*.[ch]"),
    *("sluice/programs/*.c", "tests/native/drive_times_tool.c", "tests/native/places_tool.c"),
)


# All that a certificate says, and the types of each.
NUMBER = (int, float)
SHAPE: dict[str, tuple[type, ...]] = {
    "version": (int,),
    **dict.fromkeys(("lab", "nonce", "kernel", "reference", "words"), (str,)),
    **dict.fromkeys(("files", "versions", "runs", "points"), (dict,)),
    **dict.fromkeys(("score", "most"), NUMBER),
}
OF_A_RUN = ("trace", "console")
COMMIT = re.compile(r"[0-9a-f]{40}")


class BadCertificate(Exception):
    """A certificate that cannot be replayed; the text says why."""


# ---- what a grade is made from ----


def of_bytes(data: bytes) -> str:
    """The hash of some bytes."""
    return sha256(data).hexdigest()


def of_file(path: Path) -> str:
    """The hash of a file; empty if there is none."""
    return of_bytes(path.read_bytes()) if path.is_file() else ""


def of_kernel(path: Path) -> str:
    """The hash of what of a kernel is loaded; its other sections name folders of its builder's."""
    kernel = elf.read(path)
    loaded = [s for s in kernel.segments if s.type == elf.LOADED]
    parts = [(s.phys, s.flags, kernel.data[s.offset : s.offset + s.file_bytes]) for s in loaded]
    return of_bytes(repr(parts).encode())


@cache
def tree_hash(lab_folder: Path) -> str:
    """The hash of the sources that a grade depends on: names and contents."""
    own = (path for path in lab_folder.rglob("*") if "__pycache__" not in path.parts)
    found = {*own, *(path for pattern in SOURCES for path in ROOT.glob(pattern))}
    lines = [f"{p.relative_to(ROOT)} {of_file(p)}\n" for p in sorted(found) if p.is_file()]
    return of_bytes("".join(lines).encode())


@cache
def said(*words: str) -> str:
    """The first line that a command prints; empty if there is no such command, or it fails."""
    try:
        done = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8"
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.splitlines()[0] if done.stdout else ""


def versions(lab: Lab) -> dict[str, str]:
    """What makes a grade here, by name."""
    return {
        "tree": tree_hash(lab.folder),
        "commit": said("git", "rev-parse", "HEAD"),
        "compiler": said(compiler.flags()[0], "--version"),
        "linker": said(f"{PREFIX}ld", "--version"),
        "qemu": said(os.environ.get("QEMU", "qemu-system-riscv64"), "--version"),
    }


def of_runs(bench: Workbench) -> dict[str, dict[str, str]]:
    """The hashes of each machine's trace and console, by the name of its folder."""
    folders = {name: bench.folder / name for _, name in bench.made}
    return {
        name: {"trace": of_file(path / TRACE_FILE), "console": of_file(path / "console.txt")}
        for name, path in sorted(folders.items())
    }


def made_from(lab: Lab, files: dict[str, str]) -> MadeFrom:
    """What is known of a grade before its kernel is built."""
    hashes = {name: of_bytes(text.encode()) for name, text in sorted(files.items())}
    return MadeFrom(hashes, reference=of_kernel(lab.reference), versions=versions(lab))


# ---- the certificate ----


def certificate(record: Record) -> dict | None:
    """The certificate of a record; None if nothing was graded."""
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
        **asdict(record.made_from),
        "score": record.score,
        "most": record.most,
        "points": {test.id: test.points for test in record.tests},
        "words": of_bytes(words.encode()),
    }


def misshapen(found: dict) -> str:
    """What of a certificate is not as `certificate` writes it; empty if nothing is."""
    wrong = [name for name, kinds in SHAPE.items() if type(found.get(name)) not in kinds]
    if wrong:
        return f"its {wrong[0]} is missing, or of another kind"
    more = sorted(found.keys() - SHAPE.keys())
    if more:
        return f"it says {more[0]!r:.40}, which no certificate says"
    texts = [("files", found["files"]), ("versions", found["versions"])]
    texts += [(f"run {name}", run) for name, run in found["runs"].items()]
    for name, told in texts:
        if not isinstance(told, dict) or not all(isinstance(v, str) for v in told.values()):
            return f"its {name} is not a table of texts"
    for name, run in found["runs"].items():
        if set(run) != set(OF_A_RUN):
            return f"its run {name} has not {' and '.join(OF_A_RUN)} alone"
    if not all(type(points) in NUMBER for points in found["points"].values()):
        return "its points are not all numbers"
    return ""


def said_once(pairs: list[tuple[str, object]]) -> dict:
    """Return the table of these pairs. Raises ValueError if a name stands there twice, of which
    readers take different ones."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it says {twice!r:.40} twice")
    return found


def read(path: Path) -> dict:
    """The certificate in a file. Raises BadCertificate."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=said_once)
        version = found["version"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise BadCertificate(f"{path}: no certificate of a grade: {error}") from None
    if version != VERSION:
        raise BadCertificate(
            f"{path}: a certificate of version {version!r:.20}, not {VERSION}: replay it with the "
            "tree that made it"
        )
    wrong = misshapen(found)
    if wrong:
        raise BadCertificate(f"{path}: no certificate of a grade: {wrong}")
    return found


# ---- comparing ----


def other_files(was: dict, files: dict[str, str]) -> list[str]:
    """What is said of files that are not those of a certificate."""
    now = {name: of_bytes(text.encode()) for name, text in files.items()}
    names = sorted(was["files"].keys() | now.keys())
    return [
        f"{name}: this is not the text that was graded"
        for name in names
        if was["files"].get(name) != now.get(name)
    ]


def has_these_sources(commit: str, lab_folder: Path, root: Path = ROOT) -> bool:
    """True if that commit has the sources of a grade as they are in this tree."""
    if not COMMIT.fullmatch(commit):
        return False
    lab = lab_folder.relative_to(ROOT)
    paths = [f":(glob){pattern}" for pattern in SOURCES]
    line = ["git", "diff", "--quiet", commit, "--", *paths, f":(glob){lab}/**/*"]
    try:
        return subprocess.run(line, cwd=root, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def other_versions(was: dict, now: dict) -> list[str]:
    """What is said of versions that differ.

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


def other_machines(was: dict, now: dict) -> list[str]:
    """What is said of kernels and machines that differ."""
    lines = [
        f"{what}: it has other bytes"
        for what, key in (
            ("the submission's kernel", "kernel"),
            ("the solution's kernel", "reference"),
        )
        if was[key] != now[key]
    ]
    for name in sorted(was["runs"].keys() | now["runs"].keys()):
        before, here = was["runs"].get(name), now["runs"].get(name)
        if before is None or here is None:
            lines.append(f"run {name}: it was made only {'there' if here is None else 'here'}")
            continue
        parts = [part for part in OF_A_RUN if before[part] != here[part]]
        if parts:
            lines.append(f"run {name}: another {' and another '.join(parts)}")
    if any(line.startswith("run ") for line in lines):
        lines.append(f"nonce: {was['nonce']!r} does not lead to the runs of the certificate")
    return lines


def points(of: dict, test: str) -> str:
    """The points of a test, in a message."""
    return f"{of['points'][test]:g}" if test in of["points"] else "no"


def other_points(was: dict, now: dict) -> list[str]:
    """What is said of points, sums and messages that differ."""
    lines = [
        f"test {name}: {points(was, name)} points there, {points(now, name)} here"
        for name in sorted(was["points"].keys() | now["points"].keys())
        if was["points"].get(name) != now["points"].get(name)
    ]
    lines += [
        f"{name}: {was[name]:g} there, {now[name]:g} here"
        for name in ("score", "most")
        if was[name] != now[name]
    ]
    if was["words"] != now["words"]:
        lines.append("words: a message or a measured figure differs")
    return lines


def differences(was: dict, now: dict) -> list[str]:
    """What differs between the certificates of two gradings of the same files, most important
    first; empty if nothing does."""
    return other_points(was, now) + other_machines(was, now)


def confirmed(was: dict, now: dict) -> bool:
    """True if the replay confirms all that the certificate says."""
    return not differences(was, now) and not other_versions(was, now)


def compared(was: dict, now: dict) -> str:
    """What a person reads of a replay."""
    found, others = differences(was, now), other_versions(was, now)
    score = f"{now['score']:g} of {now['most']:g} points"
    lines = ["The grade is not the same:", *(f"  {line}" for line in found)]
    if not found:
        same = "the kernel, and each machine's trace and console, to the byte"
        lines = [f"The grade is the same: {score}, {same}. Machines: {', '.join(now['runs'])}"]
    if others and found:
        lines.append("These versions differ; install those of the certificate, and replay again:")
    elif others:
        lines.append("The certificate is not confirmed, for it was made by other versions:")
    elif found:
        lines.append(
            "All versions are those of the certificate: the certificate is not of this grade."
        )
    return "\n".join(lines + [f"  {line}" for line in others])
