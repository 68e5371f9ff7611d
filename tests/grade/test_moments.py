"""Messages name the moment, what the solution did then, and a policy's fault or a panic.

A moment is an event of a run's trace. The tests grade the elevator's solution with a mistake, look
for moments in the message (AT) and compare them with the stored traces.
"""

import re
from pathlib import Path

import pytest
from records import packed

from grade.definition.lab import Edit, find_lab, load_mistakes
from grade.engine import grading, moments, tree
from grade.engine.moments import Fault, Moment, find_counterpart
from grade.engine.record import Outcome
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import TAIL_LINES, console_tail
from sluice.system import trace
from sluice.system.trace import Event

LAB = find_lab("elevator")
FILE = LAB.files[0]
MIDDLE = "return.from_the_middle_it_rises_then_starts_at_the_lowest"
SLIP = next(mistake for mistake in load_mistakes(LAB) if mistake.name == "none-at-the-end")
AT = re.compile(r"at ([\d,.]+) ms of virtual time \(event (\d+) of (runs/[\w-]+/trace)\)")


def outcome(edits: tuple[Edit, ...], folder: Path, only: str) -> Outcome:
    """Return the one test of the elevator's solution with these edits."""
    files = tree.solution_files(LAB, edits)
    (test,) = grading.grade_submission(LAB, lambda: files, folder, "3", "make grade", only).tests
    return test


def find_named_events(folder: Path, message: str) -> list[Event]:
    """Return the events that a message names, from the trace files; the time in the message must be
    theirs."""
    found = []
    for time, number, file in AT.findall(message):
        event = list(trace.load(folder / file)[1])[int(number)]
        assert f"{event.time_ns / 1e6:,.3f}" == time
        found.append(event)
    return found


def test_a_fault_is_told_once_with_its_moment_and_costs_what_it_is_about(tmp_path: Path) -> None:
    """The policy answers "none" at the end of each sweep. This costs the group return, and not
    rise."""
    lost = outcome(SLIP.edits, tmp_path / "return", MIDDLE)
    kept = outcome(
        SLIP.edits, tmp_path / "rise", "rise.a_block_right_under_the_head_is_served_next"
    )
    assert (lost.points, kept.points) == (0, kept.most)
    says = "policy fault: sched/clook: next returned none, with nothing in flight"
    assert lost.came.startswith(says) and lost.came.count("policy fault") == 1
    (event,) = find_named_events(tmp_path / "return", lost.came)
    assert event.name == "fault" and f"head at sector {event.block}" in lost.came


def test_faults_are_told_beside_what_a_test_says_of_another_mistake(tmp_path: Path) -> None:
    """The policy also answers none while requests arrive."""
    none = Edit(FILE, "clook_next", "if (r)", "if (q->arrivals)\nreturn NULL;\nif (r)")
    lost = outcome((none,), tmp_path, "rise.a_block_right_under_the_head_is_served_next")
    assert "was served after" in lost.came and lost.came.count("policy fault: sched/clook") == 1
    assert re.search(r"\(\d+ such answers in run syncs\)$", lost.came)


def test_a_wrong_choice_is_told_with_its_moment_and_when_the_solution_made_it(
    tmp_path: Path,
) -> None:
    """The oldest request is chosen. The second moment is that of the solution's run."""
    oldest = Edit(FILE, "clook_next", "if (r)", "r = queue_oldest(q, BOTH); if (r)")
    lost = outcome((oldest,), tmp_path, MIDDLE)
    assert lost.runs == ["syncs"]
    here, there = find_named_events(tmp_path, lost.came)
    assert here.name == there.name == "issued" and here.block == there.block
    assert here.time_ns != there.time_ns
    assert f"the write at sector {here.block} of disk {here.disk} was issued" in lost.came


def step(name: str, time_ns: int, block: int = 8) -> Event:
    """Return an event of a write of 8 sectors."""
    return Event(time_ns, name, 1, block, 0, 8, True)


def test_the_counterpart_of_a_moment_is_the_same_step_of_the_block_as_often_done() -> None:
    """The second queueing of block 8 is the third event in both traces. Block 16 is in one trace
    only."""
    here = [step("queued", 1), step("queued", 2, 16), step("queued", 3), step("issued", 4)]
    there = [step("queued", 5), step("issued", 6), step("queued", 7), step("queued", 8)]
    found = find_counterpart(Moment("run", 2, here[2]), here, "reference-run", there)
    assert found == Moment("reference-run", 2, there[2])
    assert find_counterpart(Moment("run", 1, here[1]), here, "reference-run", there) is None


@pytest.mark.parametrize(
    ("kind", "disk", "concerns"),
    [("sched", 1, True), ("sched", 0, False), ("prefetch", 0, False), ("replace", 0, True)],
)
def test_a_fault_concerns_its_disk_or_the_cache_of_all(
    kind: str, disk: int, concerns: bool
) -> None:
    """disk: where the fault happened; concerns: it matters to a test about disk 1. The cache's
    replacement is for all disks, prefetching is not."""
    number = moments.policy_kinds().index(kind)
    assert Fault("run", 0, Event(1, "fault", disk, 5, 0, number, False)).concerns(1) == concerns


def test_every_kind_of_policy_that_answers_has_its_question() -> None:
    """An update policy answers no question."""
    assert set(moments.policy_kinds()) == moments.ASKED.keys() | {"update"}


def test_a_requests_step_is_found_in_the_trace(tmp_path: Path) -> None:
    """The second of two equal requests has the events 3 to 5."""
    steps = ("queued", "issued", "completed")
    events = [step(name, time_ns) for time_ns, name in enumerate(steps * 2, 1)]
    run = Run(Scenario("one", ""), tmp_path, packed(events))
    _, second = run.requests
    assert [run.moment(second, name).number for name in steps] == [3, 4, 5]
    assert run.moment(run.events[1]).number == 1


def test_events_are_listed_around_one(tmp_path: Path) -> None:
    """Of 40 events, 12 before event 20 and 12 after it are listed, and it is marked."""
    records = [trace.RECORD.pack(n * 1000, n, 0, 7, 0, 1) for n in range(40)]
    head = trace.TRACE_FILE.pack(trace.FILE_MAGIC, len(records), 0)
    file = tmp_path / "trace"
    file.write_bytes(head + b"".join(records))
    listed = moments.list_events_around(file, 20).splitlines()[1:]
    assert [int(line.split()[0]) for line in listed] == [*range(8, 33)]
    marked = [line.replace(" <--", "") for line in listed if " <--" in line]
    assert [line.split()[:5] for line in marked] == [["20", "0.020", "queued", "1", "20"]]
    # before the first event there is nothing
    assert moments.list_events_around(file, 0).splitlines()[1].split()[:2] == ["0", "<--"]
    with pytest.raises(trace.BadTrace, match="it has no event 40"):
        moments.list_events_around(file, 40)


def test_of_a_panic_its_message_is_shown_once_before_its_addresses(tmp_path: Path) -> None:
    """console_tail() gives the last lines of a console."""
    console = tmp_path / "console.txt"
    calls = [f"  ffffffc08000{i:04x} f{i}+0x10" for i in range(30)]
    lines = ["boot", "one", "two", "panic: cache: no buffer", "  hart 0", *calls]
    console.write_text("\r\n".join(lines))
    shown = console_tail(console).splitlines()
    assert [line.removeprefix("    | ") for line in shown[:4]] == lines[1:5]
    assert len(shown) == TAIL_LINES
    console.write_text("\n".join(lines[:3] * 9))
    assert len(console_tail(console).splitlines()) == TAIL_LINES
