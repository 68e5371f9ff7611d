"""A filled block's write starts at once while the disk's queue is short, and is held back while
it is long."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..writes import most_queued

BLOCKS = 60


def _floor(bench: Workbench) -> int:
    return bench.random("floor").randrange(2, 8)


def a_write_starts_at_once_only_while_the_queue_is_short(bench: Workbench) -> None:
    """Sixty blocks are filled one after the other, faster than the disk can write."""
    floor = _floor(bench)
    scenario = Scenario(
        name="held",
        script=f"""
beacon 1
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
beacon 2
""",
        args=f"write=oaw update=none nbuf=1000 oaw.floor={floor}",
        check=False,
        data=(("/f", "1M"),),
    )
    run = bench.run(scenario)
    early = run.writes_of("/f", run.beacon(1), run.beacon(2))
    expect(
        floor < len(early) < BLOCKS / 2,
        f"{floor + 1} writes or a few more to be queued at once (oaw.floor={floor}), and the "
        "program not to wait for them",
        f"{len(early)} were queued before the program went on",
    )
    most = most_queued(run, run.beacon(2))
    expect(
        most <= floor + 1,
        f"at most {floor + 1} writes queued at one time (oaw.floor={floor})",
        f"{most}",
    )
