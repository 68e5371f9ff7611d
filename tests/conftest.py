"""Fixtures of the tests, and the line that reproduces a failure."""

import gc
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import either
import psutil
import pytest
import survivors
import whole
from browser import Page

from sluice.host.paths import BUILD, NATIVE
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, Machine, Result, run_rc

# Every worker rewrites the assertions of all tests, which takes it seconds, and a test that types a
# command imports half of the package again. What is compiled for that is kept, also where the
# environment wants no bytecode beside the sources. Copies of the tree keep none (trees.py).
KEPT = {"PYTHONPYCACHEPREFIX": str(BUILD / "pycache")}
sys.dont_write_bytecode, sys.pycache_prefix = False, KEPT["PYTHONPYCACHEPREFIX"]
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ |= KEPT

ROOM_BYTES = 8 << 30  # three times what all workers' files take at a time
GOAL_S = 18 * 60  # of all tests together, so that two workers need ten minutes with what is built
TOLD_S = 120  # a run of fewer seconds is one of some files
LONGEST_FIRST = ("tools", "sluice", "system", "grade")  # folders, by their longest single tests

MakeImage = Callable[..., Path]
Boot = Callable[..., Machine]
Run = Callable[..., Result]


@pytest.fixture
def make_image(tmp_path: Path) -> Iterator[MakeImage]:
    """Makes images: make_image(rc=..., files=...), the fields of Content.

    Every one is judged by e2fsck when the test has passed; damaged=True
    leaves that out.
    """
    made: list[Path] = []

    def make(damaged: bool = False, **content: object) -> Path:
        """Make an image, and return its path. damaged: e2fsck need not accept it afterwards."""
        path = tmp_path / f"image{len(list(tmp_path.glob('*.img')))}.img"
        image.make_image(path, Content(**content))
        if not damaged:
            made.append(path)
        return path

    yield make
    for path in made:
        image.check_image(path)


@pytest.fixture
def in_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test in which microseconds decide: the twin, which knows mean costs, will not do."""
    monkeypatch.setattr(either, "WHOLE", True)


@pytest.fixture
def boot(make_image: MakeImage) -> Iterator[Boot]:
    """Boots machines to the prompt: boot(harts=2, ...), the fields of Config.

    Without disks it gets one with all programs. Those still running at the
    end of the test are switched off as a user does, so that their images can
    be judged.
    """
    with ExitStack() as stack:
        running: list[Machine] = []

        def start(prompt: bool = True, **config: object) -> Machine:
            """Start a machine, and wait for its prompt. config: the other fields of Config."""
            config.setdefault("disks", (Disk(make_image()),) if "disks" not in config else ())
            machine = stack.enter_context(Machine(Config(**config)))
            running.append(machine)
            if prompt:
                machine.wait_prompt()
            return machine

        yield start
        for machine in running:
            if machine.process.poll() is None:
                machine.power_off()


@pytest.fixture
def run_script(make_image: MakeImage) -> Run:
    """Runs a script as /rc and waits for the end: run_script("ls /", nbuf=16).

    The further arguments are the fields of Config; files are put into the
    image, which mkfs makes with the options, and which is judged afterwards.
    """

    def run(
        script: str,
        files: dict[str, bytes] | None = None,
        options: tuple[str, ...] = (),
        **config: object,
    ) -> Result:
        """Run a machine that does the script at its start, from a new root disk, to its end."""
        root = Disk(make_image(rc=script, files=files or {}, options=options))
        disks = (root, *config.pop("disks", ()))
        return run_rc(Config(disks=disks, **config))

    return run


@pytest.fixture(scope="session")
def native() -> Callable[[str], Path]:
    """Finds a program of the tests in C by name; make has built it."""

    def find(name: str) -> Path:
        path = NATIVE / name
        assert path.exists(), f"{path} is not built: run make native"
        return path

    return find


def folder_rank(item: pytest.Item) -> int:
    """Return the place of a test's folder in LONGEST_FIRST; the others come last."""
    folder = item.path.parent.name
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse to run if tests that share something costly would not share a worker.

    xdist adds a group's name to the names of its tests; with some versions of pytest in vain.
    Skip the tests that are not drawn, where no test is chosen by name. xdist begins with the groups
    of the most tests, and then takes single tests in this order: long ones come first, because a
    worker that begins one at the end works alone.
    """
    named = config.option.keyword or any("::" in word for word in config.args)
    if not whole.WHOLE and not named:
        whole.leave_out(items, whole.draw_word())
    if config.getoption("loadgroup", False):
        items.sort(key=folder_rank)
        for item in items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError(f"{item.nodeid}: this xdist does not go with this pytest")


def pytest_configure() -> None:
    """Have what tests start end with this process. Have tests make their files, which live for
    seconds, in memory if there is room enough: that takes less of the host's time. A TMPDIR that
    is set stays."""
    survivors.end_with_this_process()
    memory = Path("/dev/shm")
    if "TMPDIR" not in os.environ and memory.is_dir():
        room = min(shutil.disk_usage(memory).free, psutil.virtual_memory().available)
        if room >= ROOM_BYTES:
            os.environ["TMPDIR"] = str(memory)  # for the workers and for all commands, too
            tempfile.tempdir = None


def pytest_collection_finish() -> None:
    """Search for garbage less. The objects made so far, thousands of tests and their imports, stay
    to the end, so they are not searched. Objects that tests make are searched less often than is
    Python's default, whose searches took a fifth of the time of building the book."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long all tests took together, so that one that grows is seen, and by what this run's
    tests were drawn, so that another run draws the same."""
    reports = [one for of in terminalreporter.stats.values() for one in of]
    total_s = sum(getattr(one, "duration", 0) for one in reports)
    if total_s > TOLD_S:
        goal = f"on two idle cores at most {GOAL_S:,}"
        terminalreporter.write_line(f"sum of the tests' seconds: {total_s:,.0f} ({goal})")
    skipped = terminalreporter.stats.get("skipped", [])
    if any("not drawn by" in str(report.longrepr) for report in skipped):
        terminalreporter.write_line(f"tests were drawn: SLUICE_DRAW={whole.draw_word()} repeats it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """Add to a failure's report the one command that reproduces it."""
    report = yield
    if report.failed:
        group = item.get_closest_marker("xdist_group")  # xdist adds its name to the test's
        name = item.nodeid.removesuffix(f"@{group.args[0]}" if group else "")
        name = name.removeprefix("tests/")
        report.sections.append(("to reproduce", f"make test T={shlex.quote(name)}"))
    return report


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Return a browser, for all tests of a file."""
    with Page(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture
def page(browser: Page, html: Path) -> Page:
    """Return the file's page `html`, just opened, light, and on a wide window."""
    browser.errors.clear()
    browser.dark(False)
    browser.open(html)
    return browser
