"""Every command that a document shows exists, with its words; those that cost little are run.

Commands are the lines of code blocks, and code within sentences that begins with a command's name.
Of `make` all goals, variables, labs, experiments, tests, policies and tunables are looked up, and a
dry run is made; programs of Sluice are run in a machine; others must be there.
"""

import ast
import importlib.util
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest
from trees import make

from grade.code.objects import read_symbols
from grade.definition.lab import load_labs
from sluice.cli import main, verb
from sluice.experiment.catalogue import load_catalogue
from sluice.host.experiments import EXPERIMENTS, experiment_files
from sluice.host.paths import KERNEL, ROOT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

DOCUMENTS = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "grade/labs/README.md",
    "grade/labs/TRUST.md",
]
CHAPTERS = sorted(path.relative_to(ROOT) for path in ROOT.glob("book/pages/**/*.md"))
HANDOUTS = sorted(path.relative_to(ROOT) for path in ROOT.glob("grade/labs/*/handout.md"))
HINTS = sorted(path.relative_to(ROOT) for path in ROOT.glob("grade/labs/*/hints.md"))
STAFFS = sorted(path.relative_to(ROOT) for path in ROOT.glob("grade/**/staff/*.md"))
DOCSTRINGS = ["sluice/host/workers.py", "sluice/host/snapshot.py"]
FENCED = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.M | re.S)
# files that a reader is told to write
TO_BE_WRITTEN = re.compile(r"(?:new file|into) `policies/\w+/(\w+)\.c`")
NEW_LAB = re.compile(r"sluice lab new ([\w-]+)")  # a lab that a reader is told to make
OPTION = re.compile(r":\w+:")  # of a directive
NO_COMMANDS = ("syscall >", "|prefetch", "found:", "*--")  # blocks that show something else
FOLDERS = {path.parent.name for path in ROOT.glob("user/**/main.c")}
PROGRAMS = (
    {path.stem for folder in ("bin", "load") for path in ROOT.glob(f"user/{folder}/*.c")}
    | FOLDERS
    | {"help"}  # a word of the shell's
)
SLUICE = {"sluice", "bin/sluice"}
GDB = {"hbreak", "break", "continue", "backtrace", "finish", "print", "target", "kstack", "queue"}
HOST = {"debugfs", "e2fsck", "dumpe2fs", "tar", "git"}
PACKAGES = {"mvn": "maven", "unzip": "unzip"}  # of Debian; set-up does not install them
# Names that are placeholders, or of files yet to be made.
PLACEHOLDER = re.compile(r"\.\.\.|^$|^dir$|\b(HOST|NAME|NEXT|DIR)\b|\$\(")
ENVIRONMENT = re.compile(r'environ(?:\.get\(|\[)"(\w+)"')
GRADED_RUN = re.compile(r"build/grade/([\w-]+)/runs/([\w-]+)")
BOOT_ARGUMENT = re.compile(r'\barg_(?:text|number)\("(\w+)"')


class NoSuch(AssertionError):
    """A command that cannot be typed as it is shown; says why."""


@dataclass(frozen=True)
class Shown:
    """A command, and the document that shows it."""

    where: str
    line: str
    in_block: bool
    typed: bool = False  # the book, or a test of its own, types it: here it is looked up only

    @property
    def first(self) -> str:
        return self.line.split()[0]


def texts() -> Iterator[tuple[str, str]]:
    """Yield each document, and its text."""
    for name in (*DOCUMENTS, *HANDOUTS, *HINTS, *CHAPTERS, *STAFFS):
        yield str(name), (ROOT / name).read_text()
    for name in DOCSTRINGS:
        yield name, ast.get_docstring(ast.parse((ROOT / name).read_text()))


def list_done(line: str) -> list[str]:
    """Return the commands that `sluice run` is to do (test_try_it.py does them)."""
    if not re.match(r"(bin/)?sluice run '", line):
        return []
    return [command.strip() for command in shlex.split(line)[2].split(";")]


