"""The invariants of ARCHITECTURE.md about layers, which are read off the compiled objects and the
sources: who may call, include and name whom.

A room is a folder of kernel/, a kind a folder of policies/. An object's symbols say which functions
it defines, and which others it uses.
"""

import re
from pathlib import Path

import pytest

from book.ext.architecture import read_architecture
from grade.code import elf
from grade.code.objects import (
    COMPILERS_OWN,
    Symbols,
    declared_functions,
    included_headers,
    read_symbols,
    run_tool,
)
from sluice.host.paths import BUILD, ROOT
from sluice.host.reading import find_part

pytestmark = pytest.mark.check

# The rooms of the kernel, the highest first, are in book/architecture.toml; main.c and entry.S are
# above them all. Calls go down only, or stay in the room. What a room hands down as a function
# pointer (an interrupt's handler, io.done, a device's table) is no call of its name.
ROOMS = ["kernel", *read_architecture()["rooms"]]

# Where "none" names a drive, not the prefetch policy of that name.
DRIVES = {("model.c", "none"), ("disk.c", "none")}

OBJECTS = sorted(p for p in (BUILD / "kernel").rglob("*.o") if p.stem != "ksyms")
OF_POLICIES = sorted((BUILD / "policies").glob("*/*.o"))
SHARED = [path for path in OF_POLICIES if path.parent.name == "lib"]
POLICIES = [path for path in OF_POLICIES if path not in SHARED]
KINDS = sorted({path.parent.name for path in POLICIES})
# The headers for policies of all kinds, and the kinds whose calls another kind may use, too.
COMMON = {"kernel/policy/common.h", "kernel/policy/position.h"}
BESIDES = {"write": "update", "place": "sched"}
MOST_LINES = 80  # a kind's header fits a page
KERNEL_SOURCES = sorted(ROOT.glob("kernel/**/*.[chS]"))


def stem(path: Path) -> str:
    """Return a file's name without its ending."""
    return path.name.split(".")[0]


def depth(path: Path) -> int:
    """Return a file's layer: the index of its room, 0 for the highest."""
    return ROOMS.index(path.parent.name)


def test_architecture_toml_names_every_room_and_no_other() -> None:
    folders = {path.name for path in (ROOT / "kernel").iterdir() if path.is_dir()}
    assert sorted(ROOMS[1:]) == sorted(folders)


def test_architecture_toml_names_every_kind_and_the_function_that_asks_it() -> None:
    """The function's body must call a hook of a policy of that kind."""
    kinds = read_architecture()["kinds"]
    assert sorted(kinds) == sorted({path.parent.name for path in POLICIES})
    for kind, (_question, file, function) in kinds.items():
        lines = (ROOT / "kernel" / file).read_text().splitlines()
        piece = find_part(lines, function)
        assert piece, f"{file} has no {function}"
        body = "\n".join(lines[piece[0] - 1 : piece[1]])
        assert re.search(rf"hooks|->{kind}\b|\b{kind}\(\)->", body), f"{function} has no hook"


@pytest.fixture(scope="module")
def table() -> dict[Path, Symbols]:
    """Return the symbols of each object of the kernel."""
    return {path: read_symbols(path) for path in OBJECTS}


def test_calls_between_rooms_go_down_only(table: dict[Path, Symbols]) -> None:
    """An object uses a name that it does not define; the room that defines it must not be above."""
    home = {name: path for path, s in table.items() for name in s.defined}
    wrong = []
    for path, symbols in table.items():
        for name in sorted(symbols.undefined & home.keys()):
            if depth(home[name]) < depth(path):
                room = home[name].parent.name
                wrong.append(f"{path.parent.name}/{stem(path)} uses {name} of {room}/")
    assert not wrong, "\n".join(wrong)


def test_a_file_includes_headers_of_its_room_and_of_those_below_only() -> None:
    wrong = [
        f"{path.parent.name}/{path.name} includes {header}"
        for path in KERNEL_SOURCES
        for header in re.findall(r'^#include "(kernel/[^"]+)"', path.read_text(), re.M)
        if depth(ROOT / header) < depth(path)
    ]
    assert not wrong, "\n".join(wrong)


# The imitated drives are hardware: they know neither a disk nor a queue.
OF_DRIVES = sorted((BUILD / "drives").rglob("*.o"))
DRIVE_H = "kernel/disk/drive.h"


