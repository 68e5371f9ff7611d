"""The machinery of labs: functions found and cut, submissions taken or refused, results written.

A lab gives students a skeleton: the tree of Sluice in which some functions, its holes, are empty. A
submission is the files that a student hands in. Most tests use the lab `elevator`, whose one hole
is the function clook_next in FILE. Its groups of tests are called rise, order, response and so on,
each with its points. The reference is the kernel with the solution. A record is the result of one
grading; formats write it for several platforms. `Wrong` is what a test of a lab raises: what was
expected and what came.
"""

import errno
import io
import json
import os
import re
import shlex
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from forms import expect_all_forms
from records import packed
from typed import call, enter

from grade.cli import class_scoring, scoring
from grade.code import source
from grade.course.roster import BadRoster, read_roster
from grade.definition.lab import (
    ATTACKS,
    WRONG,
    BadLab,
    Edit,
    Hole,
    Lab,
    find_lab,
    load_lab,
    load_labs,
)
from grade.engine import evidence, formats, grading, tree
from grade.engine.assertions import Slide, Tally, Wrong
from grade.engine.parameters import Setting
from grade.engine.pictures import MOST_POINTS, REFERENCE, YOURS
from grade.engine.record import COST_FILE, Cost, Record
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench
from grade.trust import sourcefile, submission
from grade.trust.submission import Refused
from sluice.host.fault import HostFault
from sluice.host.paths import KERNEL, ROOT
from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

LAB = "elevator"
FILE = "policies/sched/clook.c"
FILES = (FILE,)
DATA_DISK = Setting().data  # of a scenario that is not varied

# ---- functions in C ----

# f is called or named in a macro, a comment, a string, a declaration and g; it is defined once.
C = """
#define twice(x) { x }
/* int f(void) { not this one } */
int f(void);
static int f(void)
{
    return '}' + g("}") /* } */;
}
int g(char *s) { if (s) { f(); } return 0; }
"""


def test_a_function_is_found_among_comments_strings_and_declarations() -> None:
    """The body of f has a brace in a character, in a string and in a comment."""
    span = source.body(C, "f")
    assert C[span.start : span.end].strip() == "return '}' + g(\"}\") /* } */;"
    assert "f();" not in source.replace_body(C, "g", "return 1;")
    assert "static int f(void)\n{\n    return 2;\n}" in source.replace_body(C, "f", "    return 2;")


@pytest.mark.parametrize("name", ["h", "twice", "if"])
def test_what_is_no_function_is_not_found(name: str) -> None:
    """h is not there, twice is a macro, and `if` is a keyword."""
    with pytest.raises(source.NoFunction, match=name):
        source.body(C, name)


def test_an_edit_must_fit_once_however_it_is_spaced() -> None:
    """The old text may have other white space than the function has. A text that the function lacks
    is refused."""
    assert "return 3;" in source.replace_text(C, "g", "return\n  0;", "return 3;")
    with pytest.raises(source.NoFunction, match="once"):
        source.replace_text(C, "g", "return 5;", "")


# ---- labs ----


def test_every_lab_cuts_its_holes_and_has_a_handout() -> None:
    """The skeleton's files differ from the solution's, and the handout has its sections and the
    points of each group."""
    for lab in load_labs():
        made = tree.cut_holes(lab, {})
        assert all(made[hole.file] != tree.pristine_text(hole.file) for hole in lab.holes)
        handout = (lab.folder / "handout.md").read_text()
        for word in ("## Why", "## Read", "## What to write", "## How it is graded"):
            assert word in handout, f"{lab.name}: {word}"
        for group in lab.groups:
            assert f"| {group.name} | {group.points} |" in handout, f"{lab.name}: {group.name}"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("rise = 15", "rise = 16", "sum to 101"),
        ("rise = 15", "rises = 15", "no points"),
        ("rise = 15\n", "", "no points"),
        ("order = 4", 'order = "4"', "order"),
        ("order = 4", "order = 4\nextra = 1", "extra"),
        ("clook.c", "fcfs.c", "has a hole"),
        ("[points]", "[points", "lab.toml"),
    ],
)
def test_a_bad_lab_is_refused_with_words(tmp_path: Path, old: str, new: str, why: str) -> None:
    """`old` in the lab's lab.toml is replaced by `new`."""
    folder = tmp_path / "mine"
    copy_folder(find_lab(LAB).folder, folder)
    text = (folder / "lab.toml").read_text()
    assert old in text
    (folder / "lab.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(BadLab, match=why):
        load_lab(folder)


def copy_folder(source_folder: Path, target: Path) -> None:
    """Copy the sources of a lab, without Python's caches."""
    for path in source_folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            to = target / path.relative_to(source_folder)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(path.read_bytes())


# ---- what students hand in ----


def hand_in(folder: Path, files: dict[str, str]) -> Path:
    """Write these files into a folder, as a student would, and return the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def none_known(_: str) -> set[bytes]:
    """Return that no other contents of this file are known, as of files that were not handed
    out."""
    return set()


def take(path: Path) -> dict[str, str]:
    """Return the lab's files in a submission, or raise Refused."""
    return submission.take_files(path, FILES, none_known)


def test_a_folder_and_archives_of_it_give_the_same(tmp_path: Path) -> None:
    """Other files, such as notes and objects of a build, are ignored."""
    folder = hand_in(tmp_path / "me", {FILE: "x", "notes.txt": "y", "build/kernel/a.o": "z"})
    with tarfile.open(tmp_path / "me.tar.gz", "w:gz") as archive:
        archive.add(folder, "me")
    with zipfile.ZipFile(tmp_path / "me.zip", "w") as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(tmp_path))
    for handed_in in (folder, tmp_path / "me.tar.gz", tmp_path / "me.zip"):
        assert take(handed_in) == {FILE: "x"}


