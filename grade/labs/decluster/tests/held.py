"""A filled block's write starts at once while the disk's queue is short, and is held back while
it is long."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth
from grade.engine.scenario import BLOCK_SECTORS, Run, Scenario, Write
from grade.engine.workbench import Workbench

from ..burst import COUNTERS
from ..writes import delayed_writes, expect_most_queued

BLOCKS = 60
KEPT = f"grep oaw /dev/stat > {COUNTERS}"
PARTS = (7, 48, 90)  # each is 100 bytes; they are in the first three blocks
IDLE, DONE = 8, 9  # beacons


def _floors(bench: Workbench) -> list[int]:
    """Three queues that are short enough."""
    return bench.random("floor").sample(range(2, 12), 3)


def _run(bench: Workbench) -> Run:
    """Sixty blocks are filled one after the other, faster than the disk can write; three times.
    Then parts of some blocks are written, and the disk is idle."""
    lines = []
    for number, floor in enumerate(_floors(bench), 1):
        lines += [
            f"policy set oaw.floor {floor}",
            f"{KEPT}{2 * number}\nsync\nbeacon {2 * number}",
            f"iogen rw=write filename=/data/f{number} bs=4k number_ios={BLOCKS} > /dev/null",
            f"beacon {2 * number + 1}\n{KEPT}{2 * number + 1}",
        ]
    lines.append("sync")
    lines += [f"dd if=/part of=/data/g bs=100 seek={n} conv=notrunc 2> /dev/null" for n in PARTS]
    lines += ["sleep 4", f"beacon {IDLE}", "sync", f"beacon {DONE}"]
    return bench.run(
        Scenario(
            name="held",
            script="\n".join(lines),
            args="write=oaw update=none nbuf=1000 oaw.probe_s=3600",
            check=False,
            files=(("/part", bytes(100)),),
            data=tuple((f"/{name}", "1M") for name in ("f1", "f2", "f3", "g")),
        )
    )


def _fill_time_ns(run: Run, number: int) -> tuple[int, int]:
    """The time in which a file's blocks are filled, in ns, until the first of them is released:
    which blocks are released, and when, is what the group `idle` looks at."""
    start_ns, end_ns = run.beacon(2 * number), run.beacon(2 * number + 1)
    place = run.sectors(f"/f{number}")
    released = (
        e.time_ns
        for e in delayed_writes(run, start_ns, end_ns)
        if e.disk == run.data_disk and e.block * BLOCK_SECTORS in place
    )
    return start_ns, min(released, default=end_ns)


def _early(run: Run, number: int) -> list[Write]:
    """Return the writes of a file that are queued while its blocks are filled."""
    return run.writes_of(f"/f{number}", *_fill_time_ns(run, number))


def _expect_some_held_back(run: Run, floors: list[int]) -> None:
    """Expect that some blocks are written at once, and most are not."""
    for number, floor in enumerate(floors, 1):
        early = _early(run, number)
        run.expect(
            floor < len(early) < BLOCKS / 2,
            f"{floor + 1} writes or a few more to be queued at once (oaw.floor={floor}), and the "
            "program not to wait for them",
            f"{len(early)} were queued before the program went on",
            early[-1] if early else None,
        )


def a_write_starts_at_once_only_while_the_queue_is_short(bench: Workbench) -> None:
    """Sixty blocks are filled one after the other, faster than the disk can write; three times."""
    run, floors = _run(bench), _floors(bench)
    _expect_some_held_back(run, floors)
    for number, floor in enumerate(floors, 1):
        expect_most_queued(run, floor + 1, *_fill_time_ns(run, number), f"oaw.floor={floor}")


def a_block_that_is_not_filled_is_only_delayed(bench: Workbench) -> None:
    """A hundred bytes of each of three blocks are written; then the disk is idle. Filled blocks are
    written at once before that, or held back."""
    run = _run(bench)
    _expect_some_held_back(run, _floors(bench))
    early = run.writes_of("/g", end_ns=run.beacon(IDLE))
    what = f"{len(early)} were, the first block {early[0].block}" if early else ""
    first = early[0] if early else None
    run.expect(not early, "no block to be written before the sync", what, first)
    late = run.writes_of("/g", run.beacon(IDLE), run.beacon(DONE))
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
        at_once = sum(not e.argument for e in begun)  # argument 0: the block was never dirty
        for name, wanted in (("at_once", at_once), ("held_back", BLOCKS - at_once)):
            came = counter_growth(run, 2 * number, 2 * number + 1, f"oaw.{name}")
            expect(came == wanted, f"oaw.{name} to grow by {wanted}", f"{came}")