def test_the_drives_use_nothing_of_the_kernel_but_their_boundary() -> None:
    """An object of the drives uses what drives define, and the linker's marks around the tables of
    drives. A source includes drive.h, which is the boundary, and headers of drives."""
    assert {"drive", "flash", "rz58"} <= {stem(path) for path in OF_DRIVES}
    theirs = set().union(*(read_symbols(path).defined for path in OF_DRIVES))
    for path in OF_DRIVES:
        ours = read_symbols(path).undefined - COMPILERS_OWN
        assert ours <= {"__start_drives", "__start_drive_files", "__stop_drives"} | theirs, (
            f"{path.name} uses {ours}"
        )
    own = {f"drives/{path.name}" for path in (ROOT / "drives").glob("*.h")}
    sources = [ROOT / path.relative_to(BUILD).with_suffix(".c") for path in OF_DRIVES]
    for source in (*sources, *(ROOT / name for name in own)):
        headers = re.findall(r'^#include "([^"]+)', source.read_text(), re.M)
        assert set(headers) <= {DRIVE_H} | own, f"{source.name} includes {headers}"


def header_of(kind: str) -> str:
    """Return the header of a kind."""
    return f"kernel/policy/{kind}.h"


def list_declared(headers: set[str]) -> set[str]:
    """Return what these headers declare."""
    return set().union(*(declared_functions(ROOT / header) for header in headers))


