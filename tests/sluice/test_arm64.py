"""The twin on arm64, under qemu-user: its figures are those of this host, byte for byte.

The packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user are needed.
"""

import json
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from trees import copy_of_tree, make
from whole import in_full

from sluice.experiment import run as runs
from sluice.experiment.load import load
from sluice.experiment.selection import experiment_file, twin_variant
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.twin import engine

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
pytestmark = [
    in_full,
    pytest.mark.skipif(
        platform.machine() != "x86_64" or not shutil.which(COMPILER) or not shutil.which(EMULATOR),
        reason=f"{COMPILER} or {EMULATOR} is not installed, or this is no x86-64",
    ),
]
UNITS = [  # programs of unit tests
    path.stem
    for path in sorted((ROOT / "tests").glob("**/*_test.c"))
    if re.search(r"^ \* link: tests/support/native/(main|test)\.c", path.read_text(), re.M)
]
SANITIZED = "-fsanitize=address,undefined -fno-sanitize-recover=all"
HOSTS = {  # the size of pages, and whether a process has 48 bits of address or 39
    "4 KiB": [],
    "16 KiB": ["-p", "16384"],
    "64 KiB": ["-p", "65536"],
    "39 bits": ["-R", str(1 << 39)],
}
FIRST = {  # how many runs of an experiment's first seed, from the first on
    "mogul-4.1-fast": 2,
    "carson-setia": 3,
    "flash-order": 2,
    "prefetch-mixed": 3,
    "replace-modern": 3,
    "own-commit": 2,
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the twin for arm64 and its programs, compiled in a copy of the tree."""
    tree = copy_of_tree(tmp_path_factory.mktemp("arm64"))
    programs = [f"build/twin/bin/{path.name}" for path in engine.PROGRAMS.iterdir()]
    make(tree, f"HOSTCC={COMPILER}", "build/twin/twin", *programs)
    return tree / "build" / "twin"


def figures(name: str, count: int, console: Path) -> list[str]:
    """Return the results of an experiment's first runs, without the keys that are hashes of the
    twin's own bytes."""
    lines, runs_of = [], twin_variant(load(experiment_file(name), "quick")).runs
    for run in [run for run in runs_of if run.variables["seed"] == 1][:count]:
        result = runs.make_run(run, console)[0]
        del result["kernel"], result["key"]
        lines.append(json.dumps(result))
    return lines


def emulate(built: Path, options: list[str], folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Make the twin of this process the one for arm64."""
    script = folder / "twin"
    script.write_text(
        f"#!/bin/sh\nexec {EMULATOR} {' '.join(options)} -L /usr/aarch64-linux-gnu "
        f'{built / "twin"} "$@"\n'
    )
    script.chmod(0o755)
    patch.setattr(engine, "PROGRAMS", built / "bin")
    for function in (engine.start_twin, engine.twin_command):
        values = [script if value == engine.TWIN else value for value in function.__defaults__]
        patch.setattr(function, "__defaults__", tuple(values))


@pytest.mark.parametrize("name", FIRST)
def test_figures_are_those_of_this_host(
    name: str, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """name: the experiment."""
    here = figures(name, FIRST[name], tmp_path / "here")
    emulate(built, [], tmp_path, monkeypatch)
    assert figures(name, FIRST[name], tmp_path / "there") == here


@pytest.mark.parametrize("host", HOSTS)
def test_pages_and_addresses_of_any_host_do(
    host: str, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The emulator gives a process pages of this size, or addresses of 39 bits."""
    here = figures("mogul-4.1-fast", 1, tmp_path / "here")
    emulate(built, HOSTS[host], tmp_path, monkeypatch)
    assert figures("mogul-4.1-fast", 1, tmp_path / "there") == here


@pytest.mark.parametrize("name", UNITS)
def test_native_tests_pass(name: str, built: Path) -> None:
    """The unit tests in C of policies, the cache and the disks, without sanitizers. A line `@ 0`
    says that a test has passed."""
    tree = built.parents[1]
    makefile = tree / "Makefile"
    makefile.write_text(makefile.read_text().replace(SANITIZED, ""))
    make(tree, f"HOSTCC={COMPILER}", f"build/native/{name}")
    program = tree / "build" / "native" / name
    words = [EMULATOR, "-L", "/usr/aarch64-linux-gnu", program, "--all"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANG_S, cwd=tree)
    assert done.returncode == 0
    ended = re.findall(r"^@ (\d+)$", done.stdout, re.M)
    assert ended and set(ended) == {"0"}, done.stdout
