"""The Makefile's promises, tried on a copy of the tree: `tree` is as `make all` leaves it, and in
`bare` nothing is built. `make` runs make there and returns what it printed; a line "  CC FILE" says
that a file was compiled.

Only FULL=1 tries whether all builds and boots with the compiler's highest optimisation.
"""

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import Run
from trees import SOURCE_FOLDERS, copy_of_tree, make
from whole import in_full

from grade.code.objects import included_headers, run_tool
from sluice.host.paths import BUILD, ROOT

# folders of build/ that `make all` does not need
OF_TESTS = ("native", "twin", "live", "debug", "book")
# Instead of compiling, as a line of the Makefile: a file is as new as if it had been compiled.
PRETEND = "--eval=override run = @echo '  $(1) $@' && touch $@"


REFUSED = r"tools/rules/checks.mk:\d+: \*\*\* {}.*\.  Stop\.\n"  # how make ends a wrong command


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of the tree as `make all` builds it."""
    return copy_of_tree(tmp_path, "results", *(f"build/{name}" for name in OF_TESTS))


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a copy of the tree in which nothing is built."""
    return copy_of_tree(tmp_path, "results", "build")


def rebuilt(said: str) -> set[str]:
    """Return the objects that make's output says it compiled."""
    return set(re.findall(r"^  CC (\S+)", said, re.M))


def test_a_second_build_compiles_nothing(tree: Path) -> None:
    assert rebuilt(make(tree, "build/kernel/kernel.elf").stdout) == set()


@pytest.mark.parametrize("header", ["kernel/cache/bio.h", "kernel/machine/fdt.h"])
def test_a_changed_header_rebuilds_exactly_what_includes_it(tree: Path, header: str) -> None:
    """The compiler's own record says which objects include the header; after a touch make would
    rebuild those and no others, but for the symbols' table."""
    objects = [
        *BUILD.glob("kernel/**/*.o"),
        *BUILD.glob("policies/*/*.o"),
        *BUILD.glob("drives/**/*.o"),
    ]
    expected = {
        str(path.relative_to(ROOT))
        for path in objects
        if path.stem != "ksyms" and header in included_headers(path)
    }
    assert expected
    make(tree, "build/kernel/kernel.elf")
    (tree / header).touch()
    done = rebuilt(make(tree, PRETEND, "build/kernel/kernel.elf").stdout)
    assert done - {"build/kernel/ksyms.o"} == expected


def test_other_flags_rebuild_the_kernel_and_the_same_ones_do_not(tree: Path) -> None:
    goal = "build/kernel/disk/queue.o"
    assert goal in make(tree, goal, "CFLAGS_EXTRA=-g3").stdout
    assert rebuilt(make(tree, goal, "CFLAGS_EXTRA=-g3").stdout) == set()


def test_a_new_policy_and_a_new_program_need_no_list(tree: Path) -> None:
    """A policy, a program of one file, and programs that are folders are added, and make builds
    them and puts the programs on the disk."""
    policy = (tree / "policies/sched/fcfs.c").read_text().replace("fcfs", "mine")
    (tree / "policies/sched/mine.c").write_text(policy)
    (tree / "user/load/mine.c").write_text(
        '#include "user/lib.h"\n\nint main(void)\n{\n    return 0;\n}\n'
    )
    folders = {"ours": "ours", "bin/theirs": "theirs"}
    for folder in folders:
        (tree / "user" / folder).mkdir()
        (tree / "user" / folder / "main.c").write_text(
            "int other(void);\nint main(void)\n{\n    return other();\n}\n"
        )
        (tree / "user" / folder / "other.c").write_text("int other(void)\n{\n    return 0;\n}\n")
    said = make(tree, "build/kernel/kernel.elf", "build/fs.img").stdout
    objects = {f"build/parts/{each}/{name}.o" for each in folders for name in ("main", "other")}
    objects.add("build/parts/load/mine.o")
    assert {"build/policies/sched/mine.o", *objects} <= rebuilt(said)
    for name in ("mine", *folders.values()):
        assert (tree / "build/root/bin" / name).exists()


def test_what_makes_the_root_disk_is_built_before_it(bare: Path) -> None:
    said = make(bare, "-n", "SETUP=no", "qemu").stdout
    assert 0 < said.index("  LD build/mkfs/mkfs'") < said.index("  MKFS build/fs.img'")


@pytest.mark.parametrize("place", ["bin/sh.c", "load/sh.c", "load/sh/main.c"])
def test_a_program_is_one_file_or_one_folder(bare: Path, place: str) -> None:
    """A second source of the program sh, in another place, stops the build, and the message names
    both."""
    copy = bare / "user" / place
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(bare / "user/bin/true.c", copy)
    said = make(bare, "all", check=False)
    copy.unlink()
    if place.endswith("/main.c"):
        copy.parent.rmdir()
    assert said.returncode != 0
    line = next(line for line in said.stdout.splitlines() if "the program sh is several" in line)
    shown = place.removesuffix("/main.c")
    assert {"user/sh", f"user/{shown}"} <= {word.rstrip(".") for word in line.split()}


