"""The sizes and the zeros that a cut may leave in a file without a journal: behind the blocks to
which its inode points, e2fsck may set a size; in a hole there are zeros, once an fsync has
confirmed them."""

import struct
from dataclasses import replace

import pytest

from sluice.crash.disk_events import Event
from sluice.crash.laboratory import Laboratory, Plant
from sluice.crash.machine import Setup
from sluice.crash.operations import pattern
from sluice.crash.oracle import Promise, check_contents, round_up
from sluice.crash.workloads import find_workload
from sluice.twin import engine

pytestmark = pytest.mark.skipif(
    bool(engine.host_refusal_reason()), reason="this host cannot run the twin"
)
FAR = "write /f 60000 100 10; fsync /f; append /f 6000 11"  # 66100 bytes, of which 60100 are safe


@pytest.mark.parametrize(
    ("sizes", "block_bytes", "rounded"),
    [
        ([60100, 66100], 4096, [69632]),
        ([60100, 66100], 1024, [66560]),
        ([60100, 61000], 4096, []),  # the file grew within its last block
        ([5000, 9000], 4096, []),  # the inode points to it
        ([5000, 14000], 1024, [14336]),
        ([66100, 60100], 4096, []),  # it did not grow
        ([66100], 4096, []),
        ([40000, 49152, 49153], 4096, [53248]),
    ],
)
def test_e2fsck_may_round_up_the_size_of_a_file_that_grew_behind_its_direct_blocks(
    sizes: list[int], block_bytes: int, rounded: list[int]
) -> None:
    """sizes: those that the file had, of which the first is confirmed; rounded: the sizes that
    e2fsck may set besides, in whole blocks. Other sizes and damaged contents are wrong."""
    assert list(round_up(sizes, block_bytes)) == rounded
    window = [pattern(0, size, 1) for size in sizes]
    for size in rounded:
        longer = pattern(0, max(sizes), 1).ljust(size, b"\0")
        repaired = Promise(repaired=block_bytes)
        assert check_contents(longer, window, repaired)[0] == ""
        assert "its size" in check_contents(longer, window, Promise())[0]
        for wrong in (size + block_bytes, size - 1, min(sizes) - 1):
            assert "its size" in check_contents(longer.ljust(wrong)[:wrong], window, repaired)[0]
        damaged = b"?" * sizes[0] + longer[sizes[0] :]
        assert "never there" in check_contents(damaged, window, repaired)[0]


@pytest.mark.parametrize("block", ["4K", "1K"])
@pytest.mark.parametrize(
    "text",
    [
        FAR,
        "store /f 52000 100 10; store /f 60000 100 11",
        "truncate /f 20000; fsync /f; write /f 12000 100 11",  # a hole is filled
        "store /f 52000 100 10; store /f 4000 9000 11",
        "store /f 60000 6000 10; truncate /f 52000",
    ],
)
def test_no_cut_loses_what_is_far_in_a_file_or_in_a_hole(text: str, block: str) -> None:
    """The workloads write behind the direct blocks, or fill a hole."""
    with Laboratory(Setup(block=block)) as laboratory:
        outcome = laboratory.try_workload(find_workload(text), most=1)
    assert not outcome.failures
    assert outcome.cuts > 20


def set_size(size: int) -> Plant:
    """Return a fault: each write of /f's inode that is 66100 bytes long shows this size instead."""

    def change(events: list[Event]) -> list[Event]:
        """Write another size in each inode that has the size 66100."""
        for i, event in enumerate(events):
            at = event.data.find(struct.pack("<I", 66100))
            if event.kind == "write" and at >= 0:
                data = event.data[:at] + struct.pack("<I", size) + event.data[at + 4 :]
                events[i] = replace(event, data=data)
        return events

    return change


@pytest.mark.parametrize(
    ("text", "size", "said"),
    [
        (FAR, 69632, "mount: /f: its size is 69632, not 60100 or 66100"),  # only e2fsck may do so
        (FAR, 66100 + 4096, "mount: /f: its size is 70196, not 60100 or 66100"),
        (FAR, 73728, "e2fsck, then mount: /f: its size is 73728, not 60100 or 66100"),
        (f"{FAR}; fsync /f", 60100, "e2fsck, then mount: /f: its size is 69632, not 66100"),
        (f"{FAR}; fsync /f", 60100, "mount: /f: its size is 60100, not 66100"),
        (f"{FAR}; fsync /f", 1000, "mount: /f: its size is 1000, not 66100"),
    ],
)
def test_a_wrong_size_beside_the_one_that_e2fsck_sets_is_found(
    text: str, size: int, said: str
) -> None:
    """said: one of the judges' messages."""
    with Laboratory(Setup()) as laboratory:
        outcome = laboratory.try_workload(find_workload(text), set_size(size))
    assert said in {text for failure in outcome.failures for text in failure.wrong}


def test_confirmed_bytes_of_a_sector_are_there_if_the_rest_of_it_is_stale() -> None:
    """The last 6000 bytes may be those of another file, the first 5000 may not. The sector from
    4608 on has bytes of both kinds."""
    window = [b"a" * 5000, b"a" * 5000 + b"b" * 6000]
    stale = b"a" * 5000 + b"?" * 6000
    assert check_contents(stale, window, Promise())[0] == ""
    damaged = b"a" * 4999 + b"?" * 6001
    assert "from 4608 on were never there" in check_contents(damaged, window, Promise())[0]
