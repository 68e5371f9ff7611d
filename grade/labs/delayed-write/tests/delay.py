"""A delayed write only makes the block dirty. The disk gets it in a flush."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_value, store_counters
from grade.engine.scenario import BLOCK_BYTES, BLOCK_SECTORS, Run, Scenario, Write
from grade.engine.workbench import Workbench

from ..places import find_disk

BLOCKS = 300
SLEEP_S = 20
TIMES = 5
AGAIN_BLOCKS = 20
HELD_BLOCKS = 60
MANY = 96  # blocks: several groups of the scheduler wow
PART = b"2" * 100
# The phase that begins at each beacon.
SYNC, AGAIN, COUNTED, READ, HELD, CANDIDATES, DONE = 1, 3, 5, 7, 9, 11, 13
ANEW = "conv=notrunc 2> /dev/null"


def _run(bench: Workbench) -> Run:
    """One machine for all tests of the group, with a file for each."""
    again = f"dd if=/input of=/data/again bs=4k count={AGAIN_BLOCKS} {ANEW}\n"
    many = "dd if=/input of=/data/many bs=4k"
    script = f"""
iogen rw=write filename=/data/once bs=4k number_ios={BLOCKS} > /dev/null
sleep {SLEEP_S}
beacon {SYNC}
sync
beacon {AGAIN - 1}
{again * TIMES}
beacon {AGAIN}
sync
beacon {AGAIN + 1}
{store_counters(COUNTED)}
dd if=/input of=/data/read bs=4k count={AGAIN_BLOCKS} {ANEW}
dd if=/part of=/data/read bs=100 seek=7 {ANEW}
beacon {READ}
cat /data/read > /dev/null
beacon {READ + 1}
sync
policy use write oaw
dd if=/part of=/data/part bs=100 seek=7 {ANEW}
iogen rw=write filename=/data/held bs=4k number_ios={HELD_BLOCKS} > /dev/null
sleep {SLEEP_S}
beacon {HELD}
sync
beacon {HELD + 1}
policy use write delayed
policy use sched wow
beacon {CANDIDATES}
{many} count={MANY // 2} {ANEW}
{many} count={MANY // 4} {ANEW}
{many} count={MANY // 2} seek={MANY // 2} {ANEW}
sleep {SLEEP_S}
beacon {CANDIDATES + 1}
sync
beacon {DONE}
"""
    tunables = f"oaw.floor=7 wow.high_blocks={3 * MANY // 4} wow.low_blocks=20"
    sizes = {"once": "2M", "again": "1M", "read": f"{4 * AGAIN_BLOCKS}K"}
    sizes |= {"part": "4K", "held": "1M", "many": "1M"}
    return bench.run(
        Scenario(
            name="delay",
            script=script,
            args=f"write=delayed update=none nbuf=1000 {tunables}",
            files=(("/input", b"1" * MANY * BLOCK_BYTES), ("/part", PART)),
            data=tuple((f"/{name}", size) for name, size in sizes.items()),
            disk=find_disk(bench, "delay"),
        )
    )


def _expect_none(run: Run, writes: list[Write], expected: str) -> None:
    """Expect that there are no such writes."""
    first = writes[0] if writes else None
    blocks = [write.block for write in writes]
    run.expect(not writes, expected, f"{len(writes)} were queued, of blocks {blocks[:20]}", first)


def what_is_written_stays_in_memory(bench: Workbench) -> None:
    """A program writes 300 blocks to a file; there is no flush for 20 s."""
    run = _run(bench)
    early = run.writes_of("/once", end_ns=run.beacon(SYNC))
    _expect_none(run, early, f"no write of the file's {BLOCKS} blocks before the first sync")
    late = run.writes_of("/once", run.beacon(SYNC), run.beacon(SYNC + 1))
    expect(len(late) == BLOCKS, f"the sync to write the {BLOCKS} blocks", f"it wrote {len(late)}")


def a_block_written_five_times_goes_to_the_disk_once(bench: Workbench) -> None:
    """The same 20 blocks are written five times before one sync."""
    run = _run(bench)
    early = run.writes_of("/again", end_ns=run.beacon(AGAIN))
    _expect_none(run, early, "no write of the file's blocks before the sync")
    writes = run.writes_of("/again")
    wanted = f"one write of each of the {AGAIN_BLOCKS} blocks"
    expect(len(writes) == AGAIN_BLOCKS, wanted, f"{len(writes)} writes")


def what_was_written_is_read_from_memory(bench: Workbench) -> None:
    """Whole blocks are written, then a part of one of them; then the file is read."""
    run = _run(bench)
    early = run.writes_of("/read", end_ns=run.beacon(READ + 1))
    _expect_none(run, early, "no write of the file's blocks before it is read")
    block_at = run.sectors("/read")
    between = (run.beacon(READ), run.beacon(READ + 1))
    reads = [r for r in run.data(write=False) if between[0] <= r.queued_ns < between[1]]
    of_file = [r for r in reads if r.sector in block_at]
    what = f"reads of blocks {sorted(block_at[r.sector] for r in of_file)}"
    first = of_file[0] if of_file else None
    run.expect(not of_file, "no read of the file's blocks, which are in memory", what, first)
    whole = b"1" * AGAIN_BLOCKS * BLOCK_BYTES
    wanted = whole[:700] + PART + whole[800:]  # bytes 700 to 799 were written last
    expect(run.contents("/read") == wanted, "the file to have what was written", "other bytes")


def a_block_that_is_held_back_is_told_from_others(bench: Workbench) -> None:
    """The write policy oaw holds filled blocks back, and writes them when the disk is idle."""
    run = _run(bench)
    late = run.writes_of("/held", run.beacon(HELD))
    wanted = f"the {HELD_BLOCKS} filled blocks to be written before the sync, by the policy"
    _expect_none(run, late, wanted)
    delayed = run.writes_of("/part", end_ns=run.beacon(HELD))
    _expect_none(run, delayed, "the block that was filled in part to wait for the sync")
    synced = len(run.writes_of("/part", run.beacon(HELD), run.beacon(HELD + 1)))
    expect(synced == 1, "the sync to write the block that was filled in part", f"{synced} writes")


def _events(run: Run, name: str) -> list[int]:
    """Return the arguments of the events of this name about the blocks that were written five
    times."""
    place = {sector // BLOCK_SECTORS for sector in run.sectors("/again")}
    found = (e for e in run.events if e.disk == run.data_disk and e.name == name)
    return [e.argument for e in found if e.block in place]


def each_block_is_counted_and_traced(bench: Workbench) -> None:
    """Of the same 20 blocks, each becomes dirty once and absorbs four writes."""
    run = _run(bench)
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
        came = counter_value(run, COUNTED, f"bio.{name}")
        expect(came == traced, f"bio.{name} to be {traced}, as many as were traced", f"{came}")
    synced = len(run.writes_of("/again", run.beacon(AGAIN), run.beacon(AGAIN + 1)))
    expect(synced == AGAIN_BLOCKS, f"the sync to write {AGAIN_BLOCKS} blocks", f"{synced} writes")


def the_scheduler_is_told_of_dirty_blocks(bench: Workbench) -> None:
    """The scheduler wow writes dirty blocks when many are dirty: last those that were written
    again."""
    run = _run(bench)
    early = run.writes_of("/many", end_ns=run.beacon(CANDIDATES + 1))
    expect(len(early) > MANY // 2, "the scheduler to write dirty blocks", f"{len(early)} writes")
    first = early[: MANY // 4]
    again = [write for write in first if write.block < MANY // 4]
    what = f"blocks below {MANY // 4}, which were written again, to be written last"
    came = f"{[write.block for write in first]} were written first"
    run.expect(not again, what, came, again[0] if again else None)
    late = run.writes_of("/many", run.beacon(CANDIDATES + 1), run.beacon(DONE))
    written = {write.block for write in early + late}
    expect(len(written) == MANY, f"all {MANY} blocks to be written in the end", f"{len(written)}")
