"""The power cuts of the lab crash: which disks they leave, and how often each is looked at.

SCENARIO is a run that makes a directory, copies a file and calls sync. The power is cut after each
write, and within some (torn writes). What a cut leaves is repaired by e2fsck and read; equal disks
only once. `run` is the solution's run in the machine.
"""

import platform
from pathlib import Path
from random import Random

import pytest

from grade.definition.lab import find_lab
from grade.engine import tree, twin_grading
from grade.engine.grading import BUDGET_S
from grade.engine.scenario import BLOCK_BYTES, Request, Run
from grade.engine.workbench import Workbench
from grade.labs.crash import cuts
from grade.labs.crash.cuts import SECTOR, Cut, Disk, each_cut
from sluice.twin import engine

SCENARIO = cuts.scenario(
    "a", ["mkdir /data/d", "cp /text /data/d/f", "sync"], {"/text": b"x" * 9}, cuts.ON_DEMAND
)
TEXT = "/d/f"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Return a workbench for the solution in the machine."""
    lab, folder = find_lab("crash"), tmp_path_factory.mktemp("machine")
    return Workbench(
        lab.reference, lab.reference, folder, "7", BUDGET_S, files=tree.solution_files(lab)
    )


@pytest.fixture(scope="module")
def run(bench: Workbench) -> Run:
    """Return the solution's run of SCENARIO."""
    return bench.run(SCENARIO)


@pytest.mark.skipif(platform.machine() not in engine.HOSTS, reason="there is no twin here")
def test_the_twin_logs_the_writes_that_qemu_logs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logged writes, put onto the disk before, give the disk after."""
    lab = find_lab("crash")
    monkeypatch.setattr(Workbench, "_run_machine", None)  # no machine
    twin = twin_grading.make_bench(lab, engine.TWIN, tmp_path, "7", tree.solution_files(lab)).run(
        SCENARIO
    )
    for logged in (twin, run):
        disk = bytearray((logged.folder / "data.img").read_bytes())
        for write in cuts.list_writes(logged):
            disk[write.at : write.at + len(write.data)] = write.data
        assert disk == (logged.folder / "data.after.img").read_bytes()
    places = [[write.at for write in cuts.list_writes(logged)] for logged in (twin, run)]
    assert places[0] == places[1] and len(places[0]) > 10


def test_a_disk_of_the_same_bytes_is_repaired_and_read_once(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All cuts are tried twice; the second time no disk is repaired. After the first cut the file
    is not there, after the last one it is whole."""
    repaired: list[Path] = []
    run_e2fsck = cuts.run_e2fsck

    def note_and_run(path: Path, how: str) -> object:
        """Note that a disk is repaired, and repair it."""
        repaired.append(path)
        return run_e2fsck(path, how)

    monkeypatch.setattr(cuts, "run_e2fsck", note_and_run)
    cuts.repair_cache().clear()
    tries: list[list[tuple[bytes | None, str]]] = []  # of each cut: the file's contents and stat
    for _ in range(2):
        tries.append([])

        def read(cut: Cut) -> None:
            tries[-1].append((cut.files([TEXT])[TEXT], cut.stat(TEXT)))

        each_cut(run, 0, 10, read)
    first, second = tries
    assert first == second and first[0][0] is None and first[-1][0] == b"x" * 9
    assert 10 < len(repaired) == len(cuts.repair_cache()) <= len(first)


def test_a_write_is_torn_after_the_first_and_before_the_last_sector_that_it_changes() -> None:
    """The disk has `old` in each sector, and eight of its sectors are written. left_by: these eight
    sectors after each way in which the write may be torn. The disk itself stays as it is."""
    old, new = b"o" * SECTOR, b"n" * SECTOR
    disk = Disk(old * 16)
    request = Request(0, 0, 0, write=True, queued_ns=0, issued_ns=0, completed_ns=0)

    def left_by(data: bytes) -> list[bytes]:
        write = cuts.Write(4 * SECTOR, data, request)
        return [bytes(disk.data[4 * SECTOR : 12 * SECTOR]) for _ in cuts.tear_write(disk, write)]

    assert left_by(old + new + old + new + new + old * 3) == [
        old + new + old * 6,
        old + new + old + new + old * 4,
    ]
    assert left_by(old + new + old + new + old * 4) == [old + new + old * 6]
    assert left_by(old + new + old * 6) == []
    assert left_by(old * 8) == []
    assert disk.data == old * 16 and disk.hash() == Disk(old * 16).hash()


def test_the_power_is_cut_within_a_write_too(run: Run) -> None:
    """torn: how many sectors of the last write are there."""
    seen: list[tuple[int, int]] = []
    each_cut(run, 0, 10, lambda cut: seen.append((cut.writes, cut.torn)))
    assert any(sectors for _, sectors in seen)
    assert len(seen) == len(set(seen)) and seen == sorted(seen)
    assert {count for count, _ in seen} == set(range(1, len(cuts.list_writes(run)) + 1))


def test_disks_have_the_same_hash_if_they_have_the_same_bytes() -> None:
    """A hash that is updated at each write equals one over all bytes."""
    rng = Random(1)
    disk = Disk(bytes(8 * BLOCK_BYTES))
    for _ in range(50):
        before = disk.hash()
        disk.write(512 * rng.randrange(7 * 8), rng.randbytes(512 * rng.randrange(1, 9)))
        assert disk.hash() != before
        assert disk.hash() == Disk(bytes(disk.data)).hash()


def test_only_so_many_disks_are_remembered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """MOST_KNOWN is 5 here."""
    monkeypatch.setattr(cuts, "MOST_KNOWN", 5)
    cuts.repair_cache().clear()
    each_cut(run, 0, 10, lambda cut: None)
    assert len(cuts.repair_cache()) == 5
