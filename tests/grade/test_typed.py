"""The commands of the guides for students and instructors, typed as they stand there, one after the
other: they lead from a clone to a scored class. With FULL=1, because they take minutes."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from test_documents import PLACEHOLDER, blocks, fenced
from trees import copy_of_tree, plain_environment
from whole import in_full

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system import image

GUIDE = ROOT / "grade/labs/README.md"
STAFF = ROOT / "grade/staff/README.md"
FIRST_BLOCK = ROOT / "grade/labs/first-block/handout.md"
STUDENTS = ROOT / "book/pages/guides/students.md"
NOT_TYPED = ("make qemu",)  # it waits for somebody who types


def list_commands(text: str) -> list[str]:
    """Return the commands of a text's code blocks that can be typed as they stand."""
    lines = [line.strip() for line in blocks(text)] + [line for line, _ in fenced(text)]
    ours = [line for line in lines if re.match(r"make |make$|bin/sluice ", line)]
    commands = [re.sub(r"\s+#\s.*$", "", line) for line in ours]
    variable = r"\$\(.*?\)"  # a command of the shell's
    return [c for c in commands if not PLACEHOLDER.search(re.sub(variable, "x", c))]


def type_line(line: str, folder: Path) -> str:
    """Run a line of the shell in a folder and return its output. The error of a line that fails has
    its output."""
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_S,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree in which commands may leave what they like, with the files that the guide
    names."""
    made = copy_of_tree(tmp_path_factory.mktemp("instructor"))
    (made / "names.txt").write_text("A. Name\nB. Name\n")
    (made / "late.csv").write_text("student,days\nhalf-done,5\n")
    return made


def hand_out_tree(folder: Path, variables: str) -> Path:
    """Make a student's tree of the lab that these variables name, and return it."""
    type_line(f"make SETUP=no skeleton OUT={folder} {variables}", ROOT)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def test_what_selects_tests_is_not_said_to_the_commands_that_they_type(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The environment of typed commands lacks these variables. With FULL=1, `make book` would
    measure everything again, for hours."""
    for name in ("FULL", "LAB", "T", "MAKEFLAGS"):
        monkeypatch.setenv(name, "1")
    assert not {"FULL", "LAB", "T", "MAKEFLAGS"} & plain_environment().keys()


def test_the_guide_shows_what_is_typed_here() -> None:
    """Otherwise the tests below would type nothing."""
    lines = list_commands(GUIDE.read_text())
    words = {line.split()[2] for line in lines if line.startswith("bin/sluice lab ")}
    assert words >= {"handout", "samples", "class", "recheck"}
    assert any(line.startswith("make grade ") for line in lines)
    assert any(" --late " in line for line in lines) and any("--students" in line for line in lines)


@in_full
@pytest.mark.xdist_group("typed")
def test_an_instructor_types_what_the_guide_says(tree: Path) -> None:
    """The recheck confirms the grade, and the half-done sample gets 20 to 99 points."""
    for_instructors = GUIDE.read_text().partition("## For instructors")[2]
    there = tree.parent
    for number, line in enumerate(list_commands(for_instructors)):
        own = line.replace("--out dir", f"--out /tmp/dir{number}").replace(
            "--base work", "--base /tmp/elevator"
        )
        said = type_line(own.replace("/tmp/", f"{there}/"), tree)
        if " recheck " in line:
            assert "The grade is the same" in said
        if "half-done" in line and " grade " in line:
            assert re.search(r"[2-9]\d[.\d]* of 100 points", said)


@in_full
@pytest.mark.xdist_group("typed")
def test_the_staff_types_what_its_page_says(tree: Path) -> None:
    for line in list_commands(STAFF.read_text()):
        type_line(line.replace("/tmp/", f"{tree.parent}/"), tree)


@in_full
@pytest.mark.xdist_group("typed")
def test_a_student_types_what_the_guide_says(tmp_path: Path) -> None:
    """At the end git sees no change of the tree."""
    mine = hand_out_tree(tmp_path / "mine", "LAB=elevator SOLVED=delayed-write")
    for line in ("make", *list_commands(STUDENTS.read_text()), "make book", "git diff --exit-code"):
        if not line.startswith(NOT_TYPED):
            type_line(line, mine)


def lines_for_gdb(handout: str) -> list[str]:
    """Return what the handout has a student type into gdb."""
    return re.findall(
        r"(?:^    |`)((?:hbreak|break|continue|backtrace|delete)\b[^`\n]*)", handout, re.M
    )


def test_the_handout_has_lines_for_gdb() -> None:
    """The stops follow a request from its submission to its end."""
    lines = lines_for_gdb(FIRST_BLOCK.read_text())
    stops = [line.split()[1] for line in lines if "break " in line]
    assert stops == ["disk_submit", "sleep_on", "biodone", "ramdisk_do"]
    assert lines.count("continue") == lines.count("backtrace") == len(stops)


@in_full
@pytest.mark.xdist_group("typed")
def test_a_student_follows_a_request_in_gdb(tmp_path: Path) -> None:
    """Down to the drive, to sleep, back by the interrupt; each stop shows who calls it."""
    mine = hand_out_tree(tmp_path / "mine", "LAB=first-block STUDENT='A. Name'")
    type_line("make && make grade LAB=first-block", mine)
    run = mine / "build/grade/first-block/runs/reference-first-block"
    book = re.search(r"if=/data(\S+)", (run / "console.txt").read_text())[1]
    folder = str(Path(book).parent)
    sector = 8 * int(image.debugfs(run / "data.img", f"bmap {folder} 0"))
    with subprocess.Popen(
        ["make", "grade", "LAB=first-block", "GDB=1"],
        cwd=mine,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as machine:
        told = (line.partition("in another terminal: ")[2] for line in machine.stdout)
        command = next(filter(None, told)).strip()
        lines = [
            line.replace("SECTOR", str(sector)) for line in lines_for_gdb(FIRST_BLOCK.read_text())
        ]
        typed_in = " ".join(f"-ex {shlex.quote(line)}" for line in [*lines, "kill"])
        said = type_line(f"{command} -batch {typed_in}", mine)
    shown = re.findall(r"^#0  (?:0x\w+ in )?(\w+)", said, re.M)
    assert shown == ["disk_submit", "sleep_on", "biodone", "ramdisk_do"], said
    assert said.count("dir_search") == 2 and "clock_interrupt" in said