def is_command(line: str) -> bool:
    """True if code within a sentence begins as a command does."""
    first = line.split()[0] if line.split() else ""
    several = " " in line and not first.endswith("=")
    known_first = first in {"make", *SLUICE, *HOST, *PROGRAMS} or first.startswith(
        (".venv/", "build/native/")
    )
    return known_first and (several or first == "make") and not re.match(r"\w+\(|sluice <", line)


def blocks(text: str) -> Iterator[str]:
    """Yield the lines of code blocks: indented, after an empty line or another line of the
    block."""
    inside = False
    for before, line in pairwise(["", *text.splitlines()]):
        inside = line.startswith("    ") and (inside or not before.strip())
        if inside:
            yield line


def fenced(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line between fences that say ```sh, or ```{typed}, and whether the fence is the
    latter."""
    for kind, body in FENCED.findall(text):
        for line in body.splitlines() if kind in ("sh", "{typed}") else ():
            if line.strip() and not OPTION.match(line):
                yield line.removeprefix("! "), kind == "{typed}"


def shown_lines() -> Iterator[Shown]:
    """Yield all that the documents show."""
    for where, text in texts():
        text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
        for line, typed in fenced(text):
            yield Shown(where, line, True, typed)
        text = FENCED.sub("", text)
        for line in blocks(text):
            code = re.sub(r"\s+#\s.*$", "", line.strip())
            if code and not code.startswith(NO_COMMANDS):
                yield Shown(where, code, True)
                yield from (Shown(where, done, True, True) for done in list_done(code))
        for code in re.findall(r"`([^`]+)`", text):
            line = " ".join(code.split())
            if is_command(line):
                yield Shown(where, line, False)


def expect(there: bool, what: str) -> None:
    """Raise NoSuch with this text if something is not there."""
    if not there:
        raise NoSuch(what)


# ---- make ----


@cache
def makefile() -> str:
    """Return the text that says which goals and variables there are."""
    rules = sorted(ROOT.glob("tools/rules/*.mk"))
    files = [ROOT / "Makefile", *rules, ROOT / "sluice/cli/old_goals.toml"]
    return "".join(path.read_text() for path in files)


@cache
def texts_of_tests() -> str:
    """Return the text of all tests in Python."""
    return "".join(path.read_text() for path in ROOT.glob("tests/*/*.py"))


@cache
def goals() -> set[str]:
    """Return the goals of make, with those of earlier releases."""
    return set(re.findall(r"^\[?([a-z][\w.-]*)[:\]]", makefile(), re.M))


@cache
def new_labs() -> set[str]:
    """Return the names of labs that documents have a reader make."""
    return {name for _, text in texts() for name in NEW_LAB.findall(text)}


@cache
def boot_arguments() -> set[str]:
    """Return the kernel's boot arguments, as its sources have them."""
    text = "".join(path.read_text() for path in ROOT.glob("kernel/**/*.c"))
    return set(BOOT_ARGUMENT.findall(text)) | {"drive_read_ahead_kb", "drive_segment_kb"}


@cache
def scenarios(lab: str) -> set[str]:
    """Return the names of a lab's runs."""
    sources = ROOT.glob(f"grade/labs/{lab}/**/*.py")
    return {name for path in sources for name in re.findall(r'name="([\w-]+)"', path.read_text())}


def check_boot_argument(word: str) -> None:
    """Check NAME=VALUE of a boot: a policy, a tunable, a drive, or another argument. Raises
    NoSuch."""
    name, _, value = word.partition("=")
    kernel = load_catalogue()
    if name in kernel.policies:
        new = {Path(file).stem for lab in load_labs() for file in lab.new}
        new |= {name for _, text in texts() for name in TO_BE_WRITTEN.findall(text)}
        expect(value in {*kernel.policies[name], *new}, f"{word}: no such policy")
    elif "." in name and not name.startswith("disk"):
        expect(name in kernel.tunables, f"{word}: no such tunable")
    else:
        name = re.sub(r"^disk\d\.", "", name)
        expect(name in boot_arguments(), f"{word}: no such boot argument")
        expect(name != "drive" or value in {*kernel.drives, "none"}, f"{word}: no such drive")


@cache
def experiments() -> list[str]:
    """Return the names of all experiments."""
    return [path.stem for path in (*experiment_files(), *EXPERIMENTS.glob("tune/*.toml"))]


@cache
def existing_names() -> dict[str, set[str]]:
    """Return the names that exist, by the variable that takes them."""
    return {
        "LAB": {lab.name for lab in load_labs()} | new_labs(),
        "SIZE": {"quick", "full"},
        "T": {path.name for path in ROOT.glob("tests/*/*.py")},
        "FORMAT": {
            path.stem for top in ("grade", "sluice") for path in ROOT.glob(f"{top}/*/formats/*.py")
        },
        "TEST": {group.name for lab in load_labs() for group in lab.groups} | {"group"},
    }


def check_variable(name: str, value: str) -> None:
    """Check that the Makefile, or what it runs, has the variable, and that its value names
    something that exists."""
    in_make = re.search(rf"\b{name}\b", re.sub(r"#.*", "", makefile()))
    expect(
        bool(in_make) or name in ENVIRONMENT.findall(texts_of_tests()), f"{name}=: make has no such"
    )
    if name == "ARGS":
        for word in value.split():
            check_boot_argument(word)
    if name == "RUN" and (graded := GRADED_RUN.fullmatch(value)):
        expect(graded[2] in scenarios(graded[1]), f"RUN={value}: the lab has no such run")
    if PLACEHOLDER.search(value):
        return
    if name == "E":
        own = value.endswith(".toml")  # a reader's
        found = own or value == "all" or any(stem.startswith(value) for stem in experiments())
        expect(found, f"E={value}: no such experiment")
    for one in value.split(",") if name == "TEST" else [value]:
        expect(one in existing_names().get(name, {one}), f"{name}={one}: there is none")


def check_make(line: str) -> None:
    """Check the goals and variables of a command of make. Raises NoSuch."""
    words = shlex.split(re.sub(r"\$\([^)]*\)", "...", line))[1:]
    for word in words:
        name, is_set, value = word.partition("=")
        if is_set:
            check_variable(name, value)
        else:
            expect(word in goals(), f"make {word}: no such goal")


# ---- an installed package ----

CLONE = "path/to/the/clone"  # stands for the reader's


@cache
def help_of_pip(verb: str) -> str:
    """Return what pip says of one of its commands."""
    line = [sys.executable, "-m", "pip", verb, "--help"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, f"pip {verb}: no such command")
    return done.stdout


def check_pip(line: str) -> None:
    """Check the command, the options and the groups of packages of a command of pip. Raises
    NoSuch."""
    words = shlex.split(line)[1:]
    options = help_of_pip(words[0])
    for word in words[1:]:
        if word.startswith("-"):
            expect(re.search(rf"{word}\b", options), f"pip: {word}: no such option")
        elif word.endswith(".txt"):
            expect((ROOT / "tools/requirements" / word).exists(), f"{word}: no such group")


def check_python(line: str) -> None:
    """Check the module of `python -m`, and names of the package sluice in other commands."""
    option, what = shlex.split(line)[1:3]
    if option == "-m":
        expect(importlib.util.find_spec(what) is not None, f"{what}: no such module")
    for name in re.findall(r"\bsluice\.(\w+)", what):
        expect(name in dir(importlib.import_module("sluice")), f"sluice.{name}: no such name")


def check_sluice(line: str, whole: bool) -> None:
    """Check the verb, and if the command is whole, its options and the names that it is given."""
    new = {name for _, text in texts() for name in TO_BE_WRITTEN.findall(text)}
    stands_for = dict.fromkeys(new_labs(), "elevator") | dict.fromkeys(new, "fcfs")
    words = [stands_for.get(w, w) for w in shlex.split(line.partition(" #")[0])[1:]]
    table: object = main.VERBS
    for word in words:
        if not isinstance(table, dict) or word.startswith("-"):
            break
        expect(word in table, f"{line}: there is no verb {word}")
        table = table[word][1]
    if whole and not PLACEHOLDER.search(line):
        said = io.StringIO()
        with (
            mock.patch.object(verb, "start", lambda home, function, values: 0),
            redirect_stderr(said),
            redirect_stdout(io.StringIO()),
            pytest.raises(SystemExit) as end,
        ):
            main.command()(words, prog_name="sluice")
        wrong = end.value.code and "no such file" not in said.getvalue()
        expect(not wrong, f"{line}: {said.getvalue()}")


# ---- others ----


def check(command: Shown) -> None:
    """Check a command by the rules of its first word. Raises NoSuch."""
    line, first = command.line, command.first
    if first == "make":
        check_make(line)
    elif first.startswith("ARGS="):
        check_variable("ARGS", shlex.split(line)[0].partition("=")[2])
    elif first.startswith(".venv/bin/"):
        expect((ROOT / first).exists(), f"{first}: no such program")
        for module in re.findall(r"-m ((?:grade|tools)[\w.]*)", line):
            expect(importlib.util.find_spec(module) is not None, f"{module}: no such module")
    elif first.startswith("build/native/"):
        tool = list(ROOT.glob(f"tests/**/{Path(first).name}.c"))
        expect(len(tool) == 1, f"{first}: no such tool")
    elif Path(first).name == "pip":
        check_pip(line)
    elif first in ("python", "python3"):
        check_python(line)
    elif first in SLUICE:
        check_sluice(line, command.in_block)
    elif line.startswith(f"cd {CLONE}/"):
        expect((ROOT / line.removeprefix(f"cd {CLONE}/")).is_dir(), f"{line}: no such folder")
    elif first in GDB:
        for name in re.findall(r"break (\w+)", line):
            expect(name in read_symbols(KERNEL).defined, f"{line}: the kernel has no {name}")
    elif first in HOST or (first in {"rm", "dd"} and "build/" in line):
        expect(
            shutil.which(first, path="/usr/sbin:/sbin:/usr/bin:/bin") is not None,
            f"{first}: not here",
        )
    elif first in PACKAGES:
        install = re.compile(rf"apt-get install [a-z ]*\b{PACKAGES[first]}\b")
        text = (ROOT / command.where).read_text()
        expect(install.search(text) is not None, f"{first}: no word on how to install it")
    else:
        of_shell = command.typed and first == "."
        expect(first in PROGRAMS or of_shell, f"{first}: no command of any kind")


def test_every_command_that_a_document_shows_exists() -> None:
    wrong = []
    for command in shown_lines():
        try:
            check(command)
        except NoSuch as why:
            wrong.append(f"{command.where}: {command.line}: {why}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "make nonesuch",
        "make grade LOB=elevator",
        "make grade LAB=elevators",
        "make experiment E=nonesuch",
        "make experiment E=mogul-4.1-fast SIZE=huge",
        "make export E=mogul-4.1-fast FORMAT=nonesuch",
        "make test T=test_nonesuch.py",
        "make test T=test_labs.py FOOL=1",
        "make qemu ARGS='sched=nonesuch'",
        "make qemu ARGS='pu.nonesuch=1'",
        "make qemu ARGS='nonesuch=1'",
        "make qemu ARGS='nonesuch=2'",
        "make qemu ARGS='drive=rz59'",
        "make events RUN=build/grade/elevator/runs/nonesuch EVENT=1",
        ".venv/bin/nonesuch worker",
        ".venv/bin/python -m grade.nonesuch",
        ".venv/bin/python -m tools.nonesuch",
        "build/native/nonesuch_tool TRACE",
        "pip nonesuch x",
        "env/bin/pip install --nonesuch x",
        "pip install -r nonesuch.txt",
        "python3 -m nonesuch env",
        'python -c "import sluice; sluice.nonesuch()"',
        "sluice nonesuch mogul-4.1-fast",
        "sluice lab nonesuch elevator",
        "bin/sluice experiment run mogul-4.1-fats",
        "bin/sluice experiment run mogul-4.1-fast --sise quick",
        "cd path/to/the/clone/nonesuch",
        "hbreak nonesuch",
        "nonesuch -h",
    ],
)
def test_a_command_that_does_not_exist_is_noticed(line: str) -> None:
    with pytest.raises(NoSuch):
        check(Shown("a document", line, True))


