"""How long a mount takes after a cut, by what the journal's log has."""

import pytest

from sluice.crash.disk_events import Event
from sluice.crash.log_faults import HEAD, MAGIC, SUPERBLOCK
from sluice.crash.recovery_times import (
    MOST_MS,
    Mounted,
    follow_log,
    is_in_limits,
    list_rows,
    measure_mounts,
)
from sluice.host.paths import ROOT
from sluice.twin import engine

BLOCK = 4096
LOG = range(10 * BLOCK, 20 * BLOCK)


def write(block: int, blocks: int = 1, kind: int = 0) -> Event:
    """Return a write; kind: of the log's block that it begins with."""
    head = HEAD.pack(MAGIC, kind, 1) if kind else b""
    return Event("write", at=block * BLOCK, data=head.ljust(blocks * BLOCK, b"\0"))


def test_what_is_in_use_of_a_log_is_what_was_written_since_its_superblock() -> None:
    events = [write(11, 3), write(5, 2), Event("flush"), write(14), write(10, 1, SUPERBLOCK)]
    assert list(follow_log([*events, write(15, 2)], LOG, BLOCK)) == [3, 3, 3, 4, 0, 2]


def test_rows_have_the_mean_and_the_worst() -> None:
    rows = list_rows([Mounted(0, 100), Mounted(1, 200), Mounted(63, 300), Mounted(64, 500)])
    assert rows == [
        ["0", "1", "100", "100"],
        ["1 to 63", "2", "250", "300"],
        ["64 to 127", "1", "500", "500"],
    ]


def test_a_mount_that_takes_too_long_is_noticed() -> None:
    assert is_in_limits([Mounted(0, MOST_MS)])
    assert not is_in_limits([Mounted(0, MOST_MS + 1)])


@pytest.mark.native
@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="this host cannot run the twin")
def test_a_mount_takes_longer_with_more_in_the_log() -> None:
    mounted = sorted(measure_mounts(cuts=12), key=lambda one: one.blocks)
    assert is_in_limits(mounted)
    assert mounted[-1].blocks > mounted[0].blocks + 100
    assert mounted[-1].ms > mounted[0].ms + 100


@pytest.mark.native
@pytest.mark.skipif(bool(engine.host_refusal_reason()), reason="this host cannot run the twin")
def test_the_page_has_what_is_measured() -> None:
    text = (ROOT / "book/pages/questions/journal.md").read_text()
    table = text[text.index("| blocks in the log |") :].partition("\n\n")[0]
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    assert shown == list_rows(measure_mounts())
