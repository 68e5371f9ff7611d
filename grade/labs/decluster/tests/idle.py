"""Blocks that were held back are written when the disk is idle: some each second."""

from math import ceil

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..writes import most_queued

BLOCKS = 60
SLACK_S = 2


def held_back_blocks_are_written_soon_and_without_a_long_queue(bench: Workbench) -> None:
    """Sixty blocks are filled in a random order; then the disk has nothing else to do."""
    rng = bench.random("idle")
    floor = rng.randrange(6, 10)
    job = f"rw=randwrite seed={rng.randrange(10**6)} filename=/data/f bs=4k number_ios={BLOCKS}"
    seconds = ceil(BLOCKS / (floor + 1)) + SLACK_S
    scenario = Scenario(
        name="idle",
        script=f"""
iogen {job} > /dev/null
beacon 1
sleep {seconds}
beacon 2
sync
""",
        args=f"write=oaw update=none nbuf=1000 oaw.floor={floor}",
        check=False,
        data=(("/f", "8M"),),
    )
    run = bench.run(scenario)
    began, late = run.writes_of("/f", end_ns=run.beacon(1)), run.writes_of("/f", run.beacon(2))
    expect(len(began) < BLOCKS / 2, "most of the blocks to be held back", f"{len(began)} were not")
    expect(
        not late,
        f"all blocks to be written in {seconds} s (oaw.floor={floor})",
        f"{len(late)} were left to the sync after that",
    )
    most = most_queued(run, run.beacon(2))
    expect(
        most <= floor + 1,
        f"at most {floor + 1} writes queued at one time (oaw.floor={floor})",
        f"{most}",
    )