def test_what_sluice_run_is_to_do_is_looked_up_too() -> None:
    """The commands within the command are programs of Sluice. The handouts show some."""
    assert list_done("sluice run 'sync; nonesuch -h' --args 'drive=rz58'") == [
        "sync",
        "nonesuch -h",
    ]
    assert list_done("make qemu") == []
    typed = {command.first for command in shown_lines() if command.where in map(str, HANDOUTS)}
    assert {"iogen", "latency"} <= typed


def test_the_documents_show_commands_of_every_kind() -> None:
    """Without this test, all commands would pass unseen after a change of how they are written."""
    found = list(shown_lines())
    firsts = {command.first for command in found}
    assert len(found) > 80
    assert firsts >= {"make", "policy", "iogen", ".venv/bin/dask", "hbreak", "debugfs"}
    assert {command.where for command in found} >= {str(path) for path in HANDOUTS}


# ---- run for real ----

NOT_TO_BE_RUN = re.compile(r"\[|^usertests$|^edit|build/|grade/|\bown\b|disk1|/cache|\b[A-Z]{3,}\b")
LONG = {"usertests": "usertests -l"}  # the whole of it is a test of its own


def programs_shown() -> list[str]:
    """Return the commands of Sluice's shell that can be typed as they stand."""
    lines = [c.line for c in shown_lines() if c.first in PROGRAMS and not c.typed]
    typed = dict.fromkeys(LONG.get(line, line) for line in lines)
    return [line for line in typed if not NOT_TO_BE_RUN.search(line)]


