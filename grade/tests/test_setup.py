"""Finding the cross tools under the names of several systems, and saying what to install there."""

import shutil
import subprocess
from pathlib import Path

import pytest

from grade.host.paths import ROOT

KNOWS_RISCV = """echo 'The target architecture is set to "riscv:rv64".'"""  # such a gdb
SCRIPTS = ("setup.sh", "find_tool.sh")
PREFIXES = ["riscv64-unknown-elf-", "riscv64-elf-", "riscv64-linux-gnu-"]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """A folder grade/ of the scripts, beside bin/, which has a shell and no tools."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname", "cmp", "python3", "cc", "uname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    add(tmp_path, "id", "echo 1000")
    (tmp_path / "grade").mkdir()
    for name in SCRIPTS:
        text = (ROOT / "grade" / name).read_text()
        (tmp_path / "grade" / name).write_text(text.replace(":/usr/sbin:/sbin", ""))
    return tmp_path


def add(tree: Path, name: str, does: str = "") -> None:
    """Add a program to bin/, in the place of a link to the host's, which is left alone."""
    (tree / "bin" / name).unlink(missing_ok=True)
    (tree / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
    (tree / "bin" / name).chmod(0o755)


def run(tree: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    line = ["/bin/sh", *words]
    env = {"PATH": str(tree / "bin"), **variables}
    return subprocess.run(line, cwd=tree, env=env, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ([], PREFIXES[0]),
        *(([prefix], prefix) for prefix in PREFIXES),
        (PREFIXES, PREFIXES[0]),
        (PREFIXES[1:], PREFIXES[1]),
    ],
)
def test_the_compiler_is_found_by_any_of_its_names(
    scripts: Path, there: list[str], found: str
) -> None:
    for prefix in there:
        add(scripts, f"{prefix}gcc")
    assert run(scripts, "grade/find_tool.sh", "prefix").stdout == f"{found}\n"
    own = run(scripts, "grade/find_tool.sh", "prefix", TOOLPREFIX="my-")
    assert own.stdout == "my-\n"


def test_gdb_is_found_by_any_of_its_names(scripts: Path) -> None:
    assert run(scripts, "grade/find_tool.sh", "gdb").stdout == "gdb-multiarch\n"
    add(scripts, "gdb", """echo 'Undefined item: "riscv:rv64".' >&2""")
    assert run(scripts, "grade/find_tool.sh", "gdb").stdout == "gdb-multiarch\n"
    for name in ("gdb", "riscv64-elf-gdb", "riscv64-unknown-elf-gdb", "gdb-multiarch"):
        add(scripts, name, KNOWS_RISCV)
        assert run(scripts, "grade/find_tool.sh", "gdb").stdout == f"{name}\n"
    assert run(scripts, "grade/find_tool.sh", "gdb", GDB="mine").stdout == "mine\n"


def test_make_takes_the_compiler_that_is_found(scripts: Path) -> None:
    add(scripts, "riscv64-elf-gcc")
    for name in ("make", "seq", "expr", "date", "nproc", "awk", "sed", "grep"):
        (scripts / "bin" / name).symlink_to(shutil.which(name) or name)
    shutil.copy(ROOT / "Makefile", scripts)
    said = run(scripts, "-c", "make -pn SETUP=no help").stdout
    assert "\nTOOLPREFIX := riscv64-elf-\n" in said
    said = run(scripts, "-c", "make -pn SETUP=no TOOLPREFIX=my- help").stdout
    assert "\nTOOLPREFIX = my-\n" in said


@pytest.mark.parametrize(
    ("manager", "command", "packages"),
    [
        (
            "apt-get",
            "sudo apt-get update && sudo apt-get install",
            ["gcc-riscv64-unknown-elf", "qemu-system-misc", "gdb-multiarch", "e2fsprogs"],
        ),
        ("dnf", "sudo dnf install", ["gcc-riscv64-linux-gnu", "qemu-system-riscv-core", "gdb"]),
        ("pacman", "sudo pacman -S", ["riscv64-elf-gcc", "qemu-system-riscv", "bubblewrap"]),
        ("brew", "brew install", ["riscv64-elf-gcc", "riscv64-elf-gdb", "qemu", "e2fsprogs"]),
    ],
)
def test_what_is_missing_is_named_as_the_system_names_it(
    scripts: Path, manager: str, command: str, packages: list[str]
) -> None:
    add(scripts, manager, "echo nothing is installed by this; exit 1")
    done = run(scripts, "grade/setup.sh")
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if "install them with:" in line)
    assert command in line
    assert set(packages) <= set(line.split())
    assert not (scripts / ".venv").exists()


