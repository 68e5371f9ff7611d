"""The invariants of the design, section 2, read off the objects and sources."""

import re
from pathlib import Path

import pytest

from grade.objects import COMPILERS_OWN, Symbols, declared_functions, includes, symbols, tool
from grade.paths import BUILD, ROOT

# The layers from left to right; calls go right only, or stay in the layer. A
# file named in none is common: every layer may call it, it calls only common
# files. What a layer hands down as a function pointer (an interrupt's handler,
# io.done, a device's table) is not a call of its name.
LAYERS = [
    ["entry", "main", "trap"],
    ["syscall", "sysproc", "sysfile", "sys*"],
    ["exec", "proc"],
    ["file", "pipe"],
    ["dev", "procdev", "mountdev", "diskdev"],
    ["ext2_*"],
    ["prefetch", "bio", "bflush", "updated"],
    ["place"],
    ["disk", "queue", "detour"],
    ["drive", "drives"],
    ["virtio_blk"],
]
COMMON = len(LAYERS)

# What may be called from the right, and why that is no call of a layer.
SERVICES = {
    "disk_command_done": "the end of a command, from the driver's interrupt",
    "disk_plug": "holds back dispatch while that interrupt ends several",
    "disk_unplug": "and lets it go on",
    "kthread": "makes a process that has no files",
    "proc_kill_group": "marks processes, as ^C at the console",
    "proc_row": "a row of the process table, for /dev/proc",
    "text_read": "moves text to the reader of a device",
    "text_printf": "prints into that text",
    "ipi_send": "interrupts another hart",
    "trap_return": "where a new process begins",
    "start": "where a hart begins",
}

# "none" is a drive too.
DRIVES = {("drives.c", "none"), ("disk.c", "none")}

OBJECTS = sorted((BUILD / "kernel").glob("*.o"))
POLICIES = sorted((BUILD / "policies").glob("*/*.o"))
KERNEL_SOURCES = sorted([*ROOT.glob("kernel/*.[ch]"), *ROOT.glob("kernel/*.S")])


def stem(path: Path) -> str:
    return path.name.split(".")[0]


def layer(name: str) -> int:
    for i, patterns in enumerate(LAYERS):
        if any(Path(name).match(pattern) for pattern in patterns):
            return i
    return COMMON


@pytest.fixture(scope="module")
def table() -> dict[Path, Symbols]:
    return {path: symbols(path) for path in OBJECTS if stem(path) != "ksyms"}


def test_calls_between_layers_go_right_only(table: dict[Path, Symbols]) -> None:
    home = {name: stem(path) for path, s in table.items() for name in s.defined}
    wrong = [
        f"{stem(path)} calls {name} of {home[name]}"
        for path, s in table.items()
        for name in sorted(s.undefined & home.keys())
        if layer(home[name]) < layer(stem(path)) and name not in SERVICES
    ]
    assert not wrong, "\n".join(wrong)


def test_disk_and_below_know_no_files_and_bio_knows_no_inodes() -> None:
    first = layer("bio")
    wrong = [
        f"{stem(path)} includes {header}"
        for path in OBJECTS
        if stem(path) != "ksyms" and first <= layer(stem(path)) < COMMON
        for header in sorted(includes(path) & {"kernel/ext2.h", "kernel/file.h"})
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", POLICIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_policy_uses_only_what_policy_h_declares(path: Path) -> None:
    declared = declared_functions(ROOT / "kernel" / "policy.h")
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
    assert headers == ["kernel/policy.h"]


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
