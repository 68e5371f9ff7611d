"""A delayed write only makes the block dirty. The disk gets it in a flush."""

from grade.scoring.assertions import expect
from grade.scoring.counted import counter, kept
from grade.scoring.scenario import BLOCK_BYTES, BLOCK_SECTORS, Run, Scenario
from grade.scoring.workbench import Workbench

BLOCKS = 300
SLEEP_S = 20
TIMES = 5
AGAIN_BLOCKS = 20
HELD_BLOCKS = 60
MANY = 96  # blocks: several groups of the scheduler wow
WRITE = "dd if=/input of=/data/f bs=4k conv=notrunc 2> /dev/null"

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
    script=f"{WRITE}\n" * TIMES + "beacon 1\nsync\nbeacon 2\n" + kept(3),
    args="write=delayed update=none nbuf=1000",
    files=(("/input", bytes(AGAIN_BLOCKS * BLOCK_BYTES)),),
    data=(("/f", "1M"),),
)

PARTS = Scenario(
    name="delay-parts",
    script=f"""
{WRITE}
dd if=/part of=/data/f bs=100 seek=7 conv=notrunc 2> /dev/null
beacon 1
cat /data/f > /dev/null
beacon 2
sync
""",
    args="write=delayed update=none nbuf=1000",
    files=(("/input", b"1" * AGAIN_BLOCKS * BLOCK_BYTES), ("/part", b"2" * 100)),
    data=(("/f", f"{4 * AGAIN_BLOCKS}K"),),
)

HELD_BACK = Scenario(
    name="delay-held-back",
    script=f"""
dd if=/part of=/data/g bs=100 seek=7 conv=notrunc 2> /dev/null
iogen rw=write filename=/data/f bs=4k number_ios={HELD_BLOCKS} > /dev/null
sleep {SLEEP_S}
beacon 1
sync
""",
    args="write=oaw update=none nbuf=1000 oaw.floor=7",
    files=(("/part", bytes(100)),),
    data=(("/f", "1M"), ("/g", "4K")),
)

CANDIDATES = Scenario(
    name="delay-candidates",
    script=f"""
dd if=/input of=/data/f bs=4k count={MANY // 2} conv=notrunc 2> /dev/null
dd if=/input of=/data/f bs=4k count={MANY // 4} conv=notrunc 2> /dev/null
dd if=/input of=/data/f bs=4k count={MANY // 2} seek={MANY // 2} conv=notrunc 2> /dev/null
sleep {SLEEP_S}
beacon 1
sync
""",
    args=f"write=delayed update=none nbuf=1000 sched=wow wow.high_blocks={3 * MANY // 4}"
    " wow.low_blocks=20",
    files=(("/input", bytes(MANY * BLOCK_BYTES)),),
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
    wanted = f"one write of each of the {AGAIN_BLOCKS} blocks"
    expect(len(writes) == AGAIN_BLOCKS, wanted, f"{len(writes)} writes")
    early = run.writes_of("/f", end_ns=run.beacon(1))
    expect(not early, "no write before the sync", f"{len(early)} before it")


def what_was_written_is_read_from_memory(bench: Workbench) -> None:
    """Whole blocks are written, then a part of one of them; then the file is read."""
    run = bench.run(PARTS)
    place = run.sectors("/f")
    between = (run.beacon(1), run.beacon(2))
    reads = [r for r in run.data(write=False) if between[0] <= r.queued_ns < between[1]]
    read = sorted(place[r.sector] for r in reads if r.sector in place)
    expect(not read, "no read of the file's blocks, which are in memory", f"reads of {read}")
    files = dict(PARTS.files)
    wanted = files["/input"][:700] + files["/part"] + files["/input"][800:]
    expect(run.contents("/f") == wanted, "the file to have what was written", "other bytes")


def a_block_that_is_held_back_is_told_from_others(bench: Workbench) -> None:
    """The write policy oaw holds filled blocks back, and writes them when the disk is idle."""
    run = bench.run(HELD_BACK)
    late, delayed = run.writes_of("/f", run.beacon(1)), run.writes_of("/g", end_ns=run.beacon(1))
    expect(
        not late,
        f"the {HELD_BLOCKS} filled blocks to be written before the sync, by the policy",
        f"{len(late)} were left to the sync",
    )
    expect(not delayed, "the block that was filled in part to wait for the sync", "it did not")


def _events(run: Run, name: str) -> list[int]:
    """The arguments of the events of this name about the file's blocks."""
    place = {sector // BLOCK_SECTORS for sector in run.sectors("/f")}
    found = (e for e in run.events if e.disk == run.data_disk and e.name == name)
    return [e.argument for e in found if e.block in place]


def each_block_is_counted_and_traced(bench: Workbench) -> None:
    """Of the same 20 blocks, each becomes dirty once and absorbs four writes."""
    run = bench.run(AGAIN)
    wanted = {"dirtied": AGAIN_BLOCKS, "absorbed": AGAIN_BLOCKS * (TIMES - 1)}
    told = {name: _events(run, name) for name in wanted}
    for name, count in wanted.items():
        found = len(told[name])
        expect(found == count, f"{count} events `{name}` of the file's blocks", f"{found}")
    owners = {owner for arguments in told.values() for owner in arguments}
    expect(len(owners) == 1, "the file's inode in all events", f"{len(owners)} numbers")
    printed_ns = next(e.time_ns for e in run.events if e.name == "counted")
    for name in wanted:
        traced = sum(e.name == name and e.time_ns < printed_ns for e in run.events)
        came = counter(run, 3, f"bio.{name}")
        expect(came == traced, f"bio.{name} to be {traced}, as many as were traced", f"{came}")


def the_scheduler_is_told_of_dirty_blocks(bench: Workbench) -> None:
    """The scheduler wow writes dirty blocks when many are dirty: last those that were written
    again."""
    run = bench.run(CANDIDATES)
    early = run.writes_of("/f", end_ns=run.beacon(1))
    expect(len(early) > MANY // 2, "the scheduler to write dirty blocks", f"{len(early)} writes")
    first = [write.block for write in early[: MANY // 4]]
    again = [block for block in first if block < MANY // 4]
    what = f"blocks below {MANY // 4}, which were written again, to be written last"
    expect(not again, what, f"{first} were written first")
