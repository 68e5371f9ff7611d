"""`sluice VERB`: every verb has help with an example that works, a name that does not exist is
answered with the nearest, what a verb needs is set up after its options are read, and each goal of
make that there was has its words.

A verb is one or more words (`experiment run`); HOMES says in which function each one works. What a
verb needs are groups of packages, which tools/setup.sh installs, and goals, which make builds.
Fixtures: with `typed`, a command line is only read, and its values are noted; with `called`, the
programs that would be started are only noted.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sluice.cli import main, old_goals, options, verb
from sluice.host import clone
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT

# The goals of the Makefile before there was `sluice`: the groups of tools/setup.sh that each
# needed, its prerequisites besides `all`, and its variables.
GRADING = "drive_times_tool places_tool"
DRIVES = "drive_parts_tool drive_replay_tool"
OLD = {
    "all": ("build", "", "DEBUG FS_MB"),
    "native": ("build", "", ""),
    "twin": ("run", "", ""),
    "qemu": ("machine", "", "CPUS MEM DISKS ARGS DEBUG"),
    "qemu-gdb": ("machine", "", "CPUS MEM DISKS ARGS DEBUG"),
    "gdb": ("gdb", "", "DEBUG"),
    "run": ("machine python", "", "DO ARGS MEM FS_MB"),
    "test": ("test", "", "T FULL LAB"),
    "mutants": ("test", "native twin", "COUNT SEED FILES MUTANT JOBS"),
    "exercise": ("run", f"{DRIVES} twin", "SEED COUNT ENGINE JOBS"),
    "fresh": ("fresh", "", "FULL NEWEST"),
    "bench": ("run", "", "LINUX ROUNDS"),
    "experiment": ("report", f"{DRIVES} twin", "E SIZE ENGINE WITH N JOBS SCHEDULER LIST"),
    "sweep": (
        "sweep",
        f"twin {DRIVES}",
        "E SIZE OVER HOW POINTS METRICS JOBS SCHEDULER",
    ),
    "trace": (
        "sweep",
        f"twin {DRIVES}",
        "FILE FORMAT POLICIES CACHE DRIVE SCALE COUNT FIT LOOP INFLIGHT METRICS JOBS SCHEDULER",
    ),
    "matrix": (
        "sweep",
        f"twin {DRIVES}",
        "TRACES E CACHE WITH DRIVE COUNT OUT JOBS SCHEDULER",
    ),
    "twin-costs": ("run", "twin", ""),
    "agree": ("run", f"{DRIVES} twin", "ENGINE E SIZE"),
    "repeat": ("run", f"{DRIVES} twin", "QEMU_OTHER E SIZE JOBS"),
    "tune": ("sweep", "twin", "E JOBS JUDGE"),
    "measure-build": ("measure", "", ""),
    "results": ("report", f"{DRIVES} twin", "E JOBS SCHEDULER"),
    "findings": ("report", DRIVES, "E"),
    "results-check": ("report", DRIVES, "E JOBS SCHEDULER"),
    "results-same": ("report", DRIVES, "E JOBS SCHEDULER"),
    "results-tables": ("report", DRIVES, "E"),
    "export": ("run", DRIVES, "E SIZE N FORMAT OUT LIST"),
    "report": ("report", DRIVES, "E SIZE"),
    "book": ("book", DRIVES, "FULL JOBS"),
    "grade": ("grade", GRADING, "LAB SUBMISSION TEST NONCE OUT GDB"),
    "replay": ("grade gdb", GRADING, "AT E SIZE N RUN DO GDB_OPTIONS CERTIFICATE SUBMISSION OUT"),
    "why": ("run", DRIVES, "E SIZE N READ"),
    "theatre": ("report", DRIVES, "E SIZE N N2"),
    "animation": ("report", DRIVES, "E SIZE N N2 OUT"),
    "live": ("live", f"complete {DRIVES}", ""),
    "events": ("grade", None, "EVENT RUN"),
    "example": ("grade", GRADING, "LAB OUT"),
    "class": ("grade", GRADING, "SUBMISSIONS LAB OUT LATE JOBS NONCE SCHEDULER"),
    "skeleton": ("grade", GRADING, "OUT LAB BASE SOLVED STUDENT STUDENTS"),
    "samples": ("grade", "", "OUT LAB"),
    "solution": ("grade", GRADING, "OUT LAB STUDENT"),
    "newlab": ("grade", None, "NAME"),
    "bundle": ("grade", None, "OUT LAB"),
    "fair": ("grade", GRADING, "LAB COUNT T TEST FULL ENGINE JOBS"),
    "format": ("format", "", ""),
    "compile_commands.json": ("", "", ""),
    "setup": ("", "", ""),
    "clean": ("", "", ""),
    "version": ("", "", ""),
    "help": ("", "", ""),
}
NO_GOAL = {"fresh"}  # needs nothing that is built
FILES = ("hm_0.csv.gz", "a.csv.gz", "handed-in.zip", "late.csv", "certificate.json")
FOLDERS = ("submissions", "runs/syncs")


def verbs(table: dict = main.VERBS, *before: str) -> Iterator[tuple[str, str]]:
    """Yield each verb's words and where its function is."""
    for name, (first, second) in table.items():
        if isinstance(second, dict):
            yield from verbs(second, *before, name)
        else:
            yield " ".join([*before, name]), first