def with_link(folder: Path) -> Path:
    """Return a submission whose file is a symbolic link."""
    hand_in(folder, {"other.c": "x"})
    (folder / FILE).parent.mkdir(parents=True)
    (folder / FILE).symlink_to(folder / "other.c")
    return folder


def with_linked_folder(folder: Path) -> Path:
    """Return a submission in which a folder above the file is a symbolic link."""
    hand_in(folder / "real", {FILE: "x"})
    (folder / "policies").symlink_to(folder / "real" / "policies")
    return folder


def with_member(name: str, kind: bytes = tarfile.REGTYPE) -> Callable[[Path], Path]:
    """Return a function that makes an archive with the lab's file and a member of this name and
    kind."""

    def make(folder: Path) -> Path:
        """Write the archive into the folder and return its path."""
        folder.mkdir()
        with tarfile.open(folder / "a.tar", "w") as archive:
            for member in (FILE, name):
                info = tarfile.TarInfo(member)
                info.type = kind if member == name else tarfile.REGTYPE
                info.linkname = "/etc/passwd"
                archive.addfile(info, io.BytesIO())
        return folder / "a.tar"

    return make


def too_large(folder: Path) -> Path:
    """Return a submission whose file has one byte too many."""
    hand_in(folder, {FILE: ""})
    os.truncate(folder / FILE, submission.MOST_BYTES + 1)
    return folder


def not_text(folder: Path) -> Path:
    """Return a submission whose file is not UTF-8."""
    hand_in(folder, {FILE: ""})
    (folder / FILE).write_bytes(b"\xff\xfe")
    return folder


def broken_archive(folder: Path) -> Path:
    """Return an archive that is cut off in the middle."""
    folder.mkdir()
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo(FILE)
        info.size = 100_000
        archive.addfile(info, io.BytesIO(os.urandom(info.size)))
    os.truncate(folder / "a.tar.gz", 50_000)
    return folder / "a.tar.gz"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (with_link, "link"),
        (with_linked_folder, "link"),
        (with_member("/etc/passwd"), "absolute"),
        (with_member("../kernel/disk/disk.c"), "leaves its folder"),
        (with_member("policies/x", tarfile.SYMTYPE), "link"),
        (with_member("policies/x", tarfile.LNKTYPE), "link"),
        (with_member("policies/x", tarfile.FIFOTYPE), "special"),
        (too_large, "more than"),
        (not_text, "no text"),
        (broken_archive, "a.tar.gz"),
        (lambda folder: hand_in(folder, {"fcfs.c": ""}), "none of the files that are asked for"),
        (lambda folder: hand_in(folder, {f"{x}/{FILE}": "" for x in "ab"}), "several folders"),
        (
            lambda folder: hand_in(folder, {FILE: "", "kernel/disk/disk.c": ""}),
            "kernel/disk/disk.c",
        ),
        (lambda folder: hand_in(folder, {FILE: "", "Makefile": ""}), "Makefile"),
        (lambda folder: hand_in(folder, {"fcfs.c": ""}) / "fcfs.c", "neither"),
        (lambda folder: folder / "nothing", "neither"),
    ],
)
def test_a_bad_submission_is_refused_with_words(
    tmp_path: Path, make: Callable[[Path], Path], why: str
) -> None:
    """make: writes a submission into a folder and returns its path."""
    with pytest.raises(Refused, match=why):
        take(make(tmp_path / "handed_in"))


# The files of two other labs
OPEN = ("policies/update/own.c", "policies/sched/own.c", "policies/write/own.c")
SMOOTH = ("kernel/cache/flush.c", "policies/update/aipu.c")


def test_a_lone_file_is_put_in_its_place(tmp_path: Path) -> None:
    """The file comes alone, in a folder, deep in a folder, and next to a file that is in its
    place."""
    folder = hand_in(tmp_path / "me", {"clook.c": "x", "notes.txt": "y"})
    deep = hand_in(tmp_path / "deep", {"lab 4/mine/clook.c": "x"})
    with zipfile.ZipFile(tmp_path / "me.zip", "w") as archive:
        archive.write(folder / "clook.c", "clook.c")
    for path in (folder, deep, tmp_path / "me.zip", folder / "clook.c"):
        assert take(path) == {FILE: "x"}, path
    both = hand_in(tmp_path / "both", {"flush.c": "x", "policies/update/aipu.c": "y"})
    assert submission.take_files(both, SMOOTH, none_known) == dict(zip(SMOOTH, "xy", strict=True))


@pytest.mark.parametrize(
    ("files", "there", "why"),
    [
        (OPEN, ["own.c"], f"own.c: is it {OPEN[0]}, {OPEN[1]} or {OPEN[2]}[?]"),
        (FILES, ["a/clook.c", "b/clook.c"], f"{FILE}: is it a/clook.c or b/clook.c[?]"),
        (FILES, ["kernel/clook.c"], f"hand them in, in their folders: {FILE}"),
        (SMOOTH, ["flush.c"], "policies/update/aipu.c: missing"),
        (FILES, ["c-look.c"], f"hand them in, in their folders: {FILE}"),
    ],
)
def test_a_lone_file_whose_place_is_not_plain_is_refused_and_the_candidates_are_named(
    tmp_path: Path, files: tuple[str, ...], there: list[str], why: str
) -> None:
    """files: what the lab asks for; there: what the student handed in."""
    hand_in(tmp_path / "me", dict.fromkeys(there, "x"))
    with pytest.raises(Refused, match=why):
        submission.take_files(tmp_path / "me", files, none_known)


