"""Loads in which a reader and a writer compete for the cache."""

from grade.scoring.scenario import Scenario
from grade.scoring.workbench import Workbench

STEP_MS = 4000
BUFFERS = 500  # so the longest burst, two fifths of them, takes the disk less than a step
DRIVE = ("st31230n",)  # fast enough for both; always the same, so that points do not depend on it
MOST_PERCENT = 40  # of the buffers, where the high mark begins
MOST = BUFFERS * MOST_PERCENT // 100
WARM, DONE = 1, 2  # beacons


def args(policy: str, more: str = "") -> str:
    """Boot arguments. The high mark begins at its most, so that only the ghosts lower it. The low
    mark is 0, which no ratio of rates changes: how marks follow rates is what `rates` judges."""
    marks = f"{policy}.high_percent={MOST_PERCENT} {policy}.low_percent=0"
    tunables = f"{policy}.step_ms={STEP_MS} {policy}.age_ms=60000 {marks}"
    return f"write=delayed update={policy} nbuf={BUFFERS} {tunables} {more}"


def _load(name: str, set_args: str, blocks: int, reads: dict[int, str], **more: object) -> Scenario:
    """A reader of one file; reads: what it does until each beacon. A writer has one rate from
    power-on to the end, so that rates do not change the marks."""
    write = "name=w rw=write filename=/data/w rate_iops=30 until=r"
    return Scenario(
        name=name,
        script="\n".join(
            f"iogen bs=4k name=r filename=/data/r {read} -- {write} > /dev/null\nbeacon {number}"
            for number, read in reads.items()
        ),
        args=set_args,
        data=(("/r", f"{4 * blocks}K"), ("/w", "16M")),
        size="24M",
        drives=DRIVE,
        **more,
    )


def scenario(bench: Workbench, name: str, set_args: str) -> Scenario:
    """A reader that caches its blocks, and goes on with random ones of them. They are nearly as
    many as fit into the cache."""
    seed = bench.random("readers").randrange(1, 10**9)
    blocks = BUFFERS * 9 // 10
    reads = {
        WARM: f"rw=read nr={blocks}",
        DONE: f"rw=randread rate_iops=60 runtime_s=44 seed={seed}",
    }
    return _load(name, set_args, blocks, reads, like="readers")


def fewer(bench: Workbench, name: str, set_args: str) -> Scenario:
    """A reader of random blocks that would all stay in the cache if it held no dirty ones."""
    seed = bench.random("fewer").randrange(1, 10**9)
    reads = {DONE: f"rw=randread rate_iops=60 runtime_s=40 seed={seed}"}
    return _load(name, set_args, BUFFERS * 4 // 5, reads)
