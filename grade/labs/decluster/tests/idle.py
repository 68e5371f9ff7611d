"""Blocks that were held back are written when the disk is idle: some each second."""

from math import ceil

from grade.engine.assertions import expect
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..writes import bursts, expect_most_queued, find_first_over

BLOCKS = 60
SLACK_S = 2
PARTS = 20
LONG_BLOCKS = 400


def _floor(bench: Workbench) -> int:
    """Return the tunable oaw.floor, which differs from grading to grading."""
    return bench.random("idle").randrange(6, 10)


def _idle(bench: Workbench) -> Run:
    """Some blocks are filled in part; sixty are filled in a random order; then the disk has nothing
    else to do."""
    rng, floor = bench.random("jobs"), _floor(bench)
    job = f"rw=randwrite seed={rng.randrange(10**6)} filename=/data/f bs=4k number_ios={BLOCKS}"
    return bench.run(
        Scenario(
            name="idle",
            script=f"""
iogen rw=write step=2 filename=/data/g bs=2k number_ios={PARTS} > /dev/null
iogen {job} > /dev/null
beacon 1
sleep {ceil(BLOCKS / (floor + 1)) + SLACK_S}
beacon 2
sync
""",
            args=f"write=oaw update=none nbuf=1000 oaw.floor={floor} oaw.probe_s=3600",
            check=False,
            data=(("/f", "8M"), ("/g", "1M")),
        )
    )


def _expect_released(run: Run, floor: int) -> None:
    """Expect that most blocks are held back, and all are written before the sync."""
    began, late = run.writes_of("/f", end_ns=run.beacon(1)), run.writes_of("/f", run.beacon(2))
    expect(len(began) < BLOCKS / 2, "most of the blocks to be held back", f"{len(began)} were not")
    run.expect(
        not late,
        f"all blocks to be written soon (oaw.floor={floor})",
        f"{len(late)} were left to the sync after that",
        late[0] if late else None,
    )


def held_back_blocks_are_written_soon_and_without_a_long_queue(bench: Workbench) -> None:
    """Sixty blocks are filled in a random order; then the disk has nothing else to do."""
    run, floor = _idle(bench), _floor(bench)
    _expect_released(run, floor)
    seconds = bursts(run.writes_of("/f", run.beacon(1), run.beacon(2)))
    sizes = [len(burst) for burst in seconds]
    # The first burst may have begun before beacon 1; the last one has what is left.
    astray = [burst[-1] for burst in seconds[1:-1] if len(burst) != floor + 1]
    run.expect(
        set(sizes[1:-1]) == {floor + 1} and sizes[-1] <= floor + 1,
        f"{floor + 1} writes each second, until none is left (oaw.floor={floor})",
        f"{sizes}",
        find_first_over(seconds, floor + 1) or (astray[0] if astray else None),
    )


def blocks_that_are_not_held_back_are_left_alone(bench: Workbench) -> None:
    """Blocks that were filled in part wait for the sync, though they are older than those that are
    written meanwhile."""
    run = _idle(bench)
    _expect_released(run, _floor(bench))
    early = run.writes_of("/g", end_ns=run.beacon(2))
    first = early[0] if early else None
    what = f"{len(early)} writes, the first of block {early[0].block}" if early else ""
    run.expect(not early, "no write of a block that is not held back", what, first)


def what_is_queued_already_counts(bench: Workbench) -> None:
    """The disk cannot do all writes of one second before the next."""
    floor = bench.random("long").randrange(130, 160)
    run = bench.run(
        Scenario(
            name="idle-long",
            script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={LONG_BLOCKS} > /dev/null
beacon 1
sleep 5
beacon 2
""",
            args=f"write=oaw update=none nbuf=1000 oaw.floor={floor} oaw.probe_s=3600",
            check=False,
            data=(("/f", "2M"),),
            drives=("rz57", "fixed"),
        )
    )
    expect_most_queued(run, floor + 1, 0, run.beacon(2), f"oaw.floor={floor}")
