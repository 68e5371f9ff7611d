"""The search over all that may come next in a small cache (tools/search/explore.c): it visits every
state of a configuration and finds nothing wrong with this kernel, and it finds each planted fault,
with a story whose end names what failed.

A configuration is a cache, a disk and programs, one for each process. A program is a text of steps:
R0 reads block 0; D0, A0 and W0 modify it by a delayed, an asynchronous and a synchronous write; F
flushes; J0 pins it, K lets what is pinned become dirty; g0 takes a buffer, which r0 or d0 releases
unchanged or dirty (tools/search/programs.c has all steps). The search prints lines that begin with
a name: result, states, violation, path and so on.
"""

import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sluice.host import page_tables
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, ROOT
from tools.mutants.change import Source
from tools.search import command, coverage, mutants, search_page, searcher
from tools.search.searcher import Configuration, Outcome

pytestmark = pytest.mark.xdist_group("search")  # one process builds it
SEARCH = BUILT / "search" / "search"
CACHE = ("--blocks", "4", "--buffers", "4", "--depth", "2")  # depth: of the drive's queue
SMALL = ("--blocks", "4", "--buffers", "2", "--depth", "1")
LIMIT = ("--milliseconds", "20000")  # for the search


@dataclass(frozen=True)
class Search:
    """A search that ends: its options and programs, and at least how many states there are."""

    options: tuple[str, ...]
    programs: tuple[str, ...]
    states: int


COMPLETE = {
    "pu": Search((*CACHE, "--args", "update=pu"), ("D0 F", "R1 W0"), 1000),
    "pauses": Search((*CACHE, "--pauses", "1"), ("D0", "R1"), 1000),
    "failures": Search((*CACHE, "--failures", "1"), ("D0", "R1"), 500),
    "few buffers": Search(SMALL, ("D0 D1", "R2 D3"), 2000),
    "aipu": Search((*CACHE, "--args", "update=aipu aipu.age_ms=3000"), ("D0", "R1 D0"), 1000),
    "bsd_syncer": Search((*CACHE, "--args", "update=bsd_syncer"), ("D0",), 2000),
    "wtinylfu": Search((*CACHE, "--args", "replace=wtinylfu"), ("D0 R1", "R2"), 500),
    "pins": Search(CACHE, ("J0 K F", "J0 D1"), 1000),
    "kept, or not": Search((*CACHE, "--failures", "1"), ("g0 r0", "g0 d0"), 500),
    "live": Search((*CACHE, "--live", "1", "--args", "cluster_kb=1"), ("A0 A1 F", "R2"), 1000),
    "a swap": Search(CACHE, ("D0 use:update:aipu", "D1"), 500),
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


NO_MEMORY = Fault(
    "kernel/policy/registry.c",
    '            return "it needs more memory in one piece than is left: lower nbuf";\n',
    "            return NULL;\n",
    "use replace arc: there was no memory, and nobody was told",
    (*CACHE, "--shortages", "1"),
    ("D0 use:replace:arc", "R1 D2"),
)
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
        "    if (!valid) {\n"
        "        buf_prepare(b, B_READ, true);\n"
        "        b->io->alone = further->separate;\n"
        "    }\n"
        "    spin_unlock(&bcache.lock);\n",
        "    spin_unlock(&bcache.lock);\n"
        "    if (!valid) {\n"
        "        buf_prepare(b, B_READ, true);\n"
        "        b->io->alone = further->separate;\n"
        "    }\n",
        "the cache has changed without the lock bcache",
    ),
    "a lost request": Fault(
        "kernel/disk/dispatch.c",
        "        io_set_next(c->last, io);\n",
        "",
        "is with nobody: it was lost",
    ),
    "a write that gathers, with nothing under way": Fault(
        "kernel/disk/disk.c",
        "    if (!d->in_flight || !io->request.write || io->request.waited ||\n",
        "    if (!io->request.write || io->request.waited ||\n",
        "requests are queued, and the drive is idle for ever",
        (*CACHE, "--live", "1", "--args", "cluster_kb=1"),
        ("A0", "R0"),
    ),
    "a block that is left too long": Fault(
        "policies/update/ldcl.c",
        "    last.age_s = tunables[AGE_S].value;\n",
        "    last.age_s = tunables[AGE_S].value + 3;\n",
        "block 0 has been dirty for 62000 ms; the update policy promises 61000 ms",
        (*CACHE, "--args", "update=ldcl ldcl.range_s=0"),
        ("D0",),
    ),
    "a swap without memory": NO_MEMORY,
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
    """The search is complete when no state is left to be visited."""
    wanted = COMPLETE[name]
    lines = run(search, *wanted.options, *LIMIT, *wanted.programs)
    assert value(lines, "result") == "complete", lines
    assert value(lines, "left") == "0"
    assert int(value(lines, "states")) > wanted.states
    assert int(value(lines, "quiet")) > 0, "no program came to its end"


