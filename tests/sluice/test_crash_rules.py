"""Order rules: each is checked and can be broken, and what they leave out loses nothing.

A rule (1 to 17; sluice/crash/order_rules.py and name_rules.py) says which write of the kernel must
come before which. Rules 1 to 7 are of a disk with a journal (the fixture `logged`), 8 to 17 of one
without (`plain`); `ring` is a small journal whose log goes round. A recorded workload is a list of
events (writes, flushes); a planted fault changes them, and the check must name the rule that is
broken. `guarded` writes are those whose order the rules prove, so that a campaign may leave out
(prune) cuts between them.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from log_ring import RING_FAULTS, RingLaboratory, long_workload
from log_ring import SETUP as RING

from sluice.crash import certainty, cuts, rule_count
from sluice.crash.campaign_table import PAGE
from sluice.crash.certainty import Continuation, Continuations
from sluice.crash.cuts import Cut, Image, choose_beside, iterate_cuts
from sluice.crash.disk_events import SECTOR, Event
from sluice.crash.faults import FAULTS, SUPER, Fault, Planter, plant
from sluice.crash.laboratory import Judging, Laboratory
from sluice.crash.log_faults import (
    COMMIT,
    INCOMPAT,
    LOG_FAULTS,
    RECOVER,
    LogPlanter,
    find_type,
)
from sluice.crash.machine import Setup
from sluice.crash.name_rules import parse_names
from sluice.crash.oracle import History, promise_of
from sluice.crash.order_rules import count_space
from sluice.crash.source_faults import build_with, find_fault, load_faults
from sluice.crash.together import workload_together
from sluice.crash.workloads import LONG, all_workloads, find_workload, random_workload
from sluice.host import page_tables
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)
LOGGED = Setup("order=journal", block="1K", journal="1M")
SMALL = ("unlink /h; sync", "append /d/g 300 1; fsync /d/g")
# Of the planted faults, those that break a rule of the log, with its number.
BREAK = {
    "no-barrier": 1,
    "commit-beside-torn": 1,
    "commit-cached": 4,
    "home-first": 4,
    "no-copies": 5,
    "wrong-home": 6,
    "wrong-number": 1,
    "not-marked": 2,
    "forgotten-early": 6,
    "no-revoke": 5,
}


@pytest.fixture(scope="module")
def logged() -> Iterator[Laboratory]:
    """Return a laboratory whose disk has a journal."""
    with Laboratory(LOGGED, promise_of("prefix"), tear_older=True) as made:
        yield made


@pytest.fixture(scope="module")
def ring() -> Iterator[Laboratory]:
    """Return a laboratory whose journal is so small that its log goes round."""
    with RingLaboratory(RING, promise_of("prefix")) as made:
        yield made


@pytest.fixture(scope="module")
def plain() -> Iterator[Laboratory]:
    """Return a laboratory whose disk has no journal."""
    with Laboratory(Setup(block="1K")) as made:
        yield made


# ---- the rules hold, and can be broken ----


def test_each_write_of_short_workloads_obeys_the_rules(
    logged: Laboratory, plain: Laboratory
) -> None:
    """Every third workload of one operation, and four random ones. Each rule of the disk is checked
    at least once, and rule 2 once for each commit."""
    # rule 5 is checked only where a freed block is used again
    for laboratory, rules in ((logged, {1, 2, 3, 4, 6, 7}), (plain, {*range(8, 18)})):
        counts: dict[int, int] = {}
        commits = 0
        every = [*all_workloads(1)][::3] + [random_workload(seed) for seed in range(4)]
        for workload in every:
            events = laboratory.record(workload)
            commits += sum(find_type(event) == COMMIT for event in events)
            checked = laboratory.check_rules(events)
            assert not checked.broken
            counts |= {rule: counts.get(rule, 0) + n for rule, n in checked.checks.items()}
        assert counts.keys() == rules
        assert counts.get(2, 0) == commits
        assert bool(commits) == (laboratory is logged)


def test_each_write_of_a_workload_that_goes_round_the_log_obeys_them(ring: Laboratory) -> None:
    """Rules 1, 3 and 6 are checked hundreds of times."""
    checked = ring.check_rules(ring.record(long_workload(1)))
    assert not checked.broken
    assert checked.checks[1] > 200
    assert checked.checks[3] > 700
    assert checked.checks[6] > 400
    assert len(checked.guarded) > 200


@pytest.mark.parametrize("fault", LOG_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_the_log_breaks_a_rule(logged: Laboratory, fault: Fault) -> None:
    """Faults that are not in BREAK break no rule. If a rule is broken, no write is guarded."""
    events = plant(fault, logged.base.disk)(logged.record(find_workload(fault.workload)))
    checked = logged.check_rules(events)
    rules = {int(text.split()[1].rstrip(":")) for text in checked.broken}
    assert (BREAK[fault.name] in rules) if fault.name in BREAK else not rules
    assert not checked.broken or not checked.guarded


@pytest.mark.parametrize(("fault", "rule"), [(RING_FAULTS[0], 6), (RING_FAULTS[1], 3)])
def test_a_fault_of_the_ring_breaks_a_rule(ring: Laboratory, fault: Fault, rule: int) -> None:
    """The two faults overwrite or forget what the log still needs."""
    events = plant(fault, ring.base.disk)(ring.record(find_workload(fault.workload)))
    assert any(text.startswith(f"rule {rule}:") for text in ring.check_rules(events).broken)


def clear_recovery_flag(p: LogPlanter) -> list[Event]:
    """Plant a fault: right after the last commit, the superblock ceases to ask for recovery."""
    first = p.covering(SUPER + INCOMPAT)[0]  # the first write of these bytes of the superblock
    event, at = p.events[first], (SUPER + INCOMPAT) - p.events[first].at
    (features,) = struct.unpack_from("<I", event.data, at)
    data = event.data[:at] + struct.pack("<I", features & ~RECOVER) + event.data[at + 4 :]
    return p.insert_before(p.last_commit() + 2, [replace(event, data=data)])


def test_a_superblock_that_asks_no_more_too_early_breaks_a_rule(logged: Laboratory) -> None:
    """Rule 7."""
    events = logged.record(find_workload("unlink /h; sync"))
    planted = clear_recovery_flag(LogPlanter(logged.base.disk, events))
    assert any(text.startswith("rule 7:") for text in logged.check_rules(planted).broken)


# Of the planted faults, those that break a rule of a disk whose metadata is written step by step.
BREAK_PLAIN = (
    ("no-flushes", 9),
    ("clean-too-early", 9),
    ("name-first", 10),
    ("few-links", 10),
    ("old-name-first", 12),
    ("flush-lies", 12),
    ("stale-directory", 12),
    ("no-intent", 13),
    ("shared-block", 16),
    ("rotten-pointer", 16),
    ("rotten-directory", 17),
)


@pytest.mark.parametrize(("name", "rule"), BREAK_PLAIN)
def test_a_fault_of_a_disk_without_a_journal_breaks_a_rule(
    plain: Laboratory, name: str, rule: int
) -> None:
    """name: the planted fault; rule: the number of the rule that its events break."""
    fault = next(fault for fault in FAULTS if fault.name == name)
    events = plant(fault, plain.base.disk)(plain.record(find_workload(fault.workload)))
    assert any(text.startswith(f"rule {rule}:") for text in plain.check_rules(events).broken)


def lower_link_count_first(p: Planter) -> list[Event]:
    """Plant a fault: an inode counts one name less before the name is removed."""
    removal = p.writes(1)[0]
    later = next(i for i in p.covering(p.place_of("/h")) if i > removal)
    return [*p.events[:removal], p.events[later], Event("flush"), *p.events[removal:]]


def remove_old_name_first(p: Planter) -> list[Event]:
    """Plant a fault: a rename of a directory removes the old name before the entry `..` changes."""
    parent = p.covering(p.block_of("/e")[0], p.writes(1))[-1]
    old = p.covering(p.block_of("")[0], p.writes(1))[-1]
    return p.swap_events(parent, old)


def drop_new_block(p: Planter) -> list[Event]:
    """Plant a fault: a new directory's block, which has the names `.` and `..`, is never
    written."""
    blocks = {i: parse_names(p.events[i].data) or () for i in p.writes(1)}
    return p.drop_events(i for i, names in blocks.items() if {*names} == {".", ".."})


def show_name_at_once(p: Planter) -> list[Event]:
    """Plant a fault: a name over two sectors is shown by the write that brings its text. The write
    before it, the first one of the directory's block, is dropped."""
    of_directory = p.covering(p.block_of("/d")[0], p.writes(2))
    return p.drop_events(of_directory[:1])


