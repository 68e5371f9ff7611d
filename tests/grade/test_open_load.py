"""Lab open: the readers did what the load says, whatever a kernel did to them.

A kernel could slow readers down so that they ask for fewer or other blocks. load.expect_same_load
compares the blocks that each reader asked for with those under the reference (CLASSIC: two readers,
20 blocks each).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from grade.engine.assertions import Wrong
from grade.engine.scenario import Request, Write
from grade.labs.open import load
from grade.labs.open.tests import sync

DISK, OTHER = 1, 0
PATHS = [path for path, _ in load.READ_FILES]


class Asked(NamedTuple):
    """An event: a reader asks the cache for a block."""

    name: str
    disk: int
    block: int
    pid: int


@dataclass
class Seen:
    """The parts of a run that the load looks at; each file has a hundred blocks."""

    rows: list[Asked]
    data_disk: int = DISK

    @property
    def events(self) -> "Seen":
        return self

    def select_named(self, *names: str) -> Iterator[tuple[int, Asked]]:
        """Yield the events with these names, numbered."""
        return ((i, row) for i, row in enumerate(self.rows) if row.name in names)

    def sectors(self, path: str) -> dict[int, int]:
        """Return the file's blocks by their first sectors."""
        first = 100 * (1 + PATHS.index(path))
        return {(first + i) * load.BLOCK_SECTORS: i for i in range(100)}


def readers(*blocks: list[int]) -> Seen:
    """Return a run in which reader i misses these blocks."""
    return Seen([Asked("miss", DISK, b, pid) for pid, some in enumerate(blocks) for b in some])


CLASSIC = readers([100 + i for i in range(20)], [200 + 3 * i for i in range(20)])
FURTHER = readers([100 + i for i in range(25)], [200 + 3 * i for i in range(20)])
FEWER = readers([100 + i for i in range(17)], [200 + 3 * i for i in range(20)])
OTHERS = readers([100 + i for i in range(20)], [200 + i for i in range(20)])
NOBODY = readers([100 + i for i in range(20)])


def test_a_reader_may_come_further_and_other_blocks_do_not_count() -> None:
    """Five blocks more, a block of no file, and one of another disk."""
    more = Seen([*FURTHER.rows, Asked("hit", DISK, 7, 0), Asked("hit", OTHER, 100, 0)])
    for own in (CLASSIC, FURTHER, more):
        load.expect_same_load(own, CLASSIC)


@pytest.mark.parametrize("own", [FEWER, OTHERS, NOBODY])
def test_readers_that_ask_for_something_else_prove_nothing(own: Seen) -> None:
    """Three blocks fewer; other blocks; and only one reader."""
    with pytest.raises(Wrong, match="they asked for others, or for fewer"):
        load.expect_same_load(own, CLASSIC)


@dataclass
class Synced:
    """The writes of the file that is fsynced, as the time when each was on the disk."""

    done_ns: list[int]

    def beacon(self, number: int) -> int:
        """Return the time when the fsync is done, 1000 ns."""
        assert number == load.DONE
        return 1000

    def writes_of(self, path: str, end_ns: int) -> list[Write]:
        """Return the writes of the file."""
        assert (path, end_ns) == ("/synced", 1000)
        rows = enumerate(self.done_ns)
        return [Write(i, Request(DISK, 8 * i, 8, True, 1, 2, ns)) for i, ns in rows]


def test_an_fsync_that_is_done_before_the_disk_has_the_blocks_proves_nothing() -> None:
    """The fsync is done at 1000 ns. Neither no write, nor one write too few, nor a write that ends
    at 1001 ns is accepted."""
    sync._expect_written(Synced([900] * load.SYNCED))
    for early in ([], [900] * (load.SYNCED - 1), [900] * (load.SYNCED - 1) + [1001]):
        with pytest.raises(Wrong, match="to be on the disk when fsync is done"):
            sync._expect_written(Synced(early))
