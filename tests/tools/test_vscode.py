"""The settings for VS Code: each task is a goal of make, and its C debugger reaches the kernel.

There is no VS Code here. `Session` does what its C debugger does with a launch configuration
(MIEngine, the engine of the extension cpptools): it starts miDebuggerPath with gdb's machine
interface, sends the commands one by one, sets the editor's breakpoints, and at last does the
launchCompleteCommand, exec-continue. It shows only a stop with a reason: it continues after the
first one that has none.
"""

import itertools
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import typed
from trees import make, plain_environment

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.system.qemu import die_with_parent

pytestmark = pytest.mark.xdist_group("vscode")  # they share a folder

SETTINGS = ("extensions.json", "launch.json", "settings.json", "tasks.json")
DEBUGGER, CLANGD = "ms-vscode.cpptools", "llvm-vs-code-extensions.vscode-clangd"

SMALL = """\
claim = "a run stops in an editor"
source = "this test"

[machine]
nbuf = 100

[machine.data]
drive = "rz58"
size = "16M"
files = {"/read" = "2M"}

[[arms]]
name = "one"
policies = {sched = "clook"}

[workload]
commands = "iogen bs=4k seed=2 name=read rw=randread filename=/data/read nr=60"
"""


def settings(name: str) -> dict:
    """Return the values of a file of .vscode/."""
    return json.loads((ROOT / ".vscode" / name).read_text())


def launches() -> dict[str, dict]:
    """Return the launch configurations by name."""
    return {each["name"]: each for each in settings("launch.json")["configurations"]}


def tasks() -> dict[str, dict]:
    """Return the tasks by label."""
    return {each["label"]: each for each in settings("tasks.json")["tasks"]}


def fill_variables(text: str, folder: Path, inputs: dict[str, str]) -> str:
    """Return a setting with its variables replaced."""
    text = text.replace("${workspaceFolder}", str(folder))
    text = re.sub(r"\$\{input:(\w+)\}", lambda found: inputs[found[1]], text)
    assert "${" not in text
    return text


def defaults(name: str) -> dict[str, str]:
    """Return the default of each input that a file of settings asks the user for."""
    return {each["id"]: each["default"] for each in settings(name)["inputs"]}


class Session:
    """A debugger's session, as a launch configuration says. It is a context manager, which ends the
    session."""

    def __init__(self, launch: dict, folder: Path, **inputs: str) -> None:
        words = shlex.split(fill_variables(launch.get("miDebuggerArgs", ""), folder, inputs))
        self.process = subprocess.Popen(
            [fill_variables(launch["miDebuggerPath"], folder, inputs), "--interpreter=mi", *words],
            cwd=fill_variables(launch["cwd"], folder, inputs),
            env=plain_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        self.watch = threading.Timer(HANG_S, self.process.kill)
        self.watch.start()
        self.numbers = itertools.count(1)
        self.stop = ""  # the last one
        self.setup = launch["customLaunchSetupCommands"]
        self.fill = lambda text: fill_variables(text, folder, inputs)

    def __enter__(self) -> "Session":
        for command in self.setup:
            self.console(self.fill(command["text"]))
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.watch.cancel()

    def line(self) -> str:
        """Return the debugger's next line, and note a stop."""
        line = self.process.stdout.readline()
        assert line, "the debugger has ended"
        if line.startswith("*stopped"):
            self.stop = line
        return line

    def do(self, command: str) -> str:
        """Run a command, which must not fail, and return its output, with the result in the last
        line."""
        number = next(self.numbers)
        self.process.stdin.write(f"{number}{command}\n")
        self.process.stdin.flush()
        said = ""
        while True:
            line = self.line()
            said += line
            if line.startswith(f"{number}^"):
                assert not line.startswith(f"{number}^error"), said
                break
        while self.line().strip() != "(gdb)":
            pass
        return said

    def console(self, words: str) -> str:
        """Run a command as a user types it in gdb."""
        return self.do(f'-interpreter-exec console "{words}"')

    def begin(self, launch: dict) -> str:
        """Let the kernel run, up to the first stop."""
        self.stop = ""
        self.do(f"-{launch['launchCompleteCommand']}")
        return self.stopped()

    def stopped(self) -> str:
        """Return the next stop, which may have come already."""
        while not self.stop:
            self.line()
        stop, self.stop = self.stop, ""
        return stop


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tree, as built, opened in the editor: links to it, but for the disk and the socket
    of `make qemu-gdb`, which are its own."""
    made = tmp_path_factory.mktemp("editor")
    (made / "build").mkdir()
    for path in (*ROOT.iterdir(), *(ROOT / "build").iterdir()):
        if path.name not in ("build", "fs.img", "gdb.sock"):
            (made / path.relative_to(ROOT)).symlink_to(path)
    (made / "small.toml").write_text(SMALL)
    return made


@pytest.fixture
def waiting(folder: Path) -> Iterator[subprocess.Popen]:
    """Return the task that a launch configuration starts first, once it says that it is ready."""
    task = tasks()["make qemu-gdb"]
    background = task["problemMatcher"]["background"]
    process = subprocess.Popen(
        [*shlex.split(task["command"]), "SETUP=no"],
        cwd=folder,
        env=plain_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
        start_new_session=True,
    )
    try:
        assert any(re.search(background["endsPattern"], line) for line in process.stdout)
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# As a worker of pytest does: start a command, and end without a chance to end that command.
WORKER = """
import subprocess, sys
import survivors
survivors.end_with_this_process()
subprocess.run(sys.argv[1:], stdin=subprocess.PIPE)
"""


def test_a_machine_that_make_has_started_ends_with_a_worker_that_is_killed(
    folder: Path, tmp_path: Path
) -> None:
    """A script in the place of QEMU prints its process's number, and then becomes QEMU."""
    qemu = tmp_path / "qemu"
    qemu.write_text('#!/bin/sh\necho machine $$\nexec qemu-system-riscv64 "$@"\n')
    qemu.chmod(0o755)
    support = {"PYTHONPATH": str(ROOT / "tests" / "support"), "QEMU": str(qemu)}
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, "make", "SETUP=no", "qemu-gdb"],
        cwd=folder,
        env=plain_environment() | support,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent,
    ) as worker:
        said = (re.fullmatch(r"machine (\d+)\n", line) for line in worker.stdout)
        number = next(filter(None, said))
        machine = os.pidfd_open(int(number[1]))
        worker.kill()
        worker.wait()
        assert select.select([machine], [], [], HANG_S)[0], "QEMU outlived the worker"


