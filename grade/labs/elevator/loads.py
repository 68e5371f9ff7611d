"""The loads of the visible tests, a machine each."""

from random import Random

from grade.scoring.counted import kept
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

# A sync queues at most 64 writes, with those of the file's structure, before the first of them is
# dispatched (flush.c). With more, the head could pass a block before it is queued.
SCATTERED = 30, 50
PART_BLOCKS = 640  # of the file: each sync writes blocks of a part of its own
READERS, COUNTED, MIXED, CLOSE, DONE = 1, 2, 3, 4, 5  # beacons of `crowd`: what begins there
CLOSE_BLOCKS = 24


def _writes(rng: Random, first: int, blocks: int, number: int) -> str:
    """Random blocks of this part of the file become dirty."""
    where = f"offset={4 * first}k size={4 * blocks}k"
    job = f"rw=randwrite filename=/data/f bs=4k {where} seed={rng.randrange(10**9)}"
    return f"iogen {job} number_ios={number} > /dev/null"


def _head_at(block: int) -> str:
    """A read that leaves the head behind this block of the file."""
    return f"dd if=/data/f of=/dev/null bs=4k count=1 skip={block} 2> /dev/null"


def _scattered(rng: Random, first: int) -> list[str]:
    """Blocks here and there, with the head below all of them."""
    return [_writes(rng, first + 16, PART_BLOCKS - 16, rng.randrange(*SCATTERED)), _head_at(first)]


def _neighbours(rng: Random, first: int) -> list[str]:
    """Most blocks of a small area, with the head below it."""
    return [_writes(rng, first + 1, 40, 120), _head_at(first)]


def _around(rng: Random, first: int) -> list[str]:
    """Blocks on both sides of the head, which became dirty by turns."""
    side = PART_BLOCKS // 2 - 16
    above, below = first + PART_BLOCKS - side, first
    lines = [_writes(rng, rng.choice((above, below)), side, 4) for _ in range(3)]
    lines += [_writes(rng, start, side, rng.randrange(8, 14)) for start in (above, below)]
    rng.shuffle(lines)
    return [*lines, _head_at(first + PART_BLOCKS // 2)]


def syncs(bench: Workbench) -> Scenario:
    """Blocks become dirty and are queued by a sync: twice ahead of the head, then around it.

    Beacons 1 and 2 stand around the first sync, 3 and 4 around the second, 5 and 6 around the last.
    """
    rng = bench.random("syncs")
    script = []
    for number, load in enumerate((_scattered, _neighbours, _around)):
        script += load(rng, number * PART_BLOCKS)
        script += [f"beacon {2 * number + 1}", "sync", f"beacon {2 * number + 2}"]
    return Scenario(
        name="syncs",
        script="\n".join(script),
        args="write=delayed update=none sched=clook nbuf=1000",
        data=(("/f", "8M"),),
    )


def _job(rng: Random, number: int, mode: str, least: int, most: int, where: str) -> str:
    """One process: reads of the disk, or writes of a file of its own."""
    file = f"filename=/dev/disk1 {where}" if mode == "randread" else f"filename=/data/f{number}"
    words = f"number_ios={rng.randrange(least, most)} seed={rng.randrange(10**9)}"
    return f"name=j{number} rw={mode} {file} bs=4k {words}"


def _jobs(rng: Random, modes: list[str], least: int, most: int, where: str = "") -> str:
    jobs = (_job(rng, i, mode, least, most, where) for i, mode in enumerate(modes))
    return f"iogen {' -- '.join(jobs)} > /dev/null"


def crowd(bench: Workbench) -> Scenario:
    """Eight processes: all read; then half of them write; then all read in a small area."""
    rng = bench.random("crowd")
    first = rng.randrange(200, 3000)
    return Scenario(
        name="crowd",
        script=f"""
beacon {READERS}
{_jobs(rng, ["randread"] * 8, 55, 75)}
{kept(COUNTED)}
{_jobs(rng, ["randread", "randwrite"] * 4, 40, 60)}
beacon {CLOSE}
{_jobs(rng, ["randread"] * 8, 25, 30, f"offset={4 * first}k size={4 * CLOSE_BLOCKS}k")}
beacon {DONE}
""",
        args="write=through update=none sched=clook nbuf=100",
        data=tuple((f"/f{i}", "1536K") for i in range(8)),
    )
