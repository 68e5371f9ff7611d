"""Every command of a course works in the four kinds of surroundings of grade/labs/TRUST.md: as root
or not, with namespaces or without. A run of all tests tries two of them, drawn by the commit.

- Root makes them all. A process in a chroot gets no user namespace, and where the chroot's folder
  is no mount point, no other root either (pivot_root). So there the grader does without namespaces.
- Who is not root has a number without an account, and owns only the folder that is made for it and
  the tree's folder for snapshots.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from typed import work
from whole import in_full

from grade.definition.lab import find_lab
from sluice.host.fault import is_enterable
from sluice.host.paths import ROOT, SNAPSHOTS

LAB = find_lab("elevator")
TEST = "rise.blocks_here_and_there_are_served_by_rising_sector"
NOBODY = 61_234  # a user who is not one of the compilers' (sandbox.py)
TOOLS = ("bwrap", "chroot", "mount", "setpriv", "unshare")
# Before the command come its user, a new root or nothing, the tree, its folder for snapshots, and
# a folder in which the packages are shown that only root may enter.
ENTER = """\
set -e
user=$1 plain=$2 tree=$3 snapshots=$4 shown=$5
shift 5
number=0
for packages in $HIDDEN; do
    mount --bind "$packages" "$shown/$number"
    number=$((number + 1))
