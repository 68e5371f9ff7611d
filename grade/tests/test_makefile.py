"""The Makefile's promises, tried on a copy of the tree."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from grade.objects import includes, tool
from grade.paths import BUILD, ROOT


def make(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run make there, without what an outer make has told its children."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *words],
        stdin=subprocess.DEVNULL,
        timeout=120,
        cwd=folder,
        env=env,
        check=check,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree as built, times included; .venv is shared.

    Without build/experiments, where other tests make and remove files meanwhile.
    """
    copy = tmp_path / "tree"
    skip = shutil.ignore_patterns(".git", ".venv", "__pycache__", "experiments", "*.img", "*.sock")
    shutil.copytree(ROOT, copy, ignore=skip, symlinks=True)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


def rebuilt(said: str) -> set[str]:
    """The objects that make's output says it compiled."""
    return set(re.findall(r"^  CC (\S+)", said, re.M))


def test_a_second_build_compiles_nothing(tree: Path) -> None:
    assert rebuilt(make(tree, "build/kernel/kernel.elf").stdout) == set()


@pytest.mark.parametrize("header", ["kernel/bio.h", "kernel/fdt.h"])
def test_a_changed_header_rebuilds_exactly_what_includes_it(tree: Path, header: str) -> None:
    objects = [*BUILD.glob("kernel/*.o"), *BUILD.glob("policies/*/*.o")]
    expected = {
        str(path.relative_to(ROOT))
        for path in objects
        if path.stem != "ksyms" and header in includes(path)
    }
    assert expected
    make(tree, "build/kernel/kernel.elf")
    (tree / header).touch()
    done = rebuilt(make(tree, "build/kernel/kernel.elf").stdout)
    assert done - {"build/kernel/ksyms.o"} == expected


def test_other_flags_rebuild_the_kernel_and_the_same_ones_do_not(tree: Path) -> None:
    goal = "build/kernel/queue.o"
    assert goal in make(tree, goal, "CFLAGS_EXTRA=-g3").stdout
    assert rebuilt(make(tree, goal, "CFLAGS_EXTRA=-g3").stdout) == set()


def test_a_new_policy_and_a_new_program_need_no_list(tree: Path) -> None:
    policy = (tree / "policies/sched/fcfs.c").read_text().replace("fcfs", "mine")
    (tree / "policies/sched/mine.c").write_text(policy)
    (tree / "user/mine.c").write_text(
        '#include "user/lib.h"\n\nint main(void)\n{\n    return 0;\n}\n'
    )
    said = make(tree, "build/kernel/kernel.elf", "build/fs.img").stdout
    assert {"build/policies/sched/mine.o", "build/user/mine.o"} <= rebuilt(said)
    assert (tree / "build/root/bin/mine").exists()


def test_a_removed_policy_and_a_removed_program_are_gone(tree: Path) -> None:
    (tree / "policies/sched/fcfs.c").unlink()
    (tree / "user/cat.c").unlink()
    make(tree, "build/kernel/kernel.elf", "build/fs.img")
    assert not (tree / "build/root/bin/cat").exists()
    names = tool("nm", tree / "build/kernel/kernel.elf")
    assert "clook_next" in names
    assert "fcfs_next" not in names


