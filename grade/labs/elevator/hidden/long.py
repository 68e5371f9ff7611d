"""A request is served where the head passes on every disk, when the queue is long, and after
thousands of requests."""

from random import Random

from grade.scoring.scenario import Run, Scenario
from grade.scoring.workbench import Workbench

from ..choices import Kind, check

DISKS = 4
READERS = 10


def _readers(rng: Random, least: int, most: int) -> str:
    """Processes that read all over the disk, between `least` and `most` blocks each."""
    read = f"rw=randread filename=/dev/disk1 bs=4k number_ios={rng.randrange(least, most)}"
    return " -- ".join(f"name=j{i} {read} seed={rng.randrange(10**9)}" for i in range(READERS))


def _run(bench: Workbench) -> Run:
    """After some time readers start; later a sync writes many blocks beside them."""
    rng = bench.random("long")
    some = f"rw=randwrite filename=/data/f bs=4k number_ios={rng.randrange(900, 1400)}"
    jobs = _readers(rng, 120, 200)
    return bench.run(
        Scenario(
            name="long",
            script=f"""
sleep {rng.randrange(30, 90)}
beacon 1
iogen {jobs} > /dev/null
beacon 2
iogen {some} seed={rng.randrange(10**9)} > /dev/null
iogen {jobs} > /dev/null &
sync
beacon 3
sleep 60
beacon 4
""",
            args="write=delayed update=none sched=clook nbuf=3000",
            data=(("/f", "10M"),),
        ),
        despite_faults=True,
    )


def each_of_thousands_is_served_where_the_head_passes(bench: Workbench) -> None:
    """Ten processes read some thousands of blocks."""
    run = _run(bench)
    check(run, {Kind.AHEAD}, 500, run.beacon(1), run.beacon(2))


def the_same_holds_in_a_long_queue(bench: Workbench) -> None:
    """A sync queues about a thousand blocks while the readers go on."""
    run = _run(bench)
    check(run, {Kind.AHEAD}, 500, run.beacon(2), run.beacon(4))


def the_same_holds_on_every_disk(bench: Workbench) -> None:
    """Ten processes read from the first disk, then, in further machines, from the others."""
    for disk in range(DISKS):
        jobs = _readers(bench.random(f"disk {disk}"), 10, 30)
        scenario = Scenario(
            name=f"disk{disk}",
            script=f"beacon 1\niogen {jobs} > /dev/null\nbeacon 2\n",
            args="update=none sched=clook nbuf=100",
            disk=disk,
        )
        run = bench.run(scenario, despite_faults=True)
        check(run, {Kind.AHEAD}, 20, run.beacon(1), run.beacon(2))
