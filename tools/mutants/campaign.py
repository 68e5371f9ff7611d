"""Builds changed sources and runs the tests on them, each in a copy of the tree.

A change is one of

    equal       the compiler makes the same kernel code of it (Papadakis et al., "Trivial compiler
                equivalence", ICSE 2015), so no test can notice it
    no code     it does not compile
    listed      equivalent.toml has it, with the reason why it changes nothing that counts
    killed      a test failed
    survived    all tests passed

The tests are those of modules marked `native`: they need no machine. A test is run if it names a
program that the change made anew, until a test fails. Tests whose names contain the changed file's
name come first, and of these the quickest.
"""

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from sluice.host.paths import BUILD, ROOT
from tools.mutants.change import Change

LISTED = Path(__file__).with_name("equivalent.toml")
EQUAL, NO_CODE, LISTED_AS, KILLED, SURVIVED = "equal", "no code", "listed", "killed", "survived"
SOURCES = ("Makefile", "kernel", "policies", "drives", "user", "mkfs")
HOST_CODE = (
    "sluice",
    "experiments",
    "grade",
    "book",
    "tests",
    "tools",
    "results",
    "pyproject.toml",
)
# The targets that the tests run; of a copy only the native programs are built.
BUILT = ("native", "native.command", "kernel", "mkfs", "root", "programs", "twin")
NO_COPY = shutil.ignore_patterns("__pycache__", ".*_cache")
LINKED = re.compile(r"^  LD build/native/(\w+)$", re.M)
UNITS_ALONE = "SLUICE_UNITS_ALONE"  # has unit tests run one by one: tests/support/units.py
CPU_S = 30  # of one process of a test, ten times what the longest takes: some changes loop for ever
LENIENT = "CFLAGS_EXTRA=-Wno-error"  # a variable that is used no more is no reason to stop
OF_UNITS = "units.of_programs"  # in the module of unit tests, which names no program
TIMES = "times.json"  # of the tests, in the copy of the tree: how long each took unchanged
FAILED = re.compile(r"^FAILED (?:\S*/)?(test_\S+)", re.M)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a change; for a killed one, the test that failed."""

    change: Change
    state: str
    by: str = ""


class BadTree(Exception):
    """The build or the tests fail without any change; the text is what was printed."""


def load_equivalent() -> list[dict[str, str]]:
    """Return the rows of equivalent.toml."""
    return tomllib.loads(LISTED.read_text(encoding="utf-8")).get("equivalent", [])


def is_listed(change: Change) -> bool:
    """Return True if a row of equivalent.toml is about this change.

    Its line may have moved since.
    """
    keys = ("file", "function", "context", "old", "new")
    return any(all(row[key] == getattr(change, key) for key in keys) for row in load_equivalent())


def kernel_command() -> list[str]:
    """Return the command that compiles kernel code, without options that depend on lines."""
    return [
        *shlex.split((BUILD / "kernel.command").read_text(encoding="utf-8")),
        "-g0",
        "-Wno-error",
    ]


class Tree:
    """A copy of the tree, in which one change at a time is built and tested."""

    def __init__(self, folder: Path, original: Path = ROOT, *, lenient: bool = True) -> None:
        """Copy the tree into the folder and build it. Raises BadTree.

        lenient: warnings are not errors; then everything is compiled again, as the flags differ.
        """
        self.folder = folder
        self.flags = [LENIENT] if lenient else []
        self.objects: dict[str, bytes] = {}  # what is made of the sources without a change
        folder.mkdir(parents=True)
        for part in (*SOURCES, *HOST_CODE, *(f"build/{name}" for name in BUILT)):
            if (original / part).is_dir():
                shutil.copytree(original / part, folder / part, ignore=NO_COPY)
            elif (original / part).exists():
                (folder / part).parent.mkdir(exist_ok=True)
                shutil.copy2(original / part, folder / part)
        status, said = self.build_programs()
        if status:
            raise BadTree(said[-2000:])

    def build_programs(self) -> tuple[int, str]:
        """Build the native programs. Returns the status, and what was printed."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        return self.run_command(
            ["make", f"-j{os.cpu_count()}", "SETUP=no", *self.flags, "native"], env
        )

    def run_command(self, command: list[str], env: dict[str, str] | None = None) -> tuple[int, str]:
        """Run a command in the tree. Returns its status and its output."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S)),
            encoding="utf-8",
        )
        return done.returncode, done.stdout

    def find_tests(self, programs: set[str]) -> list[str]:
        """Return the test modules that name one of these programs.

        The module of unit tests names none; it counts if one of the programs is a unit test.
        """
        found = []
        for path in sorted((self.folder / "tests").glob("*/test_*.py")):
            text = path.read_text(encoding="utf-8")
            if "pytest.mark.native" not in text:
                continue
            named = any(re.search(rf"\b{p}\b", text) for p in programs)
            if named or (OF_UNITS in text and any(map(self.is_unit_tests, programs))):
                found.append(str(path.relative_to(self.folder)))
        return found

    def is_unit_tests(self, program: str) -> bool:
        """Return True if test_native.py runs the program.

        The main program of unit tests is main.c, which test.c links.
        """
        (path,) = (self.folder / "tests").glob(f"**/{program}.c")
        text = path.read_text(encoding="utf-8")
        return any(f" * link: tests/support/native/{base}.c" in text for base in ("main", "test"))

    def run_tests(self, modules: list[str], about: str = "") -> tuple[int, str]:
        """Run test modules until a test fails. Returns the status and the output.

        Tests with `about` in their names run first, the quickest of them before the others.
        """
        if not modules:
            return 0, ""
        command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", "--rootdir=."]
        plugin = ["-p", "tools.mutants.quick_first", "-m", "native", "-x", "-rf"]
        told = {"SLUICE_TEST_TIMES": str(self.folder / TIMES), "SLUICE_TEST_ABOUT": about}
        told[UNITS_ALONE] = "1"  # the first that fails suffices
        env = os.environ | told | {"PYTHONPATH": "."}
        return self.run_command([*command, *plugin, *modules], env)

    def measure_tests(self, files: set[str]) -> None:
        """Run the tests of these sources without a change, and keep the time of each.

        Raises BadTree if one fails.
        """
        for file in files:
            (self.folder / file).touch()
        _, said = self.build_programs()
        status, said = self.run_tests(self.find_tests(set(LINKED.findall(said))))
        if status:
            raise BadTree(said[-2000:])

    def compile_object(self, file: str) -> bytes | None:
        """Return the object that the kernel's compiler makes of a source; None if it refuses."""
        out = self.folder / "change.o"
        status, _ = self.run_command([*kernel_command(), "-c", "-o", str(out), file])
        return None if status else out.read_bytes()

    def try_change(self, change: Change) -> Outcome:
        """Make the change, build, test, and undo the change. Returns the outcome."""
        path = self.folder / change.file
        text = path.read_text(encoding="utf-8")
        if change.file not in self.objects:
            self.objects[change.file] = self.compile_object(change.file) or b""
        path.write_text(change.apply(text), encoding="utf-8")
        try:
            return self.judge_change(change)
        finally:
            path.write_text(text, encoding="utf-8")

    def judge_change(self, change: Change) -> Outcome:
        """Return the verdict of the tests on the change, which has been made."""
        compiled = self.compile_object(change.file)
        if compiled is None:
            return Outcome(change, NO_CODE)
        if compiled == self.objects[change.file]:
            return Outcome(change, EQUAL)
        if is_listed(change):
            return Outcome(change, LISTED_AS)
        status, said = self.build_programs()
        if status:
            return Outcome(change, NO_CODE)
        modules = self.find_tests(set(LINKED.findall(said)))
        status, said = self.run_tests(modules, Path(change.file).stem)
        if not status:
            return Outcome(change, SURVIVED)
        by = FAILED.search(said)
        return Outcome(change, KILLED, by[1] if by else f"pytest's status {status}")