def test_help_lists_every_command_and_sets_up_nothing(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    said = make(tmp_path, "help").stdout
    listed = set(re.findall(r"^make (\S+)", said, re.M))
    assert listed >= {
        *("all", "qemu", "qemu-gdb", "gdb", "test", "bench", "format"),
        *("compile_commands.json", "clean", "setup", "help"),
    }


def test_clean_leaves_the_sources_and_the_tools_only(tree: Path) -> None:
    before = {p.relative_to(tree) for p in tree.rglob("*") if "build" not in p.parts}
    make(tree, "clean")
    assert not (tree / "build").exists()
    assert {p.relative_to(tree) for p in tree.rglob("*")} == before - {
        Path("compile_commands.json")
    }


def test_compile_commands_name_every_source(tree: Path) -> None:
    make(tree, "compile_commands.json")
    entries = json.loads((tree / "compile_commands.json").read_text())
    named = {entry["file"] for entry in entries}
    folders = ["kernel", "policies/*", "user", "user/lib", "mkfs", "grade/native"]
    sources = {str(p.relative_to(tree)) for f in folders for p in tree.glob(f + "/*.c")}
    assert sources <= named
    assert all(entry["directory"] == str(tree) for entry in entries)


def test_without_root_or_sudo_the_missing_packages_are_named(tmp_path: Path) -> None:
    """With a PATH that has no tool chain, as a user who may not install."""
    (tmp_path / "bin").mkdir()
    for name in ["sh", "dirname", "cmp", "apt-get", "python3", "cc"]:
        found = shutil.which(name)
        if found:
            (tmp_path / "bin" / name).symlink_to(found)
    (tmp_path / "bin" / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "bin" / "id").chmod(0o755)
    (tmp_path / "grade").mkdir()
    script = tmp_path / "grade" / "setup.sh"
    script.write_text((ROOT / "grade" / "setup.sh").read_text().replace(":/usr/sbin:/sbin", ""))
    done = subprocess.run(
        ["/bin/sh", script], env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True
    )
    assert done.returncode != 0
    command = next(line for line in done.stdout.splitlines() if "apt-get install" in line)
    for package in ["gcc-riscv64-unknown-elf", "qemu-system-misc", "gdb-multiarch", "e2fsprogs"]:
        assert package in command
    assert not (tmp_path / ".venv").exists()


def test_set_up_a_second_time_installs_nothing() -> None:
    done = subprocess.run([ROOT / "grade/setup.sh"], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("goal", ["all", "qemu", "test", "bench"])
def test_every_command_sets_up_first_and_stops_where_that_fails(tree: Path, goal: str) -> None:
    (tree / "grade/setup.sh").write_text("#!/bin/sh\necho missing: everything\nexit 1\n")
    said = make(tree, goal, check=False)
    assert said.returncode != 0
    assert "missing: everything" in said.stdout
    assert "not set up" in said.stdout
    assert not rebuilt(said.stdout)


def test_a_setup_script_that_lost_its_mode_on_the_way_is_run(tree: Path) -> None:
    (tree / "grade/setup.sh").write_text("echo it ran\nexit 1\n")
    (tree / "grade/setup.sh").chmod(0o644)
    assert "it ran" in make(tree, "all", check=False).stdout


@pytest.mark.parametrize("value", ["Zoë O'Brien", "-dash", "$HOME $(x)", 'a"b`c`'])
@pytest.mark.parametrize(
    ("goal", "names"),
    [
        ("grade", ["LAB", "SUBMISSION", "OUT", "TEST", "NONCE"]),
        ("class", ["LAB", "SUBMISSIONS", "OUT", "NONCE", "SCHEDULER"]),
        ("skeleton", ["LAB", "OUT", "BASE", "STUDENT"]),
        ("samples", ["LAB", "OUT"]),
        ("bundle", ["LAB", "OUT"]),
    ],
)
def test_what_is_given_to_a_labs_command_arrives_as_it_is(
    goal: str, names: list[str], value: str
) -> None:
    said = make(ROOT, "--dry-run", goal, *(f"{name}={value}" for name in names)).stdout
    command = next(line for line in said.split(" -m ") if line.startswith("grade.scoring"))
    for name in names:
        assert f"--{name.lower()}={value}" in shlex.split(command), name


@pytest.mark.parametrize("goal", ["help", "clean"])
def test_harmless_commands_need_no_tools(tree: Path, goal: str) -> None:
    (tree / "grade/setup.sh").write_text("#!/bin/sh\nexit 1\n")
    assert make(tree, goal).returncode == 0
