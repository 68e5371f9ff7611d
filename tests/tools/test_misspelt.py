"""Every name that somebody types is known, or is refused with the nearest one.

Each variable of the Makefile either takes names, and then a misspelt one is typed here, or is free:
a number, a path, a text. So a new variable belongs into one of the two tables.
"""

import re
import subprocess
from pathlib import Path

import pytest
from trees import plain_environment
from typed import enter

from book.ext import stored
from grade.course import late
from grade.definition import lab
from sluice.cli.old_goals import table
from sluice.experiment.metrics import suggest_metric
from sluice.experiment.result import BadResult
from sluice.host import nearest
from sluice.host.paths import ROOT

# A goal of the Makefile, and the text behind ## that names its variables.
TAKES = re.compile(r"^[a-z][a-z_.-]*:.*?## (.*)$", re.M)

# Checked before anything is installed or built: what is typed behind `make`, and what was meant.
BY_MAKE = {
    "a goal": ("experimnt", "experiment"),
    "a variable": ("experiment SIZ=quick", "SIZE"),
    "LAB": ("grade LAB=elevatr", "elevator"),
    "LAB of class": ("class SUBMISSIONS=/ LAB=wattermark", "watermark"),
    "ENGINE": ("experiment ENGINE=twni", "twin"),
    "HOW": ("sweep E=x HOW=gird", "grid"),
    "FIT": ("trace FILE=x FIT=pakc", "pack"),
    "LOOP": ("trace FILE=x LOOP=opne", "open"),
    "SETUP": ("qemu SETUP=noo", "no"),
    "T": ("test T=test_tabels.py", "test_tables.py"),
    "ARGS, a drive": ("qemu ARGS=disk1.drive=rz85", "rz58"),
    "ARGS, an argument": ("run DO=ls ARGS=nbuff=99", "nbuf"),
    "ARGS, a kind": ("qemu ARGS=shced=fcfs", "sched"),
    "ARGS, a policy": ("run DO=ls ARGS=sched=fcsf", "fcfs"),
}
# The others: a verb of `sluice`, what follows, and what was meant.
QUICK = "mogul-4.1-fast"
SWEEP = ("--over=nbuf=256..512:2", "--metrics=read.mean_ms", QUICK)
TRACE = ("replay", "TRACE", "--format=spc")
ONE_REQUEST = "0,2094,8192,R,0.551706\n"
COMMANDS = [goal for goal, row in table().items() if "verb" in row]
BY_COMMAND = {
    "E": (("experiment run", "mogul-4.1-fats"), QUICK),
    "E of tune": (("dev tune", "slucie"), "sluice"),
    "SIZE": (("experiment run", "--size=quik", QUICK), "quick"),
    "WITH": (("experiment run", "--with=sttf", "sched-load"), "sstf"),
    "OVER": (("sweep", "--over=nbuff=16..32:2", *SWEEP[1:]), "nbuf"),
    "OVER, an arm": (("sweep", "--over=arm=delayed+PUU", *SWEEP[1:]), "delayed+PU"),
    "OVER, a tunable": (("sweep", "--over=sluice.fre=1..2:2", *SWEEP[1:]), "sluice.free"),
    "OVER, a policy": (("sweep", "--over=sched=sttf|fcfs", *SWEEP[1:]), "sstf"),
    "METRICS": (("sweep", SWEEP[0], "--metrics=read.mena_ms", QUICK), "read.mean_ms"),
    "METRICS, a job": (("sweep", SWEEP[0], "--metrics=raed.mean_ms", QUICK), "read"),
    "METRICS, a counter": (("sweep", SWEEP[0], "--metrics=stat.disk.wrtes", QUICK), "disk.writes"),
    "FORMAT": ((*TRACE[:2], "--format=blkprse"), "blkparse"),
    "FORMAT of export": (("export", "--run=1", "--format=cvs", QUICK), "csv"),
    "POLICIES": ((*TRACE, "--policies=replase=lru"), "replace"),
    "POLICIES, a policy": ((*TRACE, "--policies=replace=lur"), "lru"),
    "DRIVE": ((*TRACE, "--drive=rz85"), "rz58"),
    "DRIVE of matrix": (("dev matrix", "--trace=TRACE", "--drive=rz85"), "rz58"),
    "WITH of matrix": (("dev matrix", "--with=prefetc=none", QUICK), "prefetch"),
    "TEST": (("lab grade", "elevator", "--test=ries"), "rise"),
    "TEST of fair": (("lab fair", "elevator", "--test=ries"), "rise"),
    "T of fair": (("lab fair", "elevator", "--only=sstff"), "sstf"),
    "SOLVED": (("lab handout", "elevator", "--solved=smoth", "--out=/x/y"), "smooth"),
    "FILES": (("dev mutants", "--files=policies/sced/*.c"), "policies/sched/*.c"),
    "MUTANT": (("dev mutants", "--mutant=policies/sced/x.c:1"), "policies/sched/*.c"),
}
FREE = {
    "a number": "COUNT ROUNDS SEED POINTS N N2 JOBS FS_MB CPUS MEM EVENT CACHE SCALE INFLIGHT",
    "0 or 1": "DEBUG FULL LIST JUDGE LINUX NEWEST GDB",
    "a path": "OUT SUBMISSION SUBMISSIONS LATE FILE TRACES RUN CERTIFICATE BASE STUDENTS DISKS "
    "QEMU_OTHER",
    "a new name, or one that only its owner knows": "NAME STUDENT NONCE SCHEDULER",
    "a place in a run, whose forms the message names": "AT READ",
    "commands of Sluice's shell or of gdb, which say what is unknown": "DO GDB_OPTIONS",
}


