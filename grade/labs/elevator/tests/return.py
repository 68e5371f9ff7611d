"""After the highest request the head returns to the lowest and rises again. It serves nothing
on the way back."""

from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

from ..choices import check

FILE_BLOCKS = 2048


def from_the_middle_it_rises_then_starts_at_the_lowest(bench: Workbench) -> None:
    """A block in the middle is read. Then a sync queues blocks on both sides of it."""
    rng = bench.random("sides")
    middle = rng.randrange(FILE_BLOCKS // 3, 2 * FILE_BLOCKS // 3)
    below, above = range(middle - 20), range(middle + 20, FILE_BLOCKS)
    blocks = rng.sample(below, rng.randrange(15, 30)) + rng.sample(above, rng.randrange(15, 30))
    rng.shuffle(blocks)
    line = "dd if=/input of=/data/f bs=4k count=1 seek={} conv=notrunc 2> /dev/null"
    scenario = Scenario(
        name="return",
        script="\n".join(
            [
                *(line.format(block) for block in blocks),
                f"dd if=/data/f of=/dev/null bs=4k count=1 skip={middle} 2> /dev/null",
                "beacon 1",
                "sync",
                "beacon 2",
            ]
        ),
        args="write=delayed update=none sched=clook nbuf=1000",
        files=(("/input", bytes(4096)),),
        data=(("/f", "8M"),),
    )
    run = bench.run(scenario, despite_faults=True)
    check(run, run.beacon(1), run.beacon(2), at_return=True)
