"""Disks that fail, lie, vanish and rot: what must hold, and judges that see what does not.

A device fault makes writes or flushes fail, or the disk vanish; rot flips a bit of a structure on
the disk, such as /f's inode. A Row counts tries, what was told (errors, e2fsck), what was silent,
and what was wrong. A structure's limit says, for each bit, which files may have wrong data because
of it. Fixtures: `laboratory` is the usual one, `rotten` the one for flipped bits.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sluice.crash import inject
from sluice.crash.cuts import iterate_cuts
from sluice.crash.inject import (
    ALWAYS,
    Limit,
    Row,
    Structure,
    name_cut,
    run_injection,
    try_device,
    try_rot,
)
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
    """Return a laboratory with blocks of 1 KiB."""
    with Laboratory(Setup(block="1K")) as made:
        yield made


def test_whatever_a_disk_does_what_must_hold_holds(capsys: pytest.CaptureFixture[str]) -> None:
    """Six tries of each of 19 faults. Each fault that always fails a call is always reported to the
    program, and nothing is wrong.

    A row of the printed table has the fault, tries, how many were reported, and in column 5 how
    many were wrong.
    """
    assert run_injection(6)
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert len(rows) == 19
    tries, reported = ({row[0].strip(): int(row[i]) for row in rows} for i in (1, 2))
    assert min(tries.values()) >= 6
    for what in ("a flush that fails, always", "a write that fails, always", "the disk vanishes"):
        assert reported[what] == tries[what] > 10
    assert all(row[5].strip() == "0" for row in rows)


def test_each_cut_has_a_word_of_lazyfs(laboratory: Laboratory) -> None:
    """LazyFS, a file system that injects faults, calls the ways of losing writes clear, torn-seq
    and torn-op."""
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
ACCOUNTED = "        account(d, io, error);\n        io->done(io, "
SWALLOWED = ("kernel/disk/disk.c", f"{ACCOUNTED}error);", f"{ACCOUNTED}0);")
PANICS = (
    "kernel/disk/disk.c",
    "    count(&errors, error != 0);",
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
    """A twin is built whose kernel hides an error, or panics at one."""
    file, old, new = change
    fault = replace(find_fault("no-record"), file=file, edits=((old, new),))
    with Laboratory(Setup(block="1K", twin=build_with(fault, tmp_path))) as made:
        assert any(said in text for text in try_device(made, kind, ALWAYS).wrong)


def test_wrong_data_that_should_have_been_seen_are_found(rotten: Laboratory) -> None:
    """The limit allows no file's data to be wrong, so both flips are wrong."""
    data = list_by_name(rotten)["data of /f"]
    row = try_rot(rotten, replace(data, limit=lambda _byte, _bit: inject.NOTHING), 2)
    assert row.silent == 2
    assert "/f: wrong data, no error" in row.wrong[0]
    assert "/f: wrong data, and e2fsck finds nothing" in row.wrong[1]


@pytest.fixture(scope="module")
def rotten() -> Iterator[Laboratory]:
    """Yield the laboratory whose bits rot."""
    with inject.RotLaboratory(Setup(block="1K")) as made:
        yield made


def list_by_name(laboratory: Laboratory) -> dict[str, Structure]:
    """Return the structures of a laboratory's disk, by their names."""
    return {one.name: one for one in inject.list_structures(laboratory.base.disk)}


def limited_bits(structure: Structure) -> dict[Limit, int]:
    """Return how many bits of a structure have each limit."""
    every = (structure.limit(*divmod(place, 8)) for place in range(8 * structure.size))
    return dict(Counter(every))