def names_of(table: dict) -> set[str]:
    """Return the variables of a table."""
    return {re.match(r"[A-Z0-9]+", name)[0] for name in table if name.split()[0].isupper()
            or name.split(",")[0].isupper()}  # fmt: skip


def test_each_variable_is_tried_or_is_free() -> None:
    """Each variable that the Makefile says its goals take is misspelt by a test, or is in FREE."""
    lines = TAKES.findall((ROOT / "Makefile").read_text("utf-8"))
    taken = {name for line in lines for name in re.findall(r"\b([A-Z][A-Z0-9_]*)=", line)}
    free = {name for names in FREE.values() for name in names.split()}
    tried = names_of(BY_MAKE) | names_of(BY_COMMAND)
    assert taken - tried - free == set()
    assert free & tried == set()


@pytest.mark.parametrize("case", BY_MAKE, ids=str)
def test_make_names_the_nearest(case: str) -> None:
    words, meant = BY_MAKE[case]
    dry = [] if words.split()[0] in COMMANDS else ["-n"]  # a command itself looks at its options
    line = ["make", *dry, *([] if "SETUP" in words else ["SETUP=no"]), *words.split()]
    done = subprocess.run(
        line,
        cwd=ROOT,
        env=plain_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 2
    assert re.search(rf'did you mean "?{re.escape(meant)}"?\?', done.stderr)


@pytest.mark.parametrize("case", BY_COMMAND, ids=str)
def test_a_command_names_the_nearest(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (verb, *words), meant = BY_COMMAND[case]
    trace = tmp_path / "one.spc"
    trace.write_text(ONE_REQUEST, encoding="utf-8")
    words = [word.replace("TRACE", str(trace)) for word in words]
    monkeypatch.chdir(ROOT)
    assert enter(*verb.split(), *words) == 2
    said = capsys.readouterr().err
    if verb == "dev mutants":
        assert f"try --files='{meant}'" in said
    else:
        assert f'did you mean "{meant}"?' in said


def test_files_name_the_nearest(tmp_path: Path) -> None:
    """Names in a lab's files, in late.csv and in the book's pages are misspelt, where the tests of
    those files do not do so."""
    elevator = lab.find_lab("elevator")
    with pytest.raises(lab.BadLab, match='no group ries; did you mean "rise"'):
        lab.check_group_names(elevator, tmp_path, ["ries"])
    with pytest.raises(lab.BadLab, match='titel: not known; did you mean "title"'):
        lab.check_table(tmp_path, {"titel": "x"}, lab.KEYS)
    table = late.Table(tmp_path, elevator, [], None)
    with pytest.raises(late.BadLate, match='not known; did you mean "student"'):
        table.check_head(["studnet", "days"])
    with pytest.raises(late.BadLate, match='no lab "elevater"; did you mean "elevator"'):
        table.parse_row(2, {"lab": "elevater", "student": "ada"})
    for source, said in (
        ({"from": "mogul-4.1-fats", "metric": "x"}, f'did you mean "{QUICK}"'),
        ({"from": QUICK, "metric": "x", "arm": "delayed+PUU"}, 'did you mean "delayed+PU"'),
        ({"from": QUICK, "metric": "x", "arm": "delayed+PU", "digts": 1}, 'did you mean "digits"'),
    ):
        with pytest.raises(BadResult, match=re.escape(said)):
            stored.check_source(source)
    assert suggest_metric("drive.write.seeks_ms") == 'did you mean "drive.write.seek_ms"?'
    assert suggest_metric("fast").startswith("one is ")


def test_the_package_names_the_nearest() -> None:
    from sluice import api as sluice

    for call, said in (
        (lambda: sluice._expect_way("pakc"), 'did you mean "pack"'),
        (lambda: sluice._expect_loop("opne", 1), 'did you mean "open"'),
    ):
        with pytest.raises(sluice.BadReplay, match=said):
            call()


def test_nearest_offers_all_if_none_is_near() -> None:
    assert nearest.suggest("qqq", ["one", "two"]) == "there are one, two"


def test_of_many_names_the_first_are_offered() -> None:
    names = [f"name{number}" for number in range(nearest.MOST_LISTED + 2)]
    assert nearest.suggest("qqq", names).endswith(", name28, name29, and 2 others")
    assert nearest.suggest("qqq", names[:-2]).endswith(", name28, name29")
