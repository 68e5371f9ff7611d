"""Blocks that are due at one time are written in the order of age: the oldest first, and no more of
them than were asked for."""

from grade.engine.assertions import expect
from grade.engine.scenario import Run
from grade.engine.workbench import Workbench

from ..loads import BURST, MARKS, ORDER, ages, expect_due, order

BURST_NS = 10**7  # shorter than the writer's pauses


def the_oldest_goes_first(bench: Workbench) -> None:
    """Blocks that became dirty in a random order are due at one scan."""
    run, wanted = bench.run(ages(bench)), order(bench)
    came = run.writes_of("/o", run.beacon(ORDER), run.beacon(BURST))
    blocks = [write.block for write in came]
    astray = (write for write, block in zip(came, wanted, strict=False) if write.block != block)
    expected = f"blocks {wanted} to be queued, in this order"
    run.expect(blocks == wanted, expected, f"blocks {blocks}", next(astray, None))
    expect_due(run, "/o", came)


def _first_burst(run: Run) -> int:
    """Return how many blocks are queued at once, the first time that any are."""
    writes = run.writes_of("/f", end_ns=run.beacon(1))
    expect(bool(writes), "blocks to be written", "none was")
    return sum(w.request.queued_ns < writes[0].request.queued_ns + BURST_NS for w in writes)


def no_more_are_due_than_were_asked_for(bench: Workbench) -> None:
    """Under linux, which has a chunk of the oldest blocks written when too many are dirty."""
    came, wanted = _first_burst(bench.run(MARKS)), _first_burst(bench.reference(MARKS))
    expect(came == wanted, f"{wanted} blocks to be queued by the first flush", f"{came} were")