@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("unlink /d/hard", lower_link_count_first, 11),
        ("rename /e /d/e", remove_old_name_first, 14),
        ("mkdir /n", drop_new_block, 15),
        (f"unlink /d/{LONG}4; creat /d/{LONG}n", show_name_at_once, 17),
    ],
)
def test_a_write_in_a_wrong_order_breaks_a_rule_of_names(
    plain: Laboratory, name: str, change: Callable[[Planter], list[Event]], rule: int
) -> None:
    """name: the workload; change: what plants the fault. Without the fault no rule is broken."""
    events = plain.record(find_workload(name))
    assert not plain.check_rules(events).broken
    broken = plain.check_rules(change(Planter(plain.base.disk, events))).broken
    assert any(text.startswith(f"rule {rule}:") for text in broken), broken


# Of the faults of the sources, those that break a rule of names, with its number. The others of
# these files are of what fsync promises, of data, and of a file's move to another directory.
BREAK_NAMES = {
    "inode-not-waited-for": 10,
    "no-husk": 12,
    "two-writes-swapped": 10,
    "link-before-count": 10,
    "link-not-counted": 11,
    "removed-whole": 12,
    "no-barrier": 10,
    "old-name-first": 12,
    "no-spare-name": 12,
    "parent-not-changed": 14,
    "rename-not-counted": 10,
    "directory-too-short": 15,
    "pointers-not-zeroed": 15,
    "reused-too-early": 16,
}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        pytest.param(name, rule, id=name, marks=pytest.mark.drawn(4, among=rule))
        for name, rule in BREAK_NAMES.items()
    ],
)
def test_a_fault_of_the_sources_breaks_a_rule_of_names(
    name: str, rule: int, tmp_path: Path
) -> None:
    """A twin is built whose sources have the fault, and the workload is recorded with it."""
    fault = find_fault(name)
    twin = build_with(fault, tmp_path)
    with Laboratory(Setup(block=fault.block, twin=twin)) as laboratory:
        events = laboratory.record(find_workload(fault.workload))
        broken = laboratory.check_rules(events).broken
    assert any(text.startswith(f"rule {rule}:") for text in broken), broken


