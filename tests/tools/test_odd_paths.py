"""Folders may have any names: the tree, TMPDIR, OUT and home. No tool of ours takes a character of
a path for something else, and when a tool fails, that is no score."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from trees import copy_of_tree, plain_environment
from whole import in_full

from grade.definition.lab import load_labs
from grade.labs.crash import cuts
from sluice.host.fault import HostFault
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.host.quoting import descriptor_path, folder_and_name, quote_debugfs, quote_qemu
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

# A folder's name. It has each character that some tool takes for more than a letter, and a letter
# beyond ASCII.
ODD = "-a b,c'd\"e$HOME%20f%s?;&*[x]#\\nü:i=j~(k){l}`m`<n>|!@^~"
LIGHT = ("crash", "first-block")  # each uses debugfs, QEMU's devices or gdb in its own manner


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Return a folder with an odd name."""
    made = tmp_path / ODD
    made.mkdir()
    return made


# ---- one tool at a time ----


def test_debugfs_and_e2fsck_take_any_path(odd: Path) -> None:
    """odd: a folder with blanks and quotes in its name. /none is no file of the disk, so it is not
    copied."""
    disk = image.make_image(odd / "disk", Content(files={"/f": b"text"}, programs=False, size="4M"))
    image.check_image(disk)
    image.dump_files(disk, {"/f": odd / "out", "/none": odd / "none"})
    assert (odd / "out").read_bytes() == b"text" and not (odd / "none").exists()
    assert "Type: regular" in image.debugfs(disk, "stat /f")
    assert cuts.run_e2fsck(disk, "-fn")[0] == 0


def test_a_file_of_a_disk_is_read_whatever_tmpdir_is(
    odd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(odd))
    disk = image.make_image(odd / "disk", Content(files={"/f": b"text"}, programs=False, size="4M"))
    assert image.read_file(disk, "/f") == b"text"
    assert cuts.dump_files(disk, ["/f", "/none"]) == {"/f": b"text", "/none": None}


def test_a_request_of_debugfs_is_one_line() -> None:
    assert quote_debugfs('/a "b') == '"/a ""b"'
    with pytest.raises(HostFault, match="takes no path with a line break: rename it"):
        quote_debugfs("/a\nb")


def test_a_folder_with_a_line_break_takes_copies_of_a_disk_s_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / 'a\n"b'
    folder.mkdir()
    disk = image.make_image(
        tmp_path / "d", Content(files={"/f": b"text"}, programs=False, size="4M")
    )
    image.dump_files(disk, {"/f": folder / "out", "/none": folder / "none"})
    assert [path.name for path in folder.iterdir()] == ["out"]
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert image.read_file(disk, "/f") == b"text"


@pytest.mark.parametrize("request_", ["dump /f", 'stat "/f', "dump /f /dev/full"])
def test_a_request_that_debugfs_cannot_do_is_the_hosts_fault(request_: str, tmp_path: Path) -> None:
    """debugfs ends with status 0 all the same. A HostFault is no score of a submission."""
    disk = image.make_image(
        tmp_path / "d", Content(files={"/f": b"text"}, programs=False, size="4M")
    )
    with pytest.raises(HostFault, match="debugfs"):
        image.debugfs(disk, request_)


def test_what_a_link_says_is_no_fault_of_debugfs(tmp_path: Path) -> None:
    """Links have targets with words of debugfs's own messages of errors."""
    disk = image.make_image(tmp_path / "d", Content(programs=False, size="4M"))
    for name, text in ("a", "a Usage: b"), ("b", "no room while writing file"):
        image.debugfs(disk, f'symlink /{name} "{text}"', write=True)
        assert text in image.debugfs(disk, f"stat /{name}")


def test_an_e2fsck_that_does_not_check_is_the_hosts_fault(tmp_path: Path) -> None:
    """e2fsck has no option -Z, and ends with its status for a wrong command line."""
    disk = image.make_image(tmp_path / "d", Content(programs=False, size="4M"))
    with pytest.raises(HostFault, match="status 16"):
        cuts.run_e2fsck(disk, "-fZ")


