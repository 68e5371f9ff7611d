"""Queued requests are served by rising sector."""

from itertools import pairwise

from grade.engine.assertions import expect
from grade.engine.scenario import Run, Write
from grade.engine.workbench import Workbench

from ..choices import Kind, check_all, choice_error, list_choices
from ..loads import CLOSE, DONE, crowd, syncs


def _sync_writes(run: Run, first: int) -> list[Write]:
    """Return the file's writes by the sync between this beacon and the next, as they were
    served."""
    writes = run.writes_of("/f", run.beacon(first), run.beacon(first + 1))
    expect(len(writes) >= 15, "at least 15 writes by the sync", f"{len(writes)}")
    return sorted(writes, key=lambda write: write.request.issued_ns)


def _expect_rising(run: Run, served: list[Write]) -> None:
    """Expect these writes to be served by rising block."""
    for before, after in pairwise(served):
        run.expect(
            before.block < after.block,
            "each block to be served after all lower ones",
            f"block {after.block} was served after block {before.block}",
            after,
            "issued",
        )


def blocks_here_and_there_are_served_by_rising_sector(bench: Workbench) -> None:
    """A sync queues some blocks of a file, all of them ahead of the head. The test looks at those
    that follow no other."""
    run = bench.run(syncs(bench), despite_faults=True)
    served = _sync_writes(run, 1)
    blocks = {write.block for write in served}
    _expect_rising(run, [write for write in served if write.block - 1 not in blocks])


def a_block_right_under_the_head_is_served_next(bench: Workbench) -> None:
    """As above with neighbouring blocks: the head stands where the next block begins."""
    run = bench.run(syncs(bench), despite_faults=True)
    _expect_rising(run, _sync_writes(run, 3))


def a_block_that_the_head_has_just_passed_waits(bench: Workbench) -> None:
    """Five processes read the same few blocks of each disk."""
    run = bench.run(crowd(bench), despite_faults=True)
    for disk in range(len(run.scenario.setting.drives)):
        for choice in list_choices(run, disk, run.beacon(CLOSE), run.beacon(DONE)):
            if choice.goes_back or (choice.fault and choice.right_sector >= choice.head):
                raise choice_error(run, choice)
    check_all(run, {Kind.AHEAD}, 5, run.beacon(CLOSE), run.beacon(DONE))