def test_a_folder_that_cannot_be_read_is_the_graders_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A HostFault is raised and not Refused, so the student loses no points."""
    folder = hand_in(tmp_path / "me", {FILE: "x", "locked/notes.txt": "y"})
    scandir = os.scandir

    def guarded(path: str) -> Iterator[os.DirEntry]:
        """List a folder; the one called `locked` may not be read."""
        if str(path).endswith("/locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with pytest.raises(HostFault, match=r"locked: Permission denied"):
        take(folder)


def test_a_whole_tree_as_handed_out_is_taken(tmp_path: Path) -> None:
    """A student may hand in the whole skeleton. Only the lab's own files may differ from it."""
    lab = find_lab("delayed-write")
    tree.make_skeleton(lab, tmp_path / "out", {})
    known = tree.allowed_contents(lab)
    assert submission.take_files(tmp_path / "out", lab.files, known).keys() == set(lab.files)
    (tmp_path / "out/kernel/disk/disk.c").write_text("")
    with pytest.raises(Refused, match=r"kernel/disk/disk.c: changed"):
        submission.take_files(tmp_path / "out", lab.files, known)


def test_a_skeleton_hides_what_students_must_not_see(tmp_path: Path) -> None:
    """The skeleton has no hidden tests, wrong answers and attacks, and no solution of the later lab
    `elevator`. A second skeleton in the same folder is refused."""
    lab, out = find_lab("delayed-write"), tmp_path / "out"
    tree.make_skeleton(lab, out, {})
    there = sorted(path.name for path in (out / "grade/labs").iterdir())
    pages = ["MACHINE_MODE.md", "README.md", "TRUST.md", "UNSOLVED.md"]
    assert there == [*pages, lab.name, "late.toml"]
    for name in ("hidden", WRONG, ATTACKS):
        assert (lab.folder / name).exists()
        assert not (out / "grade/labs" / lab.name / name).exists()
    (later,) = tree.foreign_holes(find_lab(LAB))
    assert later.stub.strip() in (out / later.file).read_text()
    with pytest.raises(BadLab, match="not empty: give an empty folder"):
        tree.make_skeleton(lab, out, {})


def test_the_kernel_of_a_skeleton_boots_and_copies_a_file(tmp_path: Path) -> None:
    """The lab's functions are not written yet."""
    lab = find_lab("delayed-write")
    kernel = tree.build_kernel(
        tmp_path / "tree", lab, {f: tree.cut_holes(lab, {})[f] for f in lab.files}
    )
    disk = Disk(
        image.make_image(tmp_path / "disk.img", Content(rc="cp /bin/sh /copy && ls /copy\n"))
    )
    result = run_rc(Config((disk,), kernel=kernel))
    assert result.status == 0, result.console
    image.check_image(disk.image)


def test_a_students_earlier_work_is_carried_on(tmp_path: Path) -> None:
    """The lab smooth comes after delayed-write. Its skeleton has the student's own files of
    delayed-write (base), with smooth's hole cut into them."""
    lab, mine = find_lab("smooth"), "/* mine */\n"
    base = {file: mine + tree.pristine_text(file) for file in find_lab("delayed-write").files}
    made = tree.cut_holes(lab, base)
    assert all(made[file].startswith(mine) for file in base)
    assert "this is bflush, which waits" in made["kernel/cache/flush.c"]


def test_work_that_is_not_whole_is_completed_by_solutions_that_were_named(tmp_path: Path) -> None:
    """A student has written delayed-write and not smooth. The lab elevator gets smooth's solution
    if smooth is named; otherwise smooth's functions are reported as left unwritten."""
    lab, bio, bflush = find_lab("elevator"), "kernel/cache/delayed.c", "kernel/cache/flush.c"
    handed_out = tree.cut_holes(find_lab("delayed-write"), {})[bflush]
    mine = {
        bio: "/* mine */\n" + tree.pristine_text(bio),
        bflush: source.replace_body(handed_out, "flush", "return 0; /* mine */"),
    }
    work = submission.take_present_files(hand_in(tmp_path, mine), tree.list_other_sources(lab))
    made = tree.prepare_sources(lab, work, frozenset({"smooth"}))
    smooth = [hole.function for hole in find_lab("smooth").holes if hole.file == bflush]
    assert smooth and [hole.function for hole in made.taken] == smooth
    solved = source.replace_body(tree.pristine_text(bflush), "flush", "return 0; /* mine */")
    assert made.files[bio] == mine[bio]
    assert made.files[bflush].split() == solved.split()
    assert {"delayed-write", "smooth", "elevator"}.isdisjoint(name for name, _ in made.left)
    unnamed = tree.prepare_sources(lab, work, frozenset())
    assert unnamed.taken == ()
    left = [(name, hole.function) for name, hole in unnamed.left if hole.file == bflush]
    assert left == [("smooth", function) for function in smooth]


@pytest.mark.parametrize(
    "lab", [lab for lab in load_labs() if not lab.handed_out], ids=lambda x: x.name
)
def test_nobody_gets_a_solution_that_was_not_named(lab: Lab) -> None:
    """No hole of any lab is solved in a skeleton, and if all labs are named, the skeleton still
    changes all files of this lab's holes."""
    made = tree.cut_holes(lab, {}, frozenset())
    for other in load_labs():
        for hole in (hole for hole in other.holes if hole.function):
            assert not has_solution(hole, made[hole.file]), hole
    named_all = tree.cut_holes(lab, {}, frozenset(other.name for other in load_labs()))
    assert set(named_all) == {hole.file for hole in lab.holes}