def test_the_page_counts_the_faults_that_break_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Faults planted into writes are tried again here. For faults of the sources, only their number
    is compared with the page."""
    shown = page_tables.read_rows(PAGE, rule_count.TABLE)
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(rule_count, "PAGE", page)
    assert rule_count.run_count([], 1, page=True)
    assert "writes, without a journal: name-first: rule 10: event " in capsys.readouterr().out
    assert page_tables.read_rows(page, rule_count.TABLE) == shown[:2]
    assert [row[3] for row in shown[:2]] == [str(len(BREAK_PLAIN)), str(len(BREAK))]
    for row, (on, disk) in zip(shown[2:], rule_count.DISKS.items(), strict=True):
        of_sources = [fault for fault in load_faults() if fault.on == on]
        assert row[:3] == ["sources", disk, str(len(of_sources))]


def test_several_processes_at_work_obey_the_rules_of_names() -> None:
    """Four workloads of several processes, on a drive with a volatile cache."""
    with Laboratory(Setup("drive=cheetah4lp drive_volatile=1", block="1K")) as laboratory:
        checks: dict[int, int] = {}
        for seed in range(4):
            checked = laboratory.check_rules(laboratory.record(workload_together(seed)))
            assert not checked.broken
            checks |= {rule: checks.get(rule, 0) + n for rule, n in checked.checks.items()}
    assert {10, 11, 12, 15, 17} <= checks.keys()


def test_a_disk_that_is_called_clean_beside_other_writes_breaks_a_rule(plain: Laboratory) -> None:
    """The last flush before the superblock is left out."""
    events = plain.record(find_workload("append /f 6000 1"))
    last = Planter(plain.base.disk, events).covering(SUPER)[-1]
    flush = max(i for i in range(last) if events[i].kind == "flush")
    broken = plain.check_rules([*events[:flush], *events[flush + 1 :]]).broken
    assert any(text.startswith("rule 8:") for text in broken)


def test_a_broken_rule_is_a_failure_and_nothing_is_left_out(
    logged: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judges are switched off, so that only the rule can notice the fault."""
    workload = find_workload("unlink /h; sync")
    record = logged.record

    def record_asking_no_more(*words: object) -> list[Event]:
        return clear_recovery_flag(LogPlanter(logged.base.disk, record(workload)))

    monkeypatch.setattr(logged, "record", record_asking_no_more)
    monkeypatch.setattr(Judging, "judge", lambda *_: ([], 0))  # as if no judge saw anything
    outcome = logged.try_workload(workload)
    assert any("rule 7" in text for text in outcome.failures[0].wrong)


# ---- what is left out loses nothing ----

# What was found, by the moment of a cut: how many operations had returned, and if one was under way
Outcomes = dict[tuple[int, bool], set[str]]