def test_a_program_outside_the_folders_of_programs_is_refused(bare: Path) -> None:
    shutil.copy(bare / "user/bin/true.c", bare / "user/mine.c")
    said = make(bare, "all", check=False)
    (bare / "user/mine.c").unlink()
    assert said.returncode != 0
    assert "user/mine.c is in no folder of programs: move it to user/bin" in said.stdout


def test_qemu_leaves_the_keys_of_the_shell_to_the_shell() -> None:
    """QEMU's own key is ^] (0x1d) in the place of its default, ^A."""
    assert "-echr 0x1d " in make(ROOT, "--dry-run", "qemu").stdout
    assert "^] x" in next(
        line for line in make(ROOT, "help").stdout.splitlines() if line.startswith("make qemu ")
    )


def test_a_removed_policy_and_a_removed_program_are_gone(tree: Path) -> None:
    (tree / "policies/sched/fcfs.c").unlink()
    (tree / "user/bin/cat.c").unlink()
    shutil.rmtree(tree / "user/bin/edit")
    make(tree, "build/kernel/kernel.elf", "build/fs.img")
    assert not (tree / "build/root/bin/cat").exists()
    assert not (tree / "build/root/bin/edit").exists()
    names = run_tool("nm", tree / "build/kernel/kernel.elf")
    assert "clook_next" in names
    assert "fcfs_next" not in names