done
mkdir -p "$snapshots"
mount -t tmpfs -o "uid=$user,gid=$user,mode=700" none "$snapshots"
[ "$user" = 0 ] || set -- setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
if [ "$plain" ]; then
    for path in /*; do
        if [ -L "$path" ]; then ln -sfn "$(readlink "$path")" "$plain$path"
        elif [ -d "$path" ]; then mkdir -p "$plain$path"; mount --rbind "$path" "$plain$path"; fi
    done
    set -- chroot "$plain" sh -c 'cd "$0" && exec "$@"' "$tree" "$@"
fi
cd "$tree"
exec "$@"
"""


@dataclass(frozen=True)
class Kind:
    """A kind of surroundings, with a folder in which its user may write."""

    room: Path  # the folder in which the user may write
    user: int
    plain: Path | None  # the root of a chroot, for want of namespaces
    shown: Path  # has a folder for each of HIDDEN

    def run(self, name: str, **values: object) -> str:
        """Do the work of a verb of `sluice lab` with these values of its options, and return what
        it prints."""
        own = {
            **{"HOME": str(self.room), "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"},
            "HIDDEN": " ".join(HIDDEN),
            "PYTHONPATH": ":".join(str(self.shown / str(i)) for i in range(len(HIDDEN))),
        }
        kind = [self.user, self.plain or "", ROOT, SNAPSHOTS, self.shown]
        line = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter", *kind]
        line += [sys.executable, "-m", "sluice.host.snapshot", *work(f"lab:{name}", **values)]
        env = {name: os.environ[name] for name in os.environ if not name.startswith("SLUICE")} | own
        done = subprocess.run(
            [str(word) for word in line],
            cwd="/", env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert ("without namespaces" in done.stderr) == (name in TELLING and bool(self.plain))
        return done.stdout


HIDDEN = [
    path for path in sys.path if Path(path).is_dir() and not is_enterable(Path(path).resolve())
]
TELLING = ("grade", "class_", "recheck")  # these commands say which protection is weaker here


def two_opposite_kinds(user: int, namespaces: bool) -> ParameterSet:
    """Return the parameter of a kind, of which a run of all tests draws two: as root and not, with
    namespaces and without."""
    of_two = pytest.mark.drawn(2, unit=f"root has namespaces: {(user == 0) == namespaces}")
    return pytest.param((user, namespaces), marks=of_two)


@pytest.fixture(
    scope="module",
    params=[two_opposite_kinds(*kind) for kind in product((0, NOBODY), (True, False))],
    ids=lambda kind: f"{'not ' * bool(kind[0])}root, {'with' if kind[1] else 'without'} namespaces",
)
def kind(request: pytest.FixtureRequest) -> Iterator[Kind]:
    """Yield a kind of surroundings with the lab's samples in it, or skip."""
    user, namespaces = request.param
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if os.geteuid() or missing:
        pytest.skip(f"there is no {missing[0]}" if missing else "only root makes surroundings")
    if not is_enterable(ROOT):
        pytest.skip(f"only root may enter {ROOT}")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine makes no namespaces")
    with tempfile.TemporaryDirectory(prefix="sluice-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        room, plain, shown = folder / "room", folder / "plain", folder / "shown"
        for path in (room, plain, *(shown / str(i) for i in range(len(HIDDEN)))):
            path.mkdir(parents=True)
        os.chown(room, user, user)
        made = Kind(room, user, None if namespaces else plain, shown)
        made.run("samples", lab=LAB.name, out=room / "samples")
        yield made


def grade(kind: Kind, sample: str) -> dict:
    """Return the result of a grading of this sample by one test."""
    out = kind.room / f"graded-{sample}"
    handed_in = kind.room / "samples" / sample
    kind.run("grade", lab=LAB.name, submission=handed_in, out=out, test=TEST, nonce="7")
    return json.loads((out / "result.json").read_text())


def test_a_right_submission_has_its_points(kind: Kind) -> None:
    """The sample `good` is the solution."""
    result = grade(kind, "good")
    assert (result["status"], result["score"]) == ("graded", result["most"])


def test_a_class_has_what_each_earned(kind: Kind) -> None:
    """Neither of two submissions needs a machine: one cheats and is refused, one is no C. The table
    of the class tells which."""
    handed_in, out = kind.room / "class", kind.room / "scored"
    shutil.copytree(kind.room / "samples/cheating", handed_in / "cheating")
    broken = handed_in / "broken" / LAB.files[0]
    broken.parent.mkdir(parents=True)
    broken.write_text((kind.room / "samples/good" / LAB.files[0]).read_text() + "int x = ;\n")
    kind.run("class_", lab=LAB.name, submissions=handed_in, out=out, jobs=2)
    table = csv.DictReader((out / "class.csv").read_text().splitlines())
    rows = {row["name"]: row for row in table}
    assert (rows["cheating"]["status"], rows["broken"]["status"]) == ("refused", "build failed")
    assert "expected expression" in rows["broken"]["message"]


@in_full
def test_the_other_commands_of_a_course(kind: Kind) -> None:
    """recheck, a whole class, handout, solution, and the archive for Gradescope."""
    room = kind.room
    grade(kind, "good")
    was = room / "graded-good/certificate.json"
    good, again = room / "samples/good", room / "again"
    said = kind.run("recheck", certificate=was, submission=good, out=again)
    assert "The grade is the same" in said
    kind.run("class_", lab=LAB.name, submissions=room / "samples", out=room / "all", jobs=2)
    table = csv.DictReader((room / "all/class.csv").read_text().splitlines())
    scores = {row["name"]: float(row["score"]) for row in table}
    assert scores["good"] > scores["half-done"] > scores["cheating"] == 0
    kind.run("handout", lab=LAB.name, out=room / "handed-out", solved="delayed-write")
    assert (room / "handed-out/grade/labs" / LAB.name / "handout.md").exists()
    kind.run("solution", lab=LAB.name, out=room / "solution")
    assert (room / "solution" / LAB.files[0]).exists()
    kind.run("bundle", lab=LAB.name, out=room / "bundle.zip")
    assert zipfile.is_zipfile(room / "bundle.zip")


@pytest.mark.parametrize("command", ["setup", "command"])
def test_a_tree_of_another_user_is_one_line(command: str) -> None:
    """A user who does not own the tree gets one line of advice."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("only root runs commands as another user")
    if not is_enterable(ROOT):
        pytest.skip(f"only root may enter {ROOT}")
    line = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    words = {
        "setup": ["sh", "tools/setup.sh", "python"],
        "command": [sys.executable, "-m", "sluice.host.snapshot", *work("lab:grade", lab=LAB.name)],
    }
    done = subprocess.run(
        [*line, *words[command]],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    (said,) = done.stderr.splitlines()
    assert done.returncode and "use a tree of your own" in said and str(ROOT) in said