@pytest.mark.parametrize("path", POLICIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_policy_uses_only_what_its_kind_and_the_library_declare(path: Path) -> None:
    """A policy's object must define itself all functions that no header which it may use
    declares."""
    kind = path.parent.name
    kinds = {header_of(kind), header_of(BESIDES.get(kind, kind))}
    library = {header for header in included_headers(path) if header.startswith("policies/lib/")}
    used = read_symbols(path).undefined - COMPILERS_OWN
    declared = list_declared(COMMON | kinds | library)
    assert used <= declared, f"not in {kind}.h or policies/lib: {sorted(used - declared)}"


def test_the_headers_of_the_kinds_declare_what_policies_call() -> None:
    """Otherwise the test of what policies use would pass with empty headers."""
    assert "flush_all" in list_declared({header_of("update")})
    assert "queue_at_or_after" in list_declared({header_of("sched")})
    assert "queue_approach" in list_declared(COMMON)


@pytest.mark.parametrize("kind", KINDS)
def test_the_header_of_a_kind_is_a_page(kind: str) -> None:
    lines = (ROOT / header_of(kind)).read_text().splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[1].startswith(f" * The {kind} kind answers: ")


@pytest.mark.parametrize("path", SHARED, ids=lambda p: p.stem)
def test_what_policies_share_uses_policy_h_and_the_library_and_is_no_policy(path: Path) -> None:
    """A file of policies/lib uses only what headers of kinds and of the library declare, defines
    what its own header declares, and registers no policy. Two files do not include each other."""
    own = f"policies/lib/{path.stem}.h"
    theirs = {header for header in included_headers(path) if header.startswith("policies/")}
    others = theirs - {own, f"policies/lib/{path.stem}.c"}
    assert all(header.startswith("policies/lib/") for header in others)
    below = [other for other in SHARED if f"policies/lib/{other.stem}.h" in others]
    assert not [other for other in below if own in included_headers(other)], "a cycle"
    assert declared_functions(ROOT / own) == read_symbols(path).defined
    kinds = {header_of(kind) for kind in KINDS}
    assert read_symbols(path).undefined - COMPILERS_OWN <= list_declared(COMMON | kinds | others)
    assert "policies" not in [section.name for section in elf.read(path).sections]


@pytest.mark.parametrize("path", OF_POLICIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_policy_takes_no_lock_and_touches_no_kernel_list(path: Path) -> None:
    """The names of locks' functions and of the kernel's lists are not in its code. It includes its
    kind's header and headers of the library, and no other."""
    source = ROOT / "policies" / path.parent.name / f"{path.stem}.c"
    code = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", source.read_text(), flags=re.S)
    kernels = r"\b(spin_\w+|sleep_\w+|by_sector|by_age)\b|(->|\.)(sorted|arrived)\b"
    found = [match[0] for match in re.finditer(kernels, code)]
    assert not found, f"{source.name} uses {found}"
    headers = re.findall(r'#include [<"]([^>"]+)', source.read_text())
    theirs = [header for header in headers if not re.fullmatch(r"policies/lib/\w+\.h", header)]
    assert theirs == ([] if path in SHARED else [header_of(path.parent.name)])


@pytest.mark.parametrize("path", POLICIES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_policy_reaches_its_tunables_and_counters_by_name(path: Path) -> None:
    """An index is the name of an enum's constant, not a number."""
    source = (ROOT / "policies" / path.parent.name / f"{path.stem}.c").read_text()
    assert not re.findall(r"\b(?:tunables|counters)\[\d", source)


@pytest.mark.parametrize("path", sorted(ROOT.glob("policies/lib/*.h")), ids=lambda p: p.stem)
def test_a_header_that_policies_share_includes_one_header_of_the_kernel(path: Path) -> None:
    (header,) = re.findall(r'#include [<"]([^>"]+)', path.read_text())
    assert header in {*COMMON, *map(header_of, KINDS)}


def test_no_kernel_file_names_a_policy_except_one_default_per_kind() -> None:
    names = {path.stem for path in POLICIES}
    symbols_of_policies = {name for path in POLICIES for name in read_symbols(path).defined}
    assert not symbols_of_policies, "a policy is reached through its table only"
    named: dict[str, list[str]] = {}
    for source in KERNEL_SOURCES:
        code = re.sub(r"/\*.*?\*/", "", source.read_text(), flags=re.S)
        for literal in re.findall(r'"([^"\n]*)"', code):
            if literal in names and (source.name, literal) not in DRIVES:
                named.setdefault(source.name, []).append(literal)
    kinds = {path.parent.name for path in POLICIES}
    assert list(named) == ["registry.c"], named
    assert len(named["registry.c"]) == len(kinds), named  # the default of each kind


def test_only_clock_reads_a_clock() -> None:
    """The disassembled objects are searched for instructions that read a clock. Only counter.c has
    them, and entry.S, because machine mode checks the times in the trace."""
    reads = re.compile(r"\b(rdtimeh?|rdcycle|rdinstret|c?s?time|stimecmp|mcycle|cycle)\b")
    readers = set()
    for path in [*OBJECTS, *OF_POLICIES, *OF_DRIVES]:
        code = run_tool("objdump", "-d", "--no-show-raw-insn", path)
        instructions = (line.split("\t", 1)[1] for line in code.splitlines() if "\t" in line)
        if any(reads.search(line.split("#")[0].split("<")[0]) for line in instructions):
            readers.add(stem(path))
    assert readers == {"counter", "entry"}


# What a file's text has if the file reads a machine's memory, or lets another program in (as gdb).
DOORS = re.compile(
    r"-qmp|\s-gdb\b|\"-gdb\"|^import gdb$|target remote|mem-path|mmap\.mmap|memory\.open"
    r"|pmemsave|virtio-9p|hostfwd|semihosting",
    re.M,
)
# The files that may do so, each with its reason (ARCHITECTURE.md, invariant 6).
LOOK_INSIDE = {
    "sluice/system/guest.py": "keeps a machine's memory, with its RAM disks, in a file",
    "sluice/system/trace.py": "reads the trace, which is in the machine's memory",
    "sluice/twin/engine.py": "reads where in a twin's memory its trace is",
    "sluice/experiment/trial.py": "finds on a disk's image where a script is to be put",
    "tools/machine_mode/machines.py": "proves what machine mode does to all of memory",
    "grade/engine/evidence.py": "holds a submission's memory against its file: it is not believed",
    "grade/engine/workbench.py": "opens gdb for a person who asks for it, GDB=1",
    "grade/labs/first-block/solution.py": "finds what gdb shows, which the lab asks for",
    "tools/gdb/sluice.py": "is gdb's commands, which a person types",
    "tools/gdb/connect.py": "attaches the gdb that a person or an editor has started",
    "tools/gdb/replay.py": "stops a run that is made again, for a person; no result depends on it",
    "sluice/blocks/decoded.py": "has the set of a trace's blocks in memory of its own",
    "sluice/debug/launch.py": "starts the machine of that run for gdb",
    "sluice/network/host.py": "hands UDP of the host to live machines, for a person who asks",
    "tests/system/test_gdb.py": "tests them",
    "tests/system/test_nfs.py": "is a client of what a machine serves by its network",
    "tests/system/test_remote_cut.py": "joins a machine that serves to one that has mounted it",
    "tests/grade/test_escape.py": "makes memories that evidence.py must refuse",
    "tests/grade/test_scoring.py": "makes memories that evidence.py must refuse",
    "tests/kernel/test_layers.py": "names the doors",
}


def test_the_host_uses_the_console_the_dev_files_the_trace_and_the_image_only() -> None:
    """DOORS are other ways to look into a machine; LOOK_INSIDE has the few files that use one."""
    users = {
        path.relative_to(ROOT).as_posix()
        for top in ("sluice", "grade", "book", "tests", "tools")
        for path in (ROOT / top).rglob("*.py")
        if DOORS.search(re.sub(r'""".*?"""', "", path.read_text(), flags=re.S))
    }
    assert users == set(LOOK_INSIDE)
    assert '"-monitor", "none"' in (ROOT / "sluice" / "system" / "qemu.py").read_text()
