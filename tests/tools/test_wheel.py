"""A wheel is installed into an environment with nothing else, and works without the clone, make or
a compiler. It gives the figures of the clone, to the last digit.

The wheel is made from a copy of the tree. In the environment are the packages of the groups run,
report and sweep, from the folders in which tools/setup.sh keeps them; FULL=1 has pip install them
from the lock, and builds the kernel anew. Where bwrap works, commands run in a view of this host in
which the clone is not there, and everything but their own folder is read-only.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from trees import copy_of_tree, make, plain_environment
from whole import WHOLE

import sluice
from sluice.host.experiments import experiment_files
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILD, ROOT
from sluice.twin import engine

pytestmark = [
    pytest.mark.xdist_group("wheel"),  # the wheel is made once for all tests
    pytest.mark.skipif(platform.machine() not in engine.HOSTS, reason="there is no twin here"),
]
GROUPS = ("run", "report", "sweep")
QEMU = shutil.which(os.environ.get("QEMU", "qemu-system-riscv64"))
NOBODY = 61_235  # the number of a user that owns nothing
EXPERIMENT = ("--size=quick", "--run=16", "mogul-4.1-fast")
MAIN = ROOT / "sluice" / "cli" / "main.py"  # the command `sluice`
VERBS = {"experiment": ("experiment", "run"), "replay": ("replay",)}
# A program that replays requests in both ways, and prints the version and the figures.
REPLAY = """\
import json, sys
import numpy as np
import sluice
times = np.arange(200) * 4_000_000
table = sluice.requests(times, (times // 7919 % 9000) * 8192, write=np.arange(200) % 4 == 3)
result = sluice.replay(table, {"replace": "arc", "write": "delayed"}, buffers=512)
said = {"sum_ns": int(result.response_ns.sum()), "counters": result.counters}
blocks = sluice.replay_blocks(table, {"replace": "arc", "write": "delayed"}, buffers=512)
said["blocks"] = [blocks.all.hits, blocks.all.mean_ns, blocks.counters]
print(json.dumps([sluice.__version__, said]))
"""
TRACE = "".join(
    f"0,{i * 7919 % 20000 * 8},4096,{'RRRW'[i % 4]},{i * 0.02:.2f}\n" for i in range(200)
)


def python_packages() -> list[Path]:
    """Return the folders of the groups that the wheel depends on, as this Python has them."""
    return [path for path in map(Path, sys.path) if path.name.split("-")[0] in GROUPS]


@cache
def shut_in(root: Path) -> tuple[str, ...]:
    """Return the beginning of a command line that hides the clone, or nothing if that cannot be
    done."""
    line = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    line += ("--perms", "1777", "--tmpfs", "/dev/shm", "--tmpfs", str(ROOT))
    here = Path(os.path.commonpath([root, ROOT])) == ROOT
    works = shutil.which("bwrap") and not subprocess.run([*line, "true"], check=False).returncode
    return line if works and not here else ()


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file in a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def module_of(verb: str) -> list[str]:
    """Return the module of a verb, on a snapshot if there is one, for trees without a command
    `sluice`."""
    return ["-m", "sluice.host.snapshot", "-m", f"sluice.cli.{verb}"]


@dataclass(frozen=True)
class Installed:
    """A wheel, and an environment in which it is installed.

    The installed packages have no bytecode. Python keeps what it compiles of them in the folder
    `bytecode`, so that not every command compiles the packages again.
    """

    wheel: Path
    environment: Path
    site: Path  # its site-packages
    bytecode: Path

    def line(self, room: Path, *words: object, user: int = 0) -> list[str]:
        """Return the command line that runs Python with these words, in its own folder, as a
        user."""
        line = list(shut_in(self.environment))
        if line:
            line += ["--bind", str(room), str(room), "--chdir", str(room)]
            line += ["--bind", str(self.bytecode), str(self.bytecode)]
            for path in () if WHOLE else python_packages():
                shown = self.environment / "packages" / path.name
                line += ["--ro-bind", str(path), str(shown)]
        if user:
            line += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return [*line, str(self.environment / "bin" / "python"), *map(str, words)]

    def run(
        self, room: Path, *words: object, programs: tuple[str, ...] = (), user: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in a folder, with these programs and no others on PATH. Checks that it went
        well, and that nothing in site-packages changed."""
        (room / "bin").mkdir(parents=True, exist_ok=True)
        for program in programs:
            (room / "bin" / Path(program).name).symlink_to(program)
        before = hashes(self.site)
        done = subprocess.run(
            [
                "env",
                "-i",
                f"PATH={room}/bin",
                f"HOME={room}/home",
                f"TMPDIR={room}",
                f"PYTHONPYCACHEPREFIX={self.bytecode}",
                *self.within(self.line(room, *words, user=user)),
            ],
            cwd=room,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert hashes(self.site) == before
        return done

    @staticmethod
    def within(line: list[str]) -> list[str]:
        """Return the line with the paths of bwrap and setpriv in the place of their names, because
        PATH has none of these programs."""
        return [
            shutil.which(word) or word if word in ("bwrap", "setpriv") else word for word in line
        ]

    def command(self, room: Path, verb: str, *words: object, **how: object) -> str:
        """Run a command of Sluice, an experiment or a replay. Returns what it prints."""
        script = self.environment / "bin" / "sluice"
        begin = [script, *VERBS[verb]] if MAIN.exists() else module_of(verb)
        return self.run(room, *begin, *words, **how).stdout


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    """Return a wheel that was made from a copy of the tree and installed."""
    with tempfile.TemporaryDirectory(prefix="sluice-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        how = {"cwd": folder, "env": plain_environment(), "check": True, "timeout": HANG_S}
        copy = copy_of_tree(folder, *(["build"] if WHOLE else []))
        words = ("wheel", "--no-build-isolation", "--no-deps", f"--wheel-dir={folder}", copy)
        subprocess.run([*pip, *words], **how)
        shutil.rmtree(copy)
        (wheel,) = folder.glob("*.whl")
        environment = folder / "an environment"
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", environment], **how)
        (site,) = environment.glob("lib/python3*/site-packages")
        pip += ["--python", str(environment / "bin" / "python"), "install"]
        if WHOLE:
            pins = [f"--requirement={ROOT / f'tools/requirements/{group}.txt'}" for group in GROUPS]
            subprocess.run([*pip, "--require-hashes", "--no-deps", *pins], **how)
        else:
            link_packages(environment, site)
        subprocess.run([*pip, "--no-deps", wheel], **how)
        bytecode = folder / "bytecode"
        bytecode.mkdir()
        yield Installed(wheel, environment, site, bytecode)


def link_packages(environment: Path, site: Path) -> None:
    """Have the environment find the packages that this Python has: where bwrap shows them, because
    only their owner may enter their folder, or else there."""
    places = python_packages()
    if shut_in(environment):
        shown = [environment / "packages" / path.name for path in places]
        for path in shown:
            path.mkdir(parents=True)
        places = shown
    (site / "packages.pth").write_text("".join(f"{path}\n" for path in places))


def figures(results: Path) -> list[dict]:
    """Return the results of an experiment, without their keys: a twin that was compiled in another
    folder has another hash."""
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "key"} for row in rows]


def make_in_clone(folder: Path, engine_name: str) -> list[dict]:
    """Return the results of EXPERIMENT, made in the clone."""
    main = ["-m", "sluice.cli", *VERBS["experiment"]]
    words = main if MAIN.exists() else module_of("experiment")
    words += ["--no-report", f"--engine={engine_name}", f"--folder={folder}", *EXPERIMENT]
    subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=True)
    (results,) = folder.glob("*/results.jsonl")
    return figures(results)


def test_a_wheel_has_what_commands_read_and_neither_labs_nor_tests(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    version = make(ROOT, "version").stdout.split()[-1]
    assert installed.wheel.name == f"sluice-{version}-py3-none-linux_{platform.machine()}.whl"
    tops = {name.split("/")[0] for name in names}
    assert tops == {"sluice", f"sluice-{version}.dist-info"}
    experiments = {f"sluice/tree/{path.relative_to(ROOT)}" for path in experiment_files()}
    assert experiments <= set(names)
    assert "sluice/tree/build/kernel/kernel.elf" in names
    assert "sluice/tree/build/blocks/replayer" in names
    assert not [name for name in names if re.search(r"\.(o|d|img|pyc)$|/(grade|labs|tests)/", name)]


def test_python_replays_with_the_figures_of_the_clone(installed: Installed, tmp_path: Path) -> None:
    """REPLAY is a script that prints the version and the figures of a replay."""
    there = json.loads(installed.run(tmp_path, "-c", REPLAY).stdout)
    done = subprocess.run([sys.executable, "-c", REPLAY], cwd=ROOT, capture_output=True, check=True)
    assert there == json.loads(done.stdout)
    assert there[0] == sluice.__version__
    assert there[1]["sum_ns"] > 0 and np.sum(list(there[1]["counters"].values())) > 0
    assert not (tmp_path / "sluice-out").exists(), "a call from Python leaves nothing in the folder"


def test_a_trace_is_replayed_on_the_command_line(installed: Installed, tmp_path: Path) -> None:
    """`sluice replay` works on the blocks of a disk, and with --through=files in the whole kernel.
    Either prints a row with figures for each policy."""
    (tmp_path / "a trace.spc").write_text(TRACE)
    words = ("--policies=replace=lru|arc", "--cache=25")
    file = "a trace.spc" if MAIN.exists() else "--file=a trace.spc"
    said = installed.command(tmp_path, "replay", *words, file)
    rows = re.findall(r"^25 %\s+(lru|arc)\s+\S+\s+\S+\s+(\S+)", said, re.M)
    assert {name for name, _ in rows} == {"lru", "arc"} and float(rows[0][1]) > 0
    kept = tmp_path / "home" / ".cache" / "sluice" / "kept" / "replays"
    assert len(list(kept.glob("results/*/*.json"))) == 2
    said = installed.command(tmp_path, "replay", *words, "--through=files", file)
    rows = re.findall(r"^(lru|arc)\s+(\S+)", said, re.M)
    assert {name for name, _ in rows} == {"lru", "arc"} and float(rows[0][1]) > 0
    assert len(list((tmp_path / "sluice-out").glob("sweeps/*/sweep.html"))) == 1


def test_the_twin_makes_an_experiment_without_qemu(installed: Installed, tmp_path: Path) -> None:
    room = tmp_path / "a folder"
    said = installed.command(room, "experiment", "--engine=twin", *EXPERIMENT)
    assert "1 run made" in said
    (report,) = (room / "sluice-out").glob("experiments/*/report.html")
    assert "Mogul" in report.read_text()
    assert figures(report.with_name("results.jsonl")) == make_in_clone(tmp_path / "clone", "twin")


@pytest.mark.skipif(not QEMU, reason="there is no QEMU")
def test_qemu_makes_an_experiment_where_it_is_there(installed: Installed, tmp_path: Path) -> None:
    room = tmp_path / "room"
    installed.command(room, "experiment", "--no-report", *EXPERIMENT, programs=(QEMU,))
    (results,) = (room / "sluice-out").glob("experiments/*/results.jsonl")
    assert figures(results) == make_in_clone(tmp_path / "clone", "machine")


@pytest.mark.skipif(not MAIN.exists(), reason="there is no command `sluice` yet")
def test_the_command_sluice_is_installed(installed: Installed, tmp_path: Path) -> None:
    script = installed.environment / "bin" / "sluice"
    assert "replay" in installed.run(tmp_path, script, "--help").stdout
    assert "mogul-4.1-fast" in installed.run(tmp_path, script, "experiment", "list").stdout


def test_another_user_may_use_it(installed: Installed) -> None:
    """This user may write neither into the folder of the installed package nor into a home."""
    if os.geteuid() or not shut_in(installed.environment):
        pytest.skip("only root, with bwrap, can be another user")
    with tempfile.TemporaryDirectory(prefix="sluice-", dir="/tmp") as name:
        room = Path(name) / "room"
        (room / "bin").mkdir(parents=True)
        Path(name).chmod(0o755)
        os.chown(room, NOBODY, NOBODY)
        (room / "home").mkdir(mode=0o555)
        words = ("--engine=twin", *EXPERIMENT)
        assert "1 run made" in installed.command(room, "experiment", *words, user=NOBODY)
        assert (room / "sluice-out/kept/cache").is_dir()
        (room / "sluice-out").rename(room / "other")
        room.chmod(0o555)
        with pytest.raises(AssertionError, match="go to a folder of yours"):
            installed.command(room, "experiment", *words, user=NOBODY)


def test_in_a_clone_the_code_of_the_clone_is_used(installed: Installed) -> None:
    """The same Python runs in the clone and elsewhere, and prints which package it imports."""
    said = "import sluice.host.paths as p; print(p.PACKAGE, p.BUILD, p.CLONE)"
    python = installed.environment / "bin" / "python"
    done = subprocess.run(
        [python, "-c", said], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{ROOT / 'sluice'} {BUILD} True\n"
    done = subprocess.run([python, "-c", said], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == f"{installed.site / 'sluice'} /sluice-out False\n"


@pytest.mark.parametrize(
    ("environment", "kept"),
    [
        ({}, "home/.cache/sluice/kept"),
        ({"XDG_CACHE_HOME": "{}/home/xdg"}, "home/xdg/sluice/kept"),
        ({"SLUICE_CACHE": "{}/home/own", "XDG_CACHE_HOME": "{}/home/xdg"}, "home/own/kept"),
        ({"XDG_CACHE_HOME": "xdg"}, "home/.cache/sluice/kept"),
        ({"SLUICE_CACHE": "/dev/null/none"}, "results/kept"),
    ],
)
def test_what_can_be_made_again_is_in_the_users_cache(
    installed: Installed, tmp_path: Path, environment: dict[str, str], kept: str
) -> None:
    """The cache's place follows XDG; if that folder cannot be made, it is among the results."""
    (tmp_path / "home").mkdir()
    told = {name: text.format(tmp_path) for name, text in environment.items()}
    done = subprocess.run(
        [
            installed.environment / "bin" / "python",
            "-c",
            "from sluice.host.paths import KEPT as k; print(k)",
        ],
        cwd=tmp_path,
        env={"HOME": f"{tmp_path}/home", "SLUICE_OUT": "results", **told},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{tmp_path / kept}\n"


def test_an_editable_install_leads_to_the_clone(tmp_path: Path) -> None:
    """`pip install -e` asks the build backend for a wheel that has only the clone's path."""
    how = {"env": plain_environment(), "check": True, "timeout": HANG_S}
    made = "import sys; from hatchling.build import build_editable as b; b(sys.argv[1])"
    subprocess.run([sys.executable, "-c", made, tmp_path], cwd=ROOT, **how)
    environment = tmp_path / "environment"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", environment], **how)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", python, "install", "--no-deps"]
    subprocess.run([*pip, *tmp_path.glob("*.whl")], **how)
    said = "import sluice.host.paths as p; print(p.PACKAGE, p.CLONE)"
    done = subprocess.run([python, "-c", said], cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout == f"{ROOT / 'sluice'} True\n"
