"""The invariants of the design, section 2, read off the objects and sources."""

import re
from pathlib import Path

import pytest

from grade.objects import COMPILERS_OWN, Symbols, declared_functions, includes, symbols, tool
from grade.paths import BUILD, ROOT

# The rooms of the kernel, the lowest first; main.c is above them all. Calls go down only, or stay
# in the room. What a room hands down as a function pointer (an interrupt's handler, io.done, a
# device's table) is not a call of its name.
ROOMS = [
    *("base", "machine", "measure", "proc", "policy", "disk", "cache", "ext2", "file"),
    "kernel",
]

# Still to be cut.
UPWARD = """
file/trap uses boot_stacks of kernel/
ext2/data uses uio_move of file/
ext2/data uses uio_zero of file/
ext2/dir uses uio_move of file/
machine/clock uses mycpu of proc/
machine/irq uses mycpu of proc/
machine/lock uses mycpu of proc/
machine/lock uses myproc of proc/
machine/lock uses turns_give of proc/
machine/lock uses turns_init of proc/
machine/lock uses turns_wait of proc/
machine/panic uses cpus of proc/
machine/panic uses ipi_send of file/
machine/panic uses mycpu of proc/
measure/hist uses text_printf of file/
measure/hist uses text_read of file/
measure/prochist uses myproc of proc/
measure/prochist uses text_printf of file/
measure/prochist uses text_read of file/
measure/stat uses policy_counters_each of policy/
measure/stat uses text_printf of file/
measure/stat uses text_read of file/
measure/trace uses text_printf of file/
measure/trace uses text_read of file/
policy/registry uses text_printf of file/
policy/registry uses text_read of file/
policy/registry uses uio_move of file/
proc/proc uses exec of file/
proc/proc uses ext2_shutdown of ext2/
proc/proc uses file_close of file/
proc/proc uses file_dup of file/
proc/proc uses file_open_device of file/
proc/proc uses idup of ext2/
proc/proc uses iput of ext2/
proc/proc uses namei of ext2/
proc/proc uses trap_return of file/
proc/runqueue uses ipi_send of file/
"""

# "none" is a drive too.
DRIVES = {("drives.c", "none"), ("disk.c", "none")}

OBJECTS = sorted(p for p in (BUILD / "kernel").rglob("*.o") if p.stem != "ksyms")
POLICIES = sorted((BUILD / "policies").glob("*/*.o"))
KERNEL_SOURCES = sorted(ROOT.glob("kernel/**/*.[chS]"))


def stem(path: Path) -> str:
    return path.name.split(".")[0]


def height(path: Path) -> int:
    return ROOMS.index(path.parent.name)


@pytest.fixture(scope="module")
def table() -> dict[Path, Symbols]:
    return {path: symbols(path) for path in OBJECTS}


def test_calls_between_rooms_go_down_only(table: dict[Path, Symbols]) -> None:
    home = {name: path for path, s in table.items() for name in s.defined}
    wrong = {
        f"{path.parent.name}/{stem(path)} uses {name} of {home[name].parent.name}/"
        for path, s in table.items()
        for name in s.undefined & home.keys()
        if height(home[name]) > height(path)
    }
    assert wrong == set(UPWARD.split("\n")) - {""}


def test_disk_and_below_know_no_files_and_bio_knows_no_inodes() -> None:
    wrong = [
        f"{stem(path)} includes {header}"
        for path in OBJECTS
        if height(path) <= ROOMS.index("cache")
        for header in sorted(includes(path) & {"kernel/ext2/ext2.h", "kernel/file/file.h"})
        if path.parent.name != "proc"
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", POLICIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_policy_uses_only_what_policy_h_declares(path: Path) -> None:
    declared = declared_functions(ROOT / "kernel" / "policy" / "policy.h")
    assert {"flush_all", "queue_at_or_after"} <= declared
    used = symbols(path).undefined - COMPILERS_OWN
    assert used <= declared, f"not in policy.h: {sorted(used - declared)}"


@pytest.mark.parametrize("path", POLICIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_policy_takes_no_lock_and_touches_no_kernel_list(path: Path) -> None:
    source = ROOT / "policies" / path.parent.name / f"{path.stem}.c"
    code = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", source.read_text(), flags=re.S)
    kernels = r"\b(spin_\w+|sleep_\w+|by_sector|by_age)\b|(->|\.)(sorted|arrived)\b"
    found = [match[0] for match in re.finditer(kernels, code)]
    assert not found, f"{source.name} uses {found}"
    headers = re.findall(r'#include [<"]([^>"]+)', source.read_text())
    assert headers == ["kernel/policy/policy.h"]


def test_no_kernel_file_names_a_policy_except_one_default_per_kind() -> None:
    names = {path.stem for path in ROOT.glob("policies/*/*.c")}
    symbols_of_policies = {name for path in POLICIES for name in symbols(path).defined}
    assert not symbols_of_policies, "a policy is reached through its table only"
    named: dict[str, list[str]] = {}
    for source in KERNEL_SOURCES:
        code = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.S)
        for literal in re.findall(r'"([^"\n]*)"', code):
            if literal in names and (source.name, literal) not in DRIVES:
                named.setdefault(source.name, []).append(literal)
    kinds = [path.name for path in (ROOT / "policies").iterdir()]
    assert list(named) == ["registry.c"], named
    assert len(named["registry.c"]) == len(kinds), named


def test_only_clock_reads_a_clock() -> None:
    """And machine mode, which holds the trace's times against it."""
    reads = re.compile(r"\b(rdtimeh?|rdcycle|rdinstret|c?s?time|stimecmp|mcycle|cycle)\b")
    readers = set()
    for path in [*OBJECTS, *POLICIES]:
        code = tool("objdump", "-d", "--no-show-raw-insn", path)
        instructions = (line.split("\t", 1)[1] for line in code.splitlines() if "\t" in line)
        if any(reads.search(line.split("#")[0].split("<")[0]) for line in instructions):
            readers.add(stem(path))
    assert readers == {"clock", "entry"}


def test_grade_uses_the_console_the_dev_files_and_the_image_only() -> None:
    doors = re.compile(r"-qmp|-gdb\b|pmemsave|virtio-9p|hostfwd|semihosting")
    users = [
        path.name
        for path in (ROOT / "grade").glob("*.py")
        if doors.search(re.sub(r'""".*?"""', "", path.read_text(), flags=re.S))
    ]
    assert not users
    assert '"-monitor", "none"' in (ROOT / "grade" / "machine.py").read_text()
