"""A journal need not write more, nor flush the drive's cache more often, than the solution."""

from grade.engine.assertions import Slide, expect
from grade.engine.workbench import Workbench
from sluice.crash.log_faults import COMMIT, DESCRIPTOR, REVOKE

from ..judging import find_type
from ..operations import Recording
from ..workloads import record_commits

LEAST = 0.5  # share of the solution's number: with fewer, not all was done
FULL, NONE = 1.1, 1.4  # times the solution's number


def count(recording: Recording, kind: str) -> int:
    """Return how many events of a kind there were before the unmount."""
    end = max(i for i, event in enumerate(recording.events) if event.kind == "began")
    return sum(event.kind == kind for event in recording.events[:end])


def measure(bench: Workbench, kind: str, what: str) -> Slide:
    """Return the number of writes or flushes, compared with the solution's."""
    mine, solution = (record_commits(bench, reference) for reference in (False, True))
    done, wanted = count(mine, kind), count(solution, kind)
    expect(done >= LEAST * wanted, f"about {wanted} {what}, as by the solution", f"{done}")
    return Slide("a number", what, done, FULL * wanted, NONE * wanted)


def commits_take_few_writes(bench: Workbench) -> Slide:
    """The writes of names that are made, changed and removed, with fsyncs."""
    return measure(bench, "write", "writes")


def commits_take_few_flushes(bench: Workbench) -> Slide:
    """The flushes of the drive's cache meanwhile."""
    return measure(bench, "flush", "flushes")


def nothing_is_committed_where_nothing_was_changed(bench: Workbench) -> None:
    """A commit block stands behind copies or revokes, also at the unmount."""
    empty = True
    for event in record_commits(bench).events:
        kind = find_type(event)
        if kind == COMMIT:
            expect(not empty, "no commit block of a transaction without blocks", "one")
        empty = kind == COMMIT or (empty and kind not in (DESCRIPTOR, REVOKE))
