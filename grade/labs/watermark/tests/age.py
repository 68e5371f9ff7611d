"""Below the marks a block is written at the first step after it is age_ms old."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 30
STEP_MS, AGE_MS, SLACK_MS = 500, 4000, 100


def each_block_is_written_at_the_step_after_its_age(bench: Workbench) -> None:
    """Thirty blocks become dirty, far below the high mark, after a pause of 0.1 s.

    A ratio that is upside down shows only in some phases of the steps. It would not show with a
    pause of 0, 0.2 or 0.3 s.
    """
    run = bench.run(
        Scenario(
            name="age",
            script="""
sleep 0.1
dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null
beacon 1
sleep 6
beacon 2
""",
            args=f"write=delayed update=awol nbuf=1000 awol.step_ms={STEP_MS} awol.age_ms={AGE_MS}",
            files=(("/input", bytes(BLOCKS * BLOCK_BYTES)),),
            data=(("/f", "120K"),),
        )
    )
    written = run.writes_of("/f", end_ns=run.beacon(2))
    expect(len(written) == BLOCKS, f"{BLOCKS} blocks to be written", f"{len(written)} were")
    dirtied_ms = {
        e.block: e.time_ns / 1e6
        for e in run.events
        if e.name == "dirtied" and e.disk == run.data_disk
    }
    for write in written:
        age_ms = write.request.queued_ns / 1e6 - dirtied_ms[write.request.sector // 8]
        expect(
            AGE_MS <= age_ms <= AGE_MS + STEP_MS + SLACK_MS,
            f"block {write.block} to be written when it is {AGE_MS} to {AGE_MS + STEP_MS} ms old",
            f"it was {age_ms:.0f} ms old",
        )