def test_a_repeated_search_visits_as_many_states(search: Path) -> None:
    """A state must not depend on where the program's memory lies, which differs in each run."""
    words = (*CACHE, *LIMIT, "D0 D1", "R0")
    counts = {value(run(search, *words), "states") for _ in range(3)}
    assert len(counts) == 1


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str, search: Path, tmp_path: Path) -> None:
    """The kernel without the fault is right; with it the search tells the steps, which can be
    replayed."""
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


def value_of_refusal(search: Path, *words: str) -> str:
    """Return what a search says that refuses its configuration."""
    ran = subprocess.run([search, *words], capture_output=True, text=True, timeout=HANG_S)
    assert ran.returncode == 2, ran.stdout
    assert "result" not in ran.stdout
    return ran.stderr


REFUSED = {
    "update=nosuch: there is no such policy": (*CACHE, "--args", "update=nosuch", "D0"),
    "sedch: the search has no such boot argument": (*CACHE, "--args", "sedch=scan", "D0"),
    "argument drive_depth=two: not a number": (*CACHE, "--args", "drive_depth=two", "D0"),
    'no update policy "nosuch"': (*CACHE, "use:update:nosuch"),
    "r0: the block has not been taken": (*CACHE, "r0"),
    "a program takes blocks in rising order": (*CACHE, "g1 R0 r1"),
    "lets go of all blocks": (*CACHE, "g1"),
    "D9: the disk has no such block": (*CACHE, "D9"),
    "too few buffers are left beside what is pinned": (*SMALL, "J0 J1 R2"),
    "a block that is pinned is changed by J and j only": (*CACHE, "J0 K", "D0"),
    "give --buffers from 2 to 16": ("--blocks", "4", "--depth", "1", "D0"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_configuration_that_cannot_be_is_refused(why: str, search: Path) -> None:
    words = REFUSED[why]
    said = value_of_refusal(search, *words)
    shown = why.partition(": ")[2] if why.startswith(("D9", "r0")) else why
    assert shown in said


@pytest.mark.parametrize(
    ("args", "promise"),
    [
        ("update=pu pu.interval_ms=5000", "a dirty block is at most 5000 ms old"),
        ("update=linux", "a dirty block is at most 35000 ms old"),
        ("update=ldcl", "a dirty block is at most 61000 ms old"),
        ("update=none", "no bound of age is known of update=none"),
    ],
)
def test_a_policy_is_held_to_an_age_only_if_its_bound_is_known(
    args: str, promise: str, search: Path
) -> None:
    """promise: the age in ms that no dirty block may exceed, or that there is none."""
    lines = run(search, *CACHE, *LIMIT, "--args", args, "D0")
    assert value(lines, "promise") == promise
    assert value(lines, "result") == "complete"


def test_a_swap_finds_no_memory_and_nothing_is_wrong(search: Path) -> None:
    """A policy is swapped in while there is little memory. `kinds` has, after the word `lack`, how
    many swaps were refused for want of it: not 0."""
    lines = run(search, *NO_MEMORY.options, *NO_MEMORY.programs)
    assert value(lines, "result") == "complete"
    assert " lack 0 " not in value(lines, "kinds")


def test_on_one_hart_nothing_but_interrupts_comes_between(search: Path) -> None:
    """The kernel is not preempted: a task that is paused keeps its hart."""
    words = (*CACHE, *LIMIT, "--pauses", "1")
    one, two = (
        int(value(run(search, *words, "--harts", n, "D0", "R1"), "states")) for n in ("1", "2")
    )
    none = int(value(run(search, *CACHE, *LIMIT, "D0", "R1"), "states"))
    assert none < one < two


def test_a_live_queue_has_fewer_commands_under_way(search: Path) -> None:
    """While one write is under way, the next gathers: it does not go at once."""
    words = (*CACHE, *LIMIT, "A0 A1", "R2")
    modes = [("--live", n) for n in ("0", "1")]
    virtual, live = (int(value(run(search, *m, *words), "states")) for m in modes)
    assert live < virtual


def test_a_step_that_does_not_end_is_a_violation(search: Path, tmp_path: Path) -> None:
    """The planted loop waits for a pinned block while there is none."""
    fault = Fault(
        "kernel/cache/pinned.c",
        "    for (struct list *i; (i = list_first(&bcache.pinned[d->id]));)\n"
        "        turn_dirty(LIST_ITEM(i, struct buf, dirty));\n",
        "    while (!list_first(&bcache.pinned[d->id]))\n        ;\n"
        "    turn_dirty(LIST_ITEM(list_first(&bcache.pinned[d->id]), struct buf, dirty));\n",
        "a step does not end",
    )
    lines = run(plant(fault, search, tmp_path), *CACHE, "K")
    assert value(lines, "violation") == fault.found


def test_a_violation_during_the_boot_is_told(search: Path, tmp_path: Path) -> None:
    """The memory of states is not there yet."""
    fault = Fault(
        "kernel/cache/write.c",
        "    spin_lock(&write_lock);\n    policy_switch(to);\n",
        "    policy_switch(to);\n",
        "at the boot: interrupt releases the lock write policy, which nobody has",
    )
    lines = run(plant(fault, search, tmp_path), *CACHE, "D0")
    assert value(lines, "violation") == fault.found
    assert value(lines, "result") == "violation"


def test_policies_are_found_by_name_and_tunable(search: Path) -> None:
    """Each update policy boots, so limits.c names no tunable that has gone."""
    for path in sorted((ROOT / "policies" / "update").glob("*.c")):
        lines = run(search, *CACHE, "--states", "2400", "--args", f"update={path.stem}", "D0")
        assert value(lines, "result") in ("complete", "stopped"), path.stem


# ---- the command ----


def test_the_command_says_what_was_visited_and_reached(
    search: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One program makes block 0 dirty and flushes it. The table tells how much of each file was
    executed."""
    asked = command.Request(Configuration(("D0 F",)), missed=True)
    assert command.run_request(asked) == 0
    said = capsys.readouterr().out
    assert "Nothing is wrong in any state: all were visited." in said
    assert "a dirty block is at most 30000 ms old" in said
    rows = dict(line.split(maxsplit=1) for line in said.splitlines() if line.startswith("kernel/"))
    reached, places, _ = rows["kernel/cache/delayed.c"].split()
    assert 0 < int(reached) < int(places)
    assert rows["kernel/cache/pinned.c"].split()[0] == "0"
    assert "kernel/cache/pinned.c: not reached: lines" in said


def test_what_a_program_does_is_reached(search: Path) -> None:
    """bpin's lines are reached by a program that pins, and by no other."""
    without, with_ = (
        coverage.find_places(searcher.run_search(Configuration((program,))).values["covered"])
        for program in ("D0 F", "J0 K F")
    )
    assert len(without) == len(with_) > 500
    pinned = [
        sum(place.reached for place in places if place.file == "kernel/cache/pinned.c")
        for places in (without, with_)
    ]
    assert pinned[0] == 0
    assert pinned[1] > 5


def test_a_refused_configuration_has_status_2(
    search: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run_request(command.Request(Configuration(("D0",), args="update=no"))) == 2
    assert "the boot is refused: update=no: there is no such policy" in capsys.readouterr().err


def test_a_counterexample_is_told_with_its_command(
    search: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The search runs on a kernel with a planted fault, and finds two processes of which one waits
    for ever."""
    broken = plant(FAULTS["a dropped wakeup"], search, tmp_path)
    monkeypatch.setattr(
        command, "run_search", lambda c, on_progress: searcher.run_search(c, broken, on_progress)
    )
    monkeypatch.setattr(command, "replay", lambda c, path: searcher.replay(c, path, broken))
    asked = Configuration(("D0 F", "R2"), depth=1)
    assert command.run_request(command.Request(asked)) == 1
    said = capsys.readouterr().out
    assert "A counterexample: process" in said
    steps = [line for line in said.splitlines() if line.strip().startswith("1. ")]
    assert len(steps) == 1
    assert "waits for ever" in said
    assert "sluice dev search --depth 1 'D0 F' 'R2' --replay r" in said


def test_an_interrupt_ends_the_search_with_what_was_covered(search: Path) -> None:
    """The first line is printed at once, and ^C prints the counts."""
    words = ["dev", "search", "--blocks", "8", "--buffers", "8", "--pauses", "3"]
    line = [sys.executable, "-m", "sluice.cli", *words, "D0 D1 D2 F", "R4 D5 D6 F", "R7 D3 F"]
    with subprocess.Popen(
        line,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stdout
        assert child.stderr
        for said in iter(child.stderr.readline, ""):
            if " states, " in said:
                break
        os.killpg(child.pid, signal.SIGINT)
        out, error = child.communicate(timeout=HANG_S)
    assert child.returncode == 130
    assert "The search stopped because it was interrupted" in out
    assert "places of the sources that were reached" in out
    assert "stopped: what was covered by then is printed above" in error


# ---- mutants ----


def test_each_rule_has_mutants_and_each_reason_is_about_one() -> None:
    """A mutant is a source with one change by a rule. mutants.toml gives reasons for some."""
    found = mutants.list_mutants()
    assert len(found) >= 40
    assert {mutant.rule for mutant in found} == set(mutants.RULES)
    reasons = {(row["file"], row["function"], row["old"]) for row in mutants.load_reasons()}
    there = {(m.change.file, m.change.function, m.change.old) for m in found}
    assert reasons <= there, reasons - there


def test_the_page_counts_the_mutants_that_there_are() -> None:
    """`sluice dev search --mutants --page` was run since a statement came or went."""
    rows = page_tables.read_rows(search_page.PAGE, search_page.MUTANTS)
    found = mutants.list_mutants()
    for rule, count, _, listed, missed in rows:
        of_rule = [mutant for mutant in found if rule in (mutant.rule, "all")]
        told = [mutant for mutant in of_rule if mutant.reason()]
        assert (int(count), int(listed), missed) == (len(of_rule), len(told), "0"), rule


def test_no_configuration_reaches_a_statement_of_the_files_left_alone(search: Path) -> None:
    """No mutant is made of these files, because no search could notice one. That holds while no
    line of a function that the rules would change is ever executed in a search."""
    capped = [replace(c, states=mutants.STATES) for c in mutants.CONFIGURATIONS]
    covered = " ".join(searcher.run_search(c).values["covered"] for c in capped)
    reached = {(p.file, p.line) for p in coverage.find_places(covered) if p.reached}
    for name in mutants.LEFT_ALONE:
        source = Source(name, (ROOT / name).read_text(encoding="utf-8"))
        changed = {m.change.function for m in mutants.apply_rules(source)}
        assert changed, f"{name}: no rule applies to it"
        for function, start, end in source.bodies:
            first, last = (source.text.count("\n", 0, at) + 1 for at in (start, end))
            lines = [(name, line) for line in range(first - 1, last + 1)]
            assert function not in changed or not reached.intersection(lines), (name, function)


@pytest.mark.parametrize("rule", mutants.RULES)
def test_a_mutant_of_each_rule_is_judged_as_the_list_has_it(rule: str, search: Path) -> None:
    """One mutant of the rule that must be caught is tried. `sluice dev search --mutants` tries all
    mutants of all rules."""
    mutant = next(m for m in mutants.list_mutants(rule) if not m.reason())
    assert mutants.try_mutant(mutant).state == mutants.CAUGHT


def test_a_mutant_that_is_listed_and_caught_is_wrong() -> None:
    """A listed mutant should be missed, and any other one caught; all else is wrong."""
    listed = next(m for m in mutants.list_mutants() if m.reason())
    free = next(m for m in mutants.list_mutants() if not m.reason())
    states = {
        (m is listed, state): mutants.is_wrong(mutants.Tried(m, state, m.reason()))
        for m in (listed, free)
        for state in (mutants.CAUGHT, mutants.MISSED)
    }
    assert states == {
        (True, mutants.CAUGHT): True,
        (True, mutants.MISSED): False,
        (False, mutants.CAUGHT): False,
        (False, mutants.MISSED): True,
    }


def test_the_page_has_one_row_for_a_command(tmp_path: Path) -> None:
    """The same command is stored twice; its second row takes the place of the first."""
    copy = tmp_path / "search.md"
    copy.write_text(search_page.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    for states in ("7", "8"):
        values = {"states": states, "transitions": "9", "depth": "3", "result": "complete"}
        places = ["all", "4", "5"]
        search_page.put_search("sluice dev search 'D9'", Outcome(values=values), places, copy)
    rows = [line for line in copy.read_text(encoding="utf-8").splitlines() if "'D9'" in line]
    assert rows == ["| `sluice dev search 'D9'` | 8 | 9 | 3 | yes | 4 of 5 | 0 |"]


def test_the_page_has_this_kernels_counts(search: Path) -> None:
    """Only the three smallest searches are made. `sluice dev search --page` makes the others."""
    rows = page_tables.read_rows(search_page.PAGE, search_page.SEARCHES)
    assert len(rows) > 5
    smallest = sorted(rows, key=lambda row: int(row[1].replace(",", "")))[:3]
    for command_, states, transitions, steps, *_ in smallest:
        words = shlex.split(command_.strip("`").removeprefix("sluice dev search "))
        lines = run(search, *CACHE, *words)
        found = [f"{int(value(lines, name)):,}" for name in ("states", "transitions", "depth")]
        assert found == [states, transitions, steps], command_
