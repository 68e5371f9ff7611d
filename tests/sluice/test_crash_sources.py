"""Faults planted into the sources, and what `sluice crash try` says of a change.

A SourceFault replaces text in one of the kernel's sources; a twin is built from the changed
sources, and the crash laboratory must find what the fault loses. Each fault names a workload that
shows it and the kind of disk it is for (on: files, journal, log, or image for mkfs). An attempt is
a workload on a disk. A few faults are built and judged here, of which each run draws two. FULL=1,
and `sluice crash sources`, judge all.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from whole import in_full

from sluice.crash import story, try_run
from sluice.crash.campaign_table import PAGE
from sluice.crash.disk_kinds import open_laboratory
from sluice.crash.ext2 import Damaged, read_tree
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.operations import parse_operations
from sluice.crash.replayed_disk import LogLaboratory, fit_setup
from sluice.crash.source_faults import BadFault, SourceFault, build_with, find_fault, load_faults
from sluice.crash.source_run import run_faults, try_fault
from sluice.crash.try_run import Attempt, find_failure, tell_attempt
from sluice.crash.workloads import find_workload
from sluice.host.paths import ROOT
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)
FAULTS = load_faults()
# A fault for each file of recovery, which few cuts suffice to find; a fault of mkfs; and the fault
# that the book plants.
TRIED = (
    "two-writes-swapped",
    "link-before-count",
    "inodes-not-claimed",
    "old-count-believed",
    "log-without-barrier",
    "recovered-too-early",
    "log-too-long",
    "commit-not-shared",
    "fdatasync-without-indirect",
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_place_exists_once_and_is_changed(fault: SourceFault) -> None:
    """The text that a fault replaces is in the source exactly once."""
    text = (ROOT / fault.file).read_text()
    assert fault.plant(text) != text
    assert fault.workload or fault.on == "image"
    assert parse_operations(fault.workload) or fault.on == "image"


def test_the_catalogue_is_as_large_and_as_wide_as_it_was_promised() -> None:
    """More than 40 faults, of these kinds, in these files."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) > 40
    kinds = Counter(fault.kind for fault in FAULTS)
    assert {"order", "missing flush", "wrong size", "link count", "rename", "bitmap"} <= set(kinds)
    files = {Path(fault.file).name for fault in FAULTS}
    assert {"claim.c", "redo.c", "recover.c", "order.c", "journal.c"} <= files
    assert {fault.file for fault in FAULTS} >= {
        "kernel/ext2/recover.c",
        "kernel/journal/recover.c",
        "mkfs/journal.c",
    }


def test_a_place_that_is_gone_is_told() -> None:
    """A fault whose text is not in the source, or is there twice, is refused."""
    fault = replace(FAULTS[0], edits=(("no such text", ""),))
    with pytest.raises(BadFault, match=f"{fault.name}: {fault.file} has 0 times, not once"):
        fault.plant((ROOT / fault.file).read_text())
    with pytest.raises(BadFault, match="2 times"):
        replace(fault, edits=(("a", "b"),)).plant("aa")
    with pytest.raises(BadFault, match="there is no such fault"):
        find_fault("no-such-fault")


def test_a_fault_that_does_not_compile_is_told(tmp_path: Path) -> None:
    """A misspelled word; and a file that is not part of the twin."""
    fault = replace(find_fault("no-record"), edits=(("return fs_intend(", "retrun fs_intend("),))
    with pytest.raises(BadFault, match="no-record: the compiler refuses it"):
        build_with(fault, tmp_path)
    elsewhere = replace(fault, file="kernel/proc/vm.c", edits=())
    with pytest.raises(BadFault, match="is no part of twin"):
        build_with(elsewhere, tmp_path)


@pytest.mark.drawn(4)
@pytest.mark.parametrize("name", TRIED)
def test_a_fault_of_the_sources_is_found(name: str) -> None:
    """Building the faulty twin and trying its workload shows something wrong."""
    assert try_fault(None, find_fault(name)).wrong


@pytest.mark.parametrize("name", TRIED[:2])
def test_its_workload_finds_nothing_without_the_fault(name: str) -> None:
    fault = find_fault(name)
    with open_laboratory(fault.on, fault.block) as laboratory:
        assert not laboratory.try_workload(find_workload(fault.workload), most=1).failures


@in_full
def test_all_faults_of_the_sources_are_found() -> None:
    assert run_faults(FAULTS, 2, False)