def test_help_lists_every_command_and_sets_up_nothing(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tools/rules", tmp_path / "tools/rules")
    for name in ("Makefile", "tools/help.awk"):
        shutil.copy(ROOT / name, tmp_path / name)
    said = make(tmp_path, "help").stdout
    listed = set(re.findall(r"^make (\S+)", said, re.M))
    assert listed >= {
        *("all", "qemu", "gdb", "check", "test", "experiment", "grade", "book", "clean", "help"),
        *("qemu-gdb", "native", "twin", "format", "compile_commands.json", "setup", "version"),
    }


def test_clean_leaves_the_sources_and_the_tools_only(tree: Path) -> None:
    """compile_commands.json is made, so it is removed."""
    before = {p.relative_to(tree) for p in tree.rglob("*") if "build" not in p.parts}
    make(tree, "clean")
    assert not (tree / "build").exists()
    assert {p.relative_to(tree) for p in tree.rglob("*")} == before - {
        Path("compile_commands.json")
    }


def test_compile_commands_name_every_source(bare: Path) -> None:
    make(bare, "compile_commands.json")
    entries = json.loads((bare / "compile_commands.json").read_text())
    named = {entry["file"] for entry in entries}
    sources = {str(p.relative_to(bare)) for f in SOURCE_FOLDERS for p in bare.glob(f + "/*.c")}
    assert sources <= named
    assert all(entry["directory"] == str(bare) for entry in entries)


def test_set_up_a_second_time_installs_nothing() -> None:
    done = subprocess.run([ROOT / "tools/setup.sh"], capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("goal", ["all", "qemu", "test", "check"])
def test_every_command_sets_up_first_and_stops_where_that_fails(bare: Path, goal: str) -> None:
    (bare / "tools/setup.sh").write_text("#!/bin/sh\necho missing: everything\nexit 1\n")
    said = make(bare, goal, check=False)
    assert said.returncode != 0
    assert "missing: everything" in said.stdout
    assert "not set up" in said.stdout
    assert not rebuilt(said.stdout)


def test_a_tool_that_is_chosen_and_not_there_is_named_before_anything_is_built(bare: Path) -> None:
    for name in ("TOOLPREFIX", "QEMU", "HOSTCC", "GDB"):
        said = make(bare, "all", f"{name}=nonesuch- -x", check=False)
        assert said.returncode != 0
        assert f"setup: {name}=nonesuch- -x: there is no program nonesuch-;" in said.stdout
        assert not rebuilt(said.stdout)


def test_a_gdb_that_is_named_is_used_and_1_is_the_name_of_none(bare: Path) -> None:
    """GDB=1 asks a graded machine to wait (`make grade GDB=1`)."""
    (bare / "tools/setup.sh").write_text('echo "GDB is <$GDB>"\nexit 1\n')
    usual = make(bare, "grade", "LAB=elevator", check=False).stdout
    assert re.search("GDB is <[a-z-]*gdb[a-z-]*>", usual)
    assert make(bare, "grade", "LAB=elevator", "GDB=1", check=False).stdout == usual
    mine = make(bare, "grade", "LAB=elevator", "GDB=mine", check=False).stdout
    assert "GDB is <mine>" in mine
    said = make(ROOT, "--dry-run", "grade", "LAB=elevator", "GDB=1").stdout
    assert "GDB=1" in shlex.split(said)


def test_a_setup_script_that_lost_its_mode_on_the_way_is_run(bare: Path) -> None:
    (bare / "tools/setup.sh").write_text("echo it ran\nexit 1\n")
    (bare / "tools/setup.sh").chmod(0o644)
    assert "it ran" in make(bare, "all", check=False).stdout


ODD = """-dash Zoë O'Brien $HOME $(x) a"b`c`, d"""  # what a shell or make would take apart


@pytest.mark.parametrize("goal", ["grade", "experiment", "theatre", "class"])
def test_what_is_given_to_a_command_arrives_as_it_is(goal: str) -> None:
    """ODD has blanks, quotes and dollars. make hands a goal's variables on to a program of ours."""
    given = {f"{name}={ODD}" for name in ("E", "LAB", "SIZE", "OUT") if takes_variable(goal, name)}
    assert given
    said = make(ROOT, "--dry-run", goal, "V=1", *given).stdout
    _, _, command = said.partition("sluice.cli.old_goals ")
    assert set(shlex.split(command)) == {goal, "V=1", *given}


def takes_variable(goal: str, name: str) -> bool:
    """Return true if a goal of an earlier release takes a variable."""
    return name in tomllib.loads((ROOT / "sluice/cli/old_goals.toml").read_text())[goal]


@pytest.mark.parametrize(("goal", "name"), [("test", "T"), ("qemu", "ARGS")])
def test_words_and_boot_arguments_arrive_as_they_are(goal: str, name: str) -> None:
    said = make(ROOT, "--dry-run", goal, f"{name}={ODD}").stdout
    line = next(line for line in said.splitlines()[::-1] if "Brien" in line)
    assert ODD in shlex.split(line)


def test_a_command_that_make_starts_hears_nothing_of_the_make(bare: Path) -> None:
    """The environment of the command has no variable of make. Otherwise other makes that the
    command starts would take over variables and flags."""
    (bare / "sluice/cli/old_goals.py").write_text(
        "import os\nprint(sorted(v for v in os.environ if v.startswith(('MAKE', 'MFL'))))\n"
    )
    (bare / "tools/setup.sh").write_text("exit 0\n")
    assert make(bare, "-k", "grade", "LAB=elevator").stdout == "[]\n"


def test_odd_paths_of_disks_reach_qemu(tmp_path: Path) -> None:
    disks = [tmp_path / name for name in ["o'brien", 'a"b', "$HOME", "a,b"]]
    for disk in disks:
        disk.touch()
    said = make(ROOT, "--dry-run", "qemu", "DISKS=" + " ".join(map(str, disks))).stdout
    line = next(line for line in said.splitlines() if "-nographic" in line)
    for disk in disks:
        file = f"file={str(disk).replace(',', ',,')},if=none"
        assert any(word.startswith(file) for word in shlex.split(line)), disk


@pytest.mark.parametrize(
    ("goal", "word", "why"),
    [
        ("qemu", "CPUS=9", "CPUS=9: must be a number of harts from 1 to 8"),
        ("qemu", "CPUS=two", "CPUS=two: must be a number of harts from 1 to 8"),
        ("qemu-gdb", "CPUS=", "CPUS=: must be a number of harts from 1 to 8"),
        ("qemu", "MEM=31M", "MEM=31M: must be memory from 32M to 8G"),
        ("qemu", "MEM=9G", "MEM=9G: must be memory from 32M to 8G"),
        ("qemu", "MEM=8193M", "MEM=8193M: must be memory from 32M to 8G"),
        ("qemu", "MEM=12'", "MEM=12': must be memory from 32M to 8G"),
        ("qemu", "DISKS=no'pe", "DISKS: there is no file no'pe"),
        ("qemu", "DISKS=" + 8 * "Makefile ", "DISKS: the machine has room for 7 further disks"),
        ("qemu", "ARGS=a=1\nb=2", "ARGS: must be one line"),
        ("all", "FS_MB=4'", "FS_MB=4': must be a number of MiB from 1"),
        ("all", "DEBUG=yes", "DEBUG=yes: must be 1 or nothing"),
        ("all", "JOBS=0", "JOBS=0: must be a number from 1"),
        ("all", "JOBS=1000", "JOBS=1000: must be a number from 1 to 999"),
        ("test", "LAB=elevatr", "LAB=elevatr: must be one of crash "),
    ],
)
def test_a_wrong_value_is_named_with_what_it_must_be(goal: str, word: str, why: str) -> None:
    done = make(ROOT, "--dry-run", goal, word, check=False)
    assert done.returncode == 2
    assert re.fullmatch(REFUSED.format(re.escape(why)), done.stdout)


def test_a_folder_whose_name_has_two_lines_is_refused_before_any_work(tmp_path: Path) -> None:
    """The programs debugfs and gdb read their commands line by line, so a path with a line break
    cannot be given to them."""
    odd = tmp_path / "two\nlines"
    odd.mkdir()
    shutil.copy(ROOT / "Makefile", odd)
    shutil.copytree(ROOT / "tools/rules", odd / "tools/rules")
    line = ["make", "--dry-run", "help"]
    for name, done in (
        ("TMPDIR", subprocess.run(["env", f"TMPDIR={odd}", *line], cwd=ROOT, capture_output=True)),
        ("CURDIR", subprocess.run(line, cwd=odd, capture_output=True)),
    ):
        assert done.returncode == 2
        assert f"*** {name}: must be one line.  Stop.".encode() in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("experiment SIZ=quick", "SIZ: experiment has no such variable; did you mean SIZE?"),
        ("experiment sizE=quick", "sizE: experiment has no such variable; did you mean SIZE?"),
        ("theatre N3=4", "N3: theatre has no such variable; did you mean N2?"),
        ("gdb N=4", "N: gdb has no such variable; it has DEBUG"),
        ("version SIZE=quick", "SIZE: version has no such variable; it has none"),
        ("report grade TESTS=x LAB=open", "TESTS: report grade has no such variable; did you mean"),
        ("theater", "theater: there is no such goal; did you mean theatre? `make help` lists all"),
        ("qwertz", "qwertz: there is no such goal; see `make help`"),
        ("qemu ARGS=drive=rz85", "ARGS: drive=rz85: there is no such drive; did you mean rz58?"),
        ("run DO=ls ARGS=disk1.drive=x", "ARGS: disk1.drive=x: there is no such drive; there are "),
    ],
)
def test_a_name_that_nobody_knows_is_refused_with_the_nearest(words: str, why: str) -> None:
    done = make(ROOT, "--dry-run", *words.split(), check=False)
    assert done.returncode == 2
    assert re.fullmatch(REFUSED.format(re.escape(why)), done.stdout)