def test_what_is_shown_of_sluices_shell_can_be_typed_there(tmp_path: Path) -> None:
    """All commands run in one machine in virtual time, in which a `sleep` costs nothing. /data is a
    file of the size that an example expects."""
    lines = programs_shown()
    assert len(lines) > 10
    script = "".join(
        f"( {line} ) < /dev/null > /out 2>&1 || echo 'failed: {i}'\n"
        for i, line in enumerate(lines)
    )
    content = Content(rc=script, size="128M", options=("--file", "/data=34M"))
    disk = Disk(image.make_image(tmp_path / "disk.img", content))
    result = run_rc(Config((disk,), args="trace_k=16 write=delayed update=aipu", lab=True), 600)
    failed = [lines[int(i)] for i in re.findall(r"^failed: (\d+)", result.console, re.M)]
    assert (result.status, failed) == (0, [])


OF_REPLAY = ("E=", "RUN=", "CERTIFICATE=")  # `make replay` takes one of these


def test_dry_runs_of_every_make_that_is_shown_pass() -> None:
    """Each goal once, with all variables that are shown with it; `make replay` with each kind of
    run that it takes."""
    asked: dict[tuple[str, str], list[str]] = {}
    for command in shown_lines():
        if command.first == "make" and "$(" not in command.line:
            words = shlex.split(command.line)[1:]
            goal = next((word for word in words if "=" not in word), "all")
            not_there = ("DISKS=", *(f"LAB={name}" for name in new_labs()))  # examples' names
            given = (word for word in words if "=" in word and not word.startswith(not_there))
            named = [word.split("=") for word in words if word.startswith(OF_REPLAY)]
            kinds = [name for name, value in named if value]
            if goal == "replay" and not kinds:
                continue  # the document only names the goal
            kind = kinds[0] if goal == "replay" else ""
            asked.setdefault((goal, kind), []).extend(given)
    for (goal, _), variables in asked.items():
        said = make(ROOT, "-n", "SETUP=no", goal, *variables, check=False)
        assert said.returncode == 0, f"make {goal} {' '.join(variables)}\n{said.stdout[-2000:]}"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("help", "make experiment"),
        ("experiment LIST=1", "mogul-4.1-fast"),
        ("grade LAB=", "elevator"),
    ],
)
def test_what_lists_things_lists_them(words: str, says: str) -> None:
    assert says in make(ROOT, "SETUP=no", *words.split(), check=False).stdout


def test_options_that_are_shown_of_dask_are_its() -> None:
    for command in shown_lines():
        if command.first == ".venv/bin/dask":
            line = [ROOT / command.first, shlex.split(command.line)[1], "--help"]
            told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
            for option in re.findall(r"--[\w-]+", command.line):
                assert option in told, f"{command.line}: {option}"