HOMES = dict(verbs())


def load_verb(words: str) -> verb.Verb:
    """Return the command of a verb."""
    group, context = main.command(), None
    for word in words.split():
        group = group.get_command(context, word)
    return group


class Typed:
    """The result of a command line: the function that would work, and its options' values."""

    home: str = ""
    values: dict[str, Any]

    def __call__(self, home: str, function: object, values: dict[str, Any]) -> int:
        """Note the function and the values, and do no work."""
        self.home, self.values = home, values
        return 0


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """Have command lines read only, in a folder that has FILES and FOLDERS. Return what notes the
    values."""
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).touch()
    for name in FOLDERS:
        (tmp_path / name).mkdir(parents=True)
    found = Typed()
    monkeypatch.setattr(verb, "start", found)
    return found


def enter(*words: str) -> int:
    """Read a command line and return the exit status."""
    with pytest.raises(SystemExit) as end:
        main.command()(list(words), prog_name="sluice")
    return end.value.code


# ---- help ----


@pytest.mark.parametrize("words", HOMES)
def test_each_verb_says_what_it_does_and_takes_and_shows_an_example(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The help begins with a sentence of more than four words, and each option has help."""
    assert enter(*words.split(), "--help") == 0
    said = capsys.readouterr().out
    first = re.split(r"\.\s|\.$", load_verb(words).help)[0].split()
    assert len(first) > 4 and " ".join(first[:4]) in said
    assert f"Example:\n  sluice {words}" in said
    for param in load_verb(words).params:
        assert param.help, param.name


@pytest.mark.parametrize("words", HOMES)
def test_each_example_is_a_command_line(words: str, typed: Typed) -> None:
    example = load_verb(words).function.about.example
    program, *line = shlex.split(example)
    # Examples name files that earlier work leaves in build/. Here empty files stand for them.
    line = [word.removeprefix("build/grade/elevator/") for word in line]
    assert program == "sluice"
    assert enter(*line) == 0
    assert typed.home == HOMES[words]


def test_help_of_every_group_lists_its_verbs_in_narrow_terminals_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """COLUMNS is the terminal's width."""
    for columns in ("40", "60", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        for group in ([], ["lab"], ["experiment"], ["results"], ["validate"], ["dev"]):
            assert enter(*group, "--help") == 0
            said = capsys.readouterr().out
            assert max(map(len, said.splitlines())) <= int(columns)
            for words in HOMES:
                if words.split()[:-1] == group:
                    assert re.search(rf"^  {words.split()[-1]}\b", said, re.M)


def test_help_loads_nothing_that_takes_long() -> None:
    """`sluice --help` imports none of these modules."""
    slow = {
        "rich",
        "numpy",
        "pydantic",
        "distributed",
        "sluice.cli.verbs.sweep",
        "sluice.experiment",
    }
    code = (
        "import sys\nfrom sluice.cli import main\n"
        "try: main.command()(['--help'], prog_name='sluice')\n"
        f"except SystemExit: print(sorted({slow!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == "[]\n"


# ---- names that do not exist, and values that cannot be ----


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("swep", 'did you mean "sweep"?'),
        ("experiment rum", 'did you mean "run"?'),
        ("lab grde", 'did you mean "grade"?'),
        ("sweep mogul-4.1-fast --metrix=x", 'did you mean "--metrics"?'),
        ("experiment run mogul-4.1-fats", 'did you mean "mogul-4.1-fast"?'),
        ("why mogul-4.1-fats", 'did you mean "mogul-4.1-fast"?'),
        ("experiment run mogul-4.1-fast --size=quik", 'did you mean "quick"?'),
        ("experiment run mogul-4.1-fast --engine=twni", 'did you mean "twin"?'),
        ("experiment run sched-load --with=sttf", 'did you mean "sstf"?'),
        ("sweep mogul-4.1-fast --how=gird", 'did you mean "grid"?'),
        ("replay a.csv.gz --format=blkprse", 'did you mean "blkparse"?'),
        ("replay a.csv.gz --drive=rz85", 'did you mean "rz58"?'),
        ("replay a.csv.gz --fit=pakc", 'did you mean "pack"?'),
        ("replay a.csv.gz --loop=opne", 'did you mean "open"?'),
        ("export mogul-4.1-fast --run=1 --format=cvs", 'did you mean "csv"?'),
        ("dev matrix mogul-4.1-fats", 'did you mean "mogul-4.1-fast"?'),
        ("dev tune slucie", 'did you mean "sluice"?'),
        ("lab grade elevatr", 'did you mean "elevator"?'),
        ("lab handout wattermark --out=x", 'did you mean "watermark"?'),
        ("why mogul-4.1-", "give one experiment"),
        ("why x.toml", "x.toml: there is no such file"),
        ("experiment run runs", "runs/ means the experiments in this folder"),
        ("experiment run runs/", "there is no .toml file in this folder"),
        ("replay x.spc", "x.spc: there is no such file or folder"),
        ("replay a.csv.gz --scale=0", "0: must be a number above 0"),
        ("replay a.csv.gz --inflight=65537", "'--inflight'"),
        (
            "replay a.csv.gz --through=files --inflight=257",
            "257: must be 1 to 256 with --through files",
        ),
        ("experiment run --jobs=0", "'--jobs'"),
        ("run ls --memory=9G", "9G: must be memory from 32M to 8G"),
        ("run ;", "COMMANDS': give a command of Sluice's shell"),
        ("lab grade elevator --submission=nothing", "nothing: there is no such file or folder"),
        ("lab handout first-block --out=x", "first-block is answered by numbers"),
        ("lab class elevator", "Missing argument 'SUBMISSIONS'"),
        ("why mogul-4.1-fast", "give the number of a run"),
        ("debug mogul-4.1-fast", "give the number of a run"),
        ("export mogul-4.1-fast", "give the number of a run"),
        ("theatre mogul-4.1-fast", "give the number of a run"),
        ("debug", "give either an experiment, or the folder of a graded run"),
        ("export", "give an experiment"),
        ("dev matrix", "give an experiment, or a trace"),
        ("dev fresh --full --newest", "give either --full or --newest"),
    ],
)
def test_a_wrong_word_is_named_before_anything_is_set_up(
    line: str, said: str, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 2, and no verb has begun."""
    assert enter(*line.split()) == 2
    assert said in capsys.readouterr().err
    assert not typed.home


def test_a_path_is_relative_to_the_folder_of_who_types(typed: Typed, tmp_path: Path) -> None:
    """The verb itself works in another folder, so it gets whole paths."""
    (tmp_path / "own.toml").touch()
    line = "lab class elevator submissions --out=a/b --late=late.csv"
    assert enter(*line.split()) == 0
    assert typed.values["submissions"] == tmp_path / "submissions"
    assert typed.values["out"] == tmp_path / "a" / "b"
    assert typed.values["late"] == tmp_path / "late.csv"
    assert enter("experiment", "run", "own.toml") == 0
    assert typed.values["name"] == str(tmp_path / "own.toml")
    assert enter("dev", "matrix", "--trace=a.csv.gz", "own.toml") == 0
    assert typed.values["traces"] == [str(tmp_path / "a.csv.gz")]


def test_the_values_of_options_are_handed_on_as_they_are(tmp_path: Path) -> None:
    """A verb's work is done by another process, which gets the values as text. Spaces, quotes, line
    ends and bytes that are no UTF-8 survive."""
    values = {
        "name": "a 'b' \udce9\n", "run": 3, "none": None, "yes": True, "many": ["a", "b"],
        "out": tmp_path / "x y",
    }  # fmt: skip
    assert verb.read(verb.encode_values(values)) == values


# ---- what is set up ----


class Called(Exception):
    """A program took this one's place; the words are its own."""


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Note the programs that would be started, and start none. Where this process would become a
    snapshot's process, Called is raised."""
    lines: list[list[str]] = []

    def run(line: list[str], **how: Any) -> subprocess.CompletedProcess:
        """Note a program's words; it fails if FAILS is among them."""
        lines.append(line)
        return subprocess.CompletedProcess(line, FAILS if "FAILS" in line else 0, stdout="")

    def execute(program: str, line: list[str], env: dict[str, str]) -> None:
        lines.append(line[1:])
        raise Called

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(os, "execve", execute)
    monkeypatch.setattr(os, "chdir", lambda folder: None)
    return lines


FAILS = 7  # the status of a program that has the word FAILS


def test_a_verb_installs_then_builds_then_works_on_a_snapshot(called: list[list[str]]) -> None:
    """Three programs are started one after another: setup.sh, make, and Python in a snapshot of the
    tree."""
    command = load_verb("sweep")
    with pytest.raises(Called):
        verb.start(command.home, command.function, {"jobs": 3})
    lines = [line for line in called if "tools/find_tool.sh" not in line]
    assert lines[0] == ["sh", "tools/setup.sh", "sweep"]
    make = ["make", "--no-print-directory", "SETUP=no", "JOBS=3"]
    assert lines[1] == [*make, "all", "twin", *verb.DRIVES]
    snapshot = ["-m", "sluice.host.snapshot", "-m", "sluice.cli.work", HOMES["sweep"]]
    assert lines[2][:-1] == snapshot


def test_a_verb_whose_needs_cannot_be_met_does_not_begin(called: list[list[str]]) -> None:
    about = verb.verb(verb.Needs(("FAILS",)), "")(lambda: pytest.fail("it began"))
    assert verb.start("x:y", about, {}) == FAILS


def test_an_installed_package_sets_nothing_up(
    called: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a clone there is nothing to build, so no program is started."""
    monkeypatch.setattr(clone, "is_clone", lambda: False)
    function = verb.verb(verb.Needs(("sweep",)), "")(lambda: 5)
    assert verb.start("x:y", function, {}) == 5
    assert called == []


@pytest.mark.parametrize("goal", [g for g in OLD if "make" not in old_goals.table()[g]])
def test_a_verb_needs_what_its_goal_needed(goal: str) -> None:
    """The verb that took the place of a goal needs the goal's groups and prerequisites (OLD)."""
    groups, prerequisites, _ = OLD[goal]
    words = old_goals.table()[goal]["verb"].partition(" --")[0]
    values = {param.name: param.default for param in load_verb(words).params} | {"name": "x"}
    needs = load_verb(words).function.about.needs(values)
    assert " ".join(needs.groups) == groups
    if prerequisites is None or goal in NO_GOAL:
        assert needs.goals in ((), ("all",))
    else:
        found = {Path(one).name for one in needs.goals}
        assert found == {"all", *prerequisites.split()}


def test_what_makes_runs_needs_the_twin_where_it_makes_them() -> None:
    """With the engine `machine` the twin is not built."""
    for words in ("experiment run", "lab fair", "network run", "why", "theatre"):
        about = load_verb(words).function.about
        assert "twin" in about.needs({"engine": "twin"}).goals
        assert "twin" not in about.needs({"engine": "machine"}).goals
    exercise = load_verb("dev exercise").function.about.needs({"engine": "machine"})
    assert exercise.snapshot == verb.NONE and verb.DEBUG_KERNEL in exercise.goals
    assert load_verb("debug").function.about.needs({"graded": ""}).snapshot == verb.LESS


def test_a_debug_kernel_is_built_with_its_flag(called: list[list[str]]) -> None:
    """It is built by a make of its own, with DEBUG=1, after the other goals."""
    clone.prepare((), (verb.DEBUG_KERNEL,), None, {})
    assert "DEBUG=1" in called[0]
    clone.prepare((), ("all", verb.DEBUG_KERNEL, "twin"), None, {})
    made = ["make", "--no-print-directory", "SETUP=no"]
    assert called[1:] == [[*made, "all", "twin"], [*made, "DEBUG=1", verb.DEBUG_KERNEL]]


# ---- the goals that there were ----


def test_every_goal_and_variable_that_there_was_has_its_words() -> None:
    """The table of old goals has a row for each goal in OLD, and in it a word for each variable."""
    table = old_goals.table()
    common = table.pop(old_goals.VARIABLES)["names"]
    assert set(table) == set(OLD)
    for goal, (_, _, variables) in OLD.items():
        if "make" not in table[goal]:
            lacking = set(variables.split()) - set(table[goal]) - set(common)
            assert not lacking, f"{goal}: {lacking}"


def test_the_words_of_a_goal_are_those_of_a_verb() -> None:
    """Each option that the table gives for a variable is an option of the goal's verb."""
    for goal, row in old_goals.table().items():
        if goal == old_goals.VARIABLES or "make" in row:
            continue
        words = row["verb"].partition(" --")[0]
        there = {option for param in load_verb(words).params for option in param.opts}
        for name, how in row.items():
            words = how.split()
            if name.isupper() and words and words[-1].startswith("--") and name not in LEFT_OUT:
                assert words[-1] in there, f"{goal} {name}"


LEFT_OUT = {"SUBMISSION", "OUT"}  # variables of `make replay` that count only with CERTIFICATE


@pytest.mark.parametrize(
    ("typed_words", "now"),
    [
        ("experiment E=x SIZE=quick N=3 JOBS=2", "experiment run --size=quick --run=3 --jobs=2 x"),
        ("experiment E=x LIST=1", "experiment list x"),
        ("experiment E= N=", "experiment run"),
        ("replay E=x N=3 AT=1.5s", "debug --run=3 --at=1.5s x"),
        ("replay RUN=a/b", "debug --graded=a/b"),
        ("replay CERTIFICATE=c.json SUBMISSION=s", "lab recheck --submission=s c.json"),
        (
            "animation E=x N=1 N2=2 OUT=a.png",
            "theatre --animation --run=1 --second=2 --out=a.png x",
        ),
        ("grade LAB=elevator GDB=1", "lab grade --gdb elevator"),
        ("class LAB=a SUBMISSIONS=-b", "lab class -- a -b"),
        ("fair LAB=a COUNT=3 T=x FULL=1", "lab fair --nonces=3 --only=x --attacks a"),
        ("book FULL=0", "book"),
        ("agree ENGINE=twin E=x", "validate repeat x"),
    ],
)
def test_a_goal_is_translated(typed_words: str, now: str) -> None:
    """typed_words: an old goal and its variables; now: the words behind `sluice`."""
    goal, *words = typed_words.split()
    given = dict(word.split("=", 1) for word in words)
    assert shlex.join(old_goals.translate(goal, given)[0]) == now


def test_blanks_part_the_traces_of_a_matrix_and_nothing_else() -> None:
    """TRACES and E are lists with blanks, WITH is one text, and QEMU goes into the environment."""
    given = {"TRACES": "a b", "E": "c d", "WITH": "x=1, y=2", "QEMU": "/q"}
    words, environment = old_goals.translate("matrix", given)
    assert words == ["dev", "matrix", "--trace=a", "--trace=b", "--with=x=1, y=2", "c", "d"]
    assert environment == {"QEMU": "/q"}


def test_an_unknown_goal_or_variable_is_named() -> None:
    with pytest.raises(old_goals.BadGoal, match='did you mean "sweep"'):
        old_goals.translate("swep", {})
    with pytest.raises(old_goals.BadGoal, match='did you mean "SIZE"'):
        old_goals.translate("experiment", {"SIZ": "quick"})


# ---- completion ----


def complete_words(shell: str, words: str, **env: str) -> str:
    """Return what bash or zsh is offered as completions of the last word."""
    given = {
        "_SLUICE_COMPLETE": f"complete_{shell}", "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1), "_TYPER_COMPLETE_ARGS": words,
    }  # fmt: skip
    done = subprocess.run(
        [ROOT / "bin" / "sluice"],
        env=os.environ | given,
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_completes_verbs_options_and_names(shell: str) -> None:
    """words: what was typed; offered: one of the completions. Other names are not offered."""
    for words, offered in {
        "sluice th": "theatre",
        "sluice experiment r": "report",
        "sluice sweep x --sch": "--scheduler",
        "sluice lab grade elev": "elevator",
        "sluice why mogul-4.1-f": "mogul-4.1-fast",
        "sluice experiment run --engine tw": "twin",
    }.items():
        said = complete_words(shell, words)
        assert offered in said, words
        assert "watermark" not in said
    assert complete_words(shell, "sluice lab grade zzz").count("elevator") == 0


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_shell_is_told_how_to_complete(shell: str) -> None:
    """The script that a shell loads calls sluice with this variable."""
    env = os.environ | {"_SLUICE_COMPLETE": f"source_{shell}"}
    done = subprocess.run(
        [ROOT / "bin" / "sluice"], env=env, capture_output=True, text=True, timeout=HANG_S
    )
    assert f"_SLUICE_COMPLETE=complete_{shell}" in done.stdout


# ---- the script ----


def test_the_script_works_through_links_from_any_folder_and_whatever_it_is_called(
    tmp_path: Path,
) -> None:
    """bin/sluice is started through two links, in a folder whose name has quotes, a space and a
    line end."""
    odd = tmp_path / "a b'c\"$HOME;*[x]\n"
    (odd / "tree" / "bin").mkdir(parents=True)
    (odd / "tree" / "bin" / "sluice").symlink_to(ROOT / "bin" / "sluice")
    (odd / "away").symlink_to("tree/bin/sluice")
    (odd / "sluice").mkdir()  # a package of this name in the folder is not ours
    (odd / "sluice" / "__init__.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    for program in ("./away", str(odd / "tree" / "bin" / "sluice")):
        done = subprocess.run([program, "--version"], cwd=odd, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(r"Sluice \d+(\.\d+)+\n", done.stdout)


def test_a_tree_may_lie_in_any_folder(tmp_path: Path) -> None:
    """Here bin/sluice is a copy, in a tree whose folder has such a name."""
    tree = tmp_path / "a b'c\"$HOME;*[x]\n"
    (tree / "bin").mkdir(parents=True)
    for name in (".venv", "sluice"):
        (tree / name).symlink_to(ROOT / name)
    script = tree / "bin" / "sluice"
    script.write_bytes((ROOT / "bin" / "sluice").read_bytes())
    script.chmod(0o755)
    done = subprocess.run([script, "--version"], cwd="/", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Sluice ")


def test_names_are_those_of_files() -> None:
    """The names that options take come from folders of labs, policies and drives, and from an
    experiment's file."""
    assert {"elevator", "crash"} <= set(options.labs())
    assert {"lru", "2q", "sluice"} <= set(options.policies())
    assert {"rz58", "none"} <= set(options.drives())
    assert {"full", "quick"} <= set(options.sizes("mogul-4.1-fast"))
