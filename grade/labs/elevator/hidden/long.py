"""A request is served where the head passes on every disk, when the queue is long, and after
thousands of requests."""

from random import Random

from grade.engine.parameters import RAW
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import Workbench

from ..choices import Kind, check, check_all
from ..loads import iogen, list_drives, readers

READERS = 10
# Writes of the sync. A search through a queue of that length takes a policy less than 2 ms, for
# which the kernel may be late with other disks' commands (evidence.py): the group `cost` judges it.
QUEUED = 500, 700


def _readers(rng: Random, least: int, most: int) -> list[str]:
    """Processes that read all over the data disk, between `least` and `most` blocks each."""
    read = f"rw=randread filename={RAW} bs=4k number_ios={rng.randrange(least, most)}"
    return [f"name=j{i} {read} seed={rng.randrange(10**9)}" for i in range(READERS)]


def _run(bench: Workbench) -> Run:
    """After some time readers start on each disk, most of them on the data disk; later a sync
    writes many blocks beside them."""
    rng = bench.random("long")
    some = f"rw=randwrite filename=/data/f bs=4k number_ios={rng.randrange(*QUEUED)}"
    return bench.run(
        Scenario(
            name="long",
            script=f"""
sleep {rng.randrange(30, 90)}
beacon 1
{iogen([*_readers(rng, 220, 250), *readers(rng, 3, 40, 50)])}
beacon 2
iogen {some} seed={rng.randrange(10**9)} > /dev/null
{iogen([*_readers(rng, 120, 140), *readers(rng, 3, 40, 50)])} &
sync
beacon 3
sleep 60
beacon 4
""",
            args="write=delayed update=none sched=clook nbuf=3000",
            data=(("/f", "10M"),),
            spares=False,
            drives=list_drives(bench, "long"),
            computes=True,
        ),
        despite_faults=True,
    )


def each_of_thousands_is_served_where_the_head_passes(bench: Workbench) -> None:
    """Thirteen processes read some thousands of blocks, and three read from each other disk."""
    run = _run(bench)
    check(run, run.data_disk, {Kind.AHEAD}, 500, run.beacon(1), run.beacon(2))
    check_all(run, {Kind.AHEAD}, 20, run.beacon(1), run.beacon(2))


def the_same_holds_in_a_long_queue(bench: Workbench) -> None:
    """A sync queues hundreds of blocks while the readers go on."""
    run = _run(bench)
    check(run, run.data_disk, {Kind.AHEAD}, 500, run.beacon(2), run.beacon(4))
    check_all(run, {Kind.AHEAD}, 20, run.beacon(2), run.beacon(4))
