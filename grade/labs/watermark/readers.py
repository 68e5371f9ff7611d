"""Make loads in which a reader and a writer compete for the cache."""

from dataclasses import dataclass

from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

STEP_MS = 4000
DRIVE = ("st31230n",)  # fast enough for both; always the same, so that points do not depend on it
WARM, DONE = 1, 2  # beacons


@dataclass(frozen=True)
class Cache:
    """A cache of `buffers` buffers.

    most_percent: the share of the buffers at which the high mark begins and ends. A burst of so
    many blocks takes the disk less than a step.
    """

    buffers: int = 500
    most_percent: int = 40

    @property
    def highest_mark(self) -> int:
        """The most that the high mark may be."""
        return self.buffers * self.most_percent // 100


USUAL = Cache()


def args(cache: Cache, reading: int) -> str:
    """Return boot arguments.

    The high mark begins at its most, so that only the ghosts lower it. The low mark is 0, which no
    ratio of rates changes: how marks follow rates is what `rates` judges.
    """
    tunables = {
        "step_ms": STEP_MS,
        "age_ms": 60000,
        "most_percent": cache.most_percent,
        "high_percent": cache.most_percent,
        "low_percent": 0,
        "reading": reading,
    }
    words = " ".join(f"awol.{name}={value}" for name, value in tunables.items())
    return f"write=delayed update=awol nbuf={cache.buffers} {words}"


def _load(name: str, boot: str, blocks: int, reads: dict[int, str], **more: object) -> Scenario:
    """Return a load with a reader of one file, and a writer.

    reads: what the reader does until each beacon. The writer has one rate from power-on to the end,
    so that rates do not change the marks.
    """
    write = "name=w rw=write filename=/data/w rate_iops=30 until=r"
    return Scenario(
        name=name,
        script="\n".join(
            f"iogen bs=4k name=r filename=/data/r {read} -- {write} > /dev/null\nbeacon {number}"
            for number, read in reads.items()
        ),
        args=boot,
        data=(("/r", f"{4 * blocks}K"), ("/w", "16M")),
        size="24M",
        drives=DRIVE,
        **more,
    )


def most_blocks(bench: Workbench, name: str, reading: int, cache: Cache = USUAL) -> Scenario:
    """Return a reader that reads its blocks into the cache, and then random blocks among them.

    The blocks are nearly as many as fit into the cache.
    """
    seed = bench.random("readers").randrange(1, 10**9)
    blocks = cache.buffers * 9 // 10
    reads = {
        WARM: f"rw=read nr={blocks}",
        DONE: f"rw=randread rate_iops=60 runtime_s=44 seed={seed}",
    }
    return _load(name, args(cache, reading), blocks, reads, like="readers")


def fewer_blocks(bench: Workbench, name: str, reading: int, cache: Cache = USUAL) -> Scenario:
    """Return a reader of random blocks that would fit into a cache without dirty ones."""
    seed = bench.random("fewer").randrange(1, 10**9)
    reads = {DONE: f"rw=randread rate_iops=60 runtime_s=40 seed={seed}"}
    return _load(name, args(cache, reading), cache.buffers * 4 // 5, reads)
