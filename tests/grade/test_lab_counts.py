"""Common parts of the labs' tests: the kinds of a scheduler's choices, counters that were kept, and
the moments that are told.

Runs are made by hand from events (run_of). For the lab elevator, a choice of a scheduler is ahead
of the head, at the head (HERE), or back at the lowest sector. For the lab watermark, the cache
writes in bursts between a high and a low mark of dirty blocks; ghosts are blocks that a larger or
smaller cache would hold. For the lab decluster, writes are held back.
"""

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from records import packed

from grade.engine.assertions import Wrong
from grade.engine.counters import counter_growth, counter_value
from grade.engine.scenario import FOR_EVER, Request, Run, Scenario, Write
from grade.labs.decluster.writes import (
    Dirtying,
    expect_most_queued,
    expect_written,
    find_first_over,
)
from grade.labs.elevator.choices import Kind, check, choices, returns
from grade.labs.watermark import formulas, ghosts
from grade.labs.watermark.bursts import began_ns, bursts, expect_marks, group_by_step
from grade.labs.watermark.readers import Cache
from sluice.system.trace import Event

DISK = 1  # the data disk of a scenario that is not varied


def queue_events(time_ns: int, *sectors: int) -> list[Event]:
    """Return events of reads of 8 sectors that are queued at this time."""
    return [Event(time_ns, "queued", DISK, sector, 0, 8, False) for sector in sectors]


def issue_event(time_ns: int, sector: int) -> Event:
    """Return the event of a read that is issued."""
    return Event(time_ns, "issued", DISK, sector, 0, 8, False)


def run_of(*events: Event) -> Run:
    """Return a run with these events."""
    return Run(Scenario("s", ""), Path(), packed(events))


def test_a_choice_is_judged_by_the_head_and_the_queue_of_its_time() -> None:
    """returns() gives the least and the most returns of the head up to a time: whether a choice
    HERE returns is left open."""
    run = run_of(
        *queue_events(1, 100, 300),
        issue_event(2, 100),
        *queue_events(3, 50, 108, 104),
        issue_event(4, 108),
        issue_event(5, 300),
        issue_event(6, 50),
        issue_event(7, 104),
    )
    found = [(choice.kind, choice.right_sector) for choice in choices(run, DISK)]
    assert found == [
        (Kind.AHEAD, 100),
        (Kind.HERE, 108),
        (Kind.AHEAD, 300),
        (Kind.BACK, 50),
        (Kind.AHEAD, 104),
    ]
    assert returns(run, 5) == (0, 1)
    assert returns(run, 8) == (1, 2)


def test_a_wrong_choice_is_of_one_kind_and_spoils_no_other() -> None:
    """The sectors are served 300, 200, 100. check() wants at least so many choices of some kinds,
    all of them right."""
    run = run_of(
        *queue_events(1, 100, 200, 300),
        issue_event(2, 300),
        issue_event(3, 200),
        issue_event(4, 100),
    )
    with pytest.raises(Wrong, match="sector 100 next"):
        check(run, DISK, {Kind.AHEAD}, 1, 0, 9)
    with pytest.raises(Wrong, match="sector 100 next"):
        check(run, DISK, {Kind.BACK}, 1, 0, 9)
    check(run, DISK, {Kind.HERE}, 0, 0, 9)
    with pytest.raises(Wrong, match="at least 1 choices"):
        check(run, DISK, {Kind.HERE}, 1, 0, 9)


def test_a_choice_goes_back_only_to_what_the_head_has_just_passed() -> None:
    """Sector 104 lies within the read of 100 that has just ended."""
    run = run_of(
        *queue_events(1, 20, 100, 104, 300),
        issue_event(2, 100),
        issue_event(3, 104),
        issue_event(4, 20),
    )
    assert [choice.goes_back for choice in choices(run, DISK)] == [False, True, False]


@dataclasses.dataclass
class Kept:
    """A run that kept its counters in these files."""

    files: dict[str, str]

    def contents(self, path: str) -> bytes:
        """Return the text of a kept file."""
        return self.files[path].encode()


def test_a_counter_is_read_from_where_it_was_kept() -> None:
    """The growth of a counter is between two files."""
    run = Kept({"/counters1": "a.b 3 x\na.bc 5 x\n", "/counters4": "a.b 10 x\n"})
    assert counter_value(run, 1, "a.b") == 3
    assert counter_growth(run, 1, 4, "a.b") == 7


