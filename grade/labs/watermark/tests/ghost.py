"""Ghost hits and ghost misses lower the high mark."""

from grade.engine.assertions import expect
from grade.engine.counters import counter_growth, counter_value, store_counters
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from ..ghosts import expect_bounds
from ..readers import fewer_blocks, most_blocks

DIRTY_BLOCKS = 100
WRITTEN, READ = 10, 12  # where the counters are kept
FEW = 10  # blocks of programs

DIRTY = Scenario(
    name="dirty",
    script=f"""
iogen rw=write filename=/data/f bs=4k number_ios={DIRTY_BLOCKS} > /dev/null
{store_counters(WRITTEN)}
iogen rw=read filename=/data/f bs=4k number_ios={DIRTY_BLOCKS} > /dev/null
{store_counters(READ)}
""",
    args="write=delayed update=awol nbuf=1000 awol.step_ms=3600000 awol.high_percent=40",
    data=(("/f", "1M"),),
)


def reads_lost_by_write_buffering_count(bench: Workbench) -> None:
    """A reader's blocks would fit into the cache if there were no dirty blocks (reading=2)."""
    expect_bounds(bench, most_blocks(bench, "misses", 2), 2)


def hits_that_more_buffering_would_lose_count(bench: Workbench) -> None:
    """A reader's blocks are cached; with more dirty blocks they would not be (reading=2)."""
    expect_bounds(bench, fewer_blocks(bench, "hits", 2), 2)


def hits_of_dirty_blocks_are_no_ghost_hits(bench: Workbench) -> None:
    """The counter awol.ghost_hits while 100 blocks are read that are dirty."""
    run = bench.run(DIRTY)
    dirty = counter_value(run, WRITTEN, "bio.dirty")
    expect(dirty >= DIRTY_BLOCKS, f"{DIRTY_BLOCKS} dirty blocks before they are read", str(dirty))
    hits, came = (
        counter_growth(run, WRITTEN, READ, f"awol.{name}") for name in ("hits", "ghost_hits")
    )
    expect(hits >= DIRTY_BLOCKS, f"at least {DIRTY_BLOCKS} hits to be counted", f"{hits} were")
    expect(came <= FEW, f"at most {FEW} ghost hits to be counted", f"{came} were")
