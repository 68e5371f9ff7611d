"""Each command does its work in a clean clone, where nothing is built and no other was run before.

A goal that lacks a prerequisite works in the trees of those who have built everything. FULL=1 runs
every goal alone in a clone of its own; otherwise only one that builds nothing. In each run
test_repeat.py builds a copy in which nothing is built.
"""

import importlib
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from trees import copy_of_tree, make
from whole import WHOLE

from grade.cli import scoring
from grade.definition.lab import find_lab
from sluice.cli.main import VERBS
from sluice.cli.old_goals import table
from sluice.cli.verb import command_of
from sluice.host.paths import ROOT

E = ["E=mogul-4.1-fast", "SIZE=quick"]
TRACE = "\n".join(f"0,{n},{'WR'[n % 3 > 0]},{n * 37 % 999 * 4096},4096" for n in range(400))
LAB = "LAB=elevator"
# The arguments typed after each goal. FILE is a small trace, OUT a folder that is not there.
GIVEN: dict[str, list[str]] = {
    "all": [],
    "native": [],
    "twin": [],
    "run": ["DO=ls"],
    "test": ["T=test_snapshot.py"],
    "mutants": ["COUNT=2", "FILES=kernel/base/string.c"],
    "exercise": ["COUNT=1"],
    "experiment": [*E, "N=3"],
    "sweep": [*E, "OVER=nbuf=256|512", "N=3", "POINTS=2"],
    "trace": ["FILE=FILE", "POLICIES=replace=lru|arc", "CACHE=10"],
    "matrix": ["TRACES=FILE", "CACHE=10", "OUT=OUT"],
    "agree": E,
    "findings": [],
    "results-check": ["E=own-oracle"],
    "results-tables": ["E=mogul-4.1-fast"],
    "export": [*E, "N=3", "FORMAT=csv", "OUT=OUT"],
    "report": E,
    "why": [*E, "N=3"],
    "theatre": [*E, "N=3"],
    "animation": [*E, "N=3", "OUT=OUT/a.png"],
    "book": [],
    "grade": [LAB],
    "replay": [*E, "N=3", "DO=kill"],
    "example": [LAB],
    "skeleton": [LAB, "OUT=OUT"],
    "samples": [LAB, "OUT=OUT"],
    "solution": [LAB, "OUT=OUT"],
    "newlab": ["NAME=my-lab"],
    "bundle": [LAB, "OUT=OUT/a.zip"],
    "format": [],
    "compile_commands.json": [],
    "clean": [],
    "version": [],
    "help": [],
}
# Goals that are not run here, and why. Their prerequisites are compared with those of a goal that
# is, or another test runs them.
NOT_RUN = {
    "qemu-gdb": "waits for gdb: test_vscode.py",
    "qemu": "waits for a person: make fresh boots it",
    "gdb": "waits for a person: test_gdb.py",
    "fresh": "needs root, and takes minutes: .ci/run",
    "bench": "takes minutes: test_latency.py and test_scaling.py measure the same",
    "tune": "takes hours: test_tune.py",
    "twin-costs": "changes a source: test_twin.py",
    "repeat": "needs a second QEMU: test_repeat.py",
    "measure-build": "needs strace: test_traced.py",
    "results": "takes minutes, and has the prerequisites of results-check",
    "results-same": "changes stored results, and has the prerequisites of results-check",
    "live": "needs clang, which only some have: test_live.py",
    "events": "needs a graded run: test_moments.py",
    "class": "needs submissions: test_class.py",
    "fair": "takes minutes: test_fair.py",
    "setup": "installs: test_setup.py",
    "check": "needs all that the tests need",
}
# Commands that end with an error where nothing is built, and what they say is to be made first.
REFUSES = {"agree": "experiment", "report": "experiment"}
SOME = ("version",)  # test_newlab.py makes a lab in the tree that is built


def goals() -> set[str]:
    """Return the goals that `make help` lists."""
    listed = re.findall(r"^make (\S+)", make(ROOT, "help").stdout, re.M)
    return {*listed, *(name for name, row in table().items() if "verb" in row)}


def test_every_goal_is_run_in_a_clean_clone_or_there_is_a_reason() -> None:
    assert goals() == {*GIVEN, *NOT_RUN}
    assert not set(GIVEN) & set(NOT_RUN)


@pytest.mark.parametrize("goal", GIVEN if WHOLE else SOME)
def test_a_goal_does_its_work_where_nothing_is_built(goal: str, tmp_path: Path) -> None:
    """In a clone without build/ the goal must succeed, or refuse with its words, and never show a
    traceback."""
    clone = copy_of_tree(tmp_path, "build")
    line = ["git", "init", "--quiet", str(clone)]
    subprocess.run(line, check=True)
    (tmp_path / "small.csv").write_text(TRACE + "\n")
    paths = {"FILE": str(tmp_path / "small.csv"), "OUT": str(tmp_path / "out")}
    # The table's words have FILE and OUT where a path of this test belongs.
    words = [
        re.sub(r"=(FILE|OUT)\b", lambda found: f"={paths[found[1]]}", word) for word in GIVEN[goal]
    ]
    done = make(clone, "SETUP=no", goal, *words, check=False)
    assert "Traceback" not in done.stdout, done.stdout[-3000:]
    if goal in REFUSES:
        assert done.returncode and REFUSES[goal] in done.stdout, done.stdout[-3000:]
    else:
        assert done.returncode == 0, done.stdout[-3000:]


def test_who_grades_the_staffs_own_solution_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a fresh clone there is nothing else to grade. A student's tree has reference.elf. The
    answers of first-block are not in the tree."""
    lab = find_lab("elevator")
    scoring.note_solution(lab)
    assert "this tree has the staff's solution of elevator, and that is graded" in (
        capsys.readouterr().err
    )
    (tmp_path / "reference.elf").touch()
    scoring.note_solution(replace(lab, folder=tmp_path))
    scoring.note_solution(find_lab("first-block"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words", ["sweep", "replay", "dev matrix", "dev tune", "dev costs", "dev exercise"]
)
def test_a_verb_that_uses_the_twin_builds_it(words: str) -> None:
    """words: a command of sluice. VERBS leads from its words to its function, whose needs are
    asked."""
    known: object = VERBS
    for word in words.split():
        known = known[word] if known is VERBS else known[1][word]
    module, _, name = known[0].partition(":")
    function = getattr(importlib.import_module(module), name)
    values = {param.name: param.default for param in command_of(function, "", "").params}
    assert "twin" in function.about.needs(values).goals