@pytest.mark.parametrize("text", ["", "a.b many x\n", "a.b 1 x\na.b 2 x\n"])
def test_a_counter_that_is_not_there_once_is_wrong(text: str) -> None:
    """It is missing, no number, or there twice."""
    with pytest.raises(Wrong, match=r"the counter a\.b"):
        counter_value(Kept({"/counters1": text}), 1, "a.b")


# ---- moments ----


class Seen(Run):
    """A run whose script has passed all beacons at the end."""

    def beacon(self, number: int) -> int:
        return FOR_EVER


FILE = 1 << 32 | 13  # the owner of the blocks, as the trace has it: a file


def burst(second: float, dirty: int, left: int) -> list[Event]:
    """Return the events of a burst: `dirty` blocks become dirty, and a tenth of a second later they
    are written, except `left` blocks."""
    at_ns = int(second * 1e9)
    blocks = range(at_ns, at_ns + dirty)  # others in each burst
    made = [Event(at_ns, "dirtied", DISK, block, 0, FILE, True) for block in blocks]
    written = blocks[: dirty - left]
    return made + [Event(at_ns + 10**8, "writing", DISK, block, 0, 1, True) for block in written]


def test_a_mark_that_is_wrong_is_told_with_the_burst_that_shows_it() -> None:
    """The run has one burst of the lab watermark in each of two steps of 4 s."""
    run = Seen(Scenario("s", ""), Path(), packed(burst(5, 100, 0) + burst(9, 80, 0)))
    shown = group_by_step(run, 4 * 10**9, 1)
    expect_marks(run, shown, {1: 99, 2: 79}, "high", 0.05, 2)
    with pytest.raises(Wrong, match=r"1: 99, 2: 59; found 1: 99, 2: 79") as wrong:
        expect_marks(run, shown, {1: 99, 2: 59}, "high", 0.05, 2)
    assert (wrong.value.moment.event.name, wrong.value.moment.event.time_ns) == (
        "writing",
        9_100_000_000,
    )
    with pytest.raises(Wrong, match="no burst of writes that shows it") as wrong:
        expect_marks(run, {}, {1: 0}, "low", 0.05, 1)
    assert wrong.value.moment is None


def test_what_is_written_before_a_file_has_changed_is_no_burst() -> None:
    """The measured time begins when a block of a file is first dirtied on the data disk. Neither
    mounting this disk, which writes a block, nor writes of another disk begin it."""
    mount = [Event(6 * 10**9, name, DISK, 0, 0, 0, True) for name in ("dirtied", "writing")]
    other = [Event(5 * 10**9, name, DISK + 1, 9, 0, FILE, True) for name in ("dirtied", "writing")]
    run = Seen(Scenario("s", ""), Path(), packed(other + mount + burst(7, 100, 40)))
    assert [(one.before, one.left) for one in bursts(run, began_ns(run))] == [(100, 40)]
    assert began_ns(Seen(Scenario("s", ""), Path(), packed(mount))) == FOR_EVER


def test_marks_follow_the_rates_of_their_own_run() -> None:
    """In the lab watermark, a step multiplies a mark by a factor from 1/2 to 2. A comment has the
    ratios of the rates: for the high mark; for the low one."""
    events = []
    for step, (dirty, written) in enumerate([(9, 4), (10, 10), (20, 5), (20, 20), (5, 0)]):
        at_ns = step * formulas.STEP_NS
        events += [Event(at_ns, "dirtied", DISK, block, 0, 0, True) for block in range(dirty)]
        for name in ("queued", "issued", "completed"):
            events += [Event(at_ns, name, DISK, 8 * one, 0, 8, True) for one in range(written)]
    marks = formulas.marks_by_rates(run_of(*events), 7, cache=formulas.Cache(1000, 100, 50))
    assert [(now, of.high, of.low) for now, of in marks] == [
        (1, 100, 50),
        (2, 100, 50),
        (3, 50, 25),  # 10/20; 10/20 5/10, bounded
        (4, 50, 50),  # 20/20; 20/20 20/5, bounded
        (5, 100, 25),  # 20/5, bounded; 20/5 0/20, bounded
        (6, 200, 50),  # 5/0, bounded; 5/0 0/0, bounded
        (7, 200, 50),  # nothing
    ]


SMALL = Cache(buffers=3, most_percent=34)  # so `full` has room for three names, `least` for two


class OfOneFile(Run):
    """A run whose reader's file is the first four blocks of the data disk."""

    def sectors(self, path: str) -> dict[int, int]:
        return {8 * block: block for block in range(4)}


