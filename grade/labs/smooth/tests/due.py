"""A block is written when it has been dirty for the age that was asked for: no sooner, and under
AIPU within one scan after it."""

from itertools import pairwise

from grade.engine.assertions import expect
from grade.engine.scenario import Request, Run
from grade.engine.workbench import Workbench

from ..loads import (
    BLOCKS,
    CALLED,
    OLD,
    ORDER,
    SMOOTHSYNC,
    STEADY,
    WAITED,
    ages,
    settings,
)

SLACK_MS = 50
AT_ONCE_MS = 5  # between the writes of one scan


def _first_writes(run: Run) -> dict[int, Request]:
    """Return each block's first write."""
    writes = run.writes_of("/f", end_ns=run.beacon(ORDER))
    return {w.block: w.request for w in reversed(writes)}


def no_block_goes_before_its_age(bench: Workbench) -> None:
    """Under AIPU each of 12 blocks is at least age_ms old when its write is queued."""
    run, (age_ms, scan_ms) = bench.run(ages(bench)), settings(bench)
    written = _first_writes(run)
    expect(bool(written), "the blocks to be written", "none was written")
    for block, request in written.items():
        when_ms, dirtied_ms = request.queued_ns / 1e6, run.beacon(block + 1) / 1e6
        run.expect(
            when_ms >= dirtied_ms + age_ms,
            f"block {block}, dirtied after {dirtied_ms:.0f} ms, to stay until "
            f"{dirtied_ms + age_ms:.0f} ms (aipu.age_ms={age_ms} aipu.scan_ms={scan_ms})",
            f"its write was queued at {when_ms:.0f} ms",
            request,
        )


def each_block_goes_within_one_scan_of_its_age(bench: Workbench) -> None:
    """Under AIPU each of 12 blocks is queued by the next scan after it is age_ms old."""
    run, (age_ms, scan_ms) = bench.run(ages(bench)), settings(bench)
    written = _first_writes(run)
    for block in range(BLOCKS):
        last_ms = run.beacon(block + 2) / 1e6 + age_ms + scan_ms + SLACK_MS
        request = written.get(block)
        run.expect(
            bool(request) and request.queued_ns / 1e6 <= last_ms,
            f"the write of block {block} to be queued by {last_ms:.0f} ms "
            f"(aipu.age_ms={age_ms} aipu.scan_ms={scan_ms})",
            f"{request.queued_ns / 1e6:.0f} ms" if request else "it was never queued",
            request,
        )


def between_two_scans_is_the_time_that_was_set(bench: Workbench) -> None:
    """Under AIPU, beside a steady writer, writes are queued every scan_ms and not in between."""
    run, (_, scan_ms) = bench.run(ages(bench)), settings(bench)
    writes = run.writes_of("/s", run.beacon(STEADY), run.beacon(ORDER))
    expect(len(writes) >= 200, "at least 200 blocks to be queued", f"{len(writes)} were")
    for before, after in pairwise(writes):
        gap_ms = (after.request.queued_ns - before.request.queued_ns) / 1e6
        run.expect(
            gap_ms <= AT_ONCE_MS or gap_ms >= scan_ms - SLACK_MS,
            f"block {after.block} to be queued with block {before.block} or by the next scan, "
            f"{scan_ms} ms later (aipu.scan_ms={scan_ms})",
            f"it was queued {gap_ms:.0f} ms later",
            after,
        )


def smoothsync_writes_the_old_and_leaves_the_young(bench: Workbench) -> None:
    """smoothsync with an age of 5 s. One file's blocks were written once and have been dirty again
    for 6 s; another file just became dirty."""
    run = bench.run(SMOOTHSYNC)
    old = run.writes_of("/old", run.beacon(OLD), run.beacon(CALLED))
    expect(
        len(old) == 10, "the 10 blocks that are 6 s old to be queued", f"{len(old)} of them were"
    )
    young = run.writes_of("/young", end_ns=run.beacon(WAITED))
    first = young[0] if young else None
    run.expect(not young, "the younger blocks not to be queued", f"{len(young)} were", first)
