"""A filled block's write starts at once while the disk's queue is short, and is held back while
it is long."""

from grade.scoring.assertions import expect
from grade.scoring.counted import growth
from grade.scoring.scenario import BLOCK_SECTORS, Run, Scenario
from grade.scoring.workbench import Workbench

from ..burst import COUNTERS
from ..writes import most_queued

BLOCKS = 60
KEPT = f"grep oaw /dev/stat > {COUNTERS}"
PARTS = (7, 48, 90)  # of 100 bytes, in the first three blocks


def _floors(bench: Workbench) -> list[int]:
    """Three queues that are short enough."""
    return bench.random("floor").sample(range(2, 12), 3)


def _run(bench: Workbench) -> Run:
    """Sixty blocks are filled one after the other, faster than the disk can write; three times."""
    lines = []
    for number, floor in enumerate(_floors(bench), 1):
        lines += [
            f"policy set oaw.floor {floor}",
            f"{KEPT}{2 * number}\nsync\nbeacon {2 * number}",
            f"iogen rw=write filename=/data/f{number} bs=4k number_ios={BLOCKS} > /dev/null",
            f"beacon {2 * number + 1}\n{KEPT}{2 * number + 1}",
        ]
    return bench.run(
        Scenario(
            name="held",
            script="\n".join(lines),
            args="write=oaw update=none nbuf=1000 oaw.probe_s=3600",
            check=False,
            data=tuple((f"/f{number}", "1M") for number in (1, 2, 3)),
        )
    )


def a_write_starts_at_once_only_while_the_queue_is_short(bench: Workbench) -> None:
    """Sixty blocks are filled one after the other, faster than the disk can write; three times."""
    run = _run(bench)
    for number, floor in enumerate(_floors(bench), 1):
        between = (run.beacon(2 * number), run.beacon(2 * number + 1))
        early = run.writes_of(f"/f{number}", *between)
        expect(
            floor < len(early) < BLOCKS / 2,
            f"{floor + 1} writes or a few more to be queued at once (oaw.floor={floor}), and the "
            "program not to wait for them",
            f"{len(early)} were queued before the program went on",
        )
        most = most_queued(run, *between)
        expect(
            most == floor + 1,
            f"up to {floor + 1} writes queued at one time (oaw.floor={floor})",
            f"{most}",
        )


def a_block_that_is_not_filled_is_only_delayed(bench: Workbench) -> None:
    """A hundred bytes of each of three blocks are written; then the disk is idle."""
    lines = [f"dd if=/part of=/data/f bs=100 seek={n} conv=notrunc 2> /dev/null" for n in PARTS]
    run = bench.run(
        Scenario(
            name="held-parts",
            script="\n".join([*lines, "sleep 4", "beacon 1", "sync", "beacon 2"]),
            args="write=oaw update=none nbuf=1000",
            check=False,
            files=(("/part", bytes(100)),),
            data=(("/f", "1M"),),
        )
    )
    early, late = run.writes_of("/f", end_ns=run.beacon(1)), run.writes_of("/f", run.beacon(1))
    expect(not early, "no block to be written before the sync", f"{len(early)} were")
    expect(len(late) == len(PARTS), f"the sync to write {len(PARTS)} blocks", f"{len(late)}")


def filled_blocks_are_counted(bench: Workbench) -> None:
    """The counters `at_once` and `held_back` agree with what became of the sixty blocks."""
    run = _run(bench)
    for number in (1, 2, 3):
        place = run.sectors(f"/f{number}")
        between = (run.beacon(2 * number), run.beacon(2 * number + 1))
        begun = [
            e
            for e in run.events
            if between[0] <= e.time_ns < between[1] and e.disk == run.data_disk
            if e.name == "writing" and e.block * BLOCK_SECTORS in place
        ]
        at_once = sum(not e.argument for e in begun)  # of blocks that were never dirty
        for name, wanted in (("at_once", at_once), ("held_back", BLOCKS - at_once)):
            came = growth(run, 2 * number, 2 * number + 1, f"oaw.{name}")
            expect(came == wanted, f"oaw.{name} to grow by {wanted}", f"{came}")