def try_continuations(
    laboratory: Laboratory, name: str, events: list[Event], keeps: Callable[[Continuation], bool]
) -> tuple[Outcomes, int]:
    """Return what is found at each moment in all permutations that are kept (the trees, and what is
    wrong), and how many permutations there are."""
    workload = find_workload(name)
    judging = Judging(laboratory, workload, History(workload.all_operations(), laboratory.start))
    every = Continuations(laboratory.base, events, Cut(0, ()), True, lambda _cut, _image: False)
    found: Outcomes = {}
    tried = 0
    for moment in range(len(events)):
        for way, image in every.iterate_at(moment, frozenset()):
            if keeps(way):
                tried += 1
                key = way.cut.returned, way.cut.under_way
                found.setdefault(key, set()).add(describe(judging, way.cut, image))
    assert every.exact
    return found, tried


def describe(judging: Judging, cut: Cut, image: Image) -> str:
    """Return what a cut leaves, in words."""
    verdict = judging.laboratory.judge.verdict(image)
    trees = [
        sorted((path, one.kind, one.data) for path, one in (tree or {}).items())
        for tree in (verdict.mounted, verdict.repaired)
    ]
    return f"{trees} {judging.judge(cut, image)[0]}"


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    ("name", "fault"), [*((name, "") for name in SMALL), (SMALL[0], "given-out-early")]
)
def test_all_permutations_and_the_pruned_ones_find_the_same(
    logged: Laboratory, monkeypatch: pytest.MonkeyPatch, name: str, fault: str
) -> None:
    """Guarded writes need to be tried only all together or not at all. Also with a planted fault
    that breaks no rule, the failures are the same."""
    monkeypatch.setattr(certainty, "MOST_TEARS", 1 << 12)  # all
    events = logged.record(find_workload(name))
    if fault:
        chosen = next(one for one in LOG_FAULTS if one.name == fault)
        events = plant(chosen, logged.base.disk)(events)
    guarded = logged.check_rules(events).guarded
    assert guarded

    def keeps(way: Continuation) -> bool:
        """Return True for a permutation in which no guarded write is torn, and all or none of them
        are there."""
        pending = guarded & set(way.pending)
        there = pending & set(way.cut.chosen)
        return way.cut.torn not in guarded and there in (set(), pending)

    whole, tried = try_continuations(logged, name, events, lambda _: True)
    pruned, fewer = try_continuations(logged, name, events, keeps)
    assert whole == pruned
    assert fewer < tried
    assert bool(fault) == any("[]" not in text[-3:] for texts in whole.values() for text in texts)


@pytest.mark.parametrize("fault", LOG_FAULTS, ids=lambda fault: fault.name)
def test_a_pruned_campaign_finds_each_planted_fault(
    logged: Laboratory, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """A fault is found by the rule that it breaks, or by a judge."""
    monkeypatch.setattr(logged, "prunes", True)
    if fault.name in BREAK:
        events = plant(fault, logged.base.disk)(logged.record(find_workload(fault.workload)))
        assert logged.check_rules(events).broken  # then nothing is left out
    else:
        planted = plant(fault, logged.base.disk)
        assert logged.try_workload(find_workload(fault.workload), planted, most=1).failures


def test_guarded_writes_are_there_all_or_none() -> None:
    """Of four writes, 2 and 4 are guarded: 8 subsets are left of 16."""
    ways = choose_beside([1, 2, 3, 4], {2, 4}, Random(0))
    assert sorted(ways) == sorted(
        [(), (1,), (3,), (1, 3), (2, 4), (1, 2, 4), (2, 3, 4), (1, 2, 3, 4)]
    )
    assert choose_beside([1, 2], (), Random(0)) == cuts.choose([1, 2], Random(0))


def test_a_pruned_campaign_has_fewer_cuts(logged: Laboratory) -> None:
    """Fewer than 70 % of the cuts, and 20 % of the whole space, are left."""
    events = logged.record(find_workload("creat /n; sync"))
    guarded = logged.check_rules(events).guarded
    counts = [
        len(list(iterate_cuts(logged.base, events, tear_older=True, guarded=some)))
        for some in ((), guarded)
    ]
    assert counts[1] < 0.7 * counts[0]
    assert count_space(events, guarded) < 0.2 * count_space(events)


def test_the_space_is_that_of_all_subsets_and_tears() -> None:
    """The space is the number of disks that a cut may leave. Two writes have two sectors each; a
    torn write leaves one of its two sectors."""
    events = [Event("write", at=4096 * i, data=bytes(2 * SECTOR)) for i in range(2)]
    assert count_space(events[:1]) == 2 + 2  # none, all; either sector
    assert count_space(events) == 4 + (4 + 2 * 2 * 2)
    assert count_space(events, {1}) == 4 + 2 * (2 + 2)
