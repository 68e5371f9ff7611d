"""tools/setup.sh and tools/find_tool.sh find the cross compiler and other tools under the names of
several systems, say what to install, and install Python packages.

The fixture `scripts` is a folder with copies of both scripts and a folder bin/, which is all of
PATH. A test adds programs there, which are shell scripts that do nothing. `complete` has all that
setup.sh looks for, with a Python that only pretends to install packages.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sluice.host.paths import ROOT

# A gdb that knows RISC-V.
# what a gdb that knows RISC-V prints
KNOWS_RISCV = """echo 'The target architecture is set to "riscv:rv64".'"""
SCRIPTS = ("setup.sh", "find_tool.sh")
PREFIXES = ["riscv64-unknown-elf-", "riscv64-elf-", "riscv64-linux-gnu-"]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """Return a folder tools/ of the scripts, beside bin/, which has a shell and no tools."""
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname", "cmp", "python3", "cc", "uname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    add(tmp_path, "id", "echo 1000")
    (tmp_path / "tools").mkdir()
    for name in SCRIPTS:
        text = (ROOT / "tools" / name).read_text().replace("/usr/bin/python3", "python3")
        (tmp_path / "tools" / name).write_text(text.replace(":/usr/sbin:/sbin", ""))
    shutil.copytree(ROOT / "tools/requirements", tmp_path / "tools/requirements")
    return tmp_path


def add(tree: Path, name: str, does: str = "") -> None:
    """Add a program to bin/, in the place of a link to the host's, which is left alone."""
    (tree / "bin" / name).unlink(missing_ok=True)
    (tree / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
    (tree / "bin" / name).chmod(0o755)


def run(tree: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the tree by sh, with the tree's bin/ as PATH and these variables."""
    line = ["/bin/sh", *words]
    env = {"PATH": str(tree / "bin"), "HOME": str(tree / "home"), **variables}
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
    """there: prefixes of compilers on this system; found: the prefix that is chosen."""
    for prefix in there:
        add(scripts, f"{prefix}gcc")
    assert run(scripts, "tools/find_tool.sh", "prefix").stdout == f"{found}\n"
    own = run(scripts, "tools/find_tool.sh", "prefix", TOOLPREFIX="my-")
    assert own.stdout == "my-\n"


def test_gdb_is_found_by_any_of_its_names(scripts: Path) -> None:
    """A gdb counts only if it knows RISC-V. Later names in the list are preferred."""
    assert run(scripts, "tools/find_tool.sh", "gdb").stdout == "gdb-multiarch\n"
    add(scripts, "gdb", """echo 'Undefined item: "riscv:rv64".' >&2""")
    assert run(scripts, "tools/find_tool.sh", "gdb").stdout == "gdb-multiarch\n"
    for name in ("gdb", "riscv64-elf-gdb", "riscv64-unknown-elf-gdb", "gdb-multiarch"):
        add(scripts, name, KNOWS_RISCV)
        assert run(scripts, "tools/find_tool.sh", "gdb").stdout == f"{name}\n"
    assert run(scripts, "tools/find_tool.sh", "gdb", GDB="mine").stdout == "mine\n"


def test_make_takes_the_compiler_that_is_found(scripts: Path) -> None:
    """`make -p` prints all variables. One that is given on the command line is taken as it is."""
    add(scripts, "riscv64-elf-gcc")
    for name in ("make", "seq", "expr", "date", "nproc", "awk", "sed", "grep"):
        (scripts / "bin" / name).symlink_to(shutil.which(name) or name)
    shutil.copy(ROOT / "Makefile", scripts)
    shutil.copytree(ROOT / "tools/rules", scripts / "tools/rules")
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
    done = run(scripts, "tools/setup.sh")
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
    done = run(scripts, "tools/setup.sh", **{name: "nonesuch-"})
    assert done.returncode == 1
    assert done.stdout == (
        f"setup: {name}=nonesuch-: there is no program {program}; "
        f"leave {name} out, or name one that is there\n"
    )


# A Python that makes folders where the real one makes environments and installs packages. While
# there is a file `interrupted`, an installation ends in its middle.
PYTHON = """\
for last; do :; done
case "$*" in
*print*) echo cpython-311-fake ;;
*"-m venv"*)
    mkdir -p "$last/bin" "$last/lib/python3.11/site-packages"
    cp "$0" "$last/bin/python"
    ;;
*"-m pip"*)
    while [ "$1" != --target ]; do shift; done
    mkdir -p "$2/bin"
    echo "$last" >> installed
    [ ! -e interrupted ] || exit 1
    program=$2/bin/$(basename "$last" .txt)
    printf '#!/other/python\\nimport sys\\nprint(sys.argv[1:])\\n' > "$program"
    ;;
esac
"""


@pytest.fixture
def complete(scripts: Path) -> Path:
    """Return the scripts, with every program that they look for; the new ones do nothing."""
    names = ["gcc", "ld", "nm", "objdump", "gdb"]
    names = [f"riscv64-elf-{name}" for name in names]
    names += ["bwrap", "git", "nproc", "mke2fs", "e2fsck", "debugfs", "dumpe2fs"]
    names += ["blkparse", "btt", "iowatcher"]
    for name in names:
        add(scripts, name)
    add(scripts, "qemu-system-riscv64", "echo 'QEMU emulator version 7.2.22'")
    add(scripts, "python3", PYTHON)
    for name in ("sed", "sort", "head", "rm", "mkdir", "cp", "mv", "cksum", "chmod", "grep"):
        (scripts / "bin" / name).symlink_to(shutil.which(name) or name)
    for name in ("basename", "flock"):
        (scripts / "bin" / name).symlink_to(shutil.which(name) or name)
    return scripts


def test_a_qemu_that_is_too_old_is_told_before_anything_is_made(complete: Path) -> None:
    add(complete, "qemu-system-riscv64", "echo 'QEMU emulator version 6.2.0 (Debian 1:6.2)'")
    done = run(complete, "tools/setup.sh")
    assert done.returncode == 1
    assert "is version 6.2.0: Sluice needs QEMU 7.2 or newer" in done.stdout
    assert not (complete / ".venv").exists()


@pytest.mark.parametrize("version", ["7.2", "7.2.22", "8.2.1", "10.0.0"])
def test_a_compiler_for_other_machines_is_told(complete: Path, version: str) -> None:
    """The version of QEMU is right here, from 7.2 on, so only the compiler is named."""
    add(complete, "qemu-system-riscv64", f"echo 'QEMU emulator version {version}'")
    add(complete, "riscv64-elf-gcc", "exit 1")
    done = run(complete, "tools/setup.sh")
    assert done.returncode == 1
    assert "riscv64-elf-gcc is too old, or made for other machines" in done.stdout
    add(complete, "riscv64-elf-gcc")
    assert run(complete, "tools/setup.sh").returncode == 0


def test_a_python_that_is_too_old_is_told(complete: Path) -> None:
    add(complete, "python3", 'case "$*" in *version_info*) exit 1 ;; -V) echo Python 3.9 ;; esac')
    done = run(complete, "tools/setup.sh", "python")
    assert done.returncode == 1
    assert done.stdout == "setup: Python 3.9 is too old: Sluice needs Python 3.11 or newer\n"
    assert not (complete / ".venv").exists()


# The packages of each group that `build` does not have.
ASKS = {
    "build": set(),
    "machine": {"qemu-system-misc"},
    "gdb": {"gdb-multiarch"},
    "run": {"qemu-system-misc", "python3", "python3-venv", "e2fsprogs"},
    "grade": {"qemu-system-misc", "python3", "python3-venv", "e2fsprogs", "bubblewrap"},
    "measure": {"qemu-system-misc", "python3", "python3-venv", "e2fsprogs", "strace"},
}
OF_TESTS = {"gdb-multiarch", "bubblewrap", "blktrace"}  # that only the tests need


def missing_packages(tree: Path, group: str) -> set[str]:
    """Return the packages that a group misses where nothing is there."""
    (tree / "bin/python3").unlink(missing_ok=True)
    add(tree, "apt-get", "exit 1")
    said = run(tree, "tools/setup.sh", group).stdout
    return set(re.search(r"missing packages:(.*)", said)[1].split())


@pytest.mark.parametrize("group", ASKS)
def test_a_group_asks_for_what_its_commands_need_and_nothing_else(
    scripts: Path, group: str
) -> None:
    build = missing_packages(scripts, "build")
    assert build >= {"gcc-riscv64-unknown-elf", "git", "util-linux"}
    assert missing_packages(scripts, group) == build | ASKS[group]


def test_python_alone_asks_for_no_compiler(scripts: Path) -> None:
    assert missing_packages(scripts, "python") == {"python3", "util-linux"}


def test_tests_ask_for_all_that_is_tested(scripts: Path) -> None:
    assert missing_packages(scripts, "test") >= OF_TESTS | ASKS["run"]


def test_the_long_tests_ask_for_what_spike_the_arm64_twin_and_the_live_page_need(
    scripts: Path,
) -> None:
    add(scripts, "uname", 'case "$1" in -m) echo x86_64 ;; *) echo Linux ;; esac')
    more = missing_packages(scripts, "whole") - missing_packages(scripts, "test")
    assert {"device-tree-compiler", "gcc-aarch64-linux-gnu", "qemu-user", "clang"} <= more


def test_a_group_that_does_not_exist_is_told(scripts: Path) -> None:
    done = run(scripts, "tools/setup.sh", "nonesuch")
    assert done.returncode == 1
    assert done.stderr == "setup: nonesuch: there is no such group; tools/setup.sh lists them\n"


def test_a_kernel_is_booted_without_any_python(complete: Path) -> None:
    (complete / "bin/python3").unlink()
    done = run(complete, "tools/setup.sh", "machine")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (complete / ".venv").exists()
    assert not (complete / "home").exists()


def groups_of_packages(tree: Path) -> set[str]:
    """Return the groups of which the cache holds the packages."""
    folders = (tree / "home/.cache/sluice").glob("*-*-cpython-311-fake")
    return {path.name.split("-")[0] for path in folders}


def test_python_alone_installs_no_package(complete: Path) -> None:
    assert run(complete, "tools/setup.sh", "python").returncode == 0
    assert (complete / ".venv/bin/python").exists()
    assert groups_of_packages(complete) == set()
    assert not (complete / "installed").exists()


# Names of folders with characters that a shell takes for more than letters.
ODD = ["plain", "a b", "it's", 'say "x"', "$HOME", "back\\\\slash", "ä%,;"]


@pytest.mark.parametrize("name", ODD)
def test_programs_of_packages_run_wherever_the_tree_lies(
    complete: Path, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """The tree is moved to a folder with an odd name before a group is installed."""
    tree = complete.rename(tmp_path_factory.mktemp("places") / name)
    assert run(tree, "tools/setup.sh", "run").returncode == 0
    (tree / ".venv/bin/python").unlink()
    (tree / ".venv/bin/python").symlink_to(sys.executable)
    line = [tree / ".venv/bin/run", "two words", "$x"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout == "['two words', '$x']\n"


def test_a_group_is_installed_once_and_other_groups_are_added_to_it(complete: Path) -> None:
    """A second setup of a group does nothing; a setup of another installs only that, and the
    packages of both are found."""
    assert run(complete, "tools/setup.sh", "run").returncode == 0
    assert groups_of_packages(complete) == {"run"}
    again = run(complete, "tools/setup.sh", "run")
    assert (again.returncode, again.stdout) == (0, "")
    assert run(complete, "tools/setup.sh", "report").returncode == 0
    assert groups_of_packages(complete) == {"run", "report"}
    asked = (complete / "installed").read_text().split()
    assert asked == ["tools/requirements/run.txt", "tools/requirements/report.txt"]
    listed = (complete / ".venv/lib/python3.11/site-packages/sluice.pth").read_text().splitlines()
    packages = [Path(line) for line in listed if line.startswith("/")]
    assert [path.name.split("-")[0] for path in packages] == ["run", "report", "site"]
    assert all(path.is_dir() for path in packages)
    program = (complete / ".venv/bin/run").read_text()
    assert program.startswith("#!/bin/sh\n") and "/other/python" not in program


def test_trees_with_the_same_pins_share_their_packages(complete: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copytree(complete / "tools", other / "tools")
    (other / "bin").symlink_to(complete / "bin")
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "installing" in run(complete, "tools/setup.sh", "run", **home).stdout
    assert run(other, "tools/setup.sh", "run", **home).stdout == ""
    assert (other / ".venv/bin/run").exists()
    assert not (other / "installed").exists()
    pins = other / "tools/requirements/run.txt"
    pins.write_text(pins.read_text() + "# changed\n")
    assert "installing" in run(other, "tools/setup.sh", "run", **home).stdout


def test_an_interrupted_installation_leaves_nothing_that_is_taken_for_a_whole_one(
    complete: Path,
) -> None:
    """While the file `interrupted` is there, the pretended pip fails in the midst of its work."""
    (complete / "interrupted").touch()
    assert run(complete, "tools/setup.sh", "report").returncode != 0
    assert groups_of_packages(complete) == set()
    (complete / "interrupted").unlink()
    assert run(complete, "tools/setup.sh", "report").returncode == 0
    assert groups_of_packages(complete) == {"run", "report"}
    assert (complete / ".venv/bin/report").exists()


def test_a_folder_that_the_staff_filled_is_used_by_who_may_only_read_it(
    complete: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    assert run(complete, "tools/setup.sh", "run", SLUICE_CACHE=str(shared)).returncode == 0
    assert list(shared.glob("run-*"))
    # Root may write anywhere, so `[ -w ]` is made to say what it says to others.
    script = complete / "tools/setup.sh"
    script.write_text(script.read_text().replace('[ ! -w "$cache" ]', "true"))
    shutil.rmtree(complete / ".venv")
    before = sorted(tmp_path.glob("shared/**/*"))
    again = run(complete, "tools/setup.sh", "run", SLUICE_CACHE=str(shared))
    assert (again.returncode, again.stdout) == (0, "")
    assert (complete / ".venv/bin/run").exists()
    assert sorted(tmp_path.glob("shared/**/*")) == before
    more = run(complete, "tools/setup.sh", "report", SLUICE_CACHE=str(shared))
    assert more.returncode == 0, more.stderr
    assert list((complete / ".venv/cache").glob("report-*"))


def test_a_home_that_cannot_be_written_to_is_left_alone(complete: Path) -> None:
    (complete / "home").touch()
    assert run(complete, "tools/setup.sh", "run").returncode == 0
    assert list((complete / ".venv/cache").glob("run-*"))


def test_on_macos_nothing_is_asked_for_that_is_not_there(scripts: Path) -> None:
    """A system with brew whose uname is Darwin."""
    add(scripts, "brew")
    add(scripts, "uname", "echo Darwin")
    done = run(scripts, "tools/setup.sh")
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if "install them with:" in line)
    assert {"flock", "coreutils", "qemu", "git"} <= set(line.split())
    assert {"blktrace", "bubblewrap", "glibc"}.isdisjoint(line.split())
    assert "need a container: see .devcontainer/Dockerfile" in done.stdout


def test_what_is_there_is_not_named(scripts: Path) -> None:
    """A system with dnf has the compiler and a gdb under names of their own, but no QEMU."""
    add(scripts, "dnf")
    for tool in ("gcc", "ld", "nm", "objdump"):
        add(scripts, f"riscv64-linux-gnu-{tool}")
    add(scripts, "gdb", KNOWS_RISCV)
    done = run(scripts, "tools/setup.sh", HOSTCC="cc -g")
    assert "HOSTCC" not in done.stdout
    assert "gcc-riscv64" not in done.stdout
    assert "binutils" not in done.stdout
    assert "gdb" not in done.stdout
    assert "qemu-system-riscv-core" in done.stdout
