"""Disks that fail, lie, vanish and rot: what must hold, and judges that see what does not."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.crash import inject
from sluice.crash.cuts import iterate_cuts
from sluice.crash.inject import ALWAYS, Row, name_cut, run_injection, try_device, try_rot
from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.source_faults import build_with, find_fault
from sluice.crash.workloads import find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    with Laboratory(Setup(block="1K")) as made:
        yield made


def test_whatever_a_disk_does_what_must_hold_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_injection(6)
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert len(rows) == 19
    tries, told = ({row[0].strip(): int(row[i]) for row in rows} for i in (1, 2))
    assert min(tries.values()) >= 6
    for what in ("a flush that fails, always", "a write that fails, always", "the disk vanishes"):
        assert told[what] == tries[what] > 10
    assert all(row[5].strip() == "0" for row in rows)


def test_each_cut_has_a_word_of_lazyfs(laboratory: Laboratory) -> None:
    events = laboratory.record(find_workload("append /f 6000 10; fsync /f"))
    words: Counter[str] = Counter()
    pending: set[int] = set()
    for cut, _ in iterate_cuts(laboratory.base, events):
        flushes = [i for i, e in enumerate(events[: cut.after + 1]) if e.kind == "flush"]
        first = max(flushes, default=-1)
        pending = {i for i in range(first + 1, cut.after + 1) if events[i].kind == "write"}
        words[name_cut(cut, len(pending))] += 1
    assert set(words) == {"clear", "torn-seq", "torn-op", "whole"}


# Of what a kernel may do wrong with a disk that fails: the text sought and put.
SWALLOWED = ("kernel/disk/disk.c", "        i->done(i, error);", "        i->done(i, 0);")
PANICS = (
    "kernel/disk/disk.c",
    "    if (error)\n        count(&errors, 1);",
    '    if (error)\n        panic("a disk has failed");',
)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (SWALLOWED, "write", "fsync /n succeeded, and it is not there"),
        (PANICS, "write", "the machine ended with status"),
    ],
)
def test_a_kernel_that_is_wrong_with_errors_is_found(
    tmp_path: Path, change: tuple[str, str, str], kind: str, said: str
) -> None:
    file, old, new = change
    fault = replace(find_fault("no-record"), file=file, edits=((old, new),))
    with Laboratory(Setup(block="1K", twin=build_with(fault, tmp_path))) as made:
        assert any(said in text for text in try_device(made, kind, ALWAYS).wrong)


def test_wrong_data_that_should_have_been_seen_are_found(laboratory: Laboratory) -> None:
    data = next(s for s in inject.list_structures(rot_disk()) if s.name == "data of /f")
    with inject.RotLaboratory(Setup(block="1K")) as made:
        row = try_rot(made, replace(data, unseen=()), 2)
    assert row.silent == 2
    assert "/f: wrong data, no error" in row.wrong[0]


def rot_disk() -> bytes:
    """Return the disk whose bits rot."""
    with inject.RotLaboratory(Setup(block="1K")) as made:
        return made.base.disk


def test_a_disk_that_cannot_be_repaired_is_found(laboratory: Laboratory) -> None:
    row = Row("nothing")
    inject.judge_use(laboratory, row, bytes(len(laboratory.base.disk)), "no disk", (), True)
    assert row.refused == 1
    assert "e2fsck -fy cannot repair it" in row.wrong[0]
