"""Make the load of the visible tests, and of the counters: one machine reads a file for each."""

from grade.engine.counters import store_counters
from grade.engine.scenario import Scenario
from grade.engine.workbench import Workbench

from .reads import size

AHEAD_BLOCKS = 40
THINK_MS = 40  # between the reads of two blocks
MIDDLE_BLOCKS = 6
RANDOM_READS = 60
COUNTED_BLOCKS = 50
SHORT, SHORT_DONE = 1, 2  # beacons around the file that is read to its end
BEGUN, BY_BLOCKS, BY_PARTS = 10, 12, 14  # where the counters are kept


def end_blocks(bench: Workbench) -> int:
    """Return the size of the file that is read to its end."""
    return 2 * bench.random("length").randrange(4, 7)


def middle(bench: Workbench) -> int:
    """Return the first block that is read of the file that is read from the middle on."""
    return bench.random("first").randrange(20, 190)


def reading(bench: Workbench) -> Scenario:
    """Return the load: files are read in sequence, from the middle, at random, in small parts."""
    seed, think = bench.random("seed").randrange(1, 10**9), f"thinktime_us={1000 * THINK_MS}"
    return Scenario(
        name="reading",
        script=f"""
iogen rw=read filename=/data/long bs=4k nr={AHEAD_BLOCKS} {think} > /dev/null
beacon {SHORT}
iogen rw=read filename=/data/short bs=4k nr={end_blocks(bench)} {think} > /dev/null
beacon {SHORT_DONE}
dd if=/data/middle of=/dev/null bs=4k skip={middle(bench)} count={MIDDLE_BLOCKS} 2> /dev/null
dd if=/data/ten of=/dev/null bs=4k count=10 2> /dev/null
iogen rw=randread filename=/data/r bs=4k seed={seed} number_ios={RANDOM_READS} > /dev/null
{store_counters(BEGUN)}
iogen rw=read filename=/data/blocks bs=4k nr={COUNTED_BLOCKS} > /dev/null
{store_counters(BY_BLOCKS)}
iogen rw=read filename=/data/parts bs=1k nr={4 * COUNTED_BLOCKS} > /dev/null
{store_counters(BY_PARTS)}
""",
        args="update=none prefetch=oneblock nbuf=1000",
        data=(
            *((f"/{name}", size(bench, name)) for name in ("long", "middle", "ten")),
            *((f"/{name}", size(bench, name)) for name in ("blocks", "parts")),
            ("/short", f"{4 * end_blocks(bench)}K"),
            ("/r", "12M"),
        ),
        size="24M",
    )