def has_solution(hole: Hole, text: str) -> bool:
    """Return whether a file's text has the solution of this hole."""
    solved = tree.pristine_text(hole.file)
    span = source.body(solved, hole.function)
    return source.has_body(text, hole.function, solved[span.start : span.end])


def test_each_function_of_another_lab_says_whose_it_is_and_what_it_does() -> None:
    """A skeleton has a stub in the place of each hole of another lab. A comment in it names the
    lab."""
    for lab in (lab for lab in load_labs() if not lab.handed_out):
        for hole in tree.foreign_holes(lab):
            assert f"/* Yours in the lab {lab.name}" in hole.stub
            assert tree.describe_hole(hole).startswith("So far "), hole.stub
    (clook,) = tree.foreign_holes(find_lab(LAB))
    assert tree.describe_hole(clook) == "So far requests are served first come, first served."
    silent = replace(clook, stub="return 0;")
    assert tree.describe_hole(silent) == "It does less than it should."


def test_a_function_that_is_as_another_labs_tree_had_it_is_not_written() -> None:
    """The student's file has the stub of elevator's function, as smooth's skeleton had it. So the
    function counts as left unwritten."""
    lab, elevator = find_lab("smooth"), find_lab(LAB)
    before = tree.cut_holes(lab, {}, frozenset({"delayed-write"}))  # in it, clook_next is a hole
    made = tree.prepare_sources(find_lab("open"), before, frozenset())
    assert (LAB, *tree.foreign_holes(elevator)) in made.left


def test_a_lab_needs_what_it_stands_on(tmp_path: Path) -> None:
    """smooth is refused without delayed-write. It is accepted with its solution, or with the
    student's own files."""
    assert all(
        tree.earlier_labs(lab) >= set(lab.needs) for lab in load_labs() if not lab.handed_out
    )
    lab = find_lab("smooth")
    with pytest.raises(BadLab, match="cannot be done before delayed-write is solved: give --base"):
        tree.expect_needed_labs(lab, tree.prepare_sources(lab, {}, frozenset()))
    tree.expect_needed_labs(lab, tree.prepare_sources(lab, {}, frozenset({"delayed-write"})))
    work = {
        file: "/* mine */\n" + tree.pristine_text(file) for file in find_lab("delayed-write").files
    }
    tree.expect_needed_labs(lab, tree.prepare_sources(lab, work, frozenset()))


# ---- results, whatever happens ----


def edit_function(old: str, new: str) -> dict[str, str]:
    """Return the submission in which words of clook_next are replaced."""
    return tree.apply_edits((Edit(FILE, "clook_next", old, new),))


def graded(take: Callable[[], dict[str, str]], folder: Path, only: str = "rise") -> Record:
    """Grade a submission, write all forms of its results, check them, and return the record."""
    record = grading.grade_submission(find_lab(LAB), take, folder, "3", "make grade", only)
    formats.write_all(record, folder)
    expect_all_forms(folder)
    assert json.loads((folder / "result.json").read_text())["score"] == record.score
    return record


START = "struct request *r ="  # the first statement of clook_next


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ("while (q->arrivals)\n;\nstruct request *r =", "computed for more than"),
        ("*(volatile int *)(q->head_sector * 0) = 1; struct request *r =", "ended with status"),
    ],
    ids=["hangs", "panics"],
)
def test_a_kernel_that_fails_has_its_results_and_no_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: str, why: str
) -> None:
    """The function hangs in a loop, or reads address 0. rise has 15 points."""
    if "computed" in why:
        monkeypatch.setattr("grade.engine.workbench.CPU_S", 2)
        monkeypatch.setattr("grade.engine.workbench.LOOPED_S", 1)
    record = graded(lambda: edit_function(START, new), tmp_path)
    assert (record.status, record.score, record.most) == ("graded", 0, 15)
    assert why in record.tests[0].came
    # the sixth word of the message is the limit in seconds
    if "computed" in why:  # two tests look at one machine; the next machine has less time
        assert [test.came.split()[5] for test in record.tests] == ["2", "2", "1"]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (
            Edit("kernel/cache/flush.c", "flush", "while (f.outstanding)", "for (;;)"),
            "it was stuck: its virtual time was up, and its commands were not done",
        ),
        (
            Edit(
                "kernel/cache/delayed.c",
                "set_dirtied",
                "if (!(b->flags & B_DELWRI)) {",
                "sleep_on(b, &bcache.lock); if (!(b->flags & B_DELWRI)) {",
            ),
            "it was stuck: all processes wait, and nothing that could wake them comes",
        ),
    ],
    ids=["a sync never returns", "nobody gets on"],
)
def test_a_stuck_kernel_is_told_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: Edit, why: str
) -> None:
    """The kernel waits for ever. The grader notices when nothing happens for IDLE_S seconds, which
    are 2 here."""
    monkeypatch.setattr("grade.engine.watchdog.IDLE_S", 2)
    lab = find_lab("delayed-write")
    files = {file: tree.pristine_text(file) for file in lab.files} | tree.apply_edits((edit,))
    asked = "wait.sync_returns_when_the_disk_has_it_all"
    record = grading.grade_submission(lab, lambda: files, tmp_path, "3", "make grade", asked)
    formats.write_all(record, tmp_path)
    expect_all_forms(tmp_path)
    assert (record.score, record.tests[0].came) == (0, why)


