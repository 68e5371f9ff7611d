"""`sluice dev search --mutants`: leave out statements by rule, and see which the search misses.

A rule names a kind of statement: each statement of the sources that it matches is left out once.
The changed file is compiled and linked with all others, and the configurations below are searched
until one shows a counterexample. What none shows is in mutants.toml with the reason, or the command
fails.
"""

import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.host.paths import ROOT
from tools.mutants.change import Change, Source
from tools.search import coverage
from tools.search.searcher import FOUND, Configuration, run_search

LISTED = Path(__file__).with_name("mutants.toml")
COMPILE, LINK = (ROOT / "build" / f"search{part}.command" for part in ("", ".link"))
LEFT_ALONE = {  # files of the rooms whose statements no configuration reaches, and why
    "kernel/cache/prefetch.c": "no file is read",
    "kernel/cache/readers.c": "no file is read",
    "kernel/disk/model.c": "no drive is modelled",
    "kernel/disk/wait.c": "no transfer bypasses the cache",
}
RULES = {  # by name: what a statement has in it that is left out
    "lock": r"\bspin_(un)?lock\(|\bHOLD\(spin",
    "wakeup": r"\bwakeup\(|\bupdate_ask_again\(|\bwait_queue_hand_off\(",
    "flag": r"\bflags (\|=|&=)",
    "list": r"\blist_(push_back|push_front|remove|insert_before)\(",
    "count": r"^\W*(bcache\.|d->|q->|\w+->flush->)\w+(\[[^;]*\])?(\+\+|--| [-+]=)",
}
CAUGHT, MISSED, NO_CODE = "caught", "not caught", "no code"
STATES = 30_000  # of one configuration: not a time, so that each host finds the same

CONFIGURATIONS = (
    Configuration(("D0 D1 F", "R2 W0")),
    Configuration(("D0 D1", "R2 D3"), buffers=2, depth=1),
    Configuration(("J0 K F", "J0 D1")),
    Configuration(("L12 P12 N1", "D1 X1 U2")),
    Configuration(("D0 S0 O1", "A1 M2")),
    Configuration(("D0 F", "R1"), failures=1),
    Configuration(("D0 use:update:aipu use:replace:clock use:write:through", "D1")),
    Configuration(("D0", "R1 W0"), pauses=1),
    Configuration(("D0 D1", "R2"), buffers=2, depth=1, args="replace=cflru"),
    Configuration(("D0 M1", "M2 F"), args="write=oaw oaw.delay=1"),
    Configuration(("R0 R0", "P01"), failures=1),
    Configuration(("D0 M0", "D1 O1"), args="update=linux"),
    Configuration(("D0", "M1"), args="update=sprite"),
    Configuration(("M0", "D1"), args="update=svr4 svr4.autoup_s=2"),
    Configuration(("D0",), args="update=ipu"),
    Configuration(("D0 M0", "O2"), args="write=delayed"),
    Configuration(("R0 R1 use:replace:clock R2", "R3 D1"), buffers=3),
    Configuration(("D0 D1", "M2 M3"), args="write=throttled"),
    Configuration(("D0 D1", "R2"), args="sched=opportunistic"),
    Configuration(("D0 use:sched:scan R2", "W1"), args="sched=wow"),
    Configuration(("D0 R2", "D1"), buffers=2, depth=1, failures=3),
    Configuration(("A0 A1 A2", "R3 W0"), args="cluster_kb=1", live=True),
)


@dataclass(frozen=True)
class Mutant:
    """A statement left out by a rule."""

    rule: str
    change: Change

    def __str__(self) -> str:
        where = f"{self.change.file}:{self.change.line}"
        return f"{self.rule}: {where}: {self.change.function}: `{self.change.old}` left out"

    def reason(self) -> str:
        """Return why the search need not catch it, or "" if no reason is listed."""
        for row in load_reasons():
            names = (self.change.file, self.change.function, self.change.old)
            if names == (row["file"], row["function"], row["old"]):
                return row["reason"]
        return ""


@dataclass(frozen=True)
class Tried:
    """The outcome of a mutant: its state, and the violation or the reason."""

    mutant: Mutant
    state: str
    why: str


def load_reasons() -> list[dict[str, str]]:
    """Return the rows of mutants.toml."""
    rows: list[dict[str, str]] = tomllib.loads(LISTED.read_text(encoding="utf-8"))["mutant"]
    return rows