def test_the_makefile_is_short() -> None:
    assert len((ROOT / "Makefile").read_text().splitlines()) <= 200


def test_the_proof_of_one_lab_builds_nothing_that_only_other_tests_need() -> None:
    """A dry run says what `make test` would link (LD) with LAB=elevator and without."""
    built = {lab: make(ROOT, "-n", "test", f"LAB={lab}").stdout for lab in ("elevator", "")}
    for program in ("build/native/sluice_test", "build/debug/kernel/kernel.elf"):
        assert f"  LD {program}'" in built[""]
        assert f"  LD {program}'" not in built["elevator"]
    assert "  LD build/native/drive_times_tool'" in built["elevator"]
    assert "build/twin/" not in built["elevator"]


@pytest.mark.parametrize("memory", ["32M", "8192M", "8G"])
def test_the_ends_of_the_range_of_memory_are_in_it(memory: str) -> None:
    assert f"-m {memory} -smp 8" in make(ROOT, "-n", "qemu", f"MEM={memory}", "CPUS=8").stdout


def test_further_flags_may_hold_quotes(tree: Path) -> None:
    """The second make with the same flags has nothing to do."""
    flags = "CFLAGS_EXTRA=-DODD='\"it''s\"' -Wno-unused-macros"
    goal = "build/kernel/disk/queue.o"
    assert goal in make(tree, goal, flags).stdout
    assert rebuilt(make(tree, goal, flags).stdout) == set()
    make(tree, "compile_commands.json", flags)
    entries = json.loads((tree / "compile_commands.json").read_text())
    assert '-DODD="its"' in shlex.split(entries[0]["command"])


@pytest.mark.parametrize("goal", ["help", "clean"])
def test_harmless_commands_need_no_tools(bare: Path, goal: str) -> None:
    (bare / "tools/setup.sh").write_text("#!/bin/sh\nexit 1\n")
    assert make(bare, goal).returncode == 0


@in_full
def test_everything_builds_and_boots_as_the_compiler_optimises_most(
    tree: Path, run_script: Run
) -> None:
    """-O3 inlines across functions, and so warns of what -O2 cannot see; warnings are errors."""
    flags = "CFLAGS_EXTRA=-O3 -g0"
    make(tree, "all", flags)
    made = tree / "build/kernel/kernel.elf"
    assert run_script("cp /bin/sh /copy && cmp /bin/sh /copy", kernel=made).status == 0