def test_a_kernel_that_floods_the_console_fills_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is 64 KiB here. The grader looks at the file's size from time to time, so somewhat
    more may be written."""
    monkeypatch.setattr("grade.engine.workbench.FILE_BYTES", 64 << 10)
    monkeypatch.setattr("grade.engine.watchdog.LOOK_S", 0.05)  # a fast host prints 1 MB a second
    old = "spin_lock(&bcache.lock);"
    flood = f'for (;;)\nkprintf("100 of 100 points\\n");\n{old}'
    lab = find_lab("delayed-write")
    files = {file: tree.pristine_text(file) for file in lab.files}
    (flooding,) = tree.apply_edits(
        (Edit("kernel/cache/delayed.c", "make_dirty", old, flood),)
    ).values()
    files["kernel/cache/delayed.c"] = f'#include "kernel/machine/print.h"\n{flooding}'
    record = grading.grade_submission(lab, lambda: files, tmp_path, "3", "make grade", "delay")
    formats.write_all(record, tmp_path)
    expect_all_forms(tmp_path)
    assert record.score == 0
    assert record.tests[0].came == "it flooded the console"
    assert sum(path.stat().st_size for path in tmp_path.rglob("console.txt")) < 1 << 20


def test_what_does_not_build_has_its_results_and_says_why(tmp_path: Path) -> None:
    record = graded(lambda: edit_function(START, "int nonsense"), tmp_path)
    assert (record.status, record.score) == ("build failed", 0)
    assert "clook.c" in record.message and "error" in record.message


def test_a_refused_submission_has_its_results(tmp_path: Path) -> None:
    """Scoreboards show 0 points and no figure."""

    def refuse() -> dict[str, str]:
        raise Refused("too bad")

    record = graded(refuse, tmp_path, "response,cost")
    assert (record.status, record.score, record.message) == ("refused", 0, "too bad")
    row = json.loads((tmp_path / "autolab.txt").read_text().splitlines()[-1])["scoreboard"]
    assert row == [0, "-"] and record.columns == ["response.random_reads_wait_less"]


# ---- what a source file may not contain ----


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('#include "/etc/passwd"', "only headers of kernel/"),
        ("#include <stdio.h>", "only headers of kernel/"),
        ("#define X <a>\n#include X", "only headers of kernel/"),
        ('#include "kernel/../grade/x.h"', "only headers of kernel/"),
        ('# /* */ include \\\n "../x"', "only headers of kernel/"),
        ('%:include "../x"', "only headers of kernel/"),
        ('#pragma GCC dependency "x"', "#pragma"),
        ('#line 3 "x.c"', "#line"),
        ('# 3 "x.c"', "#3"),
        ('void f(void) { __as\\\nm__("nop"); }', "__asm__"),
        ("#define J(a, b) a##b", "##"),
        ("#define J(a, b) a%:%:b", "%:%:"),
        ('_Pragma("once")', "_Pragma"),
        ("int x __attribute__((constructor));", "__attribute__"),
    ],
)
def test_what_would_reach_beyond_the_submission_is_refused(text: str, why: str) -> None:
    """A source may include only the kernel's headers, and may not use what would hide an #include,
    assembler, or an attribute from the checker."""
    with pytest.raises(Refused, match=re.escape(why)):
        sourcefile.check_text("a.c", text)


def test_words_in_comments_and_strings_are_nobodys_business() -> None:
    """Forbidden words are allowed there; and no lab's own solution is refused."""
    sourcefile.check_text("a.c", '/* asm #pragma */ char *s = "asm ## //"; // #include <x>\n')
    for lab in load_labs():
        sourcefile.check_texts(
            {f: tree.pristine_text(f) for f in lab.files if sourcefile.is_source(f)}
        )


