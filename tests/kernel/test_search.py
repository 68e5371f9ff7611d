"""The search over all that may come next in a small cache (tools/search/explore.c): it visits every
state of a configuration and finds nothing wrong with this kernel, and it finds each planted fault,
with a story whose end names what failed."""

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, ROOT

pytestmark = pytest.mark.xdist_group("search")  # one process builds it
SEARCH = BUILT / "search" / "search"
CACHE = ("--blocks", "4", "--buffers", "4", "--depth", "2")
SMALL = ("--blocks", "4", "--buffers", "2", "--depth", "1")
LIMIT = ("--milliseconds", "20000")


@dataclass(frozen=True)
class Configuration:
    """A search that ends: its options and programs, and at least how many states there are."""

    options: tuple[str, ...]
    programs: tuple[str, ...]
    states: int


COMPLETE = {
    "pu": Configuration((*CACHE, "--args", "update=pu"), ("D0 F", "R1 W0"), 1000),
    "pauses": Configuration((*CACHE, "--pauses", "1"), ("D0", "R1"), 1000),
    "failures": Configuration((*CACHE, "--failures", "1"), ("D0", "R1"), 500),
    "few buffers": Configuration(SMALL, ("D0 D1", "R2 D3"), 2000),
    "aipu": Configuration(
        (*CACHE, "--args", "update=aipu aipu.age_ms=3000"), ("D0", "R1 D0"), 1000
    ),
    "a swap": Configuration(CACHE, ("D0 use:update:aipu", "D1"), 500),
}


@dataclass(frozen=True)
class Fault:
    """A change of a source that the search must find."""

    file: str
    old: str
    new: str
    found: str  # what the story's end must say
    options: tuple[str, ...] = CACHE
    programs: tuple[str, ...] = ("D0 D1 F", "R2")


FAULTS = {
    "a dropped wakeup": Fault(
        "kernel/cache/bio.c",
        "    wakeup(&b->io);\n",
        "",
        "waits for ever: no transfer, timer or process is left",
    ),
    "an off-by-one": Fault(
        "kernel/cache/bio.c",
        "bcache.holders >= bcache.nbufs / BUFFERS_HELD",
        "bcache.holders > bcache.nbufs / BUFFERS_HELD",
        "invariant 8: 2 processes hold buffers, which are too few",
        SMALL,
        ("R0", "R1"),
    ),
    "swapped lines": Fault(
        "kernel/cache/delayed.c",
        "    b->flags |= B_DELWRI | B_VALID;\n    buf_let_go(b);\n",
        "    buf_let_go(b);\n    b->flags |= B_DELWRI | B_VALID;\n",
        "invariant 5: block 0 is evictable, and should not be",
    ),
    "a dropped lock": Fault(
        "kernel/cache/bio.c",
        "        spin_lock(&bcache.lock);\n"
        "        buf_prepare(b, B_READ, true);\n"
        "        b->io.alone = further->apart;\n"
        "        spin_unlock(&bcache.lock);\n",
        "        buf_prepare(b, B_READ, true);\n        b->io.alone = further->apart;\n",
        "a buffer has changed without the lock bcache",
    ),
    "a lost request": Fault(
        "kernel/disk/merge.c",
        "        io_set_next(c->last, io);\n",
        "",
        "is with nobody: it was lost",
    ),
}


@pytest.fixture(scope="module")
def search() -> Path:
    """Return the search, built for this tree."""
    line = ["make", "SETUP=no", str(SEARCH.relative_to(ROOT))]
    made = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S)
    assert not made.returncode, made.stdout + made.stderr
    return SEARCH


def run(program: Path, *words: str) -> list[str]:
    """Return the lines that a search prints."""
    ran = subprocess.run([program, *words], capture_output=True, text=True, timeout=HANG_S)
    assert ran.returncode in (0, 1), ran.stderr
    return ran.stdout.splitlines()


def value(lines: list[str], name: str) -> str:
    """Return what follows the name at the beginning of a line."""
    return next((line[len(name) + 1 :] for line in lines if line.startswith(f"{name} ")), "")


def plant(fault: Fault, search: Path, folder: Path) -> Path:
    """Return the search for a kernel with this fault."""
    source = (ROOT / fault.file).read_text(encoding="utf-8")
    assert source.count(fault.old) == 1, f"{fault.file} has changed"
    (folder / "changed.c").write_text(source.replace(fault.old, fault.new), encoding="utf-8")
    compiler = shlex.split((BUILT / "search.command").read_text(encoding="utf-8"))
    part = folder / "changed.o"
    made = [*compiler, "-c", "-o", str(part), str(folder / "changed.c")]
    subprocess.run(made, cwd=ROOT, check=True, timeout=HANG_S)
    link = shlex.split((BUILT / "search.link.command").read_text(encoding="utf-8"))
    was = str((search.parent / fault.file).relative_to(ROOT).with_suffix(".o"))
    assert was in link
    parts = [str(part) if word == was else word for word in link]
    subprocess.run([*parts, "-o", folder / "search"], cwd=ROOT, check=True, timeout=HANG_S)
    return folder / "search"


@pytest.mark.parametrize("name", COMPLETE)
def test_nothing_is_wrong_in_any_state(name: str, search: Path) -> None:
    wanted = COMPLETE[name]
    lines = run(search, *wanted.options, *LIMIT, *wanted.programs)
    assert value(lines, "result") == "complete", lines
    assert value(lines, "left") == "0"
    assert int(value(lines, "states")) > wanted.states
    assert int(value(lines, "quiet")) > 0, "no program came to its end"


def test_a_state_does_not_depend_on_the_way_to_it(search: Path) -> None:
    """The same search comes to the same states, at whatever addresses."""
    words = (*CACHE, *LIMIT, "D0 D1", "R0")
    counts = {value(run(search, *words), "states") for _ in range(3)}
    assert len(counts) == 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, search: Path, tmp_path: Path) -> None:
    fault = FAULTS[name]
    right = run(search, *fault.options, "--states", "3000", *fault.programs)
    assert value(right, "result") in ("complete", "stopped")
    broken = plant(fault, search, tmp_path)
    lines = run(broken, *fault.options, *LIMIT, *fault.programs)
    assert value(lines, "result") == "violation", lines
    assert fault.found in value(lines, "violation")
    path = value(lines, "path")
    story = run(broken, *fault.options, "--replay", path, *fault.programs)
    assert story[-1] == f"violation {value(lines, 'violation')}"
    steps = [line for line in story if line.startswith("step ")]
    assert len(steps) == path.count(",") + 1


def test_a_path_that_is_not_possible_is_refused(search: Path) -> None:
    ran = subprocess.run([search, *CACHE, "--replay", "e0", "D0"], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "step 1 is not possible here: e0" in ran.stderr
