"""What tests of labs share: the kinds of a scheduler's choices, and counters that were kept."""

import dataclasses
from pathlib import Path

import pytest

from grade.labs.elevator.choices import Kind, check, choices, returns
from grade.machine.trace import Event
from grade.scoring.assertions import Wrong
from grade.scoring.counted import counter, growth
from grade.scoring.scenario import Run, Scenario

DISK = 1  # the data disk of a scenario that is not varied


def queued(time_ns: int, *sectors: int) -> list[Event]:
    return [Event(time_ns, "queued", DISK, sector, 0, 8, False) for sector in sectors]


def issued(time_ns: int, sector: int) -> Event:
    return Event(time_ns, "issued", DISK, sector, 0, 8, False)


def run_of(*events: Event) -> Run:
    return Run(Scenario("s", ""), Path(), list(events))


def test_a_choice_is_judged_by_the_head_and_the_queue_of_its_time() -> None:
    run = run_of(
        *queued(1, 100, 300),
        issued(2, 100),
        *queued(3, 50, 108, 104),
        issued(4, 108),
        issued(5, 300),
        issued(6, 50),
        issued(7, 104),
    )
    found = [(choice.kind, choice.wanted) for choice in choices(run, DISK)]
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
    run = run_of(*queued(1, 100, 200, 300), issued(2, 300), issued(3, 200), issued(4, 100))
    with pytest.raises(Wrong, match="sector 100 next"):
        check(run, DISK, {Kind.AHEAD}, 1, 0, 9)
    with pytest.raises(Wrong, match="sector 100 next"):
        check(run, DISK, {Kind.BACK}, 1, 0, 9)
    check(run, DISK, {Kind.HERE}, 0, 0, 9)
    with pytest.raises(Wrong, match="at least 1 choices"):
        check(run, DISK, {Kind.HERE}, 1, 0, 9)


def test_a_choice_goes_back_only_to_what_the_head_has_just_passed() -> None:
    run = run_of(*queued(1, 20, 100, 104, 300), issued(2, 100), issued(3, 104), issued(4, 20))
    assert [choice.goes_back for choice in choices(run, DISK)] == [False, True, False]


@dataclasses.dataclass
class Kept:
    """A run that kept its counters in these files."""

    files: dict[str, str]

    def contents(self, path: str) -> bytes:
        return self.files[path].encode()


def test_a_counter_is_read_from_where_it_was_kept() -> None:
    run = Kept({"/counters1": "a.b 3 x\na.bc 5 x\n", "/counters4": "a.b 10 x\n"})
    assert counter(run, 1, "a.b") == 3
    assert growth(run, 1, 4, "a.b") == 7


@pytest.mark.parametrize("text", ["", "a.b many x\n", "a.b 1 x\na.b 2 x\n"])
def test_a_counter_that_is_not_there_once_is_wrong(text: str) -> None:
    with pytest.raises(Wrong, match=r"the counter a\.b"):
        counter(Kept({"/counters1": text}), 1, "a.b")