def test_ghosts_are_hit_as_if_more_or_less_of_the_cache_held_writes() -> None:
    """The lab watermark. A comment at each event has the blocks of `full` and `least`, oldest
    first."""
    steps = [
        ("miss", 0, 0),
        ("miss", 1, 0),
        ("miss", 2, 0),  # 0 1 2, 1 2
        ("hit", 0, 0),  # a ghost hit; 1 2 0, 2 0
        ("hit", 2, 0),  # none; 1 0 2, 0 2
        ("dirtied", 9, 0),  # 0 2 9, 0 2
        ("miss", 0, 0),  # a ghost miss; 2 9 0, 2 0
        ("miss", 1, 0),  # none; 9 0 1, 0 1
        ("writing", 9, 0),  # block 9 is not dirty, so nothing changes
        ("hit", 0, 0),  # none; 9 1 0, 1 0
        ("writing", 9, 1),  # 9 1 0, 0 9
        ("hit", 1, 0),  # a ghost hit
        ("miss", 7, 0),  # another file's
    ]
    events = [Event(5, name, DISK, block, 0, arg, False) for name, block, arg in steps]
    later = Event(ghosts.STEP_NS, "miss", DISK, 3, 0, 0, False)
    found = ghosts.reads(OfOneFile(Scenario("s", ""), Path(), packed([*events, later])), SMALL)
    assert found[0] == {"hit": 4, "miss": 5, "ghost hit": 2, "ghost miss": 1}
    assert found[1] == Counter({"miss": 1})


def test_the_bound_of_each_reading_is_that_of_its_formula() -> None:
    """The lab watermark: most * (1 - reads against more / reads), for 60 hits of 100 reads."""
    kinds = Counter({"hit": 60, "miss": 40, "ghost hit": 20, "ghost miss": 10})
    assert [ghosts.highest_mark(kinds, reading, 200) for reading in (0, 1, 2)] == [100, 20, 140]
    kinds["ghost miss"] = 30
    assert ghosts.highest_mark(kinds, 1, 200) == 0  # and not less


def test_rates_lower_a_mark_by_their_ratio_either_way_up() -> None:
    """In the lab watermark: twice as many blocks become dirty in a step as in the step before, then
    as many, then a tenth."""
    per_step = {1: 10, 2: 20, 3: 20, 4: 2, 5: 1}
    events = [
        Event(step * ghosts.STEP_NS, "dirtied", DISK, block, 0, 0, True)
        for step, blocks in per_step.items()
        for block in range(blocks)
    ]
    cache = Cache(buffers=100, most_percent=40)
    assert ghosts.count_rates(run_of(*events), cache) == {3: 20, 4: 20, 5: 40}


def test_too_many_writes_in_a_queue_are_told_with_the_moment_when_there_were_so_many() -> None:
    """The lab decluster: writes that are held back."""
    writes = [Event(ns, "queued", DISK, 8 * ns, 0, 8, True) for ns in range(1, 5)]
    run = run_of(*writes[:3], Event(4, "issued", DISK, 8, 0, 8, True), writes[3])
    expect_most_queued(run, 3, 0, 9, "oaw.floor=2")
    with pytest.raises(Wrong, match=r"up to 2 .*oaw.floor=1.*; found 3") as wrong:
        expect_most_queued(run, 2, 0, 9, "oaw.floor=1")
    assert wrong.value.moment.event == writes[2]


def test_a_block_that_is_written_too_late_or_never_is_told_with_its_moment() -> None:
    """The block is dirty from 1 s on, and its write is queued at 3 s: 2 s are allowed, 1 s is
    not."""
    dirtied = Event(10**9, "dirtied", DISK, 5, 0, 0, True)
    queued_event = Event(3 * 10**9, "queued", DISK, 40, 0, 8, True)
    run = run_of(dirtied, queued_event)
    request = Request(DISK, 40, 8, True, queued_event.time_ns, 0, 0)
    written = Dirtying(run, 5, dirtied, Write(5, request))
    written.expect_age(0, 2, "to be written")
    with pytest.raises(Wrong, match=r"at most 1 s.*; found it was written 2\.000 s after") as wrong:
        expect_written([written], 1)
    assert wrong.value.moment.event == queued_event
    with pytest.raises(Wrong, match="never written") as wrong:
        expect_written([Dirtying(run, 5, dirtied, None)], 1)
    assert wrong.value.moment.event == dirtied


def test_of_scans_that_did_too_much_the_first_thing_too_many_is_told() -> None:
    """With 2.5 allowed for a scan, the third thing of the second scan is the first too many."""
    assert find_first_over([[1, 2], [3, 4, 5, 6]], 2.5) == 5
    assert find_first_over([[1, 2]], 2) is None