def test_a_fault_that_is_not_found_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The fault gets a workload that does not show it."""
    harmless = replace(find_fault("no-record"), workload="fsync /f")
    assert not run_faults([harmless], 1, False)
    assert "NOT FOUND: no-record: the judges are wrong" in capsys.readouterr().out


def test_a_disk_with_more_names_than_links_is_damaged() -> None:
    """Byte 26 of an inode is its count of links."""
    with Laboratory(Setup()) as laboratory:
        events = laboratory.record(find_workload("link /f /n; unlink /d/hard"))
        disk = bytearray(laboratory.base.disk)
        for event in events:
            if event.kind == "write":
                disk[event.at : event.at + len(event.data)] = event.data
        tree = read_tree(disk)
        at = find_inode(bytes(disk), tree["/f"].inode)
        disk[at + 26] = 1
        with pytest.raises(Damaged, match="it has 2 names, and counts 1"):
            read_tree(disk)


def find_inode(disk: bytes, number: int) -> int:
    """Return the first byte of an inode."""
    from sluice.crash.ext2 import Reader

    return Reader(disk).inode_place(number)


# ---- cuts within the replay of a log ----


def test_no_cut_within_the_replay_of_a_log_loses_anything() -> None:
    """The power is cut again while the log is replayed after a first cut."""
    with LogLaboratory(fit_setup(Setup())) as laboratory:
        outcome = laboratory.try_workload(find_workload("sync"))
        assert outcome.failures == []
        assert outcome.cuts > 200
        assert outcome.images > 100


# ---- a change that was just made ----


def test_what_has_found_most_faults_is_tried_first() -> None:
    """The first attempts are the workloads that find known faults."""
    faults = [fault for fault in FAULTS if fault.on != "image"]
    known = {Attempt(fault.on, fault.block, fault.workload) for fault in faults}
    attempts = list(islice(try_run.iterate_attempts(math.inf), len(known)))
    assert set(attempts) == known
    assert len(attempts) > 20
    assert {attempt.on for attempt in attempts} == {"files", "log", "journal"}


def test_no_attempt_begins_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock moves by a second at each look, and 3 s are allowed."""
    clock = iter(range(10))
    monkeypatch.setattr(try_run, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert len(list(try_run.iterate_attempts(3))) == 4


@contextmanager
def changed_twin(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have this process use a twin with a fault in it."""
    twin = build_with(find_fault(name), tmp_path)
    monkeypatch.setattr(try_run, "open_laboratory", partial(open_laboratory, twin=twin))
    monkeypatch.setattr(story, "TWIN", twin)
    yield


def test_two_writes_swapped_are_found_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The book quotes the story of this loss."""
    with changed_twin("two-writes-swapped", tmp_path, monkeypatch):
        with try_run.Laboratories() as laboratories:
            attempt = Attempt("files", "4K", "write /f 0 100 10; creat /n")
            tried = try_run.make_attempt(laboratories, attempt)
        text = tell_attempt(attempt, tried.wrong)
    assert "is no file" in tried.wrong
    assert text.startswith("Lost: creat /n\n")
    assert f"```text\n{text}\n```" in PAGE.read_text()


def test_the_page_swaps_the_two_writes_of_the_catalogue() -> None:
    """The page describes the change in words, because its code is the answer of a lab."""
    fault = find_fault("two-writes-swapped")
    page = PAGE.read_text()
    assert f"`{fault.name}`" in page
    assert f"{{file}}`{fault.file}`, three statements of the function `make_at`" in page


def test_what_is_wrong_without_a_cut_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fault shows already when the workload has run to its end."""
    with changed_twin("size-of-last-write", tmp_path, monkeypatch):
        attempt = Attempt("files", "4K", "write /f 0 100 10")
        with try_run.Laboratories() as laboratories:
            tried = try_run.make_attempt(laboratories, attempt)
        assert "its size is 100, not 5000" in tried.wrong
        assert tell_attempt(attempt, tried.wrong).startswith("Lost: write /f 0 100 10")


def test_an_unchanged_tree_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts are made, for at most a second."""
    few = [Attempt("files", "1K", "unlink /f"), Attempt("files", "4K", "sync")]
    ends_s: list[float] = []

    def iterate(end_s: float) -> Iterator[Attempt]:
        ends_s.append(end_s)
        yield from few

    monkeypatch.setattr(try_run, "iterate_attempts", iterate)
    began_s = time.monotonic()
    attempt, said = find_failure(1, 2)
    assert began_s + 1 <= ends_s[0] <= time.monotonic() + 1
    assert attempt is None
    assert said.startswith("2 workloads, ")
    assert said.endswith("nothing was lost")
