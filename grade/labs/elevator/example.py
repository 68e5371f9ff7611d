"""Twelve blocks of one file become dirty in a random order; then a sync queues them all."""

from itertools import pairwise

from grade.engine.example import format_columns
from grade.engine.scenario import BLOCK_BYTES, Run, Scenario

BLOCKS = (1100, 300, 1900, 700, 1500, 100, 2000, 900, 500, 1700, 1300, 200)
HEAD = 800  # the block that is read last before the sync
DD = "bs=4k count=1 conv=notrunc 2> /dev/null"
SCENARIO = Scenario(
    name="example",
    script="\n".join(
        [
            *(f"dd if=/input of=/data/f seek={block} {DD}" for block in BLOCKS),
            f"dd if=/data/f of=/dev/null skip={HEAD} {DD}",
            "beacon 1",
            "sync",
            "beacon 2",
        ]
    ),
    args="write=delayed update=none sched=clook nbuf=1000",
    files=(("/input", bytes(BLOCK_BYTES)),),
    data=(("/f", "8M"),),
    varied=False,
)


def describe_run(run: Run) -> str:
    """Return the blocks in the order of their service, and how far the head went to each."""
    writes = run.writes_of("/f", run.beacon(1), run.beacon(2))
    served = sorted(writes, key=lambda write: write.request.issued_ns)
    rows, total = [], 0
    for before, after in pairwise([HEAD, *(write.block for write in served)]):
        total += abs(after - before)
        way = "up" if after > before else "back"
        rows.append([after, abs(after - before), total, way])
    return format_columns(["block", "blocks passed", "in all", ""], rows)
