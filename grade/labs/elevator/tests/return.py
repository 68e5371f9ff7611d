"""Past the last request the head returns to the lowest and rises again: it serves nothing on
the way back."""

from grade.scoring.bench import Bench
from grade.scoring.run import Scenario

from ..choices import check

BLOCKS = 40


def from_the_middle_it_rises_then_starts_at_the_lowest(bench: Bench) -> None:
    """A block in the middle is read; then a sync queues blocks on both sides of it."""
    rng = bench.random("sides")
    blocks = rng.sample(range(1000), BLOCKS // 2) + rng.sample(range(1050, 2048), BLOCKS // 2)
    rng.shuffle(blocks)
    line = "dd if=/input of=/data/f bs=4k count=1 seek={} conv=notrunc 2> /dev/null"
    scenario = Scenario(
        name="return",
        script="\n".join(
            [
                *(line.format(block) for block in blocks),
                "dd if=/data/f of=/dev/null bs=4k count=1 skip=1024 2> /dev/null",
                "beacon 1",
                "sync",
                "beacon 2",
            ]
        ),
        args="write=delayed update=none sched=clook nbuf=1000",
        files=(("/input", bytes(4096)),),
        data=(("/f", "8M"),),
    )
    run = bench.run(scenario)
    check(run, run.beacon(1), run.beacon(2))