# ---- evidence: the trace of a submitted kernel is checked against the drive and the devices ----


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a short run of the reference."""
    folder = tmp_path_factory.mktemp("bench")
    script = "dd if=/bin/sh of=/data/sh bs=4k 2> /dev/null\nsync\n"
    bench = Workbench(KERNEL, KERNEL, folder, "1", 60)
    return bench.run(Scenario("believed", script, varied=False))


def later(event: trace.Event, ns: int) -> trace.Event:
    """Return the event with its time moved by ns."""
    return event._replace(time_ns=event.time_ns + ns)


def test_times_that_are_not_the_drives_are_not_believed(run: Run) -> None:
    """A kernel could forge its trace. Commands that take longer or shorter than the model of the
    drive says, and times that go back, are refused."""
    evidence.expect_times(run)
    slow = [later(event, i * 300_000) for i, event in enumerate(run.events)]
    with pytest.raises(Wrong, match="forged"):
        evidence.expect_times(Run(run.scenario, run.folder, packed(slow)))
    done = next(i for i, event in enumerate(run.events) if event.name == "completed")
    soon = [*run.events[:done], later(run.events[done], -1_000_000), *run.events[done + 1 :]]
    with pytest.raises(Wrong, match=r"1 of .* sooner.* forged"):
        evidence.expect_times(Run(run.scenario, run.folder, packed(soon)))
    back = [*run.events[1:], run.events[0]]
    with pytest.raises(Wrong, match="go back"):
        evidence.expect_times(Run(run.scenario, run.folder, packed(back)))


def test_an_arm_that_a_scheduler_moved_is_where_the_drive_has_it(tmp_path: Path) -> None:
    """cscan moves the arm back without a command (event "sought"). Without these events, the times
    of the following commands look forged."""
    reads = "iogen bs=4k numjobs=3 rw=randread filename=/dev/disk1 nr=30\n"
    run = Workbench(KERNEL, KERNEL, tmp_path, "1", 60).run(
        Scenario("sought", reads, args="sched=cscan", size="512M", varied=False)
    )
    evidence.expect_times(run)
    still = [event for event in run.events if event.name != "sought"]
    assert len(run.events) - len(still) > 20
    with pytest.raises(Wrong, match="forged"):
        evidence.expect_times(Run(run.scenario, run.folder, packed(still)))


def with_late_ends(events: trace.Events, works: list[tuple[str, int]]) -> list[trace.Event]:
    """Return the events with each command of the small disks ending a millisecond later than the
    one before. `works` are the names and delays of events that are added to each end."""
    made, late_ns = [], 0
    for event in events:
        if event.name == "completed" and event.disk != DATA_DISK:
            work = later(event, late_ns)._replace(disk=DATA_DISK)
            made += [later(work._replace(name=name), ns) for name, ns in works]
            late_ns += 1_000_000
        if event.disk != DATA_DISK:
            made.append(later(event, late_ns))
    return made


# ten blocks written in the last millisecond, one each 0.1 ms: the kernel was busy
FLUSH = [("writing", ns) for ns in range(0, 1_000_000, 100_000)]


@pytest.mark.parametrize(
    ("works", "believed"),
    [
        (FLUSH, True),
        ([("writing", 900_000)], False),
        ([("issued", 850_000)], True),
        ([("issued", 700_000)], False),
        ([], False),
    ],
)
def test_a_kernel_at_work_with_interrupts_off_is_believed(
    run: Run, works: list[tuple[str, int]], believed: bool
) -> None:
    """A command's end may be noticed up to 0.2 ms late. A longer delay is believed if a flush
    traced events all the time, or if it ends when another disk's command is issued, which was
    searched for."""
    shown = Run(run.scenario, run.folder, packed(with_late_ends(run.events, works)))
    with nullcontext() if believed else pytest.raises(Wrong, match="interrupts off for long, or"):
        evidence.expect_times(shown)


def test_a_trace_that_the_devices_do_not_confirm_is_not_believed(run: Run) -> None:
    """QEMU logs each command of its devices. With one line of that log missing, log and trace
    disagree."""
    log = run.folder / "devices"
    lines = {False: "read", True: "write"}
    vdevs = sorted({r.disk for r in run.requests})
    text = [
        f"virtio_blk_handle_{lines[r.write]} vdev 0x{vdevs.index(r.disk)} req 0x1 "
        f"sector {r.sector} nsectors {r.sectors}"
        for r in run.requests
    ]
    log.write_text("\n".join(text))
    traced = evidence.traced_transfers(run)
    assert traced == 2 * [evidence.device_transfers(log, 1 << 20)]  # no command was cut off
    log.write_text("\n".join(text[:-1]))
    assert evidence.device_transfers(log, 1 << 20) not in traced


def test_a_kernel_whose_code_or_tables_changed_is_not_believed(tmp_path: Path) -> None:
    """A bit is flipped in the memory's copy of each constant part of the kernel, one after
    another."""
    memory = tmp_path / "memory"
    parts = evidence.constant_parts(KERNEL)
    assert {0x80002000} < {phys for phys, _ in parts}
    with memory.open("wb") as file:
        for phys, data in parts:
            file.seek(phys - trace.MEMORY_START)
            file.write(data)
    evidence.expect_constants(KERNEL, memory)
    for phys, data in parts:
        with memory.open("r+b") as file:
            file.seek(phys - trace.MEMORY_START + len(data) // 2)
            old = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([old[0] ^ 1]))
        with pytest.raises(Wrong, match="tables"):
            evidence.expect_constants(KERNEL, memory)
        with memory.open("r+b") as file:
            file.seek(phys - trace.MEMORY_START + len(data) // 2)
            file.write(old)


def test_points_slide_between_the_reference_thresholds() -> None:
    """With 10 ms or less all points are given, with 20 ms or more none, and between them a part."""
    shares = [Slide("time", "ms", value, 10, 20).share for value in (5, 10, 15, 20, 99)]
    assert shares == [1, 1, 0.5, 0, 0]
    with pytest.raises(BadLab):
        Slide("time", "ms", 1, 10, 10)


def test_points_fall_with_the_share_of_decisions_that_are_wrong() -> None:
    """The share of the points falls to 0 where half of 100 decisions are wrong."""
    shares = [Tally(wrong, 100, None).share for wrong in (0, 10, 25, 50, 99)]
    assert shares == [1, 0.8, 0.5, 0, 0]


def test_of_decisions_that_are_counted_the_first_wrong_one_is_told(tmp_path: Path) -> None:
    """With 1 of 10 decisions wrong, 4 of 5 points are left, and the message has the first wrong
    decision."""

    def most_are_right(bench: Workbench) -> Tally:
        return Tally(1, 10, Wrong("this", "that"))

    group = find_lab(LAB).groups[0]
    test = grading.Test(group, "counted", "", most_are_right, 5)
    outcome = grading.run_test(test, Workbench(KERNEL, KERNEL, tmp_path, "1", 0), LAB, "make grade")
    assert (outcome.points, outcome.expected) == (4, "this")
    assert outcome.came.startswith("that\n1 of 10 are wrong")
    assert not test.measures  # only tests that measure give a leaderboard its figures


def test_two_gradings_of_one_submission_are_equal_to_the_byte(tmp_path: Path) -> None:
    """All forms are equal. Only COST_FILE differs, which has what a grading took of the host."""
    solved, made = {FILE: tree.pristine_text(FILE)}, []
    for name in ("one", "other"):
        place, out = tmp_path / name / "work", tmp_path / name / "out"
        record = grading.grade_submission(
            find_lab(LAB), lambda: solved, place, "9", "make grade", "response"
        )
        formats.write_all(replace(record, cost=Cost(len(made))), out)
        paths = (path for path in out.rglob("*") if path.is_file())
        made.append({path.relative_to(out): path.read_bytes() for path in paths})
    one, other = made
    assert one.keys() == other.keys() and len(one) > 5
    assert {path.name for path in one if one[path] != other[path]} == {COST_FILE}


def test_pictures_hold_what_both_kernels_did(tmp_path: Path) -> None:
    """The submission is first come, first served under the name of C-LOOK. It writes as many blocks
    as the reference, in another order. `syncs` and `crowd` are the scenarios of the group rise."""
    slow = {FILE: tree.pristine_text("policies/sched/fcfs.c").replace("fcfs", "clook")}
    lab = find_lab(LAB)
    record = grading.grade_submission(
        lab, lambda: slow, tmp_path, "9", "make grade", "rise", beside=True
    )
    formats.write_all(record, tmp_path)
    expect_all_forms(tmp_path)
    assert [test.runs for test in record.tests] == [["syncs"], ["syncs"], ["crowd"]]
    assert [picture.scenario for picture in record.pictures] == ["syncs", "crowd"]
    assert not any(picture.hidden for picture in record.pictures)
    whose = {(c.who, c.what): c for c in record.pictures[0].curves}
    yours, reference = (whose[who, "writes"] for who in (YOURS, REFERENCE))
    assert yours.places != reference.places
    assert yours.progress[-1][1] == reference.progress[-1][1]  # as many writes
    for curve in whose.values():
        assert curve.response == sorted(curve.response) and curve.response[-1][1] == 100
        assert len(curve.response) <= 2 * MOST_POINTS


def test_hidden_tests_have_hidden_pictures(tmp_path: Path) -> None:
    """The tests of the group cost are hidden, so the report has no picture of their runs."""
    solved = {FILE: tree.pristine_text(FILE)}
    record = grading.grade_submission(
        find_lab(LAB), lambda: solved, tmp_path, "9", "make grade", "cost"
    )
    assert record.pictures and all(picture.hidden for picture in record.pictures)
    formats.write_all(record, tmp_path)
    assert "<figure>" not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("number", "said"),
    [(1.234567, "1.235"), (9999.4, "9999"), (10103.6, "10104"), (1e6, "1000000")],
)
def test_a_figure_has_no_exponent(number: float, said: str) -> None:
    """A figure has four significant digits, and all digits before the point."""
    assert Slide("time", "us", number, 0, 2e6).describe_found().startswith(f"{said} us;")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("handout elevator", "Error: Missing option '--out'."),
        ("samples elevator", "Error: Missing option '--out'."),
        ("bundle elevator", "Error: Missing option '--out'."),
        ("class elevator", "Error: Missing argument 'SUBMISSIONS'."),
        ("class elevator nonesuch", "nonesuch: there is no such file or folder"),
        ("class elevator . --out=file", "FOLDER/file: File exists"),
        ("grade elevator --submission=-none", "-none: there is no such file or folder"),
        ("grade elevator --out=file", "FOLDER/file: File exists"),
        ("grade elevator --out=file/in", "FOLDER/file/in: Not a directory"),
        ("handout elevator --out=file", "FOLDER/file: not a folder: give an empty folder"),
        ("samples elevator --out=file", "FOLDER/file: not a folder: give an empty folder"),
        ("handout elevator --out=new --base=nonesuch", "nonesuch: there is no such file or folder"),
        ("handout elevator --out=new --students=file", "--students: all students"),
        ("handout first-block --out=new --students=file", "FOLDER/file: it has no names"),
    ],
)
def test_what_cannot_be_done_as_asked_is_told_and_nothing_made(
    words: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The folder has one file, called `file`, and afterwards still has only that."""
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scoring, "BUILD", tmp_path / "build")
    monkeypatch.setattr(class_scoring, "BUILD", tmp_path / "build")
    assert enter("lab", *words.split()) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    why = why.replace("FOLDER", str(tmp_path))
    assert said.startswith(why) or said.endswith(f": {why}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ("Ada L.\nAda L\n", "line 2: Ada L and Ada L. would share a folder"),
        ('Ada\n\nB"ob\n', r"line 3: .* cannot be a name in a form, which has at most 64 letters"),
        ("Ada\n..\n", "line 2: .* cannot be a name"),
    ],
)
def test_a_class_list_that_makes_no_folders_is_told_by_its_line(
    tmp_path: Path, names: str, why: str
) -> None:
    """names: the file of students' names; why: a pattern for the message, with the line."""
    (tmp_path / "list").write_text(names)
    with pytest.raises(BadRoster, match=why):
        read_roster(tmp_path / "list")