@pytest.mark.parametrize(
    ("name", "program"),
    [("TOOLPREFIX", "nonesuch-gcc"), ("GDB", "nonesuch-"), ("QEMU", "nonesuch-")],
)
def test_a_program_that_was_chosen_and_is_not_there_is_named(
    scripts: Path, name: str, program: str
) -> None:
    done = run(scripts, "grade/setup.sh", **{name: "nonesuch-"})
    assert done.returncode == 1
    assert done.stdout == (
        f"setup: {name}=nonesuch-: there is no program {program}; "
        f"leave {name} out, or name one that is there\n"
    )


@pytest.fixture
def complete(scripts: Path) -> Path:
    """The scripts, with every program that they look for; the new ones do nothing."""
    names = ["gcc", "ld", "nm", "objdump", "gdb"]
    names = [f"riscv64-elf-{name}" for name in names]
    names += ["bwrap", "git", "flock", "nproc", "mke2fs", "e2fsck", "debugfs", "dumpe2fs"]
    names += ["blkparse", "btt", "iowatcher"]
    for name in names:
        add(scripts, name)
    add(scripts, "python3", '[ "$1" = -c ] || { echo would make an environment; exit 1; }')
    for name in ("sed", "sort", "head", "rm"):
        (scripts / "bin" / name).symlink_to(shutil.which(name) or name)
    return scripts


def test_a_qemu_that_is_too_old_is_told_before_anything_is_made(complete: Path) -> None:
    add(complete, "qemu-system-riscv64", "echo 'QEMU emulator version 6.2.0 (Debian 1:6.2)'")
    done = run(complete, "grade/setup.sh")
    assert done.returncode == 1
    assert "is version 6.2.0: Sluice needs QEMU 7.2 or newer" in done.stdout
    assert not (complete / ".venv").exists()


@pytest.mark.parametrize("version", ["7.2", "7.2.22", "8.2.1", "10.0.0"])
def test_a_compiler_for_other_machines_is_told(complete: Path, version: str) -> None:
    """After it, QEMU is looked at: a version from 7.2 on is not what is wrong."""
    add(complete, "qemu-system-riscv64", f"echo 'QEMU emulator version {version}'")
    assert "would make an environment" in run(complete, "grade/setup.sh").stdout
    add(complete, "riscv64-elf-gcc", "exit 1")
    done = run(complete, "grade/setup.sh")
    assert done.returncode == 1
    assert "riscv64-elf-gcc is too old, or made for other machines" in done.stdout


def test_on_macos_nothing_is_asked_for_that_is_not_there(scripts: Path) -> None:
    add(scripts, "brew")
    add(scripts, "uname", "echo Darwin")
    done = run(scripts, "grade/setup.sh")
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if "install them with:" in line)
    assert {"flock", "coreutils", "qemu", "git"} <= set(line.split())
    assert {"blktrace", "bubblewrap", "glibc"}.isdisjoint(line.split())
    assert "need a container: see .devcontainer/Dockerfile" in done.stdout


def test_what_is_there_is_not_named(scripts: Path) -> None:
    add(scripts, "dnf")
    for tool in ("gcc", "ld", "nm", "objdump"):
        add(scripts, f"riscv64-linux-gnu-{tool}")
    add(scripts, "gdb", KNOWS_RISCV)
    done = run(scripts, "grade/setup.sh", HOSTCC="cc -g")
    assert "HOSTCC" not in done.stdout
    assert "gcc-riscv64" not in done.stdout
    assert "binutils" not in done.stdout
    assert "gdb" not in done.stdout
    assert "qemu-system-riscv-core" in done.stdout
