"""A delayed write only makes the block dirty. The disk gets it in a flush."""

from grade.scoring.assertions import expect
from grade.scoring.scenario import BLOCK_BYTES, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 300
SLEEP_S = 20
TIMES = 5

ONCE = Scenario(
    name="delay-once",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={BLOCKS} > /dev/null
sleep {SLEEP_S}
beacon 1
sync
beacon 2
""",
    args="write=delayed update=none nbuf=1000",
    data=(("/f", "2M"),),
)

AGAIN = Scenario(
    name="delay-again",
    script="dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null\n" * TIMES
    + "beacon 1\nsync\nbeacon 2\n",
    args="write=delayed update=none nbuf=1000",
    files=(("/input", bytes(20 * BLOCK_BYTES)),),
    data=(("/f", "1M"),),
)


def what_is_written_stays_in_memory(bench: Workbench) -> None:
    """A program writes 300 blocks to a file; there is no flush for 20 s."""
    run = bench.run(ONCE)
    early = run.writes_of("/f", end_ns=run.beacon(1))
    expect(
        not early,
        f"no write of the file's {BLOCKS} blocks before the first sync",
        f"{len(early)} were queued, the first of block {early[0].block}" if early else "",
    )
    expect(bool(run.writes_of("/f")), "the sync to write the blocks", "it wrote none")


def a_block_written_five_times_goes_to_the_disk_once(bench: Workbench) -> None:
    """The same 20 blocks are written five times before one sync."""
    run = bench.run(AGAIN)
    writes = run.writes_of("/f")
    expect(len(writes) == 20, "one write of each of the 20 blocks", f"{len(writes)} writes")
    early = run.writes_of("/f", end_ns=run.beacon(1))
    expect(not early, "no write before the sync", f"{len(early)} before it")
