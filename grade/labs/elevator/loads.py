"""Make the loads of the visible tests, a machine each, and choose where they run."""

from random import Random

from grade.engine.counters import store_counters
from grade.engine.parameters import MOST_DISKS, RAW, RAW_BEACONS, RAW_ROOT, TURNING
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

# A sync queues at most 64 writes, with those of the file's metadata, before the first of them is
# dispatched (flush.c). With more, the head could pass a block before it is queued.
SCATTERED = 30, 50
PART_BLOCKS = 640  # of the file: each sync writes blocks of a part of its own
READERS, COUNTED, MIXED, CLOSE, DONE = 1, 2, 3, 4, 5  # beacons of `crowd`: what begins there
CLOSE_BLOCKS = 16
WRITERS = 4
RAW_DISKS = {RAW: 3000, RAW_ROOT: 3000, RAW_BEACONS: 200}  # a block before which each has many
APART = ("syncs", "response", "cost", "long")


def find_disk(bench: Workbench, load: str) -> int:
    """Return the number of the data disk for one of these loads: no two have the same."""
    return bench.random("disks").sample(range(MOST_DISKS), len(APART))[APART.index(load)]


def list_drives(bench: Workbench, load: str) -> tuple[str]:
    """Return the drive of the data disk for one of these loads: no two have the same."""
    return (bench.random("drives").sample(TURNING, len(APART))[APART.index(load)],)


def _writes(rng: Random, first: int, blocks: int, number: int) -> str:
    """Return a command by which random blocks of this part of the file become dirty."""
    where = f"offset={4 * first}k size={4 * blocks}k"
    job = f"rw=randwrite filename=/data/f bs=4k {where} seed={rng.randrange(10**9)}"
    return f"iogen {job} number_ios={number} > /dev/null"


def _head_at(block: int) -> str:
    """Return a read that leaves the head behind this block of the file."""
    return f"dd if=/data/f of=/dev/null bs=4k count=1 skip={block} 2> /dev/null"


def _scattered_commands(rng: Random, first: int) -> list[str]:
    """Return commands that write blocks here and there, with the head below all of them."""
    return [_writes(rng, first + 16, PART_BLOCKS - 16, rng.randrange(*SCATTERED)), _head_at(first)]


def _neighbours(rng: Random, first: int) -> list[str]:
    """Return commands that write most blocks of a small area, with the head below it."""
    return [_writes(rng, first + 1, 40, 120), _head_at(first)]


def _both_sides(rng: Random, first: int) -> list[str]:
    """Return commands that write blocks on both sides of the head by turns."""
    side = PART_BLOCKS // 2 - 16
    above, below = first + PART_BLOCKS - side, first
    lines = [_writes(rng, rng.choice((above, below)), side, 4) for _ in range(3)]
    lines += [_writes(rng, start, side, rng.randrange(8, 14)) for start in (above, below)]
    rng.shuffle(lines)
    return [*lines, _head_at(first + PART_BLOCKS // 2)]


def syncs(bench: Workbench) -> Scenario:
    """Return a load of blocks that become dirty and are queued by syncs.

    Twice they lie ahead of the head, then around it. Beacons 1 and 2 stand around the first sync, 3
    and 4 around the second, 5 and 6 around the last.
    """
    rng = bench.random("syncs")
    script = []
    for number, load in enumerate((_scattered_commands, _neighbours, _both_sides)):
        script += load(rng, number * PART_BLOCKS)
        script += [f"beacon {2 * number + 1}", "sync", f"beacon {2 * number + 2}"]
    return Scenario(
        name="syncs",
        script="\n".join(script),
        args="write=delayed update=none sched=clook nbuf=1000",
        data=(("/f", "8M"),),
        disk=find_disk(bench, "syncs"),
        drives=list_drives(bench, "syncs"),
    )


def _job(rng: Random, name: str, what: str, least: int, most: int) -> str:
    """Return the options of one process."""
    words = f"number_ios={rng.randrange(least, most)} seed={rng.randrange(10**9)}"
    return f"name={name} {what} bs=4k {words}"


def readers(rng: Random, each: int, least: int, most: int, close: bool = False) -> list[str]:
    """Return processes on each disk that read between `least` and `most` blocks each.

    They read from the whole disk or, if `close`, the same few blocks. each: the processes of a
    disk.
    """
    jobs = []
    for disk, (path, blocks) in enumerate(RAW_DISKS.items()):
        area = f"offset={4 * rng.randrange(20, blocks)}k size={4 * CLOSE_BLOCKS}k" if close else ""
        what = f"rw=randread filename={path} {area}"
        jobs += [_job(rng, f"r{disk}x{i}", what, least, most) for i in range(each)]
    return jobs


def iogen(jobs: list[str]) -> str:
    """Return the command that starts these processes and ends with them."""
    return f"iogen {' -- '.join(jobs)} > /dev/null"


def crowd(bench: Workbench) -> Scenario:
    """Return a load of some processes on each disk.

    All read; then as many others write to the data disk; then all read in a small area.
    """
    rng = bench.random("crowd")
    writers = [
        _job(rng, f"w{i}", f"rw=randwrite filename=/data/f{i}", 30, 50) for i in range(WRITERS)
    ]
    return Scenario(
        name="crowd",
        script=f"""
beacon {READERS}
{iogen(readers(rng, 5, 30, 40))}
{store_counters(COUNTED)}
{iogen([*readers(rng, 3, 30, 40), *writers])}
beacon {CLOSE}
{iogen(readers(rng, 5, 12, 15, close=True))}
beacon {DONE}
""",
        args="write=through update=none sched=clook nbuf=100",
        data=tuple((f"/f{i}", "1536K") for i in range(WRITERS)),
        spares=False,
    )