def test_a_tool_that_a_signal_ends_is_the_hosts_fault() -> None:
    with pytest.raises(HostFault, match="signal 9 ended sh"):
        image.run_command("sh", "-c", "kill -KILL $$", check=False)


def test_qemu_takes_any_path_of_a_disk(odd: Path) -> None:
    disk = image.make_image(odd / "disk", Content(rc="echo up\npoweroff\n", size="8M"))
    assert "up" in run_rc(Config((Disk(disk),))).console
    assert quote_qemu("/a,b") == "/a,,b"


def test_names_within_a_folder_are_no_options() -> None:
    assert folder_and_name(Path("/a?b/-c")) == (Path("/a?b"), "./-c")


def test_a_descriptors_path_is_the_files(odd: Path) -> None:
    with (odd / "f").open("w+b") as file:
        subprocess.run(["sh", "-c", f"echo x > {descriptor_path(file.fileno())}"], check=True)
    assert (odd / "f").read_bytes() == b"x\n"


# ---- a course ----


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a built tree, a home and a folder for temporary files, all with odd names."""
    room = tmp_path_factory.mktemp("odd") / ODD
    for name in ("home/.cache", "tmp"):
        (room / name).mkdir(parents=True)
    cache = os.environ.get("SLUICE_CACHE") or Path.home() / ".cache/sluice"
    (room / "home/.cache/sluice").symlink_to(cache)
    tree = copy_of_tree(room, "build/spike", "build/book", "build/book-builds", "build/live")
    (tree / ".venv").unlink()
    shutil.copytree(ROOT / ".venv", tree / ".venv", symlinks=True)  # set-up writes into it
    return tree


def make(clone: Path, *words: str) -> str:
    """Run make in the clone, with the odd folders. Return its output."""
    own = {"HOME": str(clone.parent / "home"), "TMPDIR": str(clone.parent / "tmp")}
    caches = ("SLUICE_CACHE", "XDG_CACHE_HOME")
    env = {name: value for name, value in plain_environment().items() if name not in caches}
    done = subprocess.run(
        ["make", *words],
        cwd=clone, env=env | own, capture_output=True, text=True, check=False, timeout=HANG_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def solution(clone: Path, lab: str) -> list[str]:
    """Return the word of make grade that names the lab's solution, if the tree itself is not it."""
    if lab != "first-block":
        return []
    out = clone.parent / "solution"
    make(clone, "solution", f"LAB={lab}", "STUDENT=Ada", f"OUT={out}")
    return [f"SUBMISSION={out}"]


@pytest.mark.xdist_group("odd-paths")
@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(lab.name, marks=pytest.mark.drawn(2) if lab.name in LIGHT else in_full)
        for lab in load_labs()
    ],
)
def test_the_solution_has_all_points_in_odd_folders(lab: str, clone: Path) -> None:
    out = clone.parent / f"out-{lab}"
    words = solution(clone, lab)
    make(clone, "grade", f"LAB={lab}", "NONCE=1", f"OUT={out}", *words)
    result = json.loads((out / "result.json").read_text())
    assert (result["status"], result["score"]) == ("graded", result["most"])


@pytest.mark.xdist_group("odd-paths")
def test_a_graded_run_is_stopped_in_gdb_in_odd_folders(clone: Path) -> None:
    out, test = clone.parent / "out-gdb", "rise.blocks_here_and_there_are_served_by_rising_sector"
    make(clone, "grade", "LAB=elevator", f"TEST={test}", "NONCE=1", f"OUT={out}")
    run = next(path.parent for path in sorted(out.glob("runs/*/about.json")))
    said = make(clone, "replay", f"RUN={run}", "AT=event:50", "DO=backtrace")
    assert re.search(r"^event 50 ", said, re.M) and "#1" in said, said
    assert any(ODD in word for word in shlex.split((run / "machine.sh").read_text()))