def test_each_bit_may_harm_only_the_file_that_it_belongs_to(rotten: Laboratory) -> None:
    """Of each structure on the disk it is counted how many of its bits may harm which file.

    /f has 23,000 bytes: blocks 0 to 4 and 19 to 22 of 23, of which 11 are in its block of pointers.
    /h has 9 blocks, and /d/g has one. A block has 8192 bits, and a pointer 32.
    """
    f, g, h, none = Limit(("/f",)), Limit(("/d/g",)), Limit(("/h",)), inject.NOTHING
    found = {name: limited_bits(one) for name, one in list_by_name(rotten).items()}
    assert found["superblock"].keys() == found["descriptors"].keys() == {none}
    assert {limit: n for limit, n in found["bitmap of blocks"].items() if limit != none} == {
        f: 9,
        g: 1,
        h: 9,
    }
    assert {limit: n for limit, n in found["bitmap of inodes"].items() if limit != none} == {
        f: 1,
        g: 1,
        h: 1,
    }
    assert found["inode of /f"] == {
        f: 13 * 32,
        inject.F_SILENT: 32 + 3,
        none: 1024 - 13 * 32 - 32 - 3,
    }
    assert found["block of pointers of /f"] == {f: 11 * 32, none: 8192 - 11 * 32}
    assert found["directory /d"] == {g: 32, none: 8192 - 32}
    assert found["data of /f"] == {inject.F_SILENT: 8192}


def test_wrong_data_need_the_word_of_e2fsck_where_metadata_are_damaged(
    rotten: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flipped pointer gives wrong data, which is allowed if e2fsck notices the damage."""
    assert not inject.is_damage_found(rotten, rotten.base.disk)
    pointers, row = list_by_name(rotten)["block of pointers of /f"], Row("pointers")
    inject.try_flip(rotten, row, pointers, 4 * 7, 0)  # of block 19, which has data
    assert (row.silent, row.wrong) == (1, [])
    monkeypatch.setattr(inject, "run_e2fsck", lambda _path, _options: (0, ""))
    inject.try_flip(rotten, row, pointers, 4 * 7, 0)
    assert [text.partition(": ")[2] for text in row.wrong] == [
        "/f: wrong data, and e2fsck finds nothing"
    ]


def test_a_program_that_reads_what_the_disk_does_not_have_is_found(rotten: Laboratory) -> None:
    """The judge takes what the program has read, not what a reader of ours finds on the disk."""
    events = rotten.machine.run_operations(inject.USE).events
    assert inject.wrong_reads(rotten.start, events) == []
    reads = [e for e in events if e.kind == "returned" and inject.USE[e.mark].name == "read"]
    assert len(reads) == 2 * len(inject.READS) + 1
    for event in reads:
        # This read has returned other bytes; or an error, and then its value does not count.
        other = [replace(e, value=e.value ^ 1) if e == event else e for e in events]
        path = inject.USE[event.mark].words[0]
        assert inject.wrong_reads(rotten.start, other) == [path]
        failed = [replace(e, value=7, error=5) if e == event else e for e in events]
        assert inject.wrong_reads(rotten.start, failed) == []


def test_a_disk_that_cannot_be_repaired_is_found(laboratory: Laboratory) -> None:
    """A disk of zeros."""
    row, nothing = Row("nothing"), inject.NOTHING
    inject.judge_use(laboratory, row, bytes(len(laboratory.base.disk)), "no disk", nothing, True)
    assert row.refused == 1
    assert "e2fsck -fy cannot repair it" in row.wrong[0]


def test_what_e2fsck_does_not_repair_is_so_before_anybody_uses_the_disk(
    rotten: Laboratory,
) -> None:
    """All bits of all structures were tried once (book/pages/inside/crash.md): these four, of the
    length of `..` in a directory, were beyond e2fsck 1.47."""
    directory = list_by_name(rotten)["directory /d"]
    for bit in range(4):
        disk = bytearray(rotten.base.disk)
        disk[directory.at + 16] ^= 1 << bit
        assert inject.repair(rotten, bytes(disk))[1]
    row = Row("directory")
    inject.try_flip(rotten, row, directory, 16, 4)
    assert not row.wrong
