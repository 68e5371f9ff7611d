"""The program does not wait for the disk."""

from itertools import pairwise

from grade.engine.assertions import expect
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench


def the_program_goes_on_while_the_disk_writes(bench: Workbench) -> None:
    """A program fills more than a hundred blocks of a file, one after the other."""
    blocks = bench.random("many").randrange(100, 140)
    run = bench.run(
        Scenario(
            name="wait",
            script=f"""
iogen rw=write filename=/data/f bs=4k nr={blocks} > /dev/null
sleep 5
beacon 1
""",
            args="write=wt update=none nbuf=1000",
            data=(("/f", "1M"),),
        )
    )
    writes = [write.request for write in run.writes_of("/f", end_ns=run.beacon(1))]
    expect(len(writes) == blocks, f"{blocks} writes to be queued", f"{len(writes)} were")
    waited = sum(after.queued_ns >= before.completed_ns for before, after in pairwise(writes))
    expect(
        waited < blocks // 10,
        "nearly every block to be queued before the write of the one before it is done",
        f"{waited} of {blocks - 1} were queued after it",
    )
