"""Queued requests are served by rising sector."""

from itertools import pairwise

from grade.scoring.assertions import expect
from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

FILE_BLOCKS = 2048
# A sync queues at most 64 writes, with those of the file's structure, before the first of them is
# dispatched (flush.c). With more, the head could pass a block before it is queued.
BLOCKS = (30, 56)


def _check(bench: Workbench, name: str, blocks: list[int]) -> None:
    """With the head at the file's start, a sync queues all of these blocks, which are dirty."""
    line = "dd if=/input of=/data/f bs=4k count=1 seek={} conv=notrunc 2> /dev/null"
    to_the_start = "dd if=/data/f of=/dev/null bs=4k count=1 2> /dev/null"
    script = [*(line.format(block) for block in blocks), to_the_start]
    scenario = Scenario(
        name=name,
        script="\n".join([*script, "beacon 1", "sync", "beacon 2"]),
        args="write=delayed update=none sched=clook nbuf=1000",
        files=(("/input", bytes(4096)),),
        data=(("/f", "8M"),),
    )
    run = bench.run(scenario, despite_faults=True)
    writes = run.writes_of("/f", run.beacon(1), run.beacon(2))
    expect(len(writes) == len(blocks), f"{len(blocks)} writes by the sync", f"{len(writes)}")
    served = [w.block for w in sorted(writes, key=lambda write: write.request.issued_ns)]
    for before, after in pairwise(served):
        expect(
            before < after,
            "each block to be served after all lower ones",
            f"block {after} was served after block {before}",
        )


def blocks_here_and_there_are_served_by_rising_sector(bench: Workbench) -> None:
    """A sync queues some blocks of a file, which became dirty in a random order."""
    rng = bench.random("here and there")
    _check(bench, "rise", rng.sample(range(1, FILE_BLOCKS), rng.randrange(*BLOCKS)))


def a_block_right_under_the_head_is_served_next(bench: Workbench) -> None:
    """As above with neighbouring blocks: the head stands where the next block begins."""
    rng = bench.random("neighbours")
    first, blocks = rng.randrange(1, FILE_BLOCKS // 2), rng.randrange(*BLOCKS)
    _check(bench, "neighbours", rng.sample(range(first, first + blocks), blocks))