def test_a_class_list_gives_each_student_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class list has blank lines, spaces and apostrophes. Folders keep letters and dots and
    replace everything else by a hyphen."""
    made: dict[str, str] = {}

    def skeleton(lab: Lab, out: Path, base: object, who: str, solved: object) -> SimpleNamespace:
        """Note the student's name for this folder, in place of making a skeleton."""
        made[out.name] = who
        return SimpleNamespace(taken=(), left=())

    monkeypatch.setattr(tree, "make_skeleton", skeleton)
    (tmp_path / "list").write_text("Zoë O'Brien\r\n\r\n A. Name\nO\u2019Neil, Bob\n")
    line = f"lab handout first-block --out={tmp_path / 'out'} --students={tmp_path / 'list'}"
    assert enter(*line.split()) == 0
    assert made == {
        "Zoë-O-Brien": "Zoë O'Brien",
        "A.-Name": "A. Name",
        "O-Neil-Bob": "O\u2019Neil, Bob",
    }


@pytest.fixture
def stopped_skeleton(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the copying of trees: each tree is one folder, and the first copy for Bo is
    interrupted by ^C. Return the list of those whose copy was begun."""
    begun: list[str] = []

    def copy_tree(lab: Lab, out: Path) -> None:
        """Note for whom a tree is copied, and stop the first copy for Bo."""
        begun.append(out.name)
        (out / lab.folder.relative_to(ROOT)).mkdir(parents=True)
        if begun.count("Bo") == 1 and out.name == "Bo":
            raise KeyboardInterrupt

    for name in ("add_grading_data", "student_files"):
        monkeypatch.setattr(tree, name, lambda *_: {})
    monkeypatch.setattr(tree, "prepare_sources", lambda *_: tree.Prepared({}, (), ()))
    monkeypatch.setattr(tree, "copy_tree", copy_tree)
    monkeypatch.setattr(tree.repository, "commit_all", lambda *_: None)
    return begun


def test_a_class_that_is_stopped_has_whole_trees_and_is_completed_by_the_same_command(
    tmp_path: Path,
    stopped_skeleton: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After ^C only Ada's tree is there. The same command makes Bo's and Cy's, and refuses a folder
    with a file of somebody else."""
    (tmp_path / "list").write_text("Ada\nBo\nCy\n")
    out = tmp_path / "out"
    words = ["lab", "handout", "first-block", f"--out={out}", f"--students={tmp_path / 'list'}"]
    with pytest.raises(KeyboardInterrupt, match=r"^1 of 3 students have their trees in .*goes on"):
        call(*words)
    assert [path.name for path in out.iterdir()] == ["Ada"]
    assert call(*words) == 0
    assert stopped_skeleton == ["Ada", "Bo", "Bo", "Cy"]
    assert sorted(path.name for path in out.iterdir()) == ["Ada", "Bo", "Cy"]
    assert f"{out / 'Ada'}: there already\n" in capsys.readouterr().out
    (out / "notes").touch()
    assert call(*words) == 2
    assert (
        "notes: no student's tree of first-block: give an empty folder" in capsys.readouterr().err
    )


def test_a_skeleton_that_is_stopped_leaves_nothing(
    tmp_path: Path, stopped_skeleton: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["lab", "handout", "first-block", f"--out={tmp_path / 'Bo'}", "--student=Bo"]
    with pytest.raises(KeyboardInterrupt, match=r"^$"):  # the usual message: nothing was written
        call(*words)
    assert stopped_skeleton == ["Bo"] and not list(tmp_path.iterdir())
    (tmp_path / "Bo").mkdir()  # an empty folder is no hindrance
    assert call(*words) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["Bo"] and any(tmp_path.glob("Bo/*"))


def test_a_skeleton_that_is_stopped_when_it_is_in_its_place_says_so(
    tmp_path: Path, stopped_skeleton: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """^C is typed as the empty hidden folder is removed."""

    def stop(*_: object, **how: object) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "Cy"
    monkeypatch.setattr(tree.tempfile.TemporaryDirectory, "cleanup", stop)
    with pytest.raises(KeyboardInterrupt, match=rf"^{re.escape(str(out))} is made$"):
        call("lab", "handout", "first-block", f"--out={out}", "--student=Cy")


def test_samples_that_are_stopped_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """^C comes at the first wrong answer, after the solution was written."""

    def solution(lab: Lab, edits: tuple) -> dict[str, str]:
        """Return the solution; interrupt the work when a wrong answer is to be written."""
        if edits:
            raise KeyboardInterrupt
        return {FILE: "text"}

    monkeypatch.setattr(tree, "solution_files", solution)
    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        call("lab", "samples", "elevator", f"--out={tmp_path / 'out'}")
    assert not list(tmp_path.iterdir())


def test_trees_that_were_handed_out_before_are_not_handed_out_again(tmp_path: Path) -> None:
    """The folder of handed-out trees may be within the tree that is copied. The filter returns the
    names to leave out."""
    for name in ("class/.Bo-1234/Bo", "class/Ada/.git", "kernel", "build"):
        (tmp_path / name).mkdir(parents=True)
    names = tree.make_copy_filter(tmp_path / "class/.Bo-1234")
    assert names(str(tmp_path), ["class", "kernel", "build"]) == {"build"}
    assert names(str(tmp_path / "class"), [".Bo-1234", "Ada", "notes"]) == {".Bo-1234", "Ada"}


def test_what_is_to_be_typed_again_is_one_word_of_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path has a space and an apostrophe, so the command in the report must quote it."""
    folder = hand_in(tmp_path / "Zoë's work", {FILE: "nonsense"})
    line = f"lab grade elevator --nonce=7 --out={tmp_path / 'out'}".split()
    asked: list[str] = []

    def graded(lab: Lab, take: object, out: Path, nonce: str, command: str, *_: object) -> Record:
        asked.append(command)
        return Record(lab.name, lab.title, nonce, most=100)

    monkeypatch.setattr(grading, "grade_submission", graded)
    assert enter(*line, f"--submission={folder}") == 0
    assert shlex.split(asked[0]) == ["make", "grade", "LAB=elevator", f"SUBMISSION={folder}"]


def test_an_unknown_test_is_an_error_that_lists_them(tmp_path: Path) -> None:
    """The message has the names of all tests."""
    with pytest.raises(grading.NoTest, match=r"rise\.a_block_right_under_the_head"):
        grading.grade_submission(find_lab(LAB), dict, tmp_path, "1", "make grade", "nonesuch")


def test_a_file_of_ones_own_tree_that_is_no_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --submission the files of the own tree are graded."""
    monkeypatch.setattr(scoring, "TREE", tmp_path)
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_bytes(b"/* \xff */")
    with pytest.raises(Refused, match=f"{FILE}: no text in UTF-8"):
        scoring.read_files(find_lab(LAB), None)