def test_the_settings_are_json_and_name_the_extensions_that_they_need() -> None:
    assert sorted(path.name for path in (ROOT / ".vscode").iterdir()) == list(SETTINGS)
    wanted = settings("extensions.json")["recommendations"]
    assert {DEBUGGER, CLANGD} <= set(wanted)
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert container["customizations"]["vscode"]["extensions"] == wanted


@pytest.mark.parametrize("label", tasks())
def test_a_task_is_a_command_with_values_that_it_takes(label: str) -> None:
    """A task of the editor is a goal of make or a command of sluice; neither is run here."""
    task = tasks()[label]
    words = shlex.split(fill_variables(task["command"], ROOT, defaults("tasks.json")))
    assert task["command"].removeprefix("bin/").startswith(label)
    if words[0] == "bin/sluice":
        assert typed.read(*words[1:]) == 0
        return
    assert words[0] == "make"
    assert make(ROOT, "-n", "SETUP=no", *words[1:]).stdout


@pytest.mark.parametrize("name", launches())
def test_a_launch_names_what_there_is(name: str) -> None:
    launch = launches()[name]
    assert launch["type"] == "cppdbg"
    assert launch["MIMode"] == "gdb"
    assert Path(fill_variables(launch["program"], ROOT, {})).exists()
    assert Path(fill_variables(launch["miDebuggerPath"], ROOT, {})).stat().st_mode & 0o111
    assert launch.get("preLaunchTask", "make") in tasks()


def test_the_editor_boots_the_kernel_to_its_breakpoint(
    folder: Path, waiting: subprocess.Popen
) -> None:
    """The breakpoint is on the line of the function bio_init."""
    (launch,) = (each for each in launches().values() if each.get("preLaunchTask"))
    with Session(launch, folder) as session:
        where = re.search(r"^void bio_init\(", (ROOT / "kernel/cache/bio.c").read_text(), re.M)
        assert where
        line = (ROOT / "kernel/cache/bio.c").read_text()[: where.start()].count("\n") + 1
        session.do(f"-break-insert -f {ROOT}/kernel/cache/bio.c:{line}")
        stop = session.begin(launch)
        assert 'reason="breakpoint-hit"' in stop
        assert 'func="bio_init"' in stop
        assert f'fullname="{ROOT}/kernel/cache/bio.c"' in stop
        assert "procs" in session.console("help user-defined")


def test_the_editor_stops_a_run_at_its_instant_and_goes_back(folder: Path) -> None:
    """The instant is the arrival of the longest read. The command `back decision` makes the run
    again and stops it at an earlier event."""
    (launch,) = (each for each in launches().values() if "miDebuggerArgs" in each)
    assert launch["stopAtEntry"]
    assert defaults("launch.json")["run"].split()[0] == "mogul-4.1-fast"
    with Session(launch, folder, run="small.toml --run=1 --at=read:longest") as session:
        stop = session.begin(launch)
        assert 'reason="breakpoint-hit"' in stop
        assert 'func="machine_call"' in stop  # its callers have traced the event
        frames = session.do("-stack-list-frames")
        assert 'func="io_arrive"' in frames
        assert f'fullname="{ROOT}/kernel/disk/disk.c"' in frames
        assert "iogen" in session.console("procs")
        first = re.search(r'~"event (\d+) ', frames)
        said = session.console("back decision") + session.do("-thread-info")
        second = re.search(r'~"event (\d+) ', said)
        assert first and second
        assert int(second[1]) < int(first[1])