def sources() -> Iterator[Source]:
    """Yield the sources to which the rules are applied: those of the rooms, except LEFT_ALONE."""
    for room in coverage.ROOMS:
        for path in sorted((ROOT / room).glob("*.c")):
            name = path.relative_to(ROOT).as_posix()
            if name not in LEFT_ALONE:
                yield Source(name, path.read_text(encoding="utf-8"))


def apply_rules(source: Source) -> list[Mutant]:
    """Return the mutants of a source."""
    return [
        Mutant(name, change)
        for change in source.list_changes()
        for name, pattern in RULES.items()
        if change.new == ";" and re.search(pattern, change.old)
    ]


def list_mutants(rule: str = "") -> list[Mutant]:
    """Return all mutants of a rule, or of all rules."""
    found = [mutant for source in sources() for mutant in apply_rules(source)]
    return [mutant for mutant in found if rule in ("", mutant.rule)]


def build(change: Change, folder: Path) -> Path | None:
    """Return the search for a kernel with this change, or None if that does not compile."""
    source = (ROOT / change.file).read_text(encoding="utf-8")
    changed, part, program = (folder / name for name in ("changed.c", "changed.o", "search"))
    changed.write_text(change.apply(source), encoding="utf-8")
    compiler = shlex.split(COMPILE.read_text(encoding="utf-8"))
    include = f"-I{(ROOT / change.file).parent}"
    made = [*compiler, "-Wno-error", "-w", include, "-c", "-o", str(part), str(changed)]
    if subprocess.run(made, cwd=ROOT, capture_output=True, check=False).returncode:
        return None
    was = str(Path("build/search") / Path(change.file).with_suffix(".o"))
    words = shlex.split(LINK.read_text(encoding="utf-8"))
    link = [str(part) if word == was else word for word in words]
    subprocess.run([*link, "-o", str(program)], cwd=ROOT, capture_output=True, check=True)
    return program


def try_mutant(mutant: Mutant) -> Tried:
    """Build a mutant and search the configurations until one has a counterexample."""
    with tempfile.TemporaryDirectory(prefix="sluice-search-") as name:
        program = build(mutant.change, Path(name))
        if not program:
            return Tried(mutant, NO_CODE, "it does not compile")
        for configuration in CONFIGURATIONS:
            outcome = run_search(replace(configuration, states=STATES), program)
            if outcome.status == FOUND:
                steps = outcome.values["path"].count(",") + 1
                return Tried(mutant, CAUGHT, f"{outcome.values['violation']} ({steps} steps)")
            if outcome.status:
                return Tried(mutant, CAUGHT, outcome.error or f"it ends by {outcome.status}")
    return Tried(mutant, MISSED, mutant.reason())


def count_tried(found: list[Tried]) -> list[list[str]]:
    """Return a head, a row for each rule, and one for all."""
    rows = [["rule", "mutants", "caught", "listed", "not listed"]]
    for rule in (*RULES, "all"):
        here = [tried for tried in found if rule in (tried.mutant.rule, "all")]
        states = Counter(tried.state for tried in here)
        listed = sum(tried.state == MISSED and bool(tried.why) for tried in here)
        judged = len(here) - states[NO_CODE]
        counts = (judged, states[CAUGHT], listed, states[MISSED] - listed)
        rows.append([rule, *(str(n) for n in counts)])
    return rows


def is_wrong(tried: Tried) -> bool:
    """Return True if a mutant is neither caught nor listed, or both."""
    missed = tried.state == MISSED and not tried.why
    return missed or (tried.state == CAUGHT and bool(tried.mutant.reason()))


def describe(tried: Tried) -> str:
    """Return a line about a mutant. A mark says if it is neither caught nor listed, or both."""
    mark = "  <- list the reason, or take it off the list" if is_wrong(tried) else ""
    return f"{tried.state}: {tried.mutant}: {tried.why or 'no reason is listed'}{mark}"


def run_mutants(jobs: int) -> tuple[int, list[list[str]]]:
    """Try all mutants, `jobs` at a time, and print each. Returns the exit status, and the counts.

    The status is 1 if one is neither caught nor listed with a reason, or is listed and caught.
    """
    mutants = list_mutants()
    print(f"{len(mutants)} statements are left out, each alone", file=sys.stderr, flush=True)
    found: list[Tried] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for tried in pool.map(try_mutant, mutants):
                found.append(tried)
                print(describe(tried), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            print("\n".join(format_table(count_tried(found))), flush=True)
            raise KeyboardInterrupt(f"mutants tried so far: {len(found)}") from None
    print("\n".join(format_table(count_tried(found))), flush=True)
    return int(any(is_wrong(tried) for tried in found)), count_tried(found)
